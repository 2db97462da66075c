/* The pointer's image, which is not part of the screen's pixels. */
#ifndef GD_CURSOR_H
#define GD_CURSOR_H

#include <xcb/xfixes.h>

#include "box.h"
#include "x_display.h"

struct cursor {
    xcb_xfixes_get_cursor_image_reply_t *image;
    const uint32_t *pixels; /* alpha, red, green, blue; colours already multiplied by alpha */
    struct box box;         /* where it lies on the screen, parts of it perhaps outside */
};

bool cursor_get(struct cursor *cursor, struct x_display *display);
void cursor_free(struct cursor *cursor);
/* Lays the part of the image that starts at (x, y) of the screen over `width` pixels of RGB. */
void cursor_blend(const struct cursor *cursor, uint8_t *rgb, int x, int y, int width);

#endif
