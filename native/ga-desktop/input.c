#define _GNU_SOURCE
#include "input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <xcb/xkb.h>
#include <xcb/xtest.h>

#include "clock.h"
#include "held.h"
#include "keyboard.h"

#define CORE_KEYBOARD XCB_XKB_ID_USE_CORE_KBD

static void watch_keyboard(struct input *input) {
    const uint16_t events = XCB_XKB_EVENT_TYPE_NEW_KEYBOARD_NOTIFY | XCB_XKB_EVENT_TYPE_MAP_NOTIFY;
    const uint16_t parts = XCB_XKB_MAP_PART_KEY_TYPES | XCB_XKB_MAP_PART_KEY_SYMS | XCB_XKB_MAP_PART_MODIFIER_MAP;
    xcb_xkb_select_events(input->display.connection, CORE_KEYBOARD, events, 0, events, parts, parts, NULL);
}

bool input_open(struct input *input, const char *display, const atomic_bool *stopping, char *reason, int reason_size) {
    const char *missing;
    *input = (struct input){.stopping = stopping};
    if (!x_display_open(&input->display, display, 0, reason, reason_size)) return false;
    if (!x_display_prepare_input(&input->display, &missing)) {
        snprintf(reason, (size_t)reason_size, "the X server lacks %s", missing);
        return false;
    }
    watch_keyboard(input);
    bool ready = spare_open(&input->spare, &input->display) && drain_open(&input->drain, &input->display, 0) &&
                 wm_turn_open(&input->wm_turn, &input->display) && keyboard_begin(input);
    if (!ready) snprintf(reason, (size_t)reason_size, "the keyboard map could not be read");
    return ready;
}

void input_close(struct input *input) {
    if (!input->display.connection) return;
    if (!x_display_lost(&input->display)) {
        held_release_all(input);
        keyboard_give_back(input);
        x_display_sync(&input->display);
    }
    keymap_free(&input->keymap);
    drain_close(&input->drain);
    x_display_close(&input->display);
}

static void take_event(struct input *input, const xcb_generic_event_t *event) {
    uint8_t type = event->response_type & 0x7f;
    if (type == 0) {
        input->errors++;
    } else if (type == XCB_CONFIGURE_NOTIFY) {
        x_display_take_configure(&input->display, (const xcb_configure_notify_event_t *)event);
    } else if (type == XCB_CLIENT_MESSAGE) {
        drain_take_message(&input->drain, (const xcb_client_message_event_t *)event);
    } else if (type == XCB_PROPERTY_NOTIFY) {
        wm_turn_take_property(&input->wm_turn, (const xcb_property_notify_event_t *)event);
    } else if (type == input->display.xkb_event) {
        bool ours = (int)(event->full_sequence - input->spare.written_from) >= 0 &&
                    (int)(event->full_sequence - input->spare.written_to) <= 0 && input->spare.written_to;
        if (!ours) input->keymap.known = false;
    }
}

bool input_read_events(struct input *input) {
    xcb_generic_event_t *event;
    while ((event = xcb_poll_for_event(input->display.connection))) {
        take_event(input, event);
        free(event);
    }
    return !x_display_lost(&input->display);
}

bool input_go_on(struct input *input) {
    char byte;
    if (!input_read_events(input) || atomic_load(input->stopping)) return false;
    if (!input->client) return true;
    ssize_t got = recv(input->client->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

static bool turn(void *owner) {
    return input_go_on(owner);
}

struct drain_patience input_patience(struct input *input, uint64_t limit_ns) {
    return (struct drain_patience){turn, input, limit_ns};
}

static void fake(struct input *input, uint8_t type, uint8_t detail, int x, int y) {
    xcb_test_fake_input(input->display.connection, type, detail, XCB_CURRENT_TIME, input->display.root, (int16_t)x,
                        (int16_t)y, 0);
}

void input_key(struct input *input, uint8_t keycode, bool down) {
    fake(input, down ? XCB_KEY_PRESS : XCB_KEY_RELEASE, keycode, 0, 0);
}

void input_button(struct input *input, uint8_t button, bool down) {
    if (down) input->wm_turn.pressed = true;
    if (down) atomic_fetch_add(&input->traces.presses, 1);
    fake(input, down ? XCB_BUTTON_PRESS : XCB_BUTTON_RELEASE, button, 0, 0);
}

void input_move(struct input *input, int x, int y) {
    fake(input, XCB_MOTION_NOTIFY, 0, x, y); /* detail 0: x and y are absolute */
}
