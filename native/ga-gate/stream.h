/* Messages on a byte stream, both ways: what has arrived and is not taken yet, what waits to be sent. Does no input or output. */
#ifndef GG_STREAM_H
#define GG_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"

struct stream {
    uint8_t *in;
    size_t in_size, in_capacity;
    uint8_t *out;
    size_t out_start, out_end, out_capacity, out_limit;
};

struct message {
    uint16_t code;
    uint64_t request;
    const uint8_t *body;
    uint32_t size;
};

enum stream_next { STREAM_NOTHING, STREAM_MESSAGE, STREAM_MALFORMED };

/* out_limit: no more than this is ever kept to be sent. False when there is no memory. */
bool stream_open(struct stream *stream, size_t out_limit);
void stream_close(struct stream *stream);

/* Where to put what arrives, and how much of it; no message has a body of more than `largest`. 0: full, take messages first. */
size_t stream_room(struct stream *stream, uint32_t largest, uint8_t **at);
void stream_arrived(struct stream *stream, size_t size);
/* The next whole message, which stays until it is taken. */
enum stream_next stream_next(const struct stream *stream, uint32_t largest, struct message *message);
void stream_taken(struct stream *stream, const struct message *message);

/* Room for `size` bytes at the end of what waits to be sent; NULL when that is too much. Counts once it is added. */
uint8_t *stream_reserve(struct stream *stream, size_t size);
void stream_add(struct stream *stream, size_t size);
bool stream_put(struct stream *stream, uint16_t code, uint64_t request, const void *fields, size_t fields_size,
                const void *tail, size_t tail_size);
size_t stream_waiting(const struct stream *stream);
void stream_sent(struct stream *stream, size_t size);
/* Gives memory back that only a large message needed. */
void stream_trim(struct stream *stream);

/* Copies the fields of a body of exactly this kind, with or without a tail; false when it is too short or too long. */
bool message_fields(const struct message *message, void *fields, size_t size, bool has_tail);
#define FIELDS(message, fields) message_fields(message, fields, sizeof *(fields), false)
#define FIELDS_AND_TAIL(message, fields) message_fields(message, fields, sizeof *(fields), true)

#endif
