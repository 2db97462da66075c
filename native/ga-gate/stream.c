#include "stream.h"

#include <stdlib.h>
#include <string.h>

#define SMALL 4096

bool stream_open(struct stream *stream, size_t out_limit) {
    *stream = (struct stream){.in = malloc(SMALL), .out = malloc(SMALL), .out_limit = out_limit};
    stream->in_capacity = stream->out_capacity = SMALL;
    if (stream->in && stream->out) return true;
    stream_close(stream);
    return false;
}

void stream_close(struct stream *stream) {
    free(stream->in);
    free(stream->out);
    stream->in = stream->out = NULL;
}

/* For the message that is arriving, and back to little when it is through. */
static void fit_in(struct stream *stream, uint32_t largest) {
    struct gd_header header;
    size_t wanted = SMALL;
    if (stream->in_size >= sizeof header) {
        memcpy(&header, stream->in, sizeof header);
        if (header.body_bytes <= largest && sizeof header + header.body_bytes > wanted)
            wanted = sizeof header + header.body_bytes;
    }
    if (wanted == stream->in_capacity || stream->in_size > wanted) return;
    uint8_t *data = realloc(stream->in, wanted);
    if (!data) return;
    stream->in = data;
    stream->in_capacity = wanted;
}

size_t stream_room(struct stream *stream, uint32_t largest, uint8_t **at) {
    fit_in(stream, largest);
    *at = stream->in + stream->in_size;
    return stream->in_capacity - stream->in_size;
}

void stream_arrived(struct stream *stream, size_t size) {
    stream->in_size += size;
}

enum stream_next stream_next(const struct stream *stream, uint32_t largest, struct message *message) {
    struct gd_header header;
    if (stream->in_size < sizeof header) return STREAM_NOTHING;
    memcpy(&header, stream->in, sizeof header);
    if (header.body_bytes > largest || header.zero != 0) return STREAM_MALFORMED;
    if (stream->in_size < sizeof header + header.body_bytes) return STREAM_NOTHING;
    *message = (struct message){header.message, header.request, stream->in + sizeof header, header.body_bytes};
    return STREAM_MESSAGE;
}

void stream_taken(struct stream *stream, const struct message *message) {
    size_t taken = sizeof(struct gd_header) + message->size;
    stream->in_size -= taken;
    memmove(stream->in, stream->in + taken, stream->in_size);
    if (stream->in_size == 0) fit_in(stream, 0);
}

uint8_t *stream_reserve(struct stream *stream, size_t size) {
    size_t waiting = stream_waiting(stream);
    if (size > stream->out_limit || waiting > stream->out_limit - size) return NULL;
    if (stream->out_end + size > stream->out_capacity && stream->out_start) {
        memmove(stream->out, stream->out + stream->out_start, waiting);
        stream->out_start = 0;
        stream->out_end = waiting;
    }
    if (waiting + size > stream->out_capacity) {
        uint8_t *data = realloc(stream->out, waiting + size);
        if (!data) return NULL;
        stream->out = data;
        stream->out_capacity = waiting + size;
    }
    return stream->out + stream->out_end;
}

void stream_add(struct stream *stream, size_t size) {
    stream->out_end += size;
}

bool stream_put(struct stream *stream, uint16_t code, uint64_t request, const void *fields, size_t fields_size,
                const void *tail, size_t tail_size) {
    struct gd_header header = {(uint32_t)(fields_size + tail_size), code, 0, request};
    uint8_t *at = stream_reserve(stream, sizeof header + fields_size + tail_size);
    if (!at) return false;
    memcpy(at, &header, sizeof header);
    if (fields_size) memcpy(at + sizeof header, fields, fields_size);
    if (tail_size) memcpy(at + sizeof header + fields_size, tail, tail_size);
    stream_add(stream, sizeof header + fields_size + tail_size);
    return true;
}

size_t stream_waiting(const struct stream *stream) {
    return stream->out_end - stream->out_start;
}

void stream_sent(struct stream *stream, size_t size) {
    stream->out_start += size;
    if (stream->out_start == stream->out_end) stream->out_start = stream->out_end = 0;
}

void stream_trim(struct stream *stream) {
    if (stream_waiting(stream) || stream->out_capacity <= SMALL) return;
    uint8_t *data = realloc(stream->out, SMALL);
    if (!data) return;
    stream->out = data;
    stream->out_capacity = SMALL;
}

bool message_fields(const struct message *message, void *fields, size_t size, bool has_tail) {
    if (has_tail ? message->size < size : message->size != size) return false;
    memcpy(fields, message->body, size);
    return true;
}
