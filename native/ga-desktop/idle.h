/* Whether a process has nothing left to do: the sign that it has read its keys, or a new keyboard map. */
#ifndef GD_IDLE_H
#define GD_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "x_sockets.h"

struct idle_probe {
    int pid;
    struct x_sockets sockets;
    uint64_t found_ns; /* when its sockets were looked up */
    uint64_t run_ns;   /* all its threads have run this long */
    uint64_t since_ns; /* and not longer since then; 0: never seen at rest */
};

/* Turns the probe on a process, afresh. False when it cannot tell (another user's, another namespace, no netlink). */
bool idle_begin(struct idle_probe *probe, int pid);
void idle_end(struct idle_probe *probe);

enum idle_state {
    IDLE_UNREAD,  /* something from an X server waits in its sockets */
    IDLE_RUNNING, /* it has read everything, and does something */
    IDLE_REACHED, /* its threads sleep and none has run for 2 ms */
};

/* Whether a process that does all in its first thread waits for something to do. */
bool idle_sleeps(int pid);
/* Ask again and again. */
enum idle_state idle_look(struct idle_probe *probe);

#endif
