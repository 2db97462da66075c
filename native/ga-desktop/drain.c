#define _GNU_SOURCE
#include "drain.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"

#define BLIND_NS (30 * MS_NS)      /* what an application gets that tells us nothing */
/* A busy program is never seen at rest: it has had its time then, if it has read all. */
#define IDLE_LIMIT_NS (1000 * MS_NS)
#define MAP_LIMIT_NS (250 * MS_NS)
#define DEED_LIMIT_NS (5000 * MS_NS)
#define SERVER_TURNS 3
#define LOOK_NS (MS_NS / 2)

static xcb_atom_t atom(xcb_connection_t *c, const char *name) {
    xcb_intern_atom_cookie_t ask = xcb_intern_atom(c, 0, (uint16_t)strlen(name), name);
    xcb_intern_atom_reply_t *reply = xcb_intern_atom_reply(c, ask, NULL);
    xcb_atom_t found = reply ? reply->atom : XCB_ATOM_NONE;
    free(reply);
    return found;
}

static int server_pid(struct drain *drain) {
    struct ucred server;
    socklen_t size = sizeof server;
    int fd = xcb_get_file_descriptor(drain->display->connection);
    char stat[32];
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &server, &size) != 0 || server.pid <= 0) return 0;
    snprintf(stat, sizeof stat, "/proc/%d/stat", (int)server.pid);
    return access(stat, R_OK) == 0 ? server.pid : 0;
}

bool drain_open(struct drain *drain, struct x_display *display, uint64_t first_epoch) {
    *drain = (struct drain){.display = display, .epoch = first_epoch, .past = first_epoch};
    drain->wm_protocols = atom(display->connection, "WM_PROTOCOLS");
    drain->net_wm_ping = atom(display->connection, "_NET_WM_PING");
    drain->server_pid = server_pid(drain);
    return !x_display_lost(display);
}

void drain_close(struct drain *drain) {
    idle_end(&drain->probe);
}

/* Answers to pings are sent to the root window: to those who select the one (GTK) or the other (Qt 5). */
static void hear_answers(struct drain *drain, bool on) {
    const uint32_t answers = XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY | XCB_EVENT_MASK_STRUCTURE_NOTIFY;
    const uint32_t events = drain->display->root_events | (on ? answers : 0);
    if (drain->listens == on) return;
    xcb_change_window_attributes(drain->display->connection, drain->display->root, XCB_CW_EVENT_MASK, &events);
    drain->listens = on;
}

static void ping(struct drain *drain, const struct drain_mark *mark) {
    xcb_client_message_event_t message = {
        .response_type = XCB_CLIENT_MESSAGE,
        .format = 32,
        .window = mark->target.window,
        .type = drain->wm_protocols,
        .data.data32 = {drain->net_wm_ping, (uint32_t)mark->epoch, mark->target.window},
    };
    xcb_send_event(drain->display->connection, 0, mark->target.window, XCB_EVENT_MASK_NO_EVENT, (const char *)&message);
}

void drain_take_message(struct drain *drain, const xcb_client_message_event_t *message) {
    if (message->type != drain->wm_protocols || message->format != 32) return;
    if (message->data.data32[0] != drain->net_wm_ping) return;
    for (int i = 0; i < drain->count; i++) {
        struct drain_mark *mark = &drain->marks[i];
        const uint32_t *data = message->data.data32;
        bool answers = data[1] == (uint32_t)mark->epoch && data[2] == mark->target.window;
        if (mark->target.pings && answers) mark->past = true;
    }
}

static void drop_past(struct drain *drain) {
    int gone = 0;
    while (gone < drain->count && drain->marks[gone].past) drain->past = drain->marks[gone++].epoch;
    drain->count -= gone;
    memmove(drain->marks, drain->marks + gone, (size_t)drain->count * sizeof *drain->marks);
    if (!drain->count) hear_answers(drain, false);
}

void drain_look(struct drain *drain) {
    uint64_t now = clock_ns();
    for (int i = 0; i < drain->count; i++) {
        struct drain_mark *mark = &drain->marks[i];
        bool blind = !mark->target.pings && !mark->target.pid && now - mark->set_ns >= BLIND_NS;
        if (mark->target.window == XCB_NONE || blind) mark->past = true;
    }
    drop_past(drain);
}

uint64_t drain_set_mark(struct drain *drain, struct drain_target target, const struct drain_patience *patience) {
    if (drain->count == DRAIN_MARKS) drain_wait(drain, drain->marks[0].epoch, patience);
    if (drain->count == DRAIN_MARKS) drain->marks[0].past = true, drop_past(drain);
    struct drain_mark mark = {.epoch = ++drain->epoch, .set_ns = clock_ns(), .target = target};
    if (target.pings) {
        hear_answers(drain, true);
        ping(drain, &mark);
    }
    xcb_flush(drain->display->connection);
    drain->marks[drain->count++] = mark;
    return mark.epoch;
}

static bool window_exists(struct drain *drain, xcb_window_t window) {
    xcb_connection_t *c = drain->display->connection;
    xcb_get_window_attributes_reply_t *reply =
        xcb_get_window_attributes_reply(c, xcb_get_window_attributes(c, window), NULL);
    bool exists = reply != NULL;
    free(reply);
    return exists;
}

static void wait_for_events(struct drain *drain, uint64_t ns) {
    struct pollfd polled = {.fd = xcb_get_file_descriptor(drain->display->connection), .events = POLLIN};
    struct timespec span = {0, (long)ns};
    ppoll(&polled, 1, &span, NULL);
}

/* A program that waits for the X server's answer looks idle too. The server has work then: once it has none, the
 * program must still be idle. */
static enum idle_state look_twice(struct drain *drain) {
    enum idle_state state = idle_look(&drain->probe);
    if (state != IDLE_REACHED) return state;
    if (drain->server_pid) {
        if (!idle_sleeps(drain->server_pid)) return IDLE_RUNNING;
    } else {
        for (int i = 0; i < SERVER_TURNS; i++) x_display_sync(drain->display);
    }
    return idle_look(&drain->probe);
}

/* One more look at the oldest mark; the probe watches its process where there is no ping. */
static void look_at_oldest(struct drain *drain, bool probing) {
    struct drain_mark *mark = &drain->marks[0];
    uint64_t waited = clock_ns() - mark->set_ns;
    enum idle_state state = probing ? look_twice(drain) : IDLE_UNREAD;
    if (state == IDLE_REACHED || (state == IDLE_RUNNING && waited >= IDLE_LIMIT_NS)) mark->past = true;
    if (mark->target.pid && !mark->target.pings && !probing && waited >= BLIND_NS) mark->past = true;
    /* Asked seldom: a window that went away takes its answer with it. */
    if (mark->target.pings && waited > BLIND_NS && !window_exists(drain, mark->target.window)) mark->past = true;
    drain_look(drain);
}

bool drain_poll(struct drain *drain, uint64_t epoch) {
    drain_look(drain);
    if (drain->past >= epoch || !drain->count) return true;
    const struct drain_mark *oldest = &drain->marks[0];
    if (drain->probed != oldest->epoch) {
        drain->probed = oldest->epoch;
        drain->probing = !oldest->target.pings && idle_begin(&drain->probe, oldest->target.pid);
    }
    look_at_oldest(drain, drain->probing);
    return drain->past >= epoch || !drain->count;
}

void drain_forget(struct drain *drain) {
    for (int i = 0; i < drain->count; i++) drain->marks[i].past = true;
    drop_past(drain);
}

/* False when patience ended. */
static bool await_oldest(struct drain *drain, const struct drain_patience *patience, uint64_t until) {
    const struct drain_mark *oldest = &drain->marks[0];
    uint64_t watched = oldest->epoch, step = LOOK_NS;
    bool probing = !oldest->target.pings && idle_begin(&drain->probe, oldest->target.pid);
    while (drain->count && drain->marks[0].epoch == watched) {
        if (!patience->turn(patience->owner) || clock_ns() > until) return false;
        look_at_oldest(drain, probing);
        if (!drain->count || drain->marks[0].epoch != watched) break;
        wait_for_events(drain, step);
        if (!probing && step < 10 * MS_NS) step += step / 2;
    }
    return true;
}

bool drain_wait(struct drain *drain, uint64_t epoch, const struct drain_patience *patience) {
    uint64_t until = clock_ns() + patience->limit_ns;
    drain_look(drain);
    while (drain->past < epoch && drain->count)
        if (!await_oldest(drain, patience, until)) return false;
    return true;
}

/* A program that runs on and on has had its time after `busy_ns`. */
static bool await_rest(struct drain *drain, uint64_t quiet_ns, uint64_t busy_ns,
                       const struct drain_patience *patience) {
    uint64_t began = clock_ns();
    for (;;) {
        uint64_t now = clock_ns(), waited = now - began;
        if (!patience->turn(patience->owner) || waited > patience->limit_ns) return false;
        enum idle_state state = look_twice(drain);
        if (state == IDLE_REACHED && now - drain->probe.since_ns >= quiet_ns) return true;
        if (state == IDLE_RUNNING && waited >= busy_ns) return true;
        wait_for_events(drain, LOOK_NS);
    }
}

static bool await_time(struct drain *drain, uint64_t ns, const struct drain_patience *patience) {
    uint64_t until = clock_ns() + ns;
    while (clock_ns() < until) {
        if (!patience->turn(patience->owner)) return false;
        wait_for_events(drain, LOOK_NS);
    }
    return true;
}

bool drain_await_map(struct drain *drain, const struct drain_target *target, const struct drain_patience *patience) {
    if (!idle_begin(&drain->probe, target->pid) || drain->probe.sockets.count < 2) return true;
    return await_rest(drain, 0, MAP_LIMIT_NS, patience);
}

bool drain_await_deed(struct drain *drain, const struct drain_target *target, uint64_t quiet_ns,
                      const struct drain_patience *patience) {
    /* GTK stops taking events while it waits to paint, and rests then, with events that it has read. */
    if (!drain_wait(drain, drain_set_mark(drain, *target, patience), patience)) return false;
    if (idle_begin(&drain->probe, target->pid)) return await_rest(drain, quiet_ns, DEED_LIMIT_NS, patience);
    return await_time(drain, quiet_ns > BLIND_NS ? quiet_ns : BLIND_NS, patience);
}
