/* What is found to have changed, put over what was there, gives exactly what is there now; and nothing is sent in vain. */
#include <lz4.h>
#include <string.h>

#include "../../tests/check.h"
#include "../encoder.h"

struct sent {
    int count;
    size_t pixels, largest;
};

static struct encoder encoder;

static uint8_t *random_pixels(size_t size, int range) {
    uint8_t *pixels = malloc(size);
    for (size_t i = 0; i < size; i++) pixels[i] = (uint8_t)(rand() % range);
    return pixels;
}

static void put(uint8_t *image, int width, struct area area, const uint8_t *rows) {
    size_t bytes = (size_t)area.width * BYTES_PER_PIXEL;
    for (int y = 0; y < area.height; y++)
        memcpy(image + ((size_t)(area.y + y) * (size_t)width + (size_t)area.x) * BYTES_PER_PIXEL, rows + (size_t)y * bytes,
               bytes);
}

/* Sends all that must be, exactly, and decodes it into `image` as a client does. */
static struct sent send_all(struct picture *picture, const struct view *view, uint8_t *image) {
    struct sent sent = {0};
    struct scan scan = {0};
    struct area area;
    static uint8_t out[GG_MAX_RECT_BYTES], rows[GG_MAX_RECT_BYTES];
    while (scan_next(&scan, picture, view, QUALITY_EXACT, GG_MAX_RECT_BYTES, &area)) {
        size_t bytes = (size_t)area.width * (size_t)area.height * BYTES_PER_PIXEL;
        uint8_t encoding;
        CHECK(area.x >= 0 && area.y >= 0 && area.x + area.width <= view->width && area.y + area.height <= view->height);
        CHECK(bytes > 0 && bytes <= GG_MAX_RECT_BYTES);
        size_t size = encoder_write(&encoder, view, area, QUALITY_EXACT, out, &encoding);
        CHECK(size <= bytes && (encoding == GG_ENCODING_RAW || encoding == GG_ENCODING_LZ4));
        if (encoding == GG_ENCODING_RAW)
            CHECK(size == bytes);
        else
            CHECK(LZ4_decompress_safe((char *)out, (char *)rows, (int)size, (int)bytes) == (int)bytes);
        put(image, view->width, area, encoding == GG_ENCODING_RAW ? out : rows);
        picture_take(picture, view, area, QUALITY_EXACT);
        sent.count++;
        sent.pixels += bytes / BYTES_PER_PIXEL;
        if (bytes > sent.largest) sent.largest = bytes;
    }
    picture_finish(picture, picture->number + 1);
    return sent;
}

/* Rows of `stride` bytes, as a mapping could have. */
static void test_changes_arrive(int width, int height, size_t beside, int range) {
    size_t stride = (size_t)width * BYTES_PER_PIXEL + beside, size = stride * (size_t)height;
    uint8_t *pixels = random_pixels(size, range), *image = calloc((size_t)width * (size_t)height, BYTES_PER_PIXEL);
    struct view view = {pixels, stride, width, height};
    struct picture picture = {0};
    CHECK(picture_fit(&picture, width, height));
    struct sent all = send_all(&picture, &view, image);
    CHECK(all.pixels == (size_t)width * (size_t)height);
    for (int round = 0; round < 30; round++) {
        for (int y = 0; y < height; y++)
            CHECK(memcmp(image + (size_t)y * (size_t)width * BYTES_PER_PIXEL, pixels + (size_t)y * stride,
                         (size_t)width * BYTES_PER_PIXEL) == 0);
        CHECK(send_all(&picture, &view, image).count == 0);
        int changes = rand() % 4;
        for (int i = 0; i < changes; i++) {
            int x = rand() % width, y = rand() % height;
            pixels[(size_t)y * stride + (size_t)x * BYTES_PER_PIXEL + (size_t)rand() % 3] ^= 0x55;
        }
        struct sent some = send_all(&picture, &view, image);
        CHECK(some.count <= changes && some.pixels <= (size_t)changes * TILE_WIDTH * TILE_HEIGHT);
    }
    picture_free(&picture);
    free(pixels);
    free(image);
}

/* The first and the last pixel of a tile belong to it and to no other. */
static void test_one_pixel_is_one_tile(void) {
    int width = 3 * TILE_WIDTH, height = 2 * TILE_HEIGHT;
    uint8_t *pixels = calloc((size_t)(width * height), BYTES_PER_PIXEL);
    uint8_t *image = calloc((size_t)(width * height), BYTES_PER_PIXEL);
    struct view view = {pixels, (size_t)width * BYTES_PER_PIXEL, width, height};
    struct picture picture = {0};
    CHECK(picture_fit(&picture, width, height));
    send_all(&picture, &view, image);
    const int places[][2] = {{TILE_WIDTH, TILE_HEIGHT}, {2 * TILE_WIDTH - 1, 2 * TILE_HEIGHT - 1}};
    for (int i = 0; i < 2; i++) {
        struct scan scan = {0};
        struct area area;
        pixels[(places[i][1] * width + places[i][0]) * BYTES_PER_PIXEL + 2] ^= 1;
        CHECK(scan_next(&scan, &picture, &view, QUALITY_EXACT, GG_MAX_RECT_BYTES, &area));
        CHECK(area.x == TILE_WIDTH && area.y == TILE_HEIGHT && area.width == TILE_WIDTH && area.height == TILE_HEIGHT);
        CHECK(send_all(&picture, &view, image).count == 1);
    }
    picture_free(&picture);
    free(pixels);
    free(image);
}

static void test_a_worse_picture_is_sent_again_when_a_better_one_is_asked_for(void) {
    uint8_t *pixels = random_pixels((size_t)TILE_WIDTH * 2 * TILE_HEIGHT * 3, 4);
    struct view view = {pixels, (size_t)TILE_WIDTH * 2 * 3, TILE_WIDTH * 2, TILE_HEIGHT};
    struct area left = {0, 0, TILE_WIDTH, TILE_HEIGHT}, right = {TILE_WIDTH, 0, TILE_WIDTH, TILE_HEIGHT}, found;
    struct picture picture = {0};
    CHECK(picture_fit(&picture, TILE_WIDTH * 2, TILE_HEIGHT));
    picture_take(&picture, &view, left, 80);
    picture_take(&picture, &view, right, QUALITY_EXACT);
    picture_finish(&picture, 1);
    CHECK(picture.worst == 80);
    CHECK(!scan_next(&(struct scan){0}, &picture, &view, 80, GG_MAX_RECT_BYTES, &found));
    CHECK(scan_next(&(struct scan){0}, &picture, &view, 81, GG_MAX_RECT_BYTES, &found) && found.width == TILE_WIDTH &&
          found.x == 0);
    picture_distrust(&picture);
    CHECK(scan_next(&(struct scan){0}, &picture, &view, 1, GG_MAX_RECT_BYTES, &found) && found.width == 2 * TILE_WIDTH);
    /* another size: nothing is known */
    CHECK(picture_fit(&picture, TILE_WIDTH, TILE_HEIGHT) && picture.number == 0 && picture.qualities[0] == 0);
    picture_free(&picture);
    free(pixels);
}

static void test_jpeg_is_no_larger_than_the_pixels(void) {
    uint8_t *noise = random_pixels((size_t)512 * 64 * 3, 256), *flat = calloc(512 * 64, 3), out[512 * 64 * 3], encoding;
    struct area area = {0, 0, 512, 64};
    struct view view = {noise, 512 * 3, 512, 64};
    CHECK(encoder_write(&encoder, &view, area, 100, out, &encoding) <= sizeof out);
    view.pixels = flat;
    CHECK(encoder_write(&encoder, &view, area, 50, out, &encoding) < 4000 && encoding == GG_ENCODING_JPEG);
    CHECK(out[0] == 0xff && out[1] == 0xd8);
    area = (struct area){511, 63, 1, 1};
    CHECK(encoder_write(&encoder, &view, area, 50, out, &encoding) == 3 && encoding == GG_ENCODING_RAW);
    free(noise);
    free(flat);
}

int main(void) {
    srand(5);
    CHECK(encoder_open(&encoder));
    test_changes_arrive(1, 1, 0, 2);
    test_changes_arrive(129, 65, 0, 3);
    test_changes_arrive(640, 200, 5, 256);
    test_changes_arrive(3000, 70, 0, 2); /* a row of tiles is more than one RECT */
    test_one_pixel_is_one_tile();
    test_a_worse_picture_is_sent_again_when_a_better_one_is_asked_for();
    test_jpeg_is_no_larger_than_the_pixels();
    encoder_close(&encoder);
    printf("ok\n");
    return 0;
}
