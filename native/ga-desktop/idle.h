/* Whether a process has nothing left to do: the sign that it has read its keys, for programs that answer no ping. */
#ifndef GD_IDLE_H
#define GD_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#define IDLE_SOCKETS_MAX 64

struct idle_probe {
    int pid;
    int netlink_fd;
    uint32_t sockets[IDLE_SOCKETS_MAX]; /* inodes of its Unix sockets */
    int socket_count;
    uint64_t run_ns;   /* all its threads have run this long */
    uint64_t since_ns; /* and not longer since then; 0: never seen at rest */
};

/* False when this cannot be told of that process (another user's, another namespace, no netlink). */
bool idle_begin(struct idle_probe *probe, int pid);
void idle_end(struct idle_probe *probe);
enum idle_state {
    IDLE_UNREAD,  /* something waits in its sockets */
    IDLE_RUNNING, /* it has read everything, and does something */
    IDLE_REACHED, /* its threads sleep and none has run for 2 ms */
};

/* Ask again and again. */
enum idle_state idle_look(struct idle_probe *probe);

#endif
