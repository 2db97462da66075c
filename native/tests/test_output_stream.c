/* Head and tail are kept and the loss is counted, for every size around the limits. */
#include <string.h>

#include "../ga-guest/output_stream.h"
#include "check.h"

/* Feeds `total` bytes in pieces and checks what is kept. */
static void check(uint64_t max_output, unsigned total, unsigned piece) {
    struct output_stream stream;
    uint8_t all[4096], tail[4096];
    for (unsigned i = 0; i < total; i++) all[i] = (uint8_t)(i * 7 + i / 256);
    output_stream_begin(&stream, -1, max_output);
    unsigned at = 0, head = 0;
    while (at < total) {
        unsigned size = total - at < piece ? total - at : piece;
        if (output_stream_in_head(&stream)) {
            if (size > stream.head_left) size = (unsigned)stream.head_left;
            stream.head_left -= size;
            stream.total += size;
            head += size;
        } else {
            output_stream_keep(&stream, all + at, size);
        }
        at += size;
    }
    output_stream_tail(&stream, tail);
    CHECK(stream.total == total);
    CHECK(head + stream.tail_used + stream.lost == total);
    CHECK(head + stream.tail_used <= max_output);
    CHECK(total > max_output || stream.lost == 0);
    CHECK(!memcmp(tail, all + total - stream.tail_used, stream.tail_used));
    output_stream_free(&stream);
}

int main(void) {
    static const unsigned limits[] = {0, 1, 2, 3, 10, 64, 255, 256, 1000};
    for (unsigned l = 0; l < sizeof limits / sizeof *limits; l++)
        for (unsigned total = 0; total < 2100; total += total < 20 ? 1 : 37)
            for (unsigned piece = 1; piece < 700; piece = piece * 3 + 1) check(limits[l], total, piece);
    return 0;
}
