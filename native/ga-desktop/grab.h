/* Pixels out of the X server: through shared memory where that works, else as replies, which is slow and said aloud. */
#ifndef GD_GRAB_H
#define GD_GRAB_H

#include <xcb/shm.h>

#include "box.h"
#include "x_display.h"

enum grab_result { GRAB_DONE, GRAB_REFUSED, GRAB_LOST };

struct grab {
    struct x_display *display;
    int width, height;
    uint8_t *memory; /* NULL without shared memory */
    size_t memory_size;
    xcb_shm_seg_t segment;
    const char *note; /* how pixels come */
    xcb_get_image_reply_t *replies[BOX_LIST_MAX];
    const uint8_t *pixels[BOX_LIST_MAX];
};

/* For a screen of this size; takes shared memory if it works. */
void grab_open(struct grab *grab, struct x_display *display, int width, int height);
void grab_close(struct grab *grab);
/* Gives the memory back until it is needed again. */
void grab_rest(struct grab *grab);

/* Takes all boxes at one moment: no other client draws in between. pixels[i] are the rows of boxes->items[i], packed,
 * until the next call. GRAB_REFUSED: a box lies outside the screen, whose size must have changed. */
enum grab_result grab_boxes(struct grab *grab, const struct box_list *boxes);

#endif
