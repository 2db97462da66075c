#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server.h"

#define AFTER_KILL_NS 1000000000ULL

static bool is_init(void) {
    return getpid() == 1;
}

/* Everything of the world when we are its init; else what descends from us by our jobs and connections. */
static void signal_all(struct server *server, int number) {
    if (is_init()) {
        kill(-1, number);
        return;
    }
    for (struct job *job = server->jobs; job; job = job->next)
        if (job->kind == JOB_EXEC) job_cancel(job, GA_EXITED_CANCELLED);
    for (unsigned i = 0; i < MAX_SPAWNED; i++)
        if (server->spawned[i].pid > 0 && !server->spawned[i].ended) kill(-server->spawned[i].pid, number);
    if (server->main_child > 0) kill(-server->main_child, number);
}

void server_begin_end(struct server *server, uint32_t grace_ms) {
    if (server->ending) return;
    server->ending = true;
    server->end_ns = clock_ns() + (grace_ms > 600000 ? 600000 : grace_ms) * 1000000ULL;
    signal_all(server, SIGTERM);
    /* A stopped process does not notice TERM. */
    signal_all(server, SIGCONT);
}

static bool anyone_left(void) {
    siginfo_t info = {0};
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

void ending_tick(struct server *server, uint64_t now) {
    bool left = anyone_left();
    if (left && now < server->end_ns) return;
    if (left && !server->killed) {
        server->killed = true;
        server->end_ns = now + AFTER_KILL_NS;
        signal_all(server, SIGKILL);
        return;
    }
    server->killed = true;
    server->end_ns = 0;
    for (struct connection *at = server->connections; at; at = at->next) connection_close_after_flush(at);
}

bool ending_done(const struct server *server) {
    return server->ending && server->killed && server->end_ns == 0 && !server->connections;
}
