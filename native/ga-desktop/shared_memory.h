/* Memory that other processes map too. */
#ifndef GD_SHARED_MEMORY_H
#define GD_SHARED_MEMORY_H

#include <stddef.h>

/* Maps all of a file to read and write; MAP_FAILED when that cannot be done. In large pages where the system lends them:
 * in a virtual machine whose processor has rested, the first touch of each page costs microseconds, and a screen has
 * thousands of small ones. */
void *map_shared(int fd, size_t size);

#endif
