/* One output of a command on its way to the host: a head sent as it comes, the newest bytes kept as tail, the middle lost. */
#ifndef GA_OUTPUT_STREAM_H
#define GA_OUTPUT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct output_stream {
    int fd; /* -1 when ended or never opened */
    uint64_t total;
    uint64_t head_left; /* bytes that may still go out directly */
    uint8_t *tail;      /* ring of tail_size bytes, allocated when first needed */
    uint32_t tail_size;
    uint32_t tail_start;
    uint32_t tail_used;
    uint64_t lost;
};

void output_stream_begin(struct output_stream *stream, int fd, uint64_t max_output);
bool output_stream_in_head(const struct output_stream *stream);
/* Takes bytes that came after the head. */
void output_stream_keep(struct output_stream *stream, const uint8_t *data, size_t size);
/* Copies the kept tail, oldest first; `out` has tail_used bytes. */
void output_stream_tail(const struct output_stream *stream, uint8_t *out);
void output_stream_free(struct output_stream *stream);

#endif
