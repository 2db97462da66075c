#include "capture.h"

#include <stdio.h>

#include "clock.h"
#include "cursor.h"
#include "damage.h"
#include "picture.h"

#define RESIZE_TRIES 8

static enum capture_result open_size(struct capture *capture) {
    int width, height;
    if (!x_display_size(&capture->display, &width, &height)) return CAPTURE_LOST;
    capture->resized = false;
    capture->behind.count = capture->shared_behind.count = 0; /* all is published next */
    frames_close(&capture->frames);
    grab_close(&capture->grab);
    if (!frames_open(&capture->frames, width, height, ++capture->generation)) return CAPTURE_IMPOSSIBLE;
    grab_open(&capture->grab, &capture->display, width, height);
    return CAPTURE_DONE;
}

static struct gd_SLOT facts_now(struct capture *capture, uint64_t after_input) {
    return (struct gd_SLOT){
        .picture = ++capture->pictures, .captured_at_ns = clock_ns(), .after_input = after_input};
}

/* Publishes a frame in which the boxes show what the screen does. */
static enum capture_result publish(struct capture *capture, struct box_list *boxes, uint64_t after_input) {
    struct frames *frames = &capture->frames;
    int slot = frames_choose(frames, capture->owner.kept_slots(capture->owner.owner));
    if (slot == NO_SLOT) return CAPTURE_NO_SLOT;
    capture->last_grab_ns = clock_ns();
    enum grab_result result = picture_take(capture, slot, boxes);
    struct gd_SLOT facts = facts_now(capture, after_input);
    frames_finish(frames, slot, boxes, &facts, result == GRAB_DONE);
    if (result == GRAB_LOST) return CAPTURE_LOST;
    if (result == GRAB_DONE) {
        capture->behind.count = 0;
        box_list_add_all(&capture->shared_behind, boxes);
        return CAPTURE_DONE;
    }
    capture->resized = true;
    return CAPTURE_IMPOSSIBLE;
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

static bool ask_what_was_drawn(struct capture *capture, struct box_list *boxes, uint64_t after_input) {
    boxes->count = 0;
    damage_ask(capture);
    if (!damage_answer(capture, boxes)) return false;
    capture->fresh_at_ns = clock_ns();
    capture->fresh_after_input = after_input;
    return true;
}

enum capture_result capture_refresh(struct capture *capture) {
    uint64_t after_input = atomic_load(capture->owner.acknowledged);
    if (frames_choose(&capture->frames, capture->owner.kept_slots(capture->owner.owner)) == NO_SLOT)
        return CAPTURE_NO_SLOT;
    struct box_list boxes;
    if (!ask_what_was_drawn(capture, &boxes, after_input)) return CAPTURE_LOST;
    box_list_add_all(&boxes, &capture->behind);
    enum capture_result result = CAPTURE_DONE;
    if (boxes.count) result = publish(capture, &boxes, after_input);
    if (capture->resized) result = publish_all(capture, after_input);
    damage_take_in(capture, xcb_poll_for_queued_event);
    return result;
}

/* Into the region, whole: a screen whose size has changed meanwhile is taken once more by the caller. */
static enum capture_result share(struct capture *capture, const struct grab_part **part) {
    struct box_list boxes = capture->shared_behind;
    if (!boxes.count) return CAPTURE_DONE;
    if (!grab_fits(&capture->shared.grab, capture->frames.width, capture->frames.height)) return CAPTURE_IMPOSSIBLE;
    shared_region_lock(&capture->shared);
    enum grab_result result = picture_take_raw(capture, &capture->shared.grab, &boxes, part);
    box_list_add_all(&capture->behind, &boxes);
    shared_region_unlock(&capture->shared, ++capture->pictures, capture->fresh_after_input);
    if (result == GRAB_LOST) return CAPTURE_LOST;
    capture->resized = capture->resized || result == GRAB_REFUSED;
    if (!capture->resized) capture->shared_behind.count = 0;
    return CAPTURE_DONE;
}

enum capture_result capture_refresh_shared(struct capture *capture, const struct grab_part **part) {
    uint64_t after_input = atomic_load(capture->owner.acknowledged);
    struct box_list boxes;
    *part = NULL;
    if (!ask_what_was_drawn(capture, &boxes, after_input)) return CAPTURE_LOST;
    box_list_add_all(&capture->behind, &boxes);
    box_list_add_all(&capture->shared_behind, &boxes);
    enum capture_result result = CAPTURE_DONE;
    for (int tries = 0; tries < RESIZE_TRIES; tries++) {
        if (capture->resized) result = publish_all(capture, after_input);
        if (result == CAPTURE_DONE) result = share(capture, part);
        if (result != CAPTURE_DONE || !capture->resized) break;
    }
    damage_take_in(capture, xcb_poll_for_queued_event);
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
    damage_take_in(capture, xcb_poll_for_event);
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
    enum capture_result result = publish_all(capture, 0);
    if (result != CAPTURE_DONE) snprintf(reason, (size_t)reason_size, "the first frame could not be captured");
    return result == CAPTURE_DONE;
}

void capture_close(struct capture *capture) {
    frames_close(&capture->frames);
    if (capture->display.connection) shared_region_detach(&capture->shared);
    if (capture->display.connection) grab_close(&capture->grab);
    x_display_close(&capture->display);
}
