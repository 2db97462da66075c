#define _GNU_SOURCE
#include "idle.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

#define QUIET_NS (2 * MS_NS)
#define THREADS_MAX 512

/* Programs open connections to the X server when they start, seldom later. */
#define SOCKETS_HOLD_NS (3000 * MS_NS)

bool idle_begin(struct idle_probe *probe, int pid) {
    bool known = probe->pid == pid && probe->sockets.count && clock_ns() < probe->found_ns + SOCKETS_HOLD_NS;
    probe->run_ns = probe->since_ns = 0;
    if (known) return true;
    idle_end(probe);
    probe->pid = pid;
    probe->found_ns = clock_ns();
    return pid > 0 && x_sockets_find(&probe->sockets, pid);
}

void idle_end(struct idle_probe *probe) {
    x_sockets_close(&probe->sockets);
    probe->pid = 0;
}

/* Reads a small file under /proc/<pid>/task/<thread>; false when the thread is gone. */
static bool read_fact(int pid, const char *thread, const char *name, char *text, size_t size) {
    char path[128];
    snprintf(path, sizeof path, "/proc/%d/task/%.16s/%s", pid, thread, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, size - 1) : -1;
    if (fd >= 0) close(fd);
    text[got > 0 ? got : 0] = 0;
    return got > 0;
}

/* Adds what one thread has run; false when it runs now, or is about to. */
static bool sleeps(int pid, const char *thread, uint64_t *run_ns) {
    char text[512];
    if (!read_fact(pid, thread, "schedstat", text, sizeof text)) return true;
    *run_ns += strtoull(text, NULL, 10);
    if (!read_fact(pid, thread, "stat", text, sizeof text)) return true;
    const char *state = strrchr(text, ')'); /* the name before it may hold anything */
    return state && state[1] == ' ' && state[2] != 'R' && state[2] != 'D';
}

bool idle_sleeps(int pid) {
    char thread[16];
    uint64_t run_ns = 0;
    snprintf(thread, sizeof thread, "%d", pid);
    return sleeps(pid, thread, &run_ns);
}

static bool threads_sleep(int pid, uint64_t *run_ns) {
    char folder[64];
    bool asleep = true;
    int seen = 0;
    snprintf(folder, sizeof folder, "/proc/%d/task", pid);
    DIR *tasks = opendir(folder);
    struct dirent *entry;
    while (tasks && asleep && (entry = readdir(tasks)) && seen < THREADS_MAX) {
        if (entry->d_name[0] == '.') continue;
        seen++;
        asleep = sleeps(pid, entry->d_name, run_ns);
    }
    if (tasks) closedir(tasks);
    return asleep; /* a process that is gone misreads nothing */
}

enum idle_state idle_look(struct idle_probe *probe) {
    uint64_t run_ns = 0;
    bool asleep = threads_sleep(probe->pid, &run_ns);
    bool waits = x_sockets_have_unread(&probe->sockets);
    bool quiet = asleep && !waits;
    if (!quiet || run_ns != probe->run_ns || probe->since_ns == 0) {
        probe->run_ns = run_ns;
        probe->since_ns = quiet ? clock_ns() : 0;
        return waits ? IDLE_UNREAD : IDLE_RUNNING;
    }
    return clock_ns() - probe->since_ns >= QUIET_NS ? IDLE_REACHED : IDLE_RUNNING;
}
