#include "pixels.h"

#include <string.h>

#include "pixels_vector.h"

bool pixel_format_is_bgrx(const struct pixel_format *format) {
    return format->bytes_per_pixel == 4 && format->red_mask == 0xff0000 && format->green_mask == 0xff00 &&
           format->blue_mask == 0xff;
}

size_t pixel_stride(const struct pixel_format *format, int width) {
    size_t bytes = (size_t)width * (size_t)format->bytes_per_pixel;
    return (bytes + 3) & ~(size_t)3; /* rows are padded to 32 bits */
}

void bgrx_row_plain(uint8_t *rgb, const uint8_t *bgrx, size_t pixels) {
    for (size_t i = 0; i < pixels; i++) {
        rgb[3 * i] = bgrx[4 * i + 2];
        rgb[3 * i + 1] = bgrx[4 * i + 1];
        rgb[3 * i + 2] = bgrx[4 * i];
    }
}

struct way {
    const char *name;
    bgrx_row row;
    bool (*usable)(void);
};

static bool always(void) {
    return true;
}

#if defined(__x86_64__)
static bool has_avx2(void) {
    return __builtin_cpu_supports("avx2");
}
static bool has_ssse3(void) {
    return __builtin_cpu_supports("ssse3");
}
#endif

/* Quickest first. */
static const struct way ways[] = {
#if defined(__x86_64__)
    {"avx2", bgrx_row_avx2, has_avx2},
    {"ssse3", bgrx_row_ssse3, has_ssse3},
#elif defined(__aarch64__)
    {"neon", bgrx_row_neon, always},
#endif
    {"plain", bgrx_row_plain, always},
#if defined(__x86_64__)
    {"stream", bgrx_row_stream, has_ssse3}, /* not quicker for who reads the result */
#endif
};

bgrx_row bgrx_row_at(int index, const char **name) {
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (!ways[i].usable() || index-- > 0) continue;
        if (name) *name = ways[i].name;
        return ways[i].row;
    }
    return NULL;
}

bgrx_row bgrx_row_best(void) {
    return bgrx_row_at(0, NULL);
}

bgrx_row bgrx_row_for_later(void) {
#if defined(__x86_64__)
    if (has_ssse3()) return bgrx_row_stream;
#endif
    return bgrx_row_best();
}

/* One colour of a pixel, widened to 8 bits so that the largest value becomes 255. */
static uint8_t channel(uint32_t pixel, uint32_t mask) {
    if (!mask) return 0;
    int shift = __builtin_ctz(mask);
    uint32_t largest = mask >> shift;
    return (uint8_t)((((uint64_t)(pixel & mask) >> shift) * 255 + largest / 2) / largest);
}

void masked_row(const struct pixel_format *format, uint8_t *rgb, const uint8_t *pixels, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t pixel = 0;
        memcpy(&pixel, pixels + i * (size_t)format->bytes_per_pixel, (size_t)format->bytes_per_pixel);
        rgb[3 * i] = channel(pixel, format->red_mask);
        rgb[3 * i + 1] = channel(pixel, format->green_mask);
        rgb[3 * i + 2] = channel(pixel, format->blue_mask);
    }
}
