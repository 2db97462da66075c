/* Keys must not overtake a click. A window manager that focuses by click holds each press back (a frozen pointer grab)
 * until it has looked at it, but not the keys: those would reach the window that had the focus before. So after a press,
 * and before keys, the window manager is asked something that it answers in order. */
#ifndef GD_WM_TURN_H
#define GD_WM_TURN_H

#include <stdbool.h>
#include <xcb/xcb.h>

#include "drain.h"
#include "x_display.h"

struct wm_turn {
    struct x_display *display;
    xcb_window_t window; /* ours, never shown: the answer is a property on it */
    xcb_atom_t supported, ask, answer;
    bool pressed; /* since the last turn */
    bool answered;
};

bool wm_turn_open(struct wm_turn *turn, struct x_display *display);
void wm_turn_take_property(struct wm_turn *turn, const xcb_property_notify_event_t *event);
/* Asks about the presses so far; `answered` is set when it has seen them. False when there is nothing to wait for. */
bool wm_turn_ask(struct wm_turn *turn);
/* Waits until the window manager has seen every press so far, at most as long as `patience` says; at once where there was
 * none, or where no window manager answers such a question. False when the batch must end. */
bool wm_turn_wait(struct wm_turn *turn, const struct drain_patience *patience);

#endif
