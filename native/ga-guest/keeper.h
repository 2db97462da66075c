/* The keeper: one process between ga-guest and each command.
 *
 * It is the command's subreaper: whatever the command starts, however it detaches itself, stays below the keeper while the
 * command runs, so that a deadline can end all of it without control groups. It goes when the command does; what was
 * left in the background then belongs to init and lives on. */
#ifndef GA_KEEPER_H
#define GA_KEEPER_H

#include "launch.h"

/* Runs in a fresh fork and never returns. SIGTERM to it kills the whole tree. Reports STARTED, FAILED, EXITED. */
_Noreturn void keeper_run(const struct launch *launch, int status_fd);

#endif
