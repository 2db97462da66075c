#define _GNU_SOURCE
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "account.h"
#include "descriptors.h"
#include "environment.h"
#include "process_limits.h"
#include "protocol.h"
#include "status.h"

static int child_status_fd;

_Noreturn static void fail(int os_error, const char *what, const char *subject) {
    status_fail(child_status_fd, GA_ERROR_START, os_error, what, subject);
    _exit(127);
}

static void reset_signals(void) {
    sigset_t none;
    struct sigaction action = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++) sigaction(number, &action, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static int open_log(const struct launch *launch, const struct account *account) {
    if (!launch->log_path.size) return -1;
    char *path = ga_string_of(launch->log_path);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0644);
    struct stat info;
    if (fd < 0) fail(errno, "cannot open the log", path);
    if (fstat(fd, &info) == 0 && info.st_size == 0 && fchown(fd, account->uid, account->gid)) {
        /* a file system without owners: the log still works */
    }
    fcntl(fd, F_SETFL, O_APPEND); /* not blocking was only for opening a pipe that nobody reads */
    return fd;
}

/* Puts the three descriptors in place; they may be any numbers, also 0 to 2 in another order. */
static void place_descriptors(int fds[3]) {
    for (int i = 0; i < 3; i++) {
        if (fds[i] < 0) fds[i] = open("/dev/null", O_RDWR | O_NOCTTY);
        if (fds[i] < 0) fail(errno, "cannot open", "/dev/null");
        fds[i] = fcntl(fds[i], F_DUPFD, 10);
        if (fds[i] < 0) fail(errno, "cannot duplicate a descriptor", NULL);
    }
    for (int i = 0; i < 3; i++)
        if (dup2(fds[i], i) < 0) fail(errno, "cannot place a descriptor", NULL);
}

static void take_terminal(const struct account *account) {
    for (int i = 0; i < 3; i++) {
        if (!isatty(i) || ioctl(i, TIOCSCTTY, 0)) continue;
        if (fchown(i, account->uid, (gid_t)-1)) continue; /* devpts of another mount: still usable through 0, 1, 2 */
        return;
    }
}

/* A folder that was named is entered with our own rights, as sudo does; the home with those of the user. */
static void enter_named_folder(const struct launch *launch) {
    if (!launch->cwd.size) return;
    char *path = ga_string_of(launch->cwd);
    if (chdir(path)) fail(errno, "cannot enter the folder", path);
}

static void enter_home(const struct account *account) {
    if (chdir(account->home) && chdir("/")) fail(errno, "cannot enter the folder", "/");
}

_Noreturn void launch_child(const struct launch *launch, int status_fd) {
    struct account account;
    char *user = ga_string_of(launch->user), **argv = ga_vector_of(launch->argv);
    int fds[3] = {launch->fds[0], launch->fds[1], launch->fds[2]};
    child_status_fd = fcntl(status_fd, F_DUPFD_CLOEXEC, 10);
    setsid();
    if (!argv[0]) fail(0, "an empty command", NULL);
    if (!account_find(*user ? user : "root", &account)) fail(0, "no such user", user);
    int log_fd = open_log(launch, &account);
    if (log_fd >= 0) fds[1] = fds[2] = log_fd;
    place_descriptors(fds);
    fd_close_others(&child_status_fd, 1);
    take_terminal(&account);
    limits_restore();
    umask(022);
    enter_named_folder(launch);
    int error = account_become(&account);
    if (error) fail(error, "cannot become the user", user);
    if (!launch->cwd.size) enter_home(&account);
    environ = environment_for(&account, launch->env, launch->exact_env);
    reset_signals();
    execvp(argv[0], argv);
    fail(errno, "cannot start", argv[0]);
}
