/* Pixels out of the X server: through shared memory where that works, else as replies, which is slow and said aloud. */
#ifndef GD_GRAB_H
#define GD_GRAB_H

#include <xcb/shm.h>

#include "box.h"
#include "x_display.h"

/* So many may be asked for before the first is answered: the X server copies while we convert, and neither wakes the
 * other for each. Few and small, so that what is converted still lies in the processor's cache. */
#define GRAB_PARTS 4
#define GRAB_PART_PIXELS (128 * 1024)

enum grab_result { GRAB_DONE, GRAB_REFUSED, GRAB_LOST };

/* Boxes that were asked for together. */
struct grab_part {
    struct box_list boxes;
    const uint8_t *pixels[BOX_LIST_MAX]; /* once answered: the rows of each box, packed */
    unsigned int asked[BOX_LIST_MAX];    /* sequence numbers */
    xcb_get_image_reply_t *replies[BOX_LIST_MAX];
};

struct grab {
    struct x_display *display;
    int width, height;
    uint8_t *memory; /* NULL without shared memory */
    size_t memory_size;
    size_t base; /* where in the memory pixels begin */
    xcb_shm_seg_t segment;
    const char *note; /* how pixels come */
    struct grab_part parts[GRAB_PARTS];
    unsigned int turn; /* how many parts were asked for */
};

/* For a screen of this size; takes shared memory if it works. */
void grab_open(struct grab *grab, struct x_display *display, int width, int height);
/* The same into a file that both we and the X server map, pixels from `base` on; false with the reason as the note. */
bool grab_open_file(struct grab *grab, struct x_display *display, int fd, size_t base);
/* Whether a screen of this size fits. */
bool grab_fits(const struct grab *grab, int width, int height);
void grab_close(struct grab *grab);
/* Gives the memory back until it is needed again. */
void grab_rest(struct grab *grab);

/* Where in the memory the rows of a part's box are. */
size_t grab_offset(const struct grab *grab, const struct grab_part *part, int box);

/* Asks for boxes; nothing is sent before somebody waits or flushes. The part is valid until the GRAB_PARTS-th next one is
 * asked for. More than GRAB_PART_PIXELS only when no other part awaits its answer. */
struct grab_part *grab_ask(struct grab *grab, const struct box_list *boxes);
/* Waits for a part; they are answered in their order. GRAB_REFUSED: a box lies outside the screen, whose size must have
 * changed. */
enum grab_result grab_answer(struct grab *grab, struct grab_part *part);

#endif
