/* The terminal between a sudo and its command: the command gets one of its own, sudo passes everything on.
 *
 * The command runs in another session, so it cannot have our terminal as its controlling one. */
#ifndef GA_SUDO_TERMINAL_H
#define GA_SUDO_TERMINAL_H

#include <poll.h>
#include <stdbool.h>
#include <termios.h>

#include "buffer.h"

struct sudo_terminal {
    int master;     /* -1 when none of our descriptors is a terminal */
    int input;      /* our terminal to read from, -1 when standard input is none */
    int output;     /* our terminal to write to, -1 when neither standard output nor error is one */
    bool unused;    /* the command has it closed for now; we must not, or it would be hung up on */
    bool raw;       /* our terminal is in raw mode and must be restored */
    struct termios saved;
    struct buffer typed; /* on its way to the command */
};

/* Replaces those of fds[3] that are terminals by the new one's slave. False with errno. */
bool sudo_terminal_open(struct sudo_terminal *terminal, int fds[3]);
void sudo_terminal_resize(struct sudo_terminal *terminal);
/* Adds at most two descriptors to poll; returns how many. */
int sudo_terminal_watch(const struct sudo_terminal *terminal, struct pollfd *fds);
void sudo_terminal_pass(struct sudo_terminal *terminal, const struct pollfd *fds, int count);
/* Passes on what the command left, and restores our terminal. */
void sudo_terminal_close(struct sudo_terminal *terminal);

#endif
