#define _GNU_SOURCE
#include "loop.h"

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"

enum { X_AT, WAKE_AT, LISTEN_AT, FIRST_CONNECTION_AT };

bool loop_open(struct loop *loop, const struct loop_work *work, void *owner, int x_fd, int listen_fd) {
    *loop = (struct loop){.work = work, .owner = owner, .x_fd = x_fd, .listen_fd = listen_fd};
    pthread_mutex_init(&loop->inbox_lock, NULL);
    loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return loop->wake_fd >= 0;
}

static void wake(struct loop *loop) {
    uint64_t one = 1;
    ssize_t ignored = write(loop->wake_fd, &one, sizeof one); /* full means that it is awake already */
    (void)ignored;
}

void loop_stop(struct loop *loop) {
    atomic_store(&loop->stopping, true);
    wake(loop);
}

bool loop_add(struct loop *loop, struct connection *connection) {
    if (loop->count == GD_MAX_CONNECTIONS) return false;
    loop->connections[loop->count++] = connection;
    return true;
}

static void forget(struct loop *loop, struct connection *connection) {
    for (int i = 0; i < loop->count; i++) {
        if (loop->connections[i] != connection) continue;
        loop->connections[i] = loop->connections[--loop->count];
        return;
    }
}

bool loop_hand_over(struct loop *loop, struct connection *connection) {
    pthread_mutex_lock(&loop->inbox_lock);
    bool room = loop->inbox_count < GD_MAX_CONNECTIONS;
    if (room) loop->inbox[loop->inbox_count++] = connection;
    pthread_mutex_unlock(&loop->inbox_lock);
    wake(loop);
    return room;
}

static void close_connection(struct loop *loop, struct connection *connection) {
    forget(loop, connection);
    loop->work->gone(loop, connection);
    connection_free(connection);
}

static void take_inbox(struct loop *loop) {
    pthread_mutex_lock(&loop->inbox_lock);
    while (loop->inbox_count) {
        struct connection *connection = loop->inbox[--loop->inbox_count];
        if (loop_add(loop, connection)) continue;
        connection_fail(connection, 0, GD_ERROR_BUSY, 0, "too many connections");
        connection_free(connection);
    }
    pthread_mutex_unlock(&loop->inbox_lock);
}

static bool is_foreign(const struct loop *loop, const struct connection *connection) {
    return connection->state == OPEN && connection->role != loop->work->role;
}

/* Handles what has arrived whole. */
static void serve(struct loop *loop, struct connection *connection) {
    struct message message;
    while (!loop->x_lost && !is_foreign(loop, connection) && connection_next(connection, &message)) {
        loop->work->message(loop, connection, &message);
        connection_taken(connection, &message);
    }
}

static void sweep(struct loop *loop) {
    for (int i = loop->count - 1; i >= 0; i--) {
        struct connection *connection = loop->connections[i];
        bool late = connection->state != OPEN && clock_ns() > connection->opened_ns + GD_OPENING_TIMEOUT_MS * MS_NS;
        if (late || connection->state == CLOSING) {
            close_connection(loop, connection);
        } else if (is_foreign(loop, connection)) {
            forget(loop, connection);
            loop->work->leaves(loop, connection);
        }
    }
}

/* Connections that are opening must be swept in time. */
static uint64_t opening_due(const struct loop *loop) {
    uint64_t due = NOT_DUE;
    for (int i = 0; i < loop->count; i++) {
        uint64_t end = loop->connections[i]->opened_ns + GD_OPENING_TIMEOUT_MS * MS_NS + 1;
        if (loop->connections[i]->state != OPEN && end < due) due = end;
    }
    return due;
}

static void wait_for_events(struct loop *loop, struct pollfd *polled, nfds_t count, uint64_t due) {
    uint64_t now = clock_ns(), left = due > now ? due - now : 0;
    struct timespec span = {(time_t)(left / 1000000000ull), (long)(left % 1000000000ull)};
    polled[X_AT] = (struct pollfd){.fd = loop->x_fd, .events = POLLIN};
    polled[WAKE_AT] = (struct pollfd){.fd = loop->wake_fd, .events = POLLIN};
    polled[LISTEN_AT] = (struct pollfd){.fd = loop->listen_fd, .events = POLLIN}; /* -1 is passed over */
    for (int i = 0; i < loop->count; i++) {
        short events = loop->connections[i]->paused ? 0 : POLLIN;
        polled[FIRST_CONNECTION_AT + i] = (struct pollfd){.fd = loop->connections[i]->fd, .events = events};
    }
    if (ppoll(polled, count, due == NOT_DUE ? NULL : &span, NULL) <= 0)
        for (nfds_t i = 0; i < count; i++) polled[i].revents = 0;
}

static void accept_client(struct loop *loop) {
    int fd = accept4(loop->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) loop->work->arrived(loop, fd);
}

static void one_turn(struct loop *loop) {
    struct pollfd polled[FIRST_CONNECTION_AT + GD_MAX_CONNECTIONS];
    struct connection *then[GD_MAX_CONNECTIONS];
    uint64_t due = loop->work->turn(loop), opening = opening_due(loop);
    int count = loop->count;
    uint64_t drained;
    if (loop->x_lost) return;
    memcpy(then, loop->connections, sizeof then);
    wait_for_events(loop, polled, (nfds_t)(FIRST_CONNECTION_AT + count), due < opening ? due : opening);
    if (polled[WAKE_AT].revents && read(loop->wake_fd, &drained, sizeof drained) > 0) take_inbox(loop);
    for (int i = 0; i < count; i++) {
        if (!polled[FIRST_CONNECTION_AT + i].revents) continue;
        if (!connection_receive(then[i])) then[i]->state = CLOSING;
        serve(loop, then[i]);
    }
    /* Some are new from the inbox, or no longer paused. */
    for (int i = 0; i < loop->count; i++) serve(loop, loop->connections[i]);
    if (polled[LISTEN_AT].revents) accept_client(loop);
    sweep(loop);
}

void loop_run(struct loop *loop) {
    while (!atomic_load(&loop->stopping) && !loop->x_lost) one_turn(loop);
    take_inbox(loop);
    for (int i = 0; i < loop->count; i++)
        connection_fail(loop->connections[i], 0, GD_ERROR_WORLD_LOST, 0,
                        loop->x_lost ? "the X server is gone" : "the desktop service was told to stop");
}

void loop_close(struct loop *loop) {
    while (loop->count) close_connection(loop, loop->connections[0]);
    close(loop->wake_fd);
    pthread_mutex_destroy(&loop->inbox_lock);
}
