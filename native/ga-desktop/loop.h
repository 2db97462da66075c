/* One thread's loop over its connections and its connection to the X server. */
#ifndef GD_LOOP_H
#define GD_LOOP_H

#include <pthread.h>
#include <stdatomic.h>

#include "connection.h"

#define NOT_DUE UINT64_MAX

struct loop;

/* What a thread does; every call may set loop->x_lost. */
struct loop_work {
    void (*message)(struct loop *loop, struct connection *connection, const struct message *message);
    void (*gone)(struct loop *loop, struct connection *connection);
    /* Called each turn, before the loop sleeps; returns when it must be called again at the latest (ns). */
    uint64_t (*turn)(struct loop *loop);
    /* A new client at the listening socket. */
    void (*arrived)(struct loop *loop, int fd);
    uint32_t role; /* open connections of another role leave, through */
    void (*leaves)(struct loop *loop, struct connection *connection);
};

struct loop {
    const struct loop_work *work;
    void *owner;
    int x_fd, wake_fd;
    int listen_fd; /* -1: none */
    struct connection *connections[GD_MAX_CONNECTIONS];
    int count;
    atomic_bool stopping;
    bool x_lost;
    pthread_mutex_t inbox_lock;
    struct connection *inbox[GD_MAX_CONNECTIONS]; /* handed over by another thread */
    int inbox_count;
};

bool loop_open(struct loop *loop, const struct loop_work *work, void *owner, int x_fd, int listen_fd);
/* Until it is stopped or the X server is gone; then every client has been told. */
void loop_run(struct loop *loop);
void loop_close(struct loop *loop);
/* From any thread, and from a signal handler. */
void loop_stop(struct loop *loop);
/* From another thread; false when there is no room. */
bool loop_hand_over(struct loop *loop, struct connection *connection);

bool loop_add(struct loop *loop, struct connection *connection);

#endif
