#include "encoder.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>

/* What TurboJPEG may write for so many bytes of pixels, at full colour (tjBufSize). */
#define JPEG_ROOM (2 * GG_MAX_RECT_BYTES + 4096 + 64 * GG_MAX_RECT_BYTES / TILE_WIDTH / TILE_HEIGHT)

bool encoder_open(struct encoder *encoder) {
    *encoder = (struct encoder){.rows = malloc(GG_MAX_RECT_BYTES), .lz4 = malloc((size_t)LZ4_sizeofState())};
    if (encoder->rows && encoder->lz4) return true;
    encoder_close(encoder);
    return false;
}

void encoder_close(struct encoder *encoder) {
    free(encoder->rows);
    free(encoder->lz4);
    free(encoder->jpeg_room);
    if (encoder->jpeg) tjDestroy(encoder->jpeg);
    *encoder = (struct encoder){0};
}

static const uint8_t *first_pixel(const struct view *view, struct area area) {
    return view->pixels + (size_t)area.y * view->stride + (size_t)area.x * BYTES_PER_PIXEL;
}

static void copy_rows(const struct view *view, struct area area, uint8_t *to) {
    size_t bytes = (size_t)area.width * BYTES_PER_PIXEL;
    const uint8_t *from = first_pixel(view, area);
    for (int y = 0; y < area.height; y++) memcpy(to + (size_t)y * bytes, from + (size_t)y * view->stride, bytes);
}

/* 0: no smaller. */
static size_t write_lz4(struct encoder *encoder, const struct view *view, struct area area, size_t bytes,
                        uint8_t *out) {
    const uint8_t *from = first_pixel(view, area);
    if (view->stride != (size_t)area.width * BYTES_PER_PIXEL) {
        copy_rows(view, area, encoder->rows);
        from = encoder->rows;
    }
    int size = LZ4_compress_fast_extState(encoder->lz4, (const char *)from, (char *)out, (int)bytes, (int)bytes - 1, 1);
    return size > 0 ? (size_t)size : 0;
}

static bool jpeg_is_ready(struct encoder *encoder) {
    if (!encoder->jpeg) encoder->jpeg = tjInitCompress();
    if (!encoder->jpeg_room) encoder->jpeg_room = malloc(JPEG_ROOM);
    return encoder->jpeg && encoder->jpeg_room;
}

/* 0: no smaller, or no memory. */
static size_t write_jpeg(struct encoder *encoder, const struct view *view, struct area area, int quality, size_t bytes,
                         uint8_t *out) {
    int colour = quality < GG_JPEG_FINE ? TJSAMP_420 : TJSAMP_444;
    if (!jpeg_is_ready(encoder) || tjBufSize(area.width, area.height, colour) > JPEG_ROOM) return 0;
    unsigned long size = JPEG_ROOM;
    unsigned char *room = encoder->jpeg_room;
    int failed = tjCompress2(encoder->jpeg, first_pixel(view, area), area.width, (int)view->stride, area.height, TJPF_RGB,
                             &room, &size, colour, quality, TJFLAG_NOREALLOC);
    if (failed || size >= bytes) return 0;
    memcpy(out, room, size);
    return size;
}

size_t encoder_write(struct encoder *encoder, const struct view *view, struct area area, uint8_t quality, uint8_t *out,
                     uint8_t *encoding) {
    size_t bytes = (size_t)area.width * (size_t)area.height * BYTES_PER_PIXEL;
    bool exact = quality == QUALITY_EXACT;
    size_t size = exact ? write_lz4(encoder, view, area, bytes, out)
                        : write_jpeg(encoder, view, area, quality, bytes, out);
    *encoding = exact ? GG_ENCODING_LZ4 : GG_ENCODING_JPEG;
    if (size) return size;
    *encoding = GG_ENCODING_RAW;
    copy_rows(view, area, out);
    return bytes;
}
