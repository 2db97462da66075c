/* The keeper: one process between ga-guest and each command.
 *
 * It is the command's subreaper: whatever the command starts, however it detaches itself, stays below the keeper while the
 * command runs, so that a deadline can end all of it without control groups. It goes when the command does; what was
 * left in the background then belongs to init and lives on. */
#ifndef GA_KEEPER_H
#define GA_KEEPER_H

#include <signal.h>

#include "launch.h"

#define KEEPER_KILL SIGUSR1

/* Runs in a fresh fork and never returns. KEEPER_KILL to it kills the whole tree; it ignores
 * SIGTERM, so that at the end of a world its command gets the grace that all get. Reports STARTED, FAILED, EXITED. */
_Noreturn void keeper_run(const struct launch *launch, int status_fd);

#endif
