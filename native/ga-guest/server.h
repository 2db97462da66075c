/* The event loop: listeners, connections, jobs, children, and the end of the world. */
#ifndef GA_SERVER_H
#define GA_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "connection.h"
#include "job.h"
#include "options.h"

#define MAX_SPAWNED 256

struct spawned {
    pid_t pid;
    bool ended;
    int wait_status;
};

struct server {
    const struct options *options;
    int listen_fd;
    int sudo_listen_fd;
    int signal_fd;
    struct connection *connections;
    struct job *jobs;
    struct spawned spawned[MAX_SPAWNED]; /* the newest ones, oldest overwritten */
    unsigned spawned_next;
    pid_t main_child;
    uint64_t device_retry_ns;
    uint64_t accept_retry_ns;
    bool ending;
    bool killed; /* while ending: KILL was sent */
    uint64_t end_ns;
    uint32_t grace_ms;
};

uint64_t clock_ns(void); /* CLOCK_MONOTONIC */

int server_run(struct server *server);
void server_begin_end(struct server *server, uint32_t grace_ms);

unsigned server_channel_count(const struct server *server, const struct connection *owner);
struct job *server_find_job(const struct server *server, const struct connection *owner, uint32_t channel);

/* Remembers a detached process so that its end can be asked for. */
void server_note_spawned(struct server *server, pid_t pid);
const struct spawned *server_find_spawned(const struct server *server, pid_t pid);
void server_reap(struct server *server);

/* Takes one connection from a listener, or turns it away. (admission.c) */
void admit(struct server *server, int listen_fd, enum connection_kind kind);

/* ending.c */
void ending_tick(struct server *server, uint64_t now);
bool ending_done(const struct server *server);

#endif
