/* Every vector form writes exactly what the plain one writes, and not a byte beside it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../box.h"
#include "../pixels.h"

#define LONGEST 4100
#define GUARD 64

static int check_row(const char *name, bgrx_row row, size_t pixels, size_t shift) {
    static uint8_t from[LONGEST * 4 + 8], wanted[LONGEST * 3 + 2 * GUARD + 8], got[LONGEST * 3 + 2 * GUARD + 8];
    for (size_t i = 0; i < sizeof from; i++) from[i] = (uint8_t)rand();
    memset(wanted, 0xA5, sizeof wanted);
    memset(got, 0xA5, sizeof got);
    bgrx_row_plain(wanted + GUARD + shift, from + shift, pixels);
    row(got + GUARD + shift, from + shift, pixels);
    if (memcmp(wanted, got, sizeof got) == 0) return 0;
    fprintf(stderr, "%s differs from plain at %zu pixels, shift %zu\n", name, pixels, shift);
    return 1;
}

static int check_ways(void) {
    const char *name;
    int failed = 0, way = 0;
    for (; bgrx_row_at(way, &name); way++) {
        for (size_t pixels = 0; pixels <= 200; pixels++)
            for (size_t shift = 0; shift < 5; shift++) failed |= check_row(name, bgrx_row_at(way, NULL), pixels, shift);
        failed |= check_row(name, bgrx_row_at(way, NULL), LONGEST, 1);
        printf("%s equals plain\n", name);
    }
#if defined(__aarch64__)
    if (way < 2) return fprintf(stderr, "the form for this processor was not tried\n"), 1;
#endif
    return failed;
}

static int check_masks(void) {
    const struct pixel_format bgrx = {4, 0xff0000, 0xff00, 0xff}, rgb565 = {2, 0xf800, 0x07e0, 0x001f};
    uint8_t from[64 * 4], wanted[64 * 3], got[64 * 3];
    for (size_t i = 0; i < sizeof from; i++) from[i] = (uint8_t)rand();
    bgrx_row_plain(wanted, from, 64);
    masked_row(&bgrx, got, from, 64);
    if (memcmp(wanted, got, sizeof got) != 0) return fprintf(stderr, "masked_row differs from plain\n"), 1;
    const uint16_t narrow[3] = {0xf800, 0x07e0, 0xffff};
    const uint8_t colours[9] = {255, 0, 0, 0, 255, 0, 255, 255, 255};
    masked_row(&rgb565, got, (const uint8_t *)narrow, 3);
    if (memcmp(colours, got, sizeof colours) != 0) return fprintf(stderr, "16-bit colours are wrong\n"), 1;
    return 0;
}

/* Whatever is added, the list covers it and stays within its bound. */
static int check_boxes(void) {
    for (int round = 0; round < 2000; round++) {
        struct box_list list = {.count = 0};
        static unsigned char wanted[64][64], covered[64][64];
        memset(wanted, 0, sizeof wanted);
        memset(covered, 0, sizeof covered);
        int boxes = rand() % 60;
        for (int i = 0; i < boxes; i++) {
            struct box box = {rand() % 64, rand() % 64, rand() % 12, rand() % 12};
            box = box_intersection(box, (struct box){0, 0, 64, 64});
            for (int y = 0; y < box.height; y++) memset(&wanted[box.y + y][box.x], 1, (size_t)box.width);
            box_list_add(&list, box);
        }
        if (round % 10 == 0) box_list_collapse(&list);
        for (int i = 0; i < list.count; i++)
            for (int y = 0; y < list.items[i].height; y++)
                memset(&covered[list.items[i].y + y][list.items[i].x], 1, (size_t)list.items[i].width);
        for (int i = 0; i < 64 * 64; i++)
            if ((&wanted[0][0])[i] && !(&covered[0][0])[i]) return fprintf(stderr, "a box list lost a pixel\n"), 1;
        if (list.count > BOX_LIST_MAX) return fprintf(stderr, "a box list grew\n"), 1;
    }
    return 0;
}

/* Cut into portions, a list loses no pixel and gives none twice; a portion is as large as it may be, or one row. */
static int check_cuts(void) {
    for (int round = 0; round < 2000; round++) {
        struct box_list list = {.count = rand() % (BOX_LIST_MAX + 1)}, portion;
        static unsigned char wanted[64][64], got[64][64];
        memset(wanted, 0, sizeof wanted);
        memset(got, 0, sizeof got);
        for (int i = 0; i < list.count; i++) { /* beside each other, so that no pixel is in two */
            list.items[i] = (struct box){4 * i, rand() % 32, 1 + rand() % 4, 1 + rand() % 32};
            for (int y = 0; y < list.items[i].height; y++)
                memset(&wanted[list.items[i].y + y][4 * i], 1, (size_t)list.items[i].width);
        }
        size_t pixels = 1 + (size_t)rand() % 100, portions = 0;
        for (struct box_list_cut cut = {.list = &list}; box_list_cut(&cut, pixels, &portion); portions++) {
            bool one_row = portion.count == 1 && portion.items[0].height == 1;
            if (box_list_area(&portion) > pixels && !one_row) return fprintf(stderr, "a portion is too large\n"), 1;
            for (int i = 0; i < portion.count; i++)
                for (int y = 0; y < portion.items[i].height; y++)
                    for (int x = 0; x < portion.items[i].width; x++)
                        got[portion.items[i].y + y][portion.items[i].x + x]++;
        }
        if (memcmp(wanted, got, sizeof got) != 0) return fprintf(stderr, "portions are not the list\n"), 1;
        if (pixels >= 4 && portions > 1 + box_list_area(&list) / (pixels - 3))
            return fprintf(stderr, "%zu portions where fewer would do\n", portions), 1;
    }
    return 0;
}

int main(void) {
    srand(7);
    int failed = check_ways() | check_masks() | check_boxes() | check_cuts();
    printf(failed ? "FAILED\n" : "ok\n");
    return failed;
}
