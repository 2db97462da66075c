#define _GNU_SOURCE
#include "reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../ga-desktop/clock.h"

#define LOOK_NS (MS_NS / 5)
#define PATH_MAX_ 96
#define NAME_MAX_ 32
#define STAT_MAX 512
/* A server that never rests looks for input between any two requests of its clients: none takes so long. */
#define TURN_NS (500 * MS_NS)

/* Reads a small file of /proc; false when it cannot be. */
static bool read_text(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, size - 1) : -1;
    if (fd >= 0) close(fd);
    text[got > 0 ? got : 0] = 0;
    return got > 0;
}

static int number_of(const struct dirent *entry) {
    char *end;
    long value = strtol(entry->d_name, &end, 10);
    return *entry->d_name && !*end && value > 0 ? (int)value : 0;
}

static bool has_open(int pid, const char *node) {
    char folder[PATH_MAX_], path[2 * PATH_MAX_], target[PATH_MAX_];
    struct dirent *entry;
    bool found = false;
    snprintf(folder, sizeof folder, "/proc/%d/fd", pid);
    DIR *fds = opendir(folder);
    while (fds && !found && (entry = readdir(fds))) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%.*s", folder, NAME_MAX_, entry->d_name);
        ssize_t size = readlink(path, target, sizeof target - 1);
        if (size <= 0) continue;
        target[size] = 0;
        found = strcmp(target, node) == 0;
    }
    if (fds) closedir(fds);
    return found;
}

/* Xorg reads input in a thread of its own; others read it where they do all else. */
static int input_thread(int pid) {
    char folder[PATH_MAX_], path[2 * PATH_MAX_], name[NAME_MAX_];
    struct dirent *entry;
    int found = pid;
    snprintf(folder, sizeof folder, "/proc/%d/task", pid);
    DIR *tasks = opendir(folder);
    while (tasks && found == pid && (entry = readdir(tasks))) {
        int thread = number_of(entry);
        snprintf(path, sizeof path, "%s/%d/comm", folder, thread);
        if (thread && read_text(path, name, sizeof name) && strncmp(name, "InputThread", 11) == 0) found = thread;
    }
    if (tasks) closedir(tasks);
    return found;
}

bool reader_find(struct reader *reader, const char *node) {
    struct dirent *entry;
    DIR *processes = opendir("/proc");
    *reader = (struct reader){0};
    while (processes && !reader->pid && (entry = readdir(processes))) {
        int pid = number_of(entry);
        if (pid && pid != getpid() && has_open(pid, node)) *reader = (struct reader){pid, input_thread(pid)};
    }
    if (processes) closedir(processes);
    return reader->pid != 0;
}

bool reader_is_there(struct reader *reader, const char *node) {
    if (!reader->pid || !has_open(reader->pid, node)) return false;
    /* A server that was only starting had none yet. */
    if (reader->thread == reader->pid) reader->thread = input_thread(reader->pid);
    return true;
}

/* The facts of one thread; false when it is gone. */
static bool read_fact(int pid, int thread, const char *name, char *text, size_t size) {
    char path[PATH_MAX_];
    snprintf(path, sizeof path, "/proc/%d/task/%d/%.16s", pid, thread, name);
    return read_text(path, text, size);
}

static bool sleeps(int pid, int thread) {
    char text[STAT_MAX];
    if (!read_fact(pid, thread, "stat", text, sizeof text)) return false;
    const char *state = strrchr(text, ')'); /* the name before it may hold anything */
    return state && state[1] == ' ' && state[2] == 'S';
}

static uint64_t has_run_ns(int pid, int thread) {
    char text[NAME_MAX_ * 2];
    return read_fact(pid, thread, "schedstat", text, sizeof text) ? strtoull(text, NULL, 10) : 0;
}

/* A thread that waits for a lock, or for its processor, has more to do. Its system call alone does not tell: one that
 * is woken on another processor, which is slow to take it up (one of a machine whose host is busy), counts as waiting
 * in it until then. Its state does, and is asked first: seen asleep after our keys were written, it has read them, or
 * is about to leave that call, which the second question waits for. Source: Linux, wait_task_inactive, TASK_WAKING. */
static bool waits_for_events(int pid, int thread) {
    char text[NAME_MAX_];
    char *end;
    if (!sleeps(pid, thread) || !read_fact(pid, thread, "syscall", text, sizeof text)) return false;
    long call = strtol(text, &end, 10);
    if (end == text) return false; /* "running" */
    switch (call) {
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
#ifdef SYS_poll
    case SYS_poll:
#endif
    case SYS_epoll_pwait:
    case SYS_ppoll: return true;
    default: return false;
    }
}


bool reader_has_read(const struct reader *reader, uint64_t until_ns) {
    while (!waits_for_events(reader->pid, reader->thread)) {
        if (clock_ns() > until_ns) return false;
        clock_wait_ns(LOOK_NS);
    }
    return true;
}

bool reader_has_acted(const struct reader *reader, uint64_t until_ns) {
    uint64_t had_run_ns = has_run_ns(reader->pid, reader->pid);
    while (!waits_for_events(reader->pid, reader->pid)) {
        if (has_run_ns(reader->pid, reader->pid) > had_run_ns + TURN_NS) return true;
        if (clock_ns() > until_ns) return false;
        clock_wait_ns(LOOK_NS);
    }
    return true;
}
