#include "capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cursor.h"

#define RESIZE_TRIES 8
#define DRAWN_MAX 256

static enum capture_result open_size(struct capture *capture) {
    int width, height;
    if (!x_display_size(&capture->display, &width, &height)) return CAPTURE_LOST;
    capture->resized = false;
    frames_close(&capture->frames);
    grab_close(&capture->grab);
    if (!frames_open(&capture->frames, width, height, ++capture->generation)) return CAPTURE_IMPOSSIBLE;
    grab_open(&capture->grab, &capture->display, width, height);
    return CAPTURE_DONE;
}

static void convert(struct capture *capture, int slot, const struct box_list *boxes) {
    const struct pixel_format *format = &capture->display.format;
    bool usual = pixel_format_is_bgrx(format);
    bgrx_row row = bgrx_row_best();
    for (int i = 0; i < boxes->count; i++) {
        const struct box *box = &boxes->items[i];
        size_t width = (size_t)box->width, stride = pixel_stride(format, box->width);
        for (int y = 0; y < box->height; y++) {
            const uint8_t *from = capture->grab.pixels[i] + (size_t)y * stride;
            uint8_t *to = frames_pixel(&capture->frames, slot, box->x, box->y + y);
            if (usual)
                row(to, from, width);
            else
                masked_row(format, to, from, width);
        }
    }
}

static struct gd_SLOT facts_now(struct capture *capture, uint64_t after_input) {
    return (struct gd_SLOT){
        .picture = ++capture->pictures, .captured_at_ns = clock_ns(), .after_input = after_input};
}

/* Grabs the boxes and publishes the frame that they make. */
static enum capture_result publish(struct capture *capture, struct box_list *boxes, uint64_t after_input) {
    struct frames *frames = &capture->frames;
    int slot = frames_choose(frames, capture->owner.kept_slots(capture->owner.owner));
    if (slot == NO_SLOT) return CAPTURE_NO_SLOT;
    if (box_list_area(boxes) > (size_t)frames->width * (size_t)frames->height) box_list_collapse(boxes);
    enum grab_result result = grab_boxes(&capture->grab, boxes);
    if (result == GRAB_LOST) return CAPTURE_LOST;
    if (result == GRAB_REFUSED) {
        capture->resized = true;
        return CAPTURE_IMPOSSIBLE;
    }
    capture->last_grab_ns = clock_ns();
    frames_begin(frames, slot, boxes);
    convert(capture, slot, boxes);
    struct gd_SLOT facts = facts_now(capture, after_input);
    frames_finish(frames, slot, boxes, &facts, true);
    return CAPTURE_DONE;
}

static enum capture_result publish_all(struct capture *capture, uint64_t after_input) {
    enum capture_result result = CAPTURE_IMPOSSIBLE;
    for (int tries = 0; tries < RESIZE_TRIES && result == CAPTURE_IMPOSSIBLE; tries++) {
        result = open_size(capture);
        if (result != CAPTURE_DONE) return result;
        struct box all = {0, 0, capture->frames.width, capture->frames.height};
        struct box_list boxes = {.count = 0};
        box_list_add(&boxes, all);
        capture->owner.drawn(capture->owner.owner, &all, 1, clock_ns());
        result = publish(capture, &boxes, after_input);
    }
    return result;
}

/* What the X server has noted as drawn, taken from it in one step so that nothing falls between. */
static xcb_xfixes_fetch_region_reply_t *take_damage(struct capture *capture) {
    xcb_connection_t *c = capture->display.connection;
    capture->taken_at = xcb_damage_subtract(c, capture->damage, XCB_NONE, capture->region).sequence;
    capture->damaged = false;
    return xcb_xfixes_fetch_region_reply(c, xcb_xfixes_fetch_region(c, capture->region), NULL);
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

static void take_in(struct capture *capture, xcb_generic_event_t *(*next)(xcb_connection_t *)) {
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

enum capture_result capture_refresh(struct capture *capture) {
    uint64_t after_input = atomic_load(capture->owner.acknowledged);
    if (frames_choose(&capture->frames, capture->owner.kept_slots(capture->owner.owner)) == NO_SLOT)
        return CAPTURE_NO_SLOT;
    xcb_xfixes_fetch_region_reply_t *region = take_damage(capture);
    if (!region) return CAPTURE_LOST;
    take_in(capture, xcb_poll_for_queued_event); /* what came before the answer is in the queue by now */
    capture->fresh_at_ns = clock_ns();
    capture->fresh_after_input = after_input;
    struct box_list boxes = {.count = 0};
    enum capture_result result = CAPTURE_DONE;
    if (!capture->resized) boxes_of(capture, region, &boxes);
    free(region);
    if (boxes.count) result = publish(capture, &boxes, after_input);
    if (capture->resized) result = publish_all(capture, after_input);
    take_in(capture, xcb_poll_for_queued_event);
    return result;
}

void capture_rest(struct capture *capture) {
    grab_rest(&capture->grab);
    frames_rest(&capture->frames, capture->owner.kept_slots(capture->owner.owner));
}

enum capture_result capture_with_pointer(struct capture *capture, int *slot) {
    struct cursor cursor;
    struct frames *frames = &capture->frames;
    *slot = frames_choose(frames, capture->owner.kept_slots(capture->owner.owner));
    if (*slot == NO_SLOT) return CAPTURE_NO_SLOT;
    if (!cursor_get(&cursor, &capture->display)) return CAPTURE_LOST;
    struct box_list changed = {.count = 0}, none = {.count = 0};
    frames_begin(frames, *slot, &none);
    struct box screen = {0, 0, frames->width, frames->height};
    struct box drawn = box_intersection(cursor.box, screen);
    for (int y = drawn.y; y < drawn.y + drawn.height; y++)
        cursor_blend(&cursor, frames_pixel(frames, *slot, drawn.x, y), drawn.x, y, drawn.width);
    box_list_add(&changed, drawn);
    struct gd_SLOT facts = facts_now(capture, frames->slots[frames->newest].after_input);
    frames_finish(frames, *slot, &changed, &facts, false);
    cursor_free(&cursor);
    return CAPTURE_DONE;
}

bool capture_read_events(struct capture *capture) {
    take_in(capture, xcb_poll_for_event);
    return !x_display_lost(&capture->display);
}

bool capture_open(struct capture *capture, const char *display, double wait_s, struct capture_owner owner,
                  char *reason, int reason_size) {
    const char *missing;
    *capture = (struct capture){.owner = owner, .frames = {.fd = -1}};
    if (!x_display_open(&capture->display, display, wait_s, reason, reason_size)) return false;
    if (!x_display_prepare_capture(&capture->display, &missing)) {
        snprintf(reason, (size_t)reason_size, "the X server lacks %s", missing);
        return false;
    }
    xcb_connection_t *c = capture->display.connection;
    capture->damage = xcb_generate_id(c);
    capture->region = xcb_generate_id(c);
    xcb_damage_create(c, capture->damage, capture->display.root, XCB_DAMAGE_REPORT_LEVEL_NON_EMPTY);
    xcb_xfixes_create_region(c, capture->region, 0, NULL);
    free(take_damage(capture));
    enum capture_result result = publish_all(capture, 0);
    if (result != CAPTURE_DONE) snprintf(reason, (size_t)reason_size, "the first frame could not be captured");
    return result == CAPTURE_DONE;
}

void capture_close(struct capture *capture) {
    frames_close(&capture->frames);
    if (capture->display.connection) grab_close(&capture->grab);
    x_display_close(&capture->display);
}
