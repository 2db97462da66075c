/* Limits of our own that commands must not inherit: many open files, and last in line when memory runs out. */
#ifndef GA_PROCESS_LIMITS_H
#define GA_PROCESS_LIMITS_H

void limits_raise(void);   /* in the server, once */
void limits_restore(void); /* in a child, before it becomes a command */

#endif
