/* Pixels to bytes: LZ4 where it helps, JPEG where that was asked for. */
#ifndef GG_ENCODER_H
#define GG_ENCODER_H

#include "picture.h"
#include "protocol.h"

struct encoder {
    uint8_t *rows;      /* MAX_RECT_BYTES: an area without what lies beside it */
    void *lz4;          /* its state */
    void *jpeg;         /* NULL until it is wanted */
    uint8_t *jpeg_room; /* as much as a JPEG of MAX_RECT_BYTES can take */
};

bool encoder_open(struct encoder *encoder);
void encoder_close(struct encoder *encoder);
/* Writes at most the area's own bytes to `out`; how many, and into *encoding how: as wished or raw. */
size_t encoder_write(struct encoder *encoder, const struct view *view, struct area area, uint8_t quality, uint8_t *out,
                     uint8_t *encoding);

#endif
