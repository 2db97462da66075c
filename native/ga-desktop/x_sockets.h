/* The Unix sockets that a process talks to X servers with, and what waits to be read in them. */
#ifndef GD_X_SOCKETS_H
#define GD_X_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>

#define X_SOCKETS_MAX 16

struct x_sockets {
    int netlink_fd;
    uint32_t inodes[X_SOCKETS_MAX];
    int count;
};

/* False when it cannot be told: another user's process, another namespace, a kernel without unix_diag. */
bool x_sockets_find(struct x_sockets *sockets, int pid);
void x_sockets_close(struct x_sockets *sockets);
bool x_sockets_have_unread(const struct x_sockets *sockets);

#endif
