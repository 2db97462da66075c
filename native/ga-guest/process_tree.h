/* Ending a process together with everything that descends from it. */
#ifndef GA_PROCESS_TREE_H
#define GA_PROCESS_TREE_H

#include <stdbool.h>
#include <sys/types.h>

/* Kills all descendants of `root` (and `root` itself when asked) until none is left or `limit_ms` has passed; children of
 * the caller are reaped. Who was signalled counts until it is dead, also when it became somebody else's child meanwhile.
 * False when something would not die. Works without /proc only for direct children's groups. */
bool process_tree_kill(pid_t root, bool with_root, int limit_ms, void (*reaped)(pid_t pid, int wait_status));

/* One signal to each process of the tree. */
void process_tree_signal(pid_t root, int number);

#endif
