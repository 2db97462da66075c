#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "connection.h"
#include "file_work.h"
#include "identity.h"
#include "job.h"
#include "server.h"

/* What each handler gets: the frame, and where it came from. */
struct call {
    struct connection *connection;
    struct server *server;
    uint32_t channel;
    struct ga_slice payload;
    struct job *job; /* the channel's running job, or NULL */
};

static uint64_t read_clock(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

static void done(struct call *call, uint64_t value) {
    GA_SEND(&call->connection->tx, call->channel, DONE, .value = value);
}

static void failed(struct call *call, uint16_t error, int os_error, const char *message) {
    connection_fail(call->connection, call->channel, error, os_error, message);
}

/* --- on a channel that runs ------------------------------------------------------------------------------------- */

static bool take_stdin(struct call *call) {
    struct ga_STDIN message;
    ga_decode_STDIN(call->payload, &message);
    if (!call->job) return true; /* it ended meanwhile */
    if (call->job->stdin_ended || message.data.size > call->job->stdin_window) return false;
    job_add_stdin(call->job, message.data);
    return true;
}

static bool take_stdin_end(struct call *call) {
    if (call->job) job_end_stdin(call->job);
    return call->payload.size == 0;
}

static bool take_credit(struct call *call) {
    struct ga_CREDIT message;
    if (!ga_decode_CREDIT(call->payload, &message)) return false;
    if (call->job && call->job->output_credit < UINT64_MAX / 2) call->job->output_credit += message.bytes;
    return true;
}

static bool take_signal(struct call *call) {
    struct ga_SIGNAL message;
    if (!ga_decode_SIGNAL(call->payload, &message) || message.signal < 1 || message.signal >= NSIG) return false;
    if (call->job) job_signal(call->job, message.signal);
    return true;
}

static bool take_resize(struct call *call) {
    struct ga_RESIZE message;
    if (!ga_decode_RESIZE(call->payload, &message)) return false;
    if (call->job) job_resize(call->job, message.rows, message.columns);
    return true;
}

static bool take_cancel(struct call *call) {
    if (call->job) job_cancel(call->job, GA_EXITED_CANCELLED);
    return call->payload.size == 0;
}

/* --- new channels ----------------------------------------------------------------------------------------------- */

static bool take_exec(struct call *call) {
    struct ga_EXEC request;
    struct connection *connection = call->connection;
    if (!ga_decode_EXEC(call->payload, &request)) return false;
    if (connection->kind != CONNECTION_SUDO) {
        job_start_exec(connection, call->channel, &request, NULL);
        return true;
    }
    if (connection->passed_count != 3 || (request.flags & GA_EXEC_PTY)) return false;
    int passed[3];
    memcpy(passed, connection->passed, sizeof passed);
    for (int i = 0; i < 3; i++) connection->passed[i] = -1;
    connection->passed_count = 0;
    connection->opening_deadline_ns = 0;
    job_start_exec(connection, call->channel, &request, passed);
    return true;
}

static bool take_spawn(struct call *call) {
    struct ga_SPAWN request;
    if (!ga_decode_SPAWN(call->payload, &request)) return false;
    job_start_spawn(call->connection, call->channel, &request);
    return true;
}

#define TAKE_FILE_REQUEST(NAME, name) \
    static bool take_##name(struct call *call) { \
        struct ga_##NAME request; \
        if (!ga_decode_##NAME(call->payload, &request)) return false; \
        job_start_file(call->connection, call->channel, request.deadline_ms, file_work_##name, &request); \
        return true; \
    }
TAKE_FILE_REQUEST(STAT, stat)
TAKE_FILE_REQUEST(GET, get)
TAKE_FILE_REQUEST(PUT, put)
TAKE_FILE_REQUEST(MKDIR, mkdir)
TAKE_FILE_REQUEST(REMOVE, remove)
TAKE_FILE_REQUEST(TAR_GET, tar_get)
TAKE_FILE_REQUEST(TAR_PUT, tar_put)

/* --- answered at once ------------------------------------------------------------------------------------------- */

static bool take_ping(struct call *call) {
    GA_SEND(&call->connection->tx, call->channel, PONG, .realtime_ns = read_clock(CLOCK_REALTIME),
            .monotonic_ns = read_clock(CLOCK_MONOTONIC));
    return call->payload.size == 0;
}

static bool set_clock(struct call *call, uint64_t realtime_ns) {
    struct timespec time = {(time_t)(realtime_ns / 1000000000), (long)(realtime_ns % 1000000000)};
    if (!clock_settime(CLOCK_REALTIME, &time)) return true;
    failed(call, GA_ERROR_CLOCK, errno, "cannot set the clock");
    return false;
}

static bool take_set_clock(struct call *call) {
    struct ga_SET_CLOCK message;
    if (!ga_decode_SET_CLOCK(call->payload, &message)) return false;
    if (set_clock(call, message.realtime_ns)) done(call, 0);
    return true;
}

static bool take_awaken(struct call *call) {
    struct ga_AWAKEN message;
    if (!ga_decode_AWAKEN(call->payload, &message)) return false;
    if (!set_clock(call, message.realtime_ns)) return true;
    int error = identity_set_machine_id("/etc/machine-id", message.machine_id);
    if (!error && message.interface.size) error = identity_set_address(message.interface, message.address);
    if (error)
        failed(call, GA_ERROR_IDENTITY, error, "cannot take an identity of its own");
    else
        done(call, 0);
    return true;
}

static bool take_kill(struct call *call) {
    struct ga_KILL message;
    if (!ga_decode_KILL(call->payload, &message)) return false;
    if (message.signal < 0 || message.signal >= NSIG || message.pid < 2 || message.pid > INT32_MAX)
        failed(call, GA_ERROR_NO_PROCESS, EINVAL, "not a process that can be signalled");
    else if (message.flags & GA_KILL_TREE)
        job_start_file(call->connection, call->channel, 0, file_work_kill_tree, &message);
    else if (kill((pid_t)message.pid, message.signal))
        failed(call, GA_ERROR_NO_PROCESS, errno, "cannot signal the process");
    else
        done(call, 0);
    return true;
}

static bool take_poll(struct call *call) {
    struct ga_POLL message;
    if (!ga_decode_POLL(call->payload, &message)) return false;
    const struct spawned *spawned = server_find_spawned(call->server, (pid_t)message.pid);
    if (!spawned) {
        failed(call, GA_ERROR_NO_PROCESS, ESRCH, "not one of the newest detached processes");
        return true;
    }
    bool by_signal = spawned->ended && WIFSIGNALED(spawned->wait_status);
    GA_SEND(&call->connection->tx, call->channel, PROCESS,
            .state = spawned->ended ? GA_PROCESS_ENDED : GA_PROCESS_RUNNING,
            .status = by_signal ? -1 : (spawned->ended ? WEXITSTATUS(spawned->wait_status) : 0),
            .signal = by_signal ? WTERMSIG(spawned->wait_status) : 0);
    return true;
}

static bool take_shutdown(struct call *call) {
    struct ga_SHUTDOWN message;
    if (!ga_decode_SHUTDOWN(call->payload, &message)) return false;
    done(call, 0);
    server_begin_end(call->server, message.grace_ms);
    return true;
}

/* ---------------------------------------------------------------------------------------------------------------- */

enum route_kind { FOR_CHANNEL = 1, OPENS_CHANNEL, AT_ONCE };

struct route {
    enum route_kind kind;
    bool for_sudo;
    bool (*take)(struct call *call);
};

static const struct route routes[] = {
    [GA_MESSAGE_STDIN] = {FOR_CHANNEL, false, take_stdin},
    [GA_MESSAGE_STDIN_END] = {FOR_CHANNEL, false, take_stdin_end},
    [GA_MESSAGE_CREDIT] = {FOR_CHANNEL, false, take_credit},
    [GA_MESSAGE_SIGNAL] = {FOR_CHANNEL, true, take_signal},
    [GA_MESSAGE_RESIZE] = {FOR_CHANNEL, false, take_resize},
    [GA_MESSAGE_CANCEL] = {FOR_CHANNEL, true, take_cancel},
    [GA_MESSAGE_EXEC] = {OPENS_CHANNEL, true, take_exec},
    [GA_MESSAGE_SPAWN] = {OPENS_CHANNEL, false, take_spawn},
    [GA_MESSAGE_STAT] = {OPENS_CHANNEL, false, take_stat},
    [GA_MESSAGE_GET] = {OPENS_CHANNEL, false, take_get},
    [GA_MESSAGE_PUT] = {OPENS_CHANNEL, false, take_put},
    [GA_MESSAGE_MKDIR] = {OPENS_CHANNEL, false, take_mkdir},
    [GA_MESSAGE_REMOVE] = {OPENS_CHANNEL, false, take_remove},
    [GA_MESSAGE_TAR_GET] = {OPENS_CHANNEL, false, take_tar_get},
    [GA_MESSAGE_TAR_PUT] = {OPENS_CHANNEL, false, take_tar_put},
    [GA_MESSAGE_KILL] = {OPENS_CHANNEL, false, take_kill},
    [GA_MESSAGE_PING] = {AT_ONCE, false, take_ping},
    [GA_MESSAGE_SET_CLOCK] = {AT_ONCE, false, take_set_clock},
    [GA_MESSAGE_AWAKEN] = {AT_ONCE, false, take_awaken},
    [GA_MESSAGE_POLL] = {AT_ONCE, false, take_poll},
    [GA_MESSAGE_SHUTDOWN] = {AT_ONCE, false, take_shutdown},
};

bool connection_dispatch(struct connection *connection, const struct ga_header *header, struct ga_slice payload) {
    struct server *server = connection->server;
    struct call call = {connection, server, header->channel, payload, NULL};
    if (header->message >= sizeof routes / sizeof *routes || !routes[header->message].kind) return false;
    const struct route *route = &routes[header->message];
    if (connection->kind == CONNECTION_SUDO && !route->for_sudo) return false;
    call.job = server_find_job(server, connection, header->channel);
    if (route->kind == OPENS_CHANNEL) {
        if (call.job) return false;
        if (server->ending) {
            failed(&call, GA_ERROR_SHUTTING_DOWN, 0, "the world is ending");
            return true;
        }
        if (server_channel_count(server, connection) >= GA_MAX_CHANNELS) {
            failed(&call, GA_ERROR_BUSY, 0, "too many requests at once on one connection");
            return true;
        }
    }
    return route->take(&call);
}
