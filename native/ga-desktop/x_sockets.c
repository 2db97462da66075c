#define _GNU_SOURCE
#include "x_sockets.h"

#include <dirent.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define NAME_MAX_BYTES 108
/* Both the path and the abstract name of an X server's socket hold this. */
#define X_FOLDER "/tmp/.X11-unix/X"

/* What the kernel says of one Unix socket. */
struct facts {
    bool known; /* false: not a Unix socket, or gone */
    uint32_t unread, peer;
    char name[NAME_MAX_BYTES + 1];
};

static void take_attribute(struct facts *facts, const struct nlattr *attribute) {
    const char *value = (const char *)(attribute + 1);
    size_t size = attribute->nla_len - sizeof *attribute;
    struct unix_diag_rqlen queues;
    if (attribute->nla_type == UNIX_DIAG_RQLEN && size >= sizeof queues) {
        memcpy(&queues, value, sizeof queues);
        facts->unread = queues.udiag_rqueue;
    } else if (attribute->nla_type == UNIX_DIAG_PEER && size >= sizeof facts->peer) {
        memcpy(&facts->peer, value, sizeof facts->peer);
    } else if (attribute->nla_type == UNIX_DIAG_NAME && size <= NAME_MAX_BYTES) {
        memcpy(facts->name, value, size);
        facts->name[size] = 0;
    }
}

static void take_attributes(struct facts *facts, const char *at, const char *end) {
    while (end - at >= (ssize_t)sizeof(struct nlattr)) {
        const struct nlattr *attribute = (const void *)at;
        if (attribute->nla_len < sizeof *attribute || end - at < attribute->nla_len) return;
        take_attribute(facts, attribute);
        at += NLA_ALIGN(attribute->nla_len);
    }
}

/* False when the kernel does not answer such questions. */
static bool ask(int netlink_fd, uint32_t inode, uint32_t show, struct facts *facts) {
    struct {
        struct nlmsghdr head;
        struct unix_diag_req request;
    } question = {
        .head = {.nlmsg_len = sizeof question, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
        .request = {.sdiag_family = AF_UNIX,
                    .udiag_states = ~0u,
                    .udiag_ino = inode,
                    .udiag_show = show,
                    .udiag_cookie = {~0u, ~0u}},
    };
    union {
        struct nlmsghdr head;
        char room[1024];
    } answer;
    memset(facts, 0, sizeof *facts);
    if (send(netlink_fd, &question, sizeof question, 0) < 0) return false;
    ssize_t size = recv(netlink_fd, &answer, sizeof answer, 0);
    if (size < (ssize_t)sizeof answer.head) return false;
    const char *body = NLMSG_DATA(&answer.head);
    if (answer.head.nlmsg_type == NLMSG_ERROR) return ((const struct nlmsgerr *)(const void *)body)->error == -2;
    facts->known = true; /* an error of 2, ENOENT, is a socket of another family */
    take_attributes(facts, body + sizeof(struct unix_diag_msg), answer.room + size);
    return true;
}

static bool is_x_name(const char *name) {
    return strncmp(name, X_FOLDER, sizeof X_FOLDER - 1) == 0 ||
           (name[0] == 0 && strncmp(name + 1, X_FOLDER, sizeof X_FOLDER - 1) == 0);
}

/* The server's end carries the name. */
static bool add_if_x(struct x_sockets *sockets, uint32_t inode) {
    struct facts own, peer;
    if (!ask(sockets->netlink_fd, inode, UDIAG_SHOW_PEER, &own)) return false;
    if (!own.known || !own.peer || sockets->count == X_SOCKETS_MAX) return true;
    if (!ask(sockets->netlink_fd, own.peer, UDIAG_SHOW_NAME, &peer)) return false;
    if (peer.known && is_x_name(peer.name)) sockets->inodes[sockets->count++] = inode;
    return true;
}

bool x_sockets_find(struct x_sockets *sockets, int pid) {
    char folder[64], target[64];
    bool answered = true;
    *sockets = (struct x_sockets){.netlink_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)};
    if (sockets->netlink_fd < 0) return false;
    const struct timeval patience = {.tv_usec = 100000};
    setsockopt(sockets->netlink_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    snprintf(folder, sizeof folder, "/proc/%d/fd", pid);
    DIR *fds = opendir(folder);
    struct dirent *entry;
    while (fds && answered && (entry = readdir(fds))) {
        ssize_t size = readlinkat(dirfd(fds), entry->d_name, target, sizeof target - 1);
        if (size <= 0) continue;
        target[size] = 0;
        if (strncmp(target, "socket:[", 8) == 0) answered = add_if_x(sockets, (uint32_t)strtoul(target + 8, NULL, 10));
    }
    if (fds) closedir(fds);
    if (answered && sockets->count) return true;
    x_sockets_close(sockets);
    return false;
}

void x_sockets_close(struct x_sockets *sockets) {
    if (sockets->netlink_fd > 0) close(sockets->netlink_fd);
    sockets->netlink_fd = 0; /* stdin's number, never ours: a structure of zeros is closed */
    sockets->count = 0;
}

bool x_sockets_have_unread(const struct x_sockets *sockets) {
    struct facts facts;
    for (int i = 0; i < sockets->count; i++)
        if (!ask(sockets->netlink_fd, sockets->inodes[i], UDIAG_SHOW_RQLEN, &facts) || facts.unread) return true;
    return false;
}
