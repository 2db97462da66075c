/* File descriptors: flags, pipes, and closing all that a child must not hold. */
#ifndef GA_DESCRIPTORS_H
#define GA_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>

bool fd_set_nonblocking(int fd);
void fd_close(int *fd); /* closes once and sets it to -1 */
bool fd_write_all(int fd, const void *data, size_t size); /* blocking descriptors only; errno is set on false */

/* Closes all from 3 upward except those kept. */
void fd_close_others(const int *kept, size_t count);

#endif
