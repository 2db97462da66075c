#define _GNU_SOURCE
#include "job.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "connection.h"
#include "descriptors.h"
#include "keeper.h"
#include "server.h"
#include "status.h"

#define DRAIN_LIMIT_NS 250000000ULL
#define GIVE_UP_NS 3500000000ULL

static void answer(struct job *job);

void job_free(struct job *job) {
    fd_close(&job->status_fd);
    fd_close(&job->stdin_fd);
    fd_close(&job->terminal_fd);
    output_stream_free(&job->streams[0]);
    output_stream_free(&job->streams[1]);
    buffer_free(&job->stdin_queue);
    free(job->message);
    free(job);
}

/* --- the end ---------------------------------------------------------------------------------------------------- */

void job_signal(struct job *job, int number) {
    if (job->kind != JOB_EXEC || job->ended) return;
    if (job->command > 0)
        kill(-job->command, number);
    else
        job->early_signals |= 1ULL << (number - 1);
}

void job_cancel(struct job *job, uint32_t flag) {
    /* A keeper kills its tree, a file worker cleans up, a detached program that has not begun yet never does. */
    static const int signals[] = {[JOB_EXEC] = KEEPER_KILL, [JOB_FILE] = SIGTERM, [JOB_SPAWN] = SIGKILL};
    if (job->ended || job->give_up_ns) return;
    job->exited_flags |= flag;
    job->give_up_ns = clock_ns() + GIVE_UP_NS;
    kill(job->worker, signals[job->kind]);
    kill(job->worker, SIGCONT); /* somebody may have stopped it */
    if (job->kind == JOB_EXEC) return;
    bool late = flag & GA_EXITED_TIMED_OUT;
    job->failed = true;
    job->error = late ? GA_ERROR_DEADLINE : GA_ERROR_CANCELLED;
    free(job->message);
    job->message = strdup(late ? "the deadline passed" : "it was cancelled");
    answer(job);
}

void job_abandon(struct job *job) {
    /* What was detached outlives its connection, also when that breaks while it starts. */
    if (job->kind == JOB_SPAWN)
        job->finished = true;
    else
        job_cancel(job, GA_EXITED_CANCELLED);
    job->owner = NULL;
    output_stream_free(&job->streams[0]);
    output_stream_free(&job->streams[1]);
}

static void send_tail(struct job *job, int stream) {
    struct output_stream *from = &job->streams[stream];
    if (!from->tail_used) return;
    size_t frame = ga_frame_begin(&job->owner->tx, job->channel, GA_MESSAGE_OUTPUT);
    ga_put_number(&job->owner->tx, (uint64_t)stream + 1, 1);
    output_stream_tail(from, buffer_reserve(&job->owner->tx, from->tail_used));
    job->owner->tx.size += from->tail_used;
    ga_frame_end(&job->owner->tx, frame);
}

static void answer_exited(struct job *job) {
    bool by_signal = WIFSIGNALED(job->wait_status);
    struct output_stream *out = &job->streams[0], *err = &job->streams[1];
    send_tail(job, 0);
    send_tail(job, 1);
    GA_SEND(&job->owner->tx, job->channel, EXITED, .status = by_signal ? -1 : WEXITSTATUS(job->wait_status),
            .signal = by_signal ? WTERMSIG(job->wait_status) : 0, .flags = job->exited_flags,
            .duration_ns = job->duration_ns, .stdout_total = out->total, .stdout_lost = out->lost,
            .stdout_tail = out->tail_used, .stderr_total = err->total, .stderr_lost = err->lost,
            .stderr_tail = err->tail_used);
}

static void answer(struct job *job) {
    if (job->finished) return;
    job->finished = true;
    if (!job->owner) return;
    if (job->failed)
        connection_fail(job->owner, job->channel, job->error, job->os_error, job->message ? job->message : "");
    else if (job->kind == JOB_EXEC)
        answer_exited(job);
    else
        GA_SEND(&job->owner->tx, job->channel, DONE, .value = job->value);
    if (job->owner->kind == CONNECTION_SUDO) connection_close_after_flush(job->owner);
}

static void begin_drain(struct job *job) {
    uint64_t now = clock_ns();
    job->ended = true;
    job->duration_ns = now - job->started_ns;
    job->drain_idle_ns = now + DRAIN_IDLE_NS;
    job->drain_end_ns = now + DRAIN_LIMIT_NS;
    fd_close(&job->status_fd);
    if (!job->owner || job->failed) answer(job);
}

static void note_failure(struct job *job, const struct status *status) {
    job->failed = true;
    job->error = (uint16_t)status->error;
    job->os_error = status->os_error;
    free(job->message);
    job->message = strndup(status->text, sizeof status->text);
}

static void take_status(struct job *job, const struct status *status) {
    switch (status->kind) {
    case STATUS_STARTED:
        job->command = status->pid;
        for (int number = 1; number <= 64; number++)
            if (job->early_signals & 1ULL << (number - 1)) kill(-job->command, number);
        if (job->owner) GA_SEND(&job->owner->tx, job->channel, STARTED, .pid = (uint32_t)status->pid);
        return;
    case STATUS_FAILED: note_failure(job, status); break;
    case STATUS_EXITED:
        job->wait_status = status->wait_status;
        if (status->kill_incomplete) job->exited_flags |= GA_EXITED_KILL_INCOMPLETE;
        break;
    default: job->value = status->value; break;
    }
    begin_drain(job);
}

/* The status pipe closed without a word: a spawned program was executed, or the worker was killed. */
static void take_silence(struct job *job) {
    if (job->kind == JOB_SPAWN) {
        job->value = (uint64_t)job->worker;
        if (job->owner) server_note_spawned(job->owner->server, job->worker);
    } else if (job->kind == JOB_FILE) {
        job->failed = true;
        job->error = GA_ERROR_FILE;
        job->message = strdup("the file operation was killed");
    } else {
        job->wait_status = SIGKILL;
        if (job->command > 0) kill(-job->command, SIGKILL);
    }
    begin_drain(job);
}

void job_read_status(struct job *job) {
    struct status status;
    while (!job->ended && !job->finished) {
        ssize_t size = read(job->status_fd, &status, sizeof status);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 && errno == EAGAIN) return;
        if (size == (ssize_t)sizeof status)
            take_status(job, &status);
        else
            take_silence(job);
    }
}

/* --- time ------------------------------------------------------------------------------------------------------- */

static bool blocked(const struct job *job) {
    for (int stream = 0; stream < 2; stream++)
        if (job->streams[stream].fd >= 0 && job->owner && !job_wants_output(job, stream)) return true;
    return false;
}

static bool all_read(const struct job *job) {
    return job->streams[0].fd < 0 && job->streams[1].fd < 0;
}

static void tick_ended(struct job *job, uint64_t now) {
    bool late = job->deadline_ns && now >= job->deadline_ns;
    bool held_back = job->held_back;
    job->held_back = blocked(job);
    if (all_read(job)) {
        answer(job);
    } else if (job->kind == JOB_FILE) {
        if (!late) return;
        job->failed = true;
        job->error = GA_ERROR_DEADLINE;
        answer(job);
    } else if (held_back || job->held_back) {
        /* While the host gives no credit nothing is read, so nothing counts as quiet. */
        job->drain_idle_ns = now + DRAIN_IDLE_NS;
        job->drain_end_ns = now + DRAIN_LIMIT_NS;
        if (late) answer(job);
    } else if (late || now >= job->drain_idle_ns || now >= job->drain_end_ns) {
        answer(job);
    }
}

void job_tick(struct job *job, uint64_t now) {
    if (job->finished) return;
    if (job->ended) {
        tick_ended(job, now);
    } else if (job->give_up_ns && now >= job->give_up_ns) {
        job->exited_flags |= GA_EXITED_KILL_INCOMPLETE;
        take_silence(job);
    } else if (job->deadline_ns && now >= job->deadline_ns) {
        job_cancel(job, GA_EXITED_TIMED_OUT);
    }
}

uint64_t job_next_ns(const struct job *job) {
    uint64_t next = UINT64_MAX;
    if (job->finished || (job->ended && all_read(job))) return 0;
    if (job->ended && job->kind != JOB_FILE && !blocked(job))
        next = job->drain_idle_ns < job->drain_end_ns ? job->drain_idle_ns : job->drain_end_ns;
    if (job->deadline_ns && !job->give_up_ns && job->deadline_ns < next) next = job->deadline_ns;
    if (!job->ended && job->give_up_ns && job->give_up_ns < next) next = job->give_up_ns;
    return next;
}
