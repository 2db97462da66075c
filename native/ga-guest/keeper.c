#define _GNU_SOURCE
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "descriptors.h"
#include "process_tree.h"
#include "protocol.h"
#include "status.h"

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

/* Waits for the child to execute its program; ends the keeper when it could not. */
static void await_start(int error_fd, int status_fd) {
    struct status status;
    ssize_t size;
    while ((size = read(error_fd, &status, sizeof status)) < 0 && errno == EINTR) {
    }
    close(error_fd);
    if (size == (ssize_t)sizeof status) {
        waitpid(command, NULL, 0);
        status_send(status_fd, &status);
        _exit(0);
    }
    status_send(status_fd, &(struct status){.kind = STATUS_STARTED, .pid = command});
}

static void block_signals(sigset_t *set) {
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    sigaddset(set, KEEPER_KILL);
    sigprocmask(SIG_BLOCK, set, NULL);
    signal(SIGTERM, SIG_IGN);
}

static void start_command(const struct launch *launch, int status_fd) {
    int error_pipe[2];
    if (pipe2(error_pipe, O_CLOEXEC) || (command = fork()) < 0) {
        status_fail(status_fd, GA_ERROR_START, errno, "cannot start a process", NULL);
        _exit(0);
    }
    if (!command) {
        close(error_pipe[0]);
        launch_child(launch, error_pipe[1]);
    }
    int kept[2] = {status_fd, error_pipe[0]};
    fd_close_others(kept, 2);
    await_start(error_pipe[0], status_fd);
}

_Noreturn void keeper_run(const struct launch *launch, int status_fd) {
    sigset_t set;
    pid_t guest = getppid();
    block_signals(&set);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, KEEPER_KILL);
    prctl(PR_SET_NAME, "ga-keeper");
    if (getppid() != guest) _exit(0);
    start_command(launch, status_fd);
    for (;;) {
        int wait_status, number;
        pid_t pid;
        while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0) note_reaped(pid, wait_status);
        if (command_ended) report_end(status_fd, false);
        if (sigwait(&set, &number) || number != KEEPER_KILL) continue;
        bool gone = process_tree_kill(getpid(), false, KILL_LIMIT_MS, note_reaped);
        report_end(status_fd, !gone);
    }
}
