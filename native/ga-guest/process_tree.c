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
    /* Clock ticks from boot to its start: with the number it names a process for good. */
    unsigned long long started;
    char state;
    bool inside;
};

struct list {
    struct process *items;
    size_t count;
    size_t capacity;
};

/* Who is there, and who was signalled: a child whose parent dies first is somebody else's, and has yet to die. */
struct table {
    struct list there;
    struct list signalled;
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
    unsigned long long started;
    const char *form = " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu";
    if (!after_name || sscanf(after_name + 1, form, &state, &parent, &started) != 3) return false;
    *process = (struct process){.pid = (pid_t)atoi(pid_text), .parent = parent, .started = started, .state = state};
    return true;
}

static void append(struct list *list, struct process process) {
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 256;
        struct process *grown = allocate(list->capacity * sizeof *grown);
        if (list->count) memcpy(grown, list->items, list->count * sizeof *grown);
        free(list->items);
        list->items = grown;
    }
    list->items[list->count++] = process;
}

static int compare_pids(const void *a, const void *b) {
    const struct process *left = a, *right = b;
    return (left->pid > right->pid) - (left->pid < right->pid);
}

static void sort(struct list *list) {
    if (list->count) qsort(list->items, list->count, sizeof *list->items, compare_pids);
}

static struct process *find(const struct list *list, pid_t pid) {
    struct process key = {.pid = pid};
    return list->count ? bsearch(&key, list->items, list->count, sizeof key, compare_pids) : NULL;
}

static void read_all(struct list *list) {
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    list->count = 0;
    while (folder && (entry = readdir(folder))) {
        struct process process;
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || !read_stat(entry->d_name, &process)) continue;
        append(list, process);
    }
    if (folder) closedir(folder);
    sort(list);
}

static bool is_inside(const struct list *there, pid_t pid) {
    const struct process *found = find(there, pid);
    return found && found->inside;
}

static bool was_signalled(const struct list *signalled, const struct process *process) {
    const struct process *found = find(signalled, process->pid);
    return found && found->started == process->started;
}

/* Marks what was signalled before, and what descends from that or from `root`: passes until nothing new is found. */
static void mark(struct table *table, pid_t root) {
    struct list *there = &table->there;
    for (size_t i = 0; i < there->count; i++)
        there->items[i].inside = was_signalled(&table->signalled, &there->items[i]);
    bool changed = true;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < there->count; i++) {
            struct process *process = &there->items[i];
            if (process->inside || process->pid == root) continue;
            if (process->parent != root && !is_inside(there, process->parent)) continue;
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
    struct list *there = &table->there;
    size_t alive = 0;
    *running = 0;
    read_all(there);
    mark(table, root);
    table->signalled.count = 0; /* who still matters is marked, and noted again */
    for (size_t i = 0; i < there->count; i++) {
        struct process *process = &there->items[i];
        bool chosen = process->inside || (with_root && process->pid == root);
        if (!chosen || !is_alive(process) || process->pid == getpid()) continue;
        alive++;
        *running += !is_still(process);
        kill(process->pid, number);
        append(&table->signalled, *process); /* in the order of the table, which is sorted */
    }
    return alive;
}

static void table_free(struct table *table) {
    free(table->there.items);
    free(table->signalled.items);
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
    table_free(&table);
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
    table_free(&table);
    return gone;
}
