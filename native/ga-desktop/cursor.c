#include "cursor.h"

#include <stdlib.h>

bool cursor_get(struct cursor *cursor, struct x_display *display) {
    xcb_connection_t *c = display->connection;
    cursor->image = xcb_xfixes_get_cursor_image_reply(c, xcb_xfixes_get_cursor_image(c), NULL);
    if (!cursor->image) return false;
    cursor->pixels = xcb_xfixes_get_cursor_image_cursor_image(cursor->image);
    if (display->has_other_screens && !x_display_has_pointer(display)) cursor->image->width = 0;
    cursor->box = (struct box){cursor->image->x - cursor->image->xhot, cursor->image->y - cursor->image->yhot,
                               cursor->image->width, cursor->image->height};
    return true;
}

void cursor_free(struct cursor *cursor) {
    free(cursor->image);
    cursor->image = NULL;
}

static uint8_t over(uint32_t above, uint32_t alpha, uint8_t below) {
    uint32_t value = above + (below * (255 - alpha) + 127) / 255;
    return (uint8_t)(value > 255 ? 255 : value);
}

void cursor_blend(const struct cursor *cursor, uint8_t *rgb, int x, int y, int width) {
    const uint32_t *row = cursor->pixels + (size_t)(y - cursor->box.y) * (size_t)cursor->box.width;
    const uint32_t *from = row + (x - cursor->box.x);
    for (int i = 0; i < width; i++, rgb += 3) {
        uint32_t pixel = from[i], alpha = pixel >> 24;
        rgb[0] = over(pixel >> 16 & 0xff, alpha, rgb[0]);
        rgb[1] = over(pixel >> 8 & 0xff, alpha, rgb[1]);
        rgb[2] = over(pixel & 0xff, alpha, rgb[2]);
    }
}
