#define _GNU_SOURCE
#include "idle.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "clock.h"

#define QUIET_NS (2 * MS_NS)
#define THREADS_MAX 512

static void list_sockets(struct idle_probe *probe) {
    char folder[64], target[64];
    snprintf(folder, sizeof folder, "/proc/%d/fd", probe->pid);
    DIR *fds = opendir(folder);
    struct dirent *entry;
    while (fds && (entry = readdir(fds)) && probe->socket_count < IDLE_SOCKETS_MAX) {
        ssize_t size = readlinkat(dirfd(fds), entry->d_name, target, sizeof target - 1);
        if (size <= 0) continue;
        target[size] = 0;
        if (strncmp(target, "socket:[", 8) == 0)
            probe->sockets[probe->socket_count++] = (uint32_t)strtoul(target + 8, NULL, 10);
    }
    if (fds) closedir(fds);
}

bool idle_begin(struct idle_probe *probe, int pid) {
    *probe = (struct idle_probe){.pid = pid, .netlink_fd = -1};
    if (pid <= 0) return false;
    list_sockets(probe);
    if (!probe->socket_count) return false;
    probe->netlink_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    const struct timeval patience = {.tv_usec = 100000};
    if (probe->netlink_fd >= 0) setsockopt(probe->netlink_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return probe->netlink_fd >= 0;
}

void idle_end(struct idle_probe *probe) {
    if (probe->netlink_fd >= 0) close(probe->netlink_fd);
    probe->netlink_fd = -1;
}

/* Bytes that wait to be read in one Unix socket; 0 for other sockets, -1 when the kernel does not say. */
static int64_t unread(const struct idle_probe *probe, uint32_t inode) {
    struct {
        struct nlmsghdr head;
        struct unix_diag_req request;
    } question = {
        .head = {.nlmsg_len = sizeof question, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
        .request = {.sdiag_family = AF_UNIX, .udiag_states = ~0u, .udiag_ino = inode, .udiag_show = UDIAG_SHOW_RQLEN,
                    .udiag_cookie = {~0u, ~0u}},
    };
    union {
        struct nlmsghdr head;
        char room[512];
    } answer;
    if (send(probe->netlink_fd, &question, sizeof question, 0) < 0) return -1;
    ssize_t size = recv(probe->netlink_fd, &answer, sizeof answer, 0);
    if (size < (ssize_t)sizeof answer.head) return -1;
    if (answer.head.nlmsg_type == NLMSG_ERROR) {
        const struct nlmsgerr *error = NLMSG_DATA(&answer.head);
        return error->error == -2 ? 0 : -1; /* ENOENT: not a Unix socket */
    }
    const char *facts = NLMSG_DATA(&answer.head), *end = answer.room + size;
    const struct nlattr *attribute = (const void *)(facts + sizeof(struct unix_diag_msg));
    while ((const char *)(attribute + 1) <= end && attribute->nla_len >= sizeof *attribute) {
        const struct unix_diag_rqlen *queues = (const void *)(attribute + 1);
        if (attribute->nla_type == UNIX_DIAG_RQLEN && (const char *)(queues + 1) <= end) return queues->udiag_rqueue;
        attribute = (const void *)((const char *)attribute + NLA_ALIGN(attribute->nla_len));
    }
    return -1;
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

static bool has_unread(const struct idle_probe *probe) {
    for (int i = 0; i < probe->socket_count; i++)
        if (unread(probe, probe->sockets[i]) != 0) return true;
    return false;
}

enum idle_state idle_look(struct idle_probe *probe) {
    uint64_t run_ns = 0;
    bool asleep = threads_sleep(probe->pid, &run_ns);
    bool waits = has_unread(probe);
    bool quiet = asleep && !waits;
    if (!quiet || run_ns != probe->run_ns || probe->since_ns == 0) {
        probe->run_ns = run_ns;
        probe->since_ns = quiet ? clock_ns() : 0;
        return waits ? IDLE_UNREAD : IDLE_RUNNING;
    }
    return clock_ns() - probe->since_ns >= QUIET_NS ? IDLE_REACHED : IDLE_RUNNING;
}
