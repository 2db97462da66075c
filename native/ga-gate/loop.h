/* The one loop: moves bytes between sockets and the gate. */
#ifndef GG_LOOP_H
#define GG_LOOP_H

#include <signal.h>

#include "gate.h"

struct loop {
    struct gate *gate;
    int listen_fd;
    SSL_CTX *tls;       /* NULL: none */
    struct link *watch; /* idle; its end is the end of ga-desktop */
    volatile sig_atomic_t stop;
};

/* For gate.connect. */
struct link *loop_connect(struct gate *gate, uint32_t role);
/* Opens the watching connection; false after saying why on stderr. */
bool loop_reach_desktop(struct loop *loop);
/* Until `stop` or the end of ga-desktop: false. Signals come only while it waits. */
bool loop_run(struct loop *loop, const sigset_t *while_waiting);

#endif
