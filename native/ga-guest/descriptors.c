#define _GNU_SOURCE
#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

bool fd_set_nonblocking(int fd) {
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

void fd_close(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

bool fd_write_all(int fd, const void *data, size_t size) {
    const uint8_t *at = data;
    while (size) {
        ssize_t written = write(fd, at, size);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        at += written;
        size -= (size_t)written;
    }
    return true;
}

static void close_range_of(unsigned first, unsigned last) {
    if (first > last) return;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, last, 0) == 0) return;
#endif
    struct rlimit limit;
    unsigned end = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 65536 ? (unsigned)limit.rlim_cur : 65536;
    for (unsigned fd = first; fd <= last && fd < end; fd++) close((int)fd);
}

void fd_close_others(const int *kept, size_t count) {
    unsigned first = 3;
    for (;;) {
        unsigned next = ~0U;
        for (size_t i = 0; i < count; i++)
            if (kept[i] >= (int)first && (unsigned)kept[i] < next) next = (unsigned)kept[i];
        close_range_of(first, next - 1 < next ? next - 1 : next);
        if (next == ~0U) return;
        first = next + 1;
    }
}
