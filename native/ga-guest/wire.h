/* Bounded reading and writing of the protocol's field types. */
#ifndef GA_WIRE_H
#define GA_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

struct ga_slice {
    const uint8_t *data;
    uint32_t size;
};

/* Checked texts, still encoded: count times (u32 length, bytes). */
struct ga_texts {
    const uint8_t *data;
    uint32_t size;
    uint32_t count;
};

struct ga_reader {
    const uint8_t *at;
    const uint8_t *end;
    bool bad;
};

uint64_t ga_take_number(struct ga_reader *reader, unsigned size);
void ga_take_bytes(struct ga_reader *reader, struct ga_slice *out);
void ga_take_text(struct ga_reader *reader, struct ga_slice *out);
void ga_take_texts(struct ga_reader *reader, struct ga_texts *out);
void ga_take_rest(struct ga_reader *reader, struct ga_slice *out);

void ga_put_number(struct buffer *out, uint64_t value, unsigned size);
void ga_put_bytes(struct buffer *out, struct ga_slice value);
void ga_put_texts(struct buffer *out, struct ga_texts value);
void ga_put_rest(struct buffer *out, struct ga_slice value);

struct ga_slice ga_slice_of(const char *string);
/* New NUL-terminated copies; the vector ends with NULL. */
char *ga_string_of(struct ga_slice text);
char **ga_vector_of(struct ga_texts texts);

#endif
