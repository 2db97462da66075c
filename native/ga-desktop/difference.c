#include "difference.h"

#include <string.h>

#define PIXEL 3
#define FNV_START 0xcbf29ce484222325ull
#define FNV_PRIME 0x100000001b3ull

/* The columns of one row that differ, as a box of that row. */
static struct box row_difference(const uint8_t *a, const uint8_t *b, struct box row) {
    int first = 0, last = row.width - 1;
    if (memcmp(a, b, (size_t)row.width * PIXEL) == 0) return (struct box){0, 0, 0, 0};
    while (memcmp(a + first * PIXEL, b + first * PIXEL, PIXEL) == 0) first++;
    while (memcmp(a + last * PIXEL, b + last * PIXEL, PIXEL) == 0) last--;
    return (struct box){row.x + first, row.y, last - first + 1, 1};
}

struct box frames_difference(const struct frames *frames, int before, int after, struct box box, size_t area_max) {
    struct box all = {0, 0, 0, 0};
    for (int y = box.y; y < box.y + box.height; y++) {
        const uint8_t *a = frames_pixel(frames, before, box.x, y), *b = frames_pixel(frames, after, box.x, y);
        all = box_union(all, row_difference(a, b, (struct box){box.x, y, box.width, 1}));
        if (box_area(all) > area_max) return box;
    }
    return all;
}

uint64_t frames_digest(const struct frames *frames, int slot, struct box box) {
    uint64_t digest = FNV_START;
    for (int y = box.y; y < box.y + box.height; y++) {
        const uint8_t *row = frames_pixel(frames, slot, box.x, y);
        for (int i = 0; i < box.width * PIXEL; i++) digest = (digest ^ row[i]) * FNV_PRIME;
    }
    return digest;
}
