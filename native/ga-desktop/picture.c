#include "picture.h"

#include "damage.h"

/* How often to follow what is drawn elsewhere meanwhile, before all of the screen is taken. */
#define TRIES_MAX 4

static void convert(struct capture *capture, int slot, const struct grab_part *part) {
    const struct pixel_format *format = &capture->display.format;
    bool usual = pixel_format_is_bgrx(format);
    bgrx_row row = capture->for_later ? bgrx_row_for_later() : bgrx_row_best();
    for (int i = 0; i < part->boxes.count; i++) {
        const struct box *box = &part->boxes.items[i];
        size_t width = (size_t)box->width, stride = pixel_stride(format, box->width);
        int rows = box->height;
        if (usual && box->width == capture->frames.width) { /* rows that follow each other are one long one */
            width *= (size_t)rows;
            rows = 1;
        }
        for (int y = 0; y < rows; y++) {
            const uint8_t *from = part->pixels[i] + (size_t)y * stride;
            uint8_t *to = frames_pixel(&capture->frames, slot, box->x, box->y + y);
            if (usual)
                row(to, from, width);
            else
                masked_row(format, to, from, width);
        }
    }
}

/* Fetches by parts, several of which are under way. They are of one moment unless `damaged` is set: the X server tells of
 * the first drawing since we asked for the damage before it answers anything later. So nobody need hold it up. */
static enum grab_result take_by_parts(struct capture *capture, int slot, const struct box_list *boxes) {
    struct box_list_cut rest = {.list = boxes};
    struct box_list next;
    struct grab_part *parts[GRAB_PARTS];
    unsigned int asked = 0, answered = 0;
    enum grab_result result = GRAB_DONE;
    bool wanted = true;
    while (wanted || answered < asked) {
        while (wanted && asked - answered < GRAB_PARTS && (wanted = box_list_cut(&rest, GRAB_PART_PIXELS, &next)))
            parts[asked++ % GRAB_PARTS] = grab_ask(&capture->grab, &next);
        xcb_flush(capture->display.connection);
        if (!answered) frames_begin(&capture->frames, slot, boxes); /* while the X server copies */
        if (answered == asked) break;
        struct grab_part *part = parts[answered++ % GRAB_PARTS];
        enum grab_result one = grab_answer(&capture->grab, part);
        damage_take_in(capture, xcb_poll_for_queued_event);
        if (one != GRAB_DONE) result = one;
        bool good = result == GRAB_DONE && !capture->damaged;
        if (good) convert(capture, slot, part);
        wanted = wanted && good;
    }
    return result;
}

static bool covers(const struct box_list *list, const struct box_list *others) {
    for (int i = 0; i < others->count; i++)
        if (!box_list_covers(list, others->items[i])) return false;
    return true;
}

/* The pixels and what was drawn until then, in one step of the X server: what is sent together holds nobody up. */
static enum grab_result take_at_once(struct capture *capture, struct grab *grab, const struct box_list *boxes,
                                     struct box_list *drawn, const struct grab_part **taken) {
    xcb_connection_t *c = capture->display.connection;
    xcb_grab_server(c);
    damage_ask(capture);
    struct grab_part *part = grab_ask(grab, boxes);
    xcb_ungrab_server(c);
    bool answered = damage_answer(capture, drawn);
    enum grab_result result = grab_answer(grab, part);
    *taken = part;
    if (!answered) return GRAB_LOST;
    return capture->resized ? GRAB_REFUSED : result;
}

/* Adds what was drawn; more than the screen does not fit into the grab. */
static void add_drawn(struct box_list *boxes, const struct box_list *drawn, struct box screen) {
    box_list_add_all(boxes, drawn);
    if (box_list_area(boxes) > box_area(screen)) box_list_collapse(boxes);
}

/* For boxes of which pixels were taken while something was drawn: again, until nothing is drawn elsewhere meanwhile. */
static enum grab_result take_again(struct capture *capture, struct grab *grab, struct box_list *boxes,
                                   const struct grab_part **part) {
    struct box screen = {0, 0, capture->frames.width, capture->frames.height};
    struct box_list drawn = {.count = 0};
    int tries = 0;
    enum grab_result result;
    do {
        if (++tries == TRIES_MAX) box_list_add(&drawn, screen);
        add_drawn(boxes, &drawn, screen);
        drawn.count = 0;
        result = take_at_once(capture, grab, boxes, &drawn, part);
    } while (result == GRAB_DONE && !covers(boxes, &drawn));
    return result;
}

enum grab_result picture_take(struct capture *capture, int slot, struct box_list *boxes) {
    const struct grab_part *part;
    enum grab_result result = take_by_parts(capture, slot, boxes);
    if (result != GRAB_DONE || !capture->damaged) return result;
    result = take_again(capture, &capture->grab, boxes, &part);
    if (result == GRAB_DONE) convert(capture, slot, part);
    return result;
}

enum grab_result picture_take_raw(struct capture *capture, struct grab *grab, struct box_list *boxes,
                                  const struct grab_part **part) {
    struct box screen = {0, 0, capture->frames.width, capture->frames.height};
    if (box_list_area(boxes) > box_area(screen)) box_list_collapse(boxes);
    struct grab_part *first = grab_ask(grab, boxes);
    enum grab_result result = grab_answer(grab, first);
    damage_take_in(capture, xcb_poll_for_queued_event);
    *part = first;
    if (result != GRAB_DONE || !capture->damaged) return result;
    return take_again(capture, grab, boxes, part);
}
