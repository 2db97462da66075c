/* What a client's picture was made of: the desktop's pixels when each part was last sent, and how well it was sent. */
#ifndef GG_PICTURE_H
#define GG_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TILE_WIDTH 128
#define TILE_HEIGHT 64
#define BYTES_PER_PIXEL 3
/* How good a tile is at the client: nothing, a JPEG quality, or exact. */
#define QUALITY_NONE 0
#define QUALITY_EXACT 255

struct picture {
    int width, height;
    int columns, rows;  /* of tiles */
    uint8_t *pixels;    /* RGB, rows of width * 3 bytes */
    uint8_t *qualities; /* of each tile */
    uint8_t worst;      /* of them */
    uint64_t number;    /* of the picture that the client holds if this is it whole; 0: trust nothing */
};

struct area {
    int x, y, width, height;
};

/* Pixels in someone else's memory. */
struct view {
    const uint8_t *pixels;
    size_t stride;
    int width, height;
};

/* Of this size from now on; a change means that nothing is known. False when there is no memory. */
bool picture_fit(struct picture *picture, int width, int height);
void picture_free(struct picture *picture);
/* Nothing is known of what the client holds. */
void picture_distrust(struct picture *picture);
/* The client is being sent this area of the view. */
void picture_take(struct picture *picture, const struct view *view, struct area area, uint8_t quality);
void picture_finish(struct picture *picture, uint64_t number);

/* A walk over what must be sent to bring the picture up to a view. */
struct scan {
    int row, column; /* the next tile */
    bool row_same;   /* the row of tiles equals the view's */
};

/* The next run of tiles in one row that are worse than `quality` or differ, at most `most_bytes` of pixels; false at the end. */
bool scan_next(struct scan *scan, const struct picture *picture, const struct view *view, uint8_t quality,
               size_t most_bytes, struct area *area);

#endif
