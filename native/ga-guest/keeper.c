#define _GNU_SOURCE
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "descriptors.h"
#include "process_tree.h"
#include "protocol.h"
#include "status.h"
#include "title.h"

#define KILL_LIMIT_MS 3000

static pid_t command;
static bool command_ended;
static int command_wait_status;

static void note_reaped(pid_t pid, int wait_status) {
    if (pid != command) return;
    command_ended = true;
    command_wait_status = wait_status;
}

_Noreturn static void report_end(int status_fd, bool kill_incomplete) {
    struct status status = {.kind = STATUS_EXITED, .wait_status = command_wait_status, .kill_incomplete = kill_incomplete};
    if (!command_ended) status.wait_status = SIGKILL;
    status_send(status_fd, &status);
    _exit(0);
}

static int open_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, KEEPER_KILL);
    sigprocmask(SIG_SETMASK, &set, NULL);
    signal(SIGTERM, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int start_command(const struct launch *launch, int status_fd) {
    int error_pipe[2];
    if (pipe2(error_pipe, O_CLOEXEC) || (command = fork()) < 0) {
        status_fail(status_fd, GA_ERROR_START, errno, "cannot start a process", NULL);
        _exit(0);
    }
    if (!command) {
        close(error_pipe[0]);
        launch_child(launch, error_pipe[1]);
    }
    close(error_pipe[1]);
    return error_pipe[0];
}

/* The child executed its program, which closed the pipe, or says why it could not. */
static void note_start(int *error_fd, int status_fd) {
    struct status status;
    ssize_t size = read(*error_fd, &status, sizeof status);
    if (size < 0) return;
    fd_close(error_fd);
    if (size == (ssize_t)sizeof status) {
        status_send(status_fd, &status);
        _exit(0);
    }
    status_send(status_fd, &(struct status){.kind = STATUS_STARTED, .pid = command});
}

static bool kill_is_asked_for(int signal_fd) {
    struct signalfd_siginfo info;
    bool asked = false;
    while (read(signal_fd, &info, sizeof info) == (ssize_t)sizeof info) asked |= info.ssi_signo == KEEPER_KILL;
    return asked;
}

static void reap(void) {
    int wait_status;
    pid_t pid;
    while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0) note_reaped(pid, wait_status);
}

_Noreturn void keeper_run(const struct launch *launch, int status_fd) {
    pid_t guest = getppid();
    int signal_fd = open_signals();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, KEEPER_KILL);
    title_set("ga-keeper");
    if (getppid() != guest) _exit(0);
    int error_fd = start_command(launch, status_fd);
    int kept[3] = {status_fd, error_fd, signal_fd};
    fd_close_others(kept, 3);
    for (;;) {
        struct pollfd fds[2] = {{signal_fd, POLLIN, 0}, {error_fd, POLLIN, 0}};
        if (poll(fds, 2, -1) < 0) continue;
        if (fds[1].revents) note_start(&error_fd, status_fd);
        if (kill_is_asked_for(signal_fd)) report_end(status_fd, !process_tree_kill(getpid(), false, KILL_LIMIT_MS, note_reaped));
        reap();
        if (command_ended && error_fd < 0) report_end(status_fd, false);
    }
}
