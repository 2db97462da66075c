#include "wire.h"

#include <string.h>

uint64_t ga_take_number(struct ga_reader *reader, unsigned size) {
    uint64_t value = 0;
    if (reader->bad || (size_t)(reader->end - reader->at) < size) {
        reader->bad = true;
        return 0;
    }
    for (unsigned i = 0; i < size; i++) value |= (uint64_t)reader->at[i] << (8 * i);
    reader->at += size;
    return value;
}

void ga_take_bytes(struct ga_reader *reader, struct ga_slice *out) {
    uint32_t size = (uint32_t)ga_take_number(reader, 4);
    if (reader->bad || (size_t)(reader->end - reader->at) < size) {
        reader->bad = true;
        *out = (struct ga_slice){reader->end, 0};
        return;
    }
    *out = (struct ga_slice){reader->at, size};
    reader->at += size;
}

void ga_take_text(struct ga_reader *reader, struct ga_slice *out) {
    ga_take_bytes(reader, out);
    if (out->size && memchr(out->data, 0, out->size)) reader->bad = true;
}

void ga_take_texts(struct ga_reader *reader, struct ga_texts *out) {
    uint32_t count = (uint32_t)ga_take_number(reader, 4);
    const uint8_t *start = reader->at;
    struct ga_slice text;
    for (uint32_t i = 0; i < count && !reader->bad; i++) ga_take_text(reader, &text);
    *out = (struct ga_texts){start, (uint32_t)(reader->at - start), reader->bad ? 0 : count};
}

void ga_take_rest(struct ga_reader *reader, struct ga_slice *out) {
    *out = (struct ga_slice){reader->at, (uint32_t)(reader->end - reader->at)};
    reader->at = reader->end;
}

void ga_put_number(struct buffer *out, uint64_t value, unsigned size) {
    uint8_t encoded[8];
    for (unsigned i = 0; i < size; i++) encoded[i] = (uint8_t)(value >> (8 * i));
    buffer_append(out, encoded, size);
}

void ga_put_bytes(struct buffer *out, struct ga_slice value) {
    ga_put_number(out, value.size, 4);
    buffer_append(out, value.data, value.size);
}

void ga_put_texts(struct buffer *out, struct ga_texts value) {
    ga_put_number(out, value.count, 4);
    buffer_append(out, value.data, value.size);
}

void ga_put_rest(struct buffer *out, struct ga_slice value) {
    buffer_append(out, value.data, value.size);
}

struct ga_slice ga_slice_of(const char *string) {
    return (struct ga_slice){(const uint8_t *)string, (uint32_t)strlen(string)};
}

char *ga_string_of(struct ga_slice text) {
    char *copy = allocate((size_t)text.size + 1);
    if (text.size) memcpy(copy, text.data, text.size);
    copy[text.size] = 0;
    return copy;
}

char **ga_vector_of(struct ga_texts texts) {
    struct ga_reader reader = {texts.data, texts.data + texts.size, false};
    char **vector = allocate(((size_t)texts.count + 1) * sizeof *vector);
    for (uint32_t i = 0; i < texts.count; i++) {
        struct ga_slice text;
        ga_take_text(&reader, &text);
        vector[i] = ga_string_of(text);
    }
    vector[texts.count] = NULL;
    return vector;
}
