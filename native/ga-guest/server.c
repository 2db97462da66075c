#define _GNU_SOURCE
#include "server.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "descriptors.h"

enum watch_kind { WATCH_SIGNALS, WATCH_LISTEN, WATCH_SUDO_LISTEN, WATCH_CONNECTION, WATCH_STATUS, WATCH_STDIN, WATCH_OUT, WATCH_ERR };

struct watch {
    enum watch_kind kind;
    void *owner;
};

/* The descriptors of one turn of the loop. */
struct watch_list {
    struct pollfd *fds;
    struct watch *watches;
    size_t count;
    size_t capacity;
};

uint64_t clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

/* --- what is watched -------------------------------------------------------------------------------------------- */

static void watch(struct watch_list *list, enum watch_kind kind, void *owner, int fd, short events) {
    if (fd < 0) return;
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 64;
        list->fds = realloc(list->fds, list->capacity * sizeof *list->fds);
        list->watches = realloc(list->watches, list->capacity * sizeof *list->watches);
        if (!list->fds || !list->watches) abort();
    }
    list->fds[list->count] = (struct pollfd){.fd = fd, .events = events};
    list->watches[list->count++] = (struct watch){kind, owner};
}

static void watch_connection(struct watch_list *list, struct connection *connection, uint64_t now) {
    short events = 0;
    if (connection->kind == CONNECTION_DEVICE && now < connection->server->device_retry_ns) return;
    if (connection_wants_read(connection)) events |= POLLIN;
    if (connection->tx.size) events |= POLLOUT;
    watch(list, WATCH_CONNECTION, connection, connection->fd, events);
}

static void watch_job(struct watch_list *list, struct job *job) {
    if (!job->ended) watch(list, WATCH_STATUS, job, job->status_fd, POLLIN);
    if (job->stdin_fd >= 0 && job->stdin_queue.size) watch(list, WATCH_STDIN, job, job->stdin_fd, POLLOUT);
    if (job_wants_output(job, 0)) watch(list, WATCH_OUT, job, job->streams[0].fd, POLLIN);
    if (job_wants_output(job, 1)) watch(list, WATCH_ERR, job, job->streams[1].fd, POLLIN);
}

static void watch_all(struct server *server, struct watch_list *list, uint64_t now) {
    bool room = !server->ending && now >= server->accept_retry_ns;
    list->count = 0;
    watch(list, WATCH_SIGNALS, NULL, server->signal_fd, POLLIN);
    if (room) watch(list, WATCH_LISTEN, NULL, server->listen_fd, POLLIN);
    if (room) watch(list, WATCH_SUDO_LISTEN, NULL, server->sudo_listen_fd, POLLIN);
    for (struct connection *at = server->connections; at; at = at->next) watch_connection(list, at, now);
    for (struct job *at = server->jobs; at; at = at->next) watch_job(list, at);
}

static int milliseconds_until_next(const struct server *server, uint64_t now) {
    uint64_t next = UINT64_MAX;
    for (const struct job *at = server->jobs; at; at = at->next) {
        uint64_t mine = job_next_ns(at);
        if (mine < next) next = mine;
    }
    for (const struct connection *at = server->connections; at; at = at->next)
        if (at->opening_deadline_ns && at->opening_deadline_ns < next) next = at->opening_deadline_ns;
    if (server->device_retry_ns > now && server->device_retry_ns < next) next = server->device_retry_ns;
    if (server->accept_retry_ns > now && server->accept_retry_ns < next) next = server->accept_retry_ns;
    if (server->ending && now + 5000000 < next) next = now + 5000000;
    if (next == UINT64_MAX) return -1;
    if (next <= now) return 0;
    uint64_t milliseconds = (next - now + 999999) / 1000000;
    return milliseconds < 60000 ? (int)milliseconds : 60000;
}

/* --- what happened ---------------------------------------------------------------------------------------------- */

/* From inside the world nobody ends it: only those who see us from outside our process namespace (sender 0) do. */
static bool ends_the_world(const struct signalfd_siginfo *info) {
    return info->ssi_signo != SIGCHLD && (getpid() != 1 || info->ssi_pid == 0);
}

static void take_signals(struct server *server) {
    struct signalfd_siginfo info;
    while (read(server->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
        if (ends_the_world(&info)) server_begin_end(server, server->options->grace_ms);
}

static void connection_ready(struct connection *connection, short events) {
    if (connection->dead) return;
    if ((events & (POLLIN | POLLHUP | POLLERR)) && connection_wants_read(connection)) connection_readable(connection);
    /* A peer that is gone while nothing is read from it. */
    else if (events & (POLLHUP | POLLERR)) connection_drop(connection);
}

static void handle(struct server *server, const struct watch *watch, short events) {
    struct job *job = watch->owner;
    switch (watch->kind) {
    case WATCH_SIGNALS: take_signals(server); break;
    case WATCH_LISTEN: admit(server, server->listen_fd, CONNECTION_HOST); break;
    case WATCH_SUDO_LISTEN: admit(server, server->sudo_listen_fd, CONNECTION_SUDO); break;
    case WATCH_CONNECTION: connection_ready(watch->owner, events); break;
    case WATCH_STATUS: job_read_status(job); break;
    case WATCH_STDIN: job_write_stdin(job); break;
    case WATCH_OUT: job_read_output(job, 0); break;
    case WATCH_ERR: job_read_output(job, 1); break;
    }
}

static void sweep(struct server *server) {
    for (struct job **at = &server->jobs; *at;) {
        struct job *job = *at;
        if (!job->finished) {
            at = &job->next;
            continue;
        }
        *at = job->next;
        job_free(job);
    }
    for (struct connection **at = &server->connections; *at;) {
        struct connection *connection = *at;
        if (!connection->dead) {
            at = &connection->next;
            continue;
        }
        *at = connection->next;
        connection_free(connection);
    }
}

/* After all descriptors were handled: timers, what a process left in its pipes, answers out, leftovers away. */
static void settle(struct server *server) {
    uint64_t now = clock_ns();
    for (struct job *job = server->jobs; job; job = job->next) {
        if (job->ended && !job->finished)
            for (int stream = 0; stream < 2; stream++) job_read_output(job, stream);
        job_tick(job, now);
    }
    for (struct connection *at = server->connections; at; at = at->next) connection_flush(at);
    for (struct connection *at = server->connections; at; at = at->next) connection_tick(at, now);
    server_reap(server);
    if (server->ending) ending_tick(server, now);
    sweep(server);
}

int server_run(struct server *server) {
    struct watch_list list = {0};
    while (!ending_done(server)) {
        uint64_t now = clock_ns();
        watch_all(server, &list, now);
        int ready = poll(list.fds, list.count, milliseconds_until_next(server, now));
        for (size_t i = 0; ready > 0 && i < list.count; i++)
            if (list.fds[i].revents) handle(server, &list.watches[i], list.fds[i].revents);
        settle(server);
    }
    free(list.fds);
    free(list.watches);
    return 0;
}

/* --- look-ups and children -------------------------------------------------------------------------------------- */

unsigned server_channel_count(const struct server *server, const struct connection *owner) {
    unsigned count = 0;
    for (const struct job *job = server->jobs; job; job = job->next) count += job->owner == owner && !job->finished;
    return count;
}

struct job *server_find_job(const struct server *server, const struct connection *owner, uint32_t channel) {
    for (struct job *job = server->jobs; job; job = job->next)
        if (job->owner == owner && job->channel == channel && !job->finished) return job;
    return NULL;
}

void server_note_spawned(struct server *server, pid_t pid) {
    server->spawned[server->spawned_next++ % MAX_SPAWNED] = (struct spawned){.pid = pid};
}

const struct spawned *server_find_spawned(const struct server *server, pid_t pid) {
    for (unsigned i = 0; i < MAX_SPAWNED; i++)
        if (pid > 0 && server->spawned[i].pid == pid) return &server->spawned[i];
    return NULL;
}

static void note_end(struct server *server, pid_t pid, int wait_status) {
    for (unsigned i = 0; i < MAX_SPAWNED; i++) {
        struct spawned *spawned = &server->spawned[i];
        if (spawned->pid != pid || spawned->ended) continue;
        spawned->ended = true;
        spawned->wait_status = wait_status;
    }
    if (pid != server->main_child) return;
    server->main_child = 0;
    if (server->options->end_with_child) server_begin_end(server, server->options->grace_ms);
}

void server_reap(struct server *server) {
    int wait_status;
    pid_t pid;
    while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0) note_end(server, pid, wait_status);
}
