/* The command line. */
#ifndef GD_OPTIONS_H
#define GD_OPTIONS_H

#include "opening.h"

struct options {
    const char *display;
    const char *socket_path; /* NULL: listen_fd */
    int listen_fd;
    const char *region; /* file of the memory shared with another machine, which may come later; NULL: none */
    double wait_display_s;
};

/* False, after saying why on stderr, when the command line makes no sense. */
bool options_parse(struct options *options, struct opening *opening, int argc, char **argv);
/* A listening socket; -1 after saying why. */
int options_listen(const struct options *options);

#endif
