#define _GNU_SOURCE
#include "process_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "buffer.h"

/* Long, since on a busy machine a process may take that to notice. */
#define STOP_LIMIT_MS 2000

struct process {
    pid_t pid;
    pid_t parent;
    char state;
    bool inside;
};

struct table {
    struct process *items;
    size_t count;
    size_t capacity;
};

static bool read_stat(const char *pid_text, struct process *process) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid_text);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    if (size <= 0) return false;
    text[size] = 0;
    char *after_name = strrchr(text, ')'), state;
    int parent;
    if (!after_name || sscanf(after_name + 1, " %c %d", &state, &parent) != 2) return false;
    *process = (struct process){.pid = (pid_t)atoi(pid_text), .parent = parent, .state = state};
    return true;
}

static int compare_pids(const void *a, const void *b) {
    const struct process *left = a, *right = b;
    return (left->pid > right->pid) - (left->pid < right->pid);
}

static void table_read(struct table *table) {
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    table->count = 0;
    while (folder && (entry = readdir(folder))) {
        struct process process;
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || !read_stat(entry->d_name, &process)) continue;
        if (table->count == table->capacity) {
            table->capacity = table->capacity ? 2 * table->capacity : 256;
            struct process *grown = allocate(table->capacity * sizeof *grown);
            if (table->count) memcpy(grown, table->items, table->count * sizeof *grown);
            free(table->items);
            table->items = grown;
        }
        table->items[table->count++] = process;
    }
    if (folder) closedir(folder);
    if (table->count) qsort(table->items, table->count, sizeof *table->items, compare_pids);
}

static bool is_inside(const struct table *table, pid_t pid) {
    struct process key = {.pid = pid};
    const struct process *found = bsearch(&key, table->items, table->count, sizeof key, compare_pids);
    return found && found->inside;
}

/* Marks what descends from `root`: passes until nothing new is found. */
static void mark_descendants(struct table *table, pid_t root) {
    bool changed = true;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < table->count; i++) {
            struct process *process = &table->items[i];
            if (process->inside || process->pid == root) continue;
            if (process->parent != root && !is_inside(table, process->parent)) continue;
            process->inside = changed = true;
        }
    }
}

static bool is_alive(const struct process *process) {
    return process->state != 'Z' && process->state != 'X' && process->state != 'x';
}

/* What waits in the kernel (D) starts nothing either; a parent in vfork stays so while its child is stopped. */
static bool is_still(const struct process *process) {
    return process->state == 'T' || process->state == 't' || process->state == 'D';
}

/* Reads the table anew and signals what belongs to the tree; returns how many of them live, *running how many of those are
 * not stopped. */
static size_t signal_tree(struct table *table, pid_t root, bool with_root, int number, size_t *running) {
    size_t alive = 0;
    *running = 0;
    table_read(table);
    mark_descendants(table, root);
    for (size_t i = 0; i < table->count; i++) {
        struct process *process = &table->items[i];
        bool chosen = process->inside || (with_root && process->pid == root);
        if (!chosen || !is_alive(process) || process->pid == getpid()) continue;
        alive++;
        *running += !is_still(process);
        kill(process->pid, number);
    }
    return alive;
}

static long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void pause_growing(long *microseconds) {
    nanosleep(&(struct timespec){0, *microseconds * 1000}, NULL);
    if (*microseconds < 10000) *microseconds *= 2;
}

void process_tree_signal(pid_t root, int number) {
    struct table table = {0};
    size_t running;
    signal_tree(&table, root, true, number, &running);
    free(table.items);
}

/* What is stopped starts nothing: without this a child that is started while its parent is being killed would get away to
 * init. */
static void stop_tree(struct table *table, pid_t root, bool with_root) {
    long end = now_ms() + STOP_LIMIT_MS, pause_us = 100;
    size_t running = 1;
    while (signal_tree(table, root, with_root, SIGSTOP, &running) && running && now_ms() < end) pause_growing(&pause_us);
}

static void reap_children(void (*reaped)(pid_t pid, int wait_status)) {
    int wait_status;
    pid_t pid;
    while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0)
        if (reaped) reaped(pid, wait_status);
}

bool process_tree_kill(pid_t root, bool with_root, int limit_ms, void (*reaped)(pid_t pid, int wait_status)) {
    struct table table = {0};
    long end = now_ms() + limit_ms, pause_us = 200;
    size_t running;
    stop_tree(&table, root, with_root);
    bool gone = signal_tree(&table, root, with_root, SIGKILL, &running) == 0;
    while (!gone && now_ms() < end) {
        pause_growing(&pause_us);
        reap_children(reaped);
        gone = signal_tree(&table, root, with_root, SIGKILL, &running) == 0;
    }
    reap_children(reaped);
    free(table.items);
    return gone;
}
