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

struct process {
    pid_t pid;
    pid_t parent;
    bool zombie;
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
    *process = (struct process){.pid = (pid_t)atoi(pid_text), .parent = parent, .zombie = state == 'Z' || state == 'X'};
    return true;
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
}

static bool is_inside(const struct table *table, pid_t pid) {
    for (size_t i = 0; i < table->count; i++)
        if (table->items[i].pid == pid) return table->items[i].inside;
    return false;
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

static size_t signal_descendants(struct table *table, pid_t root, int number) {
    size_t alive = 0;
    table_read(table);
    mark_descendants(table, root);
    for (size_t i = 0; i < table->count; i++) {
        struct process *process = &table->items[i];
        if (!process->inside || process->zombie || process->pid == getpid()) continue;
        alive++;
        kill(process->pid, number);
    }
    return alive;
}

void process_tree_signal(pid_t root, int number) {
    struct table table = {0};
    signal_descendants(&table, root, number);
    kill(root, number);
    free(table.items);
}

static bool root_alive(pid_t root) {
    struct process process;
    char text[24];
    snprintf(text, sizeof text, "%d", root);
    return read_stat(text, &process) && !process.zombie;
}

static long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool process_tree_kill(pid_t root, bool with_root, int limit_ms, void (*reaped)(pid_t pid, int wait_status)) {
    struct table table = {0};
    long end = now_ms() + limit_ms, pause_us = 200;
    bool gone = false;
    /* A stopped root starts nothing new while its children are found. */
    if (with_root) kill(root, SIGSTOP);
    while (!gone) {
        size_t alive = signal_descendants(&table, root, SIGKILL);
        if (with_root && !alive) {
            kill(root, SIGKILL);
            alive += root_alive(root);
        }
        int wait_status;
        pid_t pid;
        while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0)
            if (reaped) reaped(pid, wait_status);
        gone = alive == 0;
        if (gone || now_ms() > end) break;
        nanosleep(&(struct timespec){0, pause_us * 1000}, NULL);
        if (pause_us < 10000) pause_us *= 2;
    }
    free(table.items);
    return gone;
}
