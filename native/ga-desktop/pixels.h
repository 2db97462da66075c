/* From the X server's pixels to RGB, a row at a time. */
#ifndef GD_PIXELS_H
#define GD_PIXELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the X server's pixels look like. */
struct pixel_format {
    int bytes_per_pixel; /* 2 or 4 */
    uint32_t red_mask, green_mask, blue_mask;
};

/* Blue, green, red, unused: what every usual server has. */
bool pixel_format_is_bgrx(const struct pixel_format *format);
/* Bytes of a row as the X server sends it. */
size_t pixel_stride(const struct pixel_format *format, int width);

typedef void (*bgrx_row)(uint8_t *rgb, const uint8_t *bgrx, size_t pixels);

/* The reference that the others are tested against. */
void bgrx_row_plain(uint8_t *rgb, const uint8_t *bgrx, size_t pixels);
/* The quickest that this processor runs. */
bgrx_row bgrx_row_best(void);
/* One that leaves the cache to others: half the work where nobody is about to read the result. */
bgrx_row bgrx_row_for_later(void);
/* Every way this processor runs, by index, ends with NULL; `name` may be NULL. */
bgrx_row bgrx_row_at(int index, const char **name);

/* Any other TrueColor format. */
void masked_row(const struct pixel_format *format, uint8_t *rgb, const uint8_t *pixels, size_t count);

#endif
