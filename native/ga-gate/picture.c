#define _GNU_SOURCE
#include "picture.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE_PAGE ((size_t)2 << 20)

void picture_free(struct picture *picture) {
    free(picture->pixels);
    free(picture->qualities);
    *picture = (struct picture){0};
}

/* In large pages where the kernel lends them: it is compared with every frame, and thousands of small ones are slow to touch. */
static uint8_t *new_pixels(size_t bytes) {
    size_t whole = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    uint8_t *pixels = aligned_alloc(LARGE_PAGE, whole);
    if (pixels) madvise(pixels, whole, MADV_HUGEPAGE);
    return pixels;
}

bool picture_fit(struct picture *picture, int width, int height) {
    if (picture->pixels && picture->width == width && picture->height == height) return true;
    picture_free(picture);
    int columns = (width + TILE_WIDTH - 1) / TILE_WIDTH, rows = (height + TILE_HEIGHT - 1) / TILE_HEIGHT;
    picture->pixels = new_pixels((size_t)width * (size_t)height * BYTES_PER_PIXEL);
    picture->qualities = calloc((size_t)columns * (size_t)rows, 1);
    if (!picture->pixels || !picture->qualities) {
        picture_free(picture);
        return false;
    }
    picture->width = width;
    picture->height = height;
    picture->columns = columns;
    picture->rows = rows;
    return true;
}

void picture_distrust(struct picture *picture) {
    picture->number = 0;
    picture->worst = QUALITY_NONE;
    if (picture->qualities) memset(picture->qualities, QUALITY_NONE, (size_t)picture->columns * (size_t)picture->rows);
}

static uint8_t *own_pixel(const struct picture *picture, int x, int y) {
    return picture->pixels + ((size_t)y * (size_t)picture->width + (size_t)x) * BYTES_PER_PIXEL;
}

static const uint8_t *pixel(const struct view *view, int x, int y) {
    return view->pixels + (size_t)y * view->stride + (size_t)x * BYTES_PER_PIXEL;
}

void picture_take(struct picture *picture, const struct view *view, struct area area, uint8_t quality) {
    size_t bytes = (size_t)area.width * BYTES_PER_PIXEL;
    for (int y = area.y; y < area.y + area.height; y++)
        memcpy(own_pixel(picture, area.x, y), pixel(view, area.x, y), bytes);
    int first = area.x / TILE_WIDTH, last = (area.x + area.width - 1) / TILE_WIDTH;
    uint8_t *qualities = picture->qualities + area.y / TILE_HEIGHT * picture->columns;
    memset(qualities + first, quality, (size_t)(last - first + 1));
}

void picture_finish(struct picture *picture, uint64_t number) {
    picture->number = number;
    picture->worst = QUALITY_EXACT;
    for (int i = 0; i < picture->columns * picture->rows; i++)
        if (picture->qualities[i] < picture->worst) picture->worst = picture->qualities[i];
}

static int at_most(int value, int limit) {
    return value < limit ? value : limit;
}

static bool same_area(const struct picture *picture, const struct view *view, int x, int y, int width, int height) {
    size_t bytes = (size_t)width * BYTES_PER_PIXEL;
    if (width == picture->width && view->stride == bytes)
        return memcmp(own_pixel(picture, 0, y), pixel(view, 0, y), bytes * (size_t)height) == 0;
    for (int row = y; row < y + height; row++)
        if (memcmp(own_pixel(picture, x, row), pixel(view, x, row), bytes) != 0) return false;
    return true;
}

static int row_height(const struct picture *picture, int row) {
    return at_most(TILE_HEIGHT, picture->height - row * TILE_HEIGHT);
}

static bool must_be_sent(const struct scan *scan, const struct picture *picture, const struct view *view,
                         uint8_t quality) {
    if (picture->qualities[scan->row * picture->columns + scan->column] < quality) return true;
    if (scan->row_same) return false;
    int x = scan->column * TILE_WIDTH, y = scan->row * TILE_HEIGHT;
    int width = at_most(TILE_WIDTH, picture->width - x);
    return !same_area(picture, view, x, y, width, row_height(picture, scan->row));
}

/* One look at a whole row of tiles settles most of them, unless some of it must be sent anyway. */
static void begin_row(struct scan *scan, const struct picture *picture, const struct view *view) {
    bool known = picture->qualities[scan->row * picture->columns] != QUALITY_NONE;
    int y = scan->row * TILE_HEIGHT;
    scan->row_same = known && same_area(picture, view, 0, y, picture->width, row_height(picture, scan->row));
}

bool scan_next(struct scan *scan, const struct picture *picture, const struct view *view, uint8_t quality,
               size_t most_bytes, struct area *area) {
    int widest = (int)(most_bytes / BYTES_PER_PIXEL / TILE_HEIGHT) / TILE_WIDTH;
    for (; scan->row < picture->rows; scan->row++, scan->column = 0) {
        int first = -1;
        if (scan->column == 0) begin_row(scan, picture, view);
        for (; scan->column < picture->columns; scan->column++) {
            if (first >= 0 && scan->column - first == widest) break;
            bool wanted = must_be_sent(scan, picture, view, quality);
            if (!wanted && first >= 0) break;
            if (wanted && first < 0) first = scan->column;
        }
        if (first < 0) continue;
        int x = first * TILE_WIDTH, end = at_most(scan->column * TILE_WIDTH, picture->width);
        *area = (struct area){x, scan->row * TILE_HEIGHT, end - x, row_height(picture, scan->row)};
        return true;
    }
    return false;
}
