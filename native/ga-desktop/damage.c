#include "damage.h"

#include <stdlib.h>

#include "clock.h"

#define DRAWN_MAX 256

void damage_ask(struct capture *capture) {
    xcb_connection_t *c = capture->display.connection;
    capture->taken_at = xcb_damage_subtract(c, capture->damage, XCB_NONE, capture->region).sequence;
    capture->asked = xcb_xfixes_fetch_region(c, capture->region);
    capture->damaged = false;
}

static void boxes_of(struct capture *capture, xcb_xfixes_fetch_region_reply_t *region, struct box_list *boxes) {
    const xcb_rectangle_t *rectangles = xcb_xfixes_fetch_region_rectangles(region);
    int count = xcb_xfixes_fetch_region_rectangles_length(region), kept = 0;
    struct box drawn[DRAWN_MAX], screen = {0, 0, capture->frames.width, capture->frames.height};
    for (int i = 0; i < count; i++) {
        struct box box = {rectangles[i].x, rectangles[i].y, rectangles[i].width, rectangles[i].height};
        box = box_intersection(box, screen);
        box_list_add(boxes, box);
        if (!box_is_empty(box)) drawn[kept < DRAWN_MAX ? kept++ : DRAWN_MAX - 1] = box;
    }
    if (count > DRAWN_MAX) drawn[0] = screen;
    if (kept) capture->owner.drawn(capture->owner.owner, drawn, kept, clock_ns());
}

void damage_take_in(struct capture *capture, xcb_generic_event_t *(*next)(xcb_connection_t *)) {
    xcb_generic_event_t *event;
    while ((event = next(capture->display.connection))) {
        uint8_t type = event->response_type & 0x7f;
        if (type == capture->display.damage_event) {
            /* Told before the last take: that take has it. */
            if ((int)(event->full_sequence - capture->taken_at) >= 0) capture->damaged = true;
        } else if (type == XCB_CONFIGURE_NOTIFY) {
            const xcb_configure_notify_event_t *configured = (const void *)event;
            bool same = configured->width == capture->frames.width && configured->height == capture->frames.height;
            if (configured->window == capture->display.root && !same) capture->resized = true;
        } else {
            capture->owner.event(capture->owner.owner, event);
        }
        free(event);
    }
}

bool damage_answer(struct capture *capture, struct box_list *boxes) {
    xcb_connection_t *c = capture->display.connection;
    xcb_xfixes_fetch_region_reply_t *region = xcb_xfixes_fetch_region_reply(c, capture->asked, NULL);
    if (!region) return false;
    damage_take_in(capture, xcb_poll_for_queued_event); /* what came before the answer is in the queue by now */
    if (!capture->resized) boxes_of(capture, region, boxes);
    free(region);
    return true;
}
