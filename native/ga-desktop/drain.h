/* How we know that an application has read its keys, so that a key code may get another meaning.
 *
 * A mark is set behind keys that were sent. It is past when the application that had the focus (a) has answered a
 * _NET_WM_PING, which it reads after the keys, or, where it speaks no ping, (b) has been seen at rest, or, where that
 * cannot be told, (c) has had 30 ms.
 *
 * A program with several connections to the X server may get its keys through one and news of the keyboard map through
 * another (Chromium does, by way of GTK). After a change of the map such a program is given time until it rests.
 */
#ifndef GD_DRAIN_H
#define GD_DRAIN_H

#include "idle.h"
#include "x_display.h"

#define DRAIN_MARKS 16

/* The application that keys or clicks go to. */
struct drain_target {
    xcb_window_t focus;  /* as the X server says it */
    xcb_window_t window; /* XCB_NONE: nobody */
    bool pings;
    bool defers; /* does what it is told later than it reads it: see halt.h */
    int pid;
};

struct drain_mark {
    uint64_t epoch, set_ns;
    struct drain_target target;
    bool past;
};

struct drain {
    struct x_display *display;
    xcb_atom_t wm_protocols, net_wm_ping, net_wm_pid;
    bool listens;
    uint64_t epoch; /* of the newest mark */
    uint64_t past;  /* every mark up to this one is past */
    struct drain_mark marks[DRAIN_MARKS];
    int count;
    struct idle_probe probe;
    int server_pid;  /* of the X server; 0 where that cannot be told */
    struct drain_target seen;  /* who had the focus when keys were sent last */
    struct drain_target owing; /* who may still have to do what it was sent, and must before more keys; or nobody */
    uint64_t probed; /* the mark that drain_poll has turned the probe on */
    bool probing;    /* and whether the probe can tell */
};

/* Lets the owner of the wait go on with its duties; false ends the wait. */
struct drain_patience {
    bool (*turn)(void *owner); /* takes in the X server's events */
    void *owner;
    uint64_t limit_ns;
};

/* An answer to a ping reaches every drain that listens: each counts its epochs from another number. */
bool drain_open(struct drain *drain, struct x_display *display, uint64_t first_epoch);
void drain_close(struct drain *drain);
/* `known` (or NULL) is taken again if the focus is still there. */
struct drain_target drain_focus(struct drain *drain, const struct drain_target *known);
struct drain_target drain_under_pointer(struct drain *drain);
/* Sets a mark and returns its epoch. */
uint64_t drain_set_mark(struct drain *drain, struct drain_target target, const struct drain_patience *patience);
/* Waits until the marks up to this epoch are past; false when patience ended first. */
bool drain_wait(struct drain *drain, uint64_t epoch, const struct drain_patience *patience);
/* One look, without waiting: whether the marks up to this epoch are past. Not on a drain that is also waited for. */
bool drain_poll(struct drain *drain, uint64_t epoch);
/* Nobody wants to know of the marks any more. */
void drain_forget(struct drain *drain);
/* After a change of the keyboard map, before keys; false when patience ended first. */
bool drain_await_map(struct drain *drain, const struct drain_target *target, const struct drain_patience *patience);
/* Until the application has done all that it was sent, and rested so long; false when patience ended first. */
bool drain_await_deed(struct drain *drain, const struct drain_target *target, uint64_t quiet_ns,
                      const struct drain_patience *patience);
void drain_take_message(struct drain *drain, const xcb_client_message_event_t *message);
/* Marks that nobody waits for are settled here, without waiting. */
void drain_look(struct drain *drain);

#endif
