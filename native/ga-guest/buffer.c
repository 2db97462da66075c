#include "buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT_CAPACITY 65536

void *allocate(size_t size) {
    void *memory = malloc(size ? size : 1);
    if (!memory) {
        static const char message[] = "ga-guest: out of memory\n";
        if (write(2, message, sizeof message - 1) < 0) _exit(111);
        _exit(111);
    }
    return memory;
}

uint8_t *buffer_front(const struct buffer *buffer) {
    return buffer->data + buffer->start;
}

uint8_t *buffer_reserve(struct buffer *buffer, size_t more) {
    if (buffer->start + buffer->size + more <= buffer->capacity) return buffer->data + buffer->start + buffer->size;
    if (buffer->start && buffer->size + more <= buffer->capacity) {
        memmove(buffer->data, buffer_front(buffer), buffer->size);
        buffer->start = 0;
        return buffer->data + buffer->size;
    }
    size_t capacity = buffer->capacity ? buffer->capacity : 1024;
    while (capacity < buffer->size + more) capacity *= 2;
    uint8_t *grown = allocate(capacity);
    if (buffer->size) memcpy(grown, buffer_front(buffer), buffer->size);
    free(buffer->data);
    buffer->data = grown;
    buffer->start = 0;
    buffer->capacity = capacity;
    return grown + buffer->size;
}

void buffer_append(struct buffer *buffer, const void *data, size_t size) {
    if (!size) return;
    memcpy(buffer_reserve(buffer, size), data, size);
    buffer->size += size;
}

void buffer_consume(struct buffer *buffer, size_t size) {
    buffer->start += size;
    buffer->size -= size;
    if (buffer->size) return;
    buffer->start = 0;
    if (buffer->capacity > KEPT_CAPACITY) buffer_free(buffer);
}

void buffer_free(struct buffer *buffer) {
    free(buffer->data);
    *buffer = (struct buffer){0};
}
