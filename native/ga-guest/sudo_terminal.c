#define _GNU_SOURCE
#include "sudo_terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "descriptors.h"

#define MOST_TYPED 65536
/* Bytes pass through a kernel queue between the two ends of a terminal. */
#define LAST_OUTPUT_MS 20

static int open_pair(int *slave) {
    char name[128];
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0) return -1;
    if (grantpt(master) || unlockpt(master) || ptsname_r(master, name, sizeof name) ||
        (*slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0)
        fd_close(&master);
    return master;
}

static bool in_foreground(int fd) {
    return tcgetpgrp(fd) == getpgrp();
}

/* Takes what was typed before: an end of file among it would turn into a NUL byte in raw mode. */
static void take_typed_ahead(struct sudo_terminal *terminal) {
    struct pollfd ready = {terminal->input, POLLIN, 0};
    while (terminal->typed.size < MOST_TYPED && poll(&ready, 1, 0) > 0 && (ready.revents & POLLIN)) {
        ssize_t size = read(terminal->input, buffer_reserve(&terminal->typed, 4096), 4096);
        if (size < 0) return;
        terminal->typed.size += (size_t)size;
        if (size == 0) buffer_append(&terminal->typed, &terminal->saved.c_cc[VEOF], 1);
    }
}

/* Our terminal hands every key on; the command's own terminal does the echo and the signals. */
static void go_raw(struct sudo_terminal *terminal) {
    struct termios raw = terminal->saved;
    cfmakeraw(&raw);
    if (terminal->input < 0 || !in_foreground(terminal->input)) return;
    if (terminal->saved.c_lflag & ICANON) take_typed_ahead(terminal);
    terminal->raw = tcsetattr(terminal->input, TCSADRAIN, &raw) == 0;
}

bool sudo_terminal_open(struct sudo_terminal *terminal, int fds[3]) {
    int slave = -1, any = -1;
    *terminal = (struct sudo_terminal){.master = -1, .input = -1, .output = -1};
    for (int i = 0; i < 3; i++)
        if (isatty(fds[i])) any = fds[i];
    if (any < 0) return true;
    if ((terminal->master = open_pair(&slave)) < 0 || !fd_set_nonblocking(terminal->master)) return false;
    if (isatty(fds[0])) terminal->input = fds[0];
    terminal->output = isatty(fds[1]) ? fds[1] : isatty(fds[2]) ? fds[2] : -1;
    if (!tcgetattr(any, &terminal->saved)) {
        struct termios copy = terminal->saved;
        go_raw(terminal);
        /* Without raw mode our own terminal still turns line ends into what a screen needs. */
        if (!terminal->raw) copy.c_oflag &= ~(tcflag_t)OPOST;
        tcsetattr(slave, TCSANOW, &copy);
    }
    for (int i = 0; i < 3; i++)
        if (isatty(fds[i])) fds[i] = fcntl(slave, F_DUPFD_CLOEXEC, 3);
    close(slave);
    sudo_terminal_resize(terminal);
    return true;
}

void sudo_terminal_resize(struct sudo_terminal *terminal) {
    struct winsize size;
    int from = terminal->output >= 0 ? terminal->output : terminal->input;
    if (terminal->master >= 0 && !ioctl(from, TIOCGWINSZ, &size)) ioctl(terminal->master, TIOCSWINSZ, &size);
}

int sudo_terminal_watch(const struct sudo_terminal *terminal, struct pollfd *fds) {
    int count = 0;
    if (terminal->master < 0) return 0;
    /* A master that nobody has open on the other side would make poll return for ever: -1 is skipped by it. */
    short events = (short)(POLLIN | (terminal->typed.size ? POLLOUT : 0));
    fds[count++] = (struct pollfd){terminal->unused ? -1 : terminal->master, events, 0};
    bool reads = terminal->input >= 0 && terminal->typed.size < MOST_TYPED && in_foreground(terminal->input);
    if (reads) fds[count++] = (struct pollfd){terminal->input, POLLIN, 0};
    return count;
}

/* False when nothing more is there now. */
static bool pass_output(struct sudo_terminal *terminal) {
    uint8_t chunk[16384];
    ssize_t size = read(terminal->master, chunk, sizeof chunk);
    terminal->unused = size < 0 && errno == EIO;
    if (size <= 0) return false;
    int out = terminal->output >= 0 ? terminal->output : terminal->input;
    return fd_write_all(out, chunk, (size_t)size);
}

static void pass_typed(struct sudo_terminal *terminal) {
    ssize_t size = write(terminal->master, buffer_front(&terminal->typed), terminal->typed.size);
    if (size > 0) buffer_consume(&terminal->typed, (size_t)size);
}

void sudo_terminal_pass(struct sudo_terminal *terminal, const struct pollfd *fds, int count) {
    if (count > 1 && fds[1].revents) {
        ssize_t size = read(terminal->input, buffer_reserve(&terminal->typed, 4096), 4096);
        if (size > 0) terminal->typed.size += (size_t)size;
        if (size == 0) terminal->input = -1;
    }
    if (count > 0 && (terminal->unused || (fds[0].revents & (POLLIN | POLLHUP | POLLERR)))) pass_output(terminal);
    if (terminal->master >= 0 && terminal->typed.size && !terminal->unused) pass_typed(terminal);
}

void sudo_terminal_close(struct sudo_terminal *terminal) {
    struct pollfd last = {terminal->master, POLLIN, 0};
    while (terminal->master >= 0 && poll(&last, 1, LAST_OUTPUT_MS) > 0 && pass_output(terminal)) {
    }
    fd_close(&terminal->master);
    if (terminal->raw) tcsetattr(terminal->input, TCSADRAIN, &terminal->saved);
    buffer_free(&terminal->typed);
}
