#define _GNU_SOURCE
#include "wm_turn.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

#define LOOK_NS (20 * MS_NS)
#define SUPPORTED_MAX 1024

static xcb_atom_t atom_reply(xcb_connection_t *c, xcb_intern_atom_cookie_t ask) {
    xcb_intern_atom_reply_t *reply = xcb_intern_atom_reply(c, ask, NULL);
    xcb_atom_t found = reply ? reply->atom : XCB_ATOM_NONE;
    free(reply);
    return found;
}

bool wm_turn_open(struct wm_turn *turn, struct x_display *display) {
    static const char supported[] = "_NET_SUPPORTED", ask[] = "_NET_REQUEST_FRAME_EXTENTS";
    static const char answer[] = "_NET_FRAME_EXTENTS";
    const uint32_t values[] = {1, XCB_EVENT_MASK_PROPERTY_CHANGE}; /* override-redirect: nobody manages it */
    xcb_connection_t *c = display->connection;
    xcb_intern_atom_cookie_t cookies[] = {
        xcb_intern_atom(c, 0, sizeof supported - 1, supported),
        xcb_intern_atom(c, 0, sizeof ask - 1, ask),
        xcb_intern_atom(c, 0, sizeof answer - 1, answer),
    };
    *turn = (struct wm_turn){.display = display, .window = xcb_generate_id(c)};
    xcb_create_window(c, XCB_COPY_FROM_PARENT, turn->window, display->root, -10, -10, 1, 1, 0,
                      XCB_WINDOW_CLASS_INPUT_ONLY, XCB_COPY_FROM_PARENT, XCB_CW_OVERRIDE_REDIRECT | XCB_CW_EVENT_MASK,
                      values);
    turn->supported = atom_reply(c, cookies[0]);
    turn->ask = atom_reply(c, cookies[1]);
    turn->answer = atom_reply(c, cookies[2]);
    return !x_display_lost(display);
}

void wm_turn_take_property(struct wm_turn *turn, const xcb_property_notify_event_t *event) {
    if (event->window == turn->window && event->atom == turn->answer && event->state == XCB_PROPERTY_NEW_VALUE)
        turn->answered = true;
}

/* Asked anew each time: window managers come and go. */
static bool will_answer(struct wm_turn *turn) {
    xcb_connection_t *c = turn->display->connection;
    xcb_get_property_cookie_t cookie =
        xcb_get_property(c, 0, turn->display->root, turn->supported, XCB_ATOM_ATOM, 0, SUPPORTED_MAX);
    xcb_get_property_reply_t *reply = xcb_get_property_reply(c, cookie, NULL);
    bool found = false;
    if (reply && reply->format == 32) {
        const xcb_atom_t *atoms = xcb_get_property_value(reply);
        for (uint32_t i = 0; i < reply->value_len && !found; i++) found = atoms[i] == turn->ask;
    }
    free(reply);
    return found;
}

static void put_question(struct wm_turn *turn) {
    xcb_connection_t *c = turn->display->connection;
    xcb_client_message_event_t message = {
        .response_type = XCB_CLIENT_MESSAGE, .format = 32, .window = turn->window, .type = turn->ask};
    turn->answered = false;
    xcb_delete_property(c, turn->window, turn->answer);
    xcb_send_event(c, 0, turn->display->root,
                   XCB_EVENT_MASK_SUBSTRUCTURE_REDIRECT | XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY, (const char *)&message);
    xcb_flush(c);
}

bool wm_turn_ask(struct wm_turn *turn) {
    if (!turn->pressed) return false;
    turn->pressed = false;
    if (!will_answer(turn)) return false;
    put_question(turn);
    return true;
}

bool wm_turn_wait(struct wm_turn *turn, const struct drain_patience *patience) {
    uint64_t until = clock_ns() + patience->limit_ns;
    if (!wm_turn_ask(turn)) return !x_display_lost(turn->display);
    while (patience->turn(patience->owner)) {
        if (turn->answered || clock_ns() > until) return true; /* one that hangs holds the pointer, not us */
        struct pollfd polled = {.fd = xcb_get_file_descriptor(turn->display->connection), .events = POLLIN};
        struct timespec span = {0, LOOK_NS};
        ppoll(&polled, 1, &span, NULL);
    }
    return false;
}
