#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <termios.h>
#include <unistd.h>

#include "connection.h"
#include "descriptors.h"
#include "job.h"
#include "keeper.h"
#include "server.h"
#include "title.h"

/* The ends that the new process gets. */
struct child_ends {
    int fds[3];
    int status_fd;
};

static struct job *job_new(struct connection *owner, uint32_t channel, enum job_kind kind, uint64_t deadline_ms) {
    struct job *job = allocate(sizeof *job);
    *job = (struct job){.owner = owner, .channel = channel, .kind = kind};
    job->status_fd = job->stdin_fd = job->terminal_fd = -1;
    job->stdin_window = GA_STDIN_WINDOW;
    job->output_credit = GA_OUTPUT_WINDOW;
    job->started_ns = clock_ns();
    /* A deadline beyond what fits is none. */
    if (deadline_ms && deadline_ms < UINT64_MAX / 4000000) job->deadline_ns = job->started_ns + deadline_ms * 1000000;
    output_stream_begin(&job->streams[0], -1, 0);
    output_stream_begin(&job->streams[1], -1, 0);
    return job;
}

static void close_ends(struct child_ends *ends) {
    for (int i = 0; i < 3; i++) fd_close(&ends->fds[i]);
    fd_close(&ends->status_fd);
}

static struct job *give_up(struct job *job, struct child_ends *ends, const char *message) {
    int os_error = errno;
    close_ends(ends);
    connection_fail(job->owner, job->channel, GA_ERROR_START, os_error, message);
    job_free(job);
    return NULL;
}

/* A pipe whose read end is `*ours` and does not block; the child's end goes to `*theirs`. */
static bool make_output(int *ours, int *theirs) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) return false;
    *ours = ends[0];
    *theirs = ends[1];
    return fd_set_nonblocking(ends[0]);
}

static bool make_input(int *ours, int *theirs) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) return false;
    *ours = ends[1];
    *theirs = ends[0];
    return fd_set_nonblocking(ends[1]);
}

static bool make_terminal(struct job *job, struct child_ends *ends, uint64_t max_output) {
    char name[128];
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave = -1;
    if (master < 0) return false;
    job->terminal_fd = master;
    if (!grantpt(master) && !unlockpt(master) && !ptsname_r(master, name, sizeof name))
        slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0) return false;
    ends->fds[0] = slave;
    ends->fds[1] = fcntl(slave, F_DUPFD_CLOEXEC, 3);
    ends->fds[2] = fcntl(slave, F_DUPFD_CLOEXEC, 3);
    job->stdin_fd = fcntl(master, F_DUPFD_CLOEXEC, 3);
    output_stream_begin(&job->streams[0], fcntl(master, F_DUPFD_CLOEXEC, 3), max_output);
    return fd_set_nonblocking(master);
}

static bool make_pipes(struct job *job, struct child_ends *ends, const struct ga_EXEC *request) {
    int ours = -1;
    if ((request->flags & GA_EXEC_STDIN) && !make_input(&job->stdin_fd, &ends->fds[0])) return false;
    bool made = make_output(&ours, &ends->fds[1]);
    output_stream_begin(&job->streams[0], ours, request->max_output);
    if (!made) return false;
    if (request->flags & GA_EXEC_MERGE_STDERR) return (ends->fds[2] = fcntl(ends->fds[1], F_DUPFD_CLOEXEC, 3)) >= 0;
    ours = -1;
    made = make_output(&ours, &ends->fds[2]);
    output_stream_begin(&job->streams[1], ours, request->max_output);
    return made;
}

/* Forks; in the child SIGPIPE and the server's blocked signals are as the caller of `work` needs them. */
static bool fork_worker(struct job *job, struct child_ends *ends) {
    int status_pipe[2];
    if (pipe2(status_pipe, O_CLOEXEC)) return false;
    job->status_fd = status_pipe[0];
    ends->status_fd = status_pipe[1];
    if (!fd_set_nonblocking(job->status_fd)) return false;
    job->worker = fork();
    return job->worker >= 0;
}

static struct job *adopt(struct job *job, struct child_ends *ends) {
    struct server *server = job->owner->server;
    close_ends(ends);
    job->next = server->jobs;
    server->jobs = job;
    return job;
}

struct job *job_start_exec(struct connection *owner, uint32_t channel, const struct ga_EXEC *request,
                           const int passed[3]) {
    struct job *job = job_new(owner, channel, JOB_EXEC, request->deadline_ms);
    struct child_ends ends = {{-1, -1, -1}, -1};
    bool ready = true;
    if (passed)
        for (int i = 0; i < 3; i++) ends.fds[i] = passed[i];
    else if (request->flags & GA_EXEC_PTY)
        ready = make_terminal(job, &ends, request->max_output);
    else
        ready = make_pipes(job, &ends, request);
    if (!ready) return give_up(job, &ends, "cannot make pipes or a terminal");
    if (job->terminal_fd >= 0) {
        job_resize(job, request->rows, request->columns);
        if (!(request->flags & GA_EXEC_STDIN)) job_end_stdin(job);
    }
    if (!fork_worker(job, &ends)) return give_up(job, &ends, "cannot start a process");
    if (job->worker) return adopt(job, &ends);
    struct launch launch = {.user = request->user, .cwd = request->cwd, .argv = request->argv, .env = request->env};
    launch.exact_env = request->flags & GA_EXEC_EXACT_ENV;
    memcpy(launch.fds, ends.fds, sizeof launch.fds);
    keeper_run(&launch, ends.status_fd);
}

struct job *job_start_spawn(struct connection *owner, uint32_t channel, const struct ga_SPAWN *request) {
    struct job *job = job_new(owner, channel, JOB_SPAWN, 0);
    struct child_ends ends = {{-1, -1, -1}, -1};
    if (!fork_worker(job, &ends)) return give_up(job, &ends, "cannot start a process");
    if (job->worker) return adopt(job, &ends);
    struct launch launch = {.user = request->user, .cwd = request->cwd, .log_path = request->log_path};
    launch.argv = request->argv;
    launch.env = request->env;
    launch.exact_env = request->flags & GA_EXEC_EXACT_ENV;
    launch.fds[0] = launch.fds[1] = launch.fds[2] = -1;
    launch_child(&launch, ends.status_fd);
}

struct job *job_start_file(struct connection *owner, uint32_t channel, uint64_t deadline_ms, job_work *work,
                           void *request) {
    struct job *job = job_new(owner, channel, JOB_FILE, deadline_ms);
    struct child_ends ends = {{-1, -1, -1}, -1};
    int ours = -1;
    bool ready = make_input(&job->stdin_fd, &ends.fds[0]) && make_output(&ours, &ends.fds[1]);
    output_stream_begin(&job->streams[0], ours, UINT64_MAX);
    if (!ready || !fork_worker(job, &ends)) return give_up(job, &ends, "cannot start a process");
    if (job->worker) return adopt(job, &ends);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    title_set("ga-files");
    int kept[3] = {ends.fds[0], ends.fds[1], ends.status_fd};
    fd_close_others(kept, 3);
    work(request, ends.fds[0], ends.fds[1], ends.status_fd);
    _exit(0);
}
