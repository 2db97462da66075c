#include "output_stream.h"

#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "descriptors.h"
#include "protocol.h"

void output_stream_begin(struct output_stream *stream, int fd, uint64_t max_output) {
    uint32_t tail_size = max_output / 2 < GA_MAX_TAIL ? (uint32_t)(max_output / 2) : GA_MAX_TAIL;
    *stream = (struct output_stream){.fd = fd, .head_left = max_output - tail_size, .tail_size = tail_size};
}

bool output_stream_in_head(const struct output_stream *stream) {
    return stream->head_left > 0;
}

void output_stream_keep(struct output_stream *stream, const uint8_t *data, size_t size) {
    stream->total += size;
    if (size > stream->tail_size) {
        stream->lost += size - stream->tail_size;
        data += size - stream->tail_size;
        size = stream->tail_size;
    }
    if (!size) return;
    if (!stream->tail) stream->tail = allocate(stream->tail_size);
    if (stream->tail_used + size > stream->tail_size) {
        uint32_t drop = (uint32_t)(stream->tail_used + size - stream->tail_size);
        stream->tail_start = (stream->tail_start + drop) % stream->tail_size;
        stream->tail_used -= drop;
        stream->lost += drop;
    }
    uint32_t at = (stream->tail_start + stream->tail_used) % stream->tail_size;
    size_t first = stream->tail_size - at < size ? stream->tail_size - at : size;
    memcpy(stream->tail + at, data, first);
    memcpy(stream->tail, data + first, size - first);
    stream->tail_used += (uint32_t)size;
}

void output_stream_tail(const struct output_stream *stream, uint8_t *out) {
    uint32_t first = stream->tail_size - stream->tail_start;
    if (first > stream->tail_used) first = stream->tail_used;
    if (!stream->tail_used) return;
    memcpy(out, stream->tail + stream->tail_start, first);
    memcpy(out + first, stream->tail, stream->tail_used - first);
}

void output_stream_free(struct output_stream *stream) {
    fd_close(&stream->fd);
    free(stream->tail);
    stream->tail = NULL;
    stream->tail_used = 0;
}
