#define _GNU_SOURCE
#include "shared_memory.h"

#include <sys/mman.h>

void *map_shared(int fd, size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED) madvise(memory, size, MADV_HUGEPAGE); /* a wish: without it all works, only slower */
    return memory;
}
