/* A job: one request that runs in a process of its own (a command, a detached start, a file operation). */
#ifndef GA_JOB_H
#define GA_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "buffer.h"
#include "launch.h"
#include "output_stream.h"
#include "protocol.h"

struct connection;
struct server;

/* How long after a command's end its outputs must be quiet until they count as whole. */
#define DRAIN_IDLE_NS 25000000ULL

enum job_kind { JOB_EXEC, JOB_SPAWN, JOB_FILE };

struct job {
    struct job *next;
    struct connection *owner; /* NULL once the connection is gone */
    uint32_t channel;
    enum job_kind kind;
    pid_t worker;  /* keeper, spawned program or file worker: our direct child */
    pid_t command; /* the command itself, once started */
    uint64_t early_signals; /* asked for before the command was known to run; bit n-1 */
    int status_fd;
    int stdin_fd;
    int terminal_fd;
    struct buffer stdin_queue;
    bool stdin_ended;
    uint32_t stdin_window;   /* what the host may still send */
    uint32_t stdin_consumed; /* not yet given back as credit */
    uint64_t output_credit;
    struct output_stream streams[2];
    uint64_t started_ns;
    uint64_t deadline_ns; /* 0: none */
    uint64_t give_up_ns;  /* when a killed worker that says nothing is given up */
    uint64_t drain_idle_ns, drain_end_ns;
    uint32_t exited_flags;
    bool held_back; /* output waited for credit at the last tick */
    bool ended;    /* the worker reported its end; outputs are drained */
    bool finished; /* answered; swept by the server */
    int wait_status;
    uint64_t duration_ns;
    bool failed;
    uint16_t error;
    int32_t os_error;
    char *message;
    uint64_t value;
};

typedef void job_work(void *request, int in_fd, int out_fd, int status_fd);

/* Each starts a process and links the job into the server; on failure answers FAILED and returns NULL. */
struct job *job_start_exec(struct connection *owner, uint32_t channel, const struct ga_EXEC *request, const int passed[3]);
struct job *job_start_spawn(struct connection *owner, uint32_t channel, const struct ga_SPAWN *request);
struct job *job_start_file(struct connection *owner, uint32_t channel, uint64_t deadline_ms, job_work *work, void *request);

void job_add_stdin(struct job *job, struct ga_slice data); /* within the window: the caller checked */
void job_end_stdin(struct job *job);
void job_resize(struct job *job, uint16_t rows, uint16_t columns);
void job_signal(struct job *job, int number);
void job_cancel(struct job *job, uint32_t flag); /* kills the tree; the end is reported as usual */
void job_abandon(struct job *job);               /* the owner is gone: kill, tell nobody */

/* What the server's loop calls. */
bool job_wants_output(const struct job *job, int stream);
void job_read_status(struct job *job);
void job_read_output(struct job *job, int stream);
void job_write_stdin(struct job *job);
void job_tick(struct job *job, uint64_t now);
uint64_t job_next_ns(const struct job *job); /* the next moment job_tick has work; UINT64_MAX for none */
void job_free(struct job *job);

#endif
