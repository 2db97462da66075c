/* Turning a forked child into the program that was asked for. */
#ifndef GA_LAUNCH_H
#define GA_LAUNCH_H

#include <stdbool.h>

#include "wire.h"

struct launch {
    struct ga_slice user;
    struct ga_slice cwd;
    struct ga_slice log_path; /* spawn: where standard output and error are appended; empty for nowhere */
    struct ga_texts argv;
    struct ga_texts env;
    bool exact_env;
    int fds[3]; /* become 0, 1, 2; -1 is /dev/null */
};

/* Never returns. A failure is told to `status_fd`, which closes on exec. */
_Noreturn void launch_child(const struct launch *launch, int status_fd);

#endif
