#define _GNU_SOURCE
#include "shared_region.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "protocol.h"

#define PIXELS_AT 4096u
#define PATH_MAX_BYTES 256
#define SWITCH "enable"

_Static_assert(sizeof(struct gd_REGION_HEAD) <= PIXELS_AT, "the head lies before the pixels");

/* A device of the PCI bus that has just been plugged in, and has no driver, answers once it is switched on. */
static bool switch_on(const char *path) {
    char file[PATH_MAX_BYTES];
    const char *slash = strrchr(path, '/');
    int size = slash ? (int)(slash - path) + 1 : 0;
    if ((size_t)snprintf(file, sizeof file, "%.*s" SWITCH, size, path) >= sizeof file) return false;
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT; /* no device, a file */
    bool on = write(fd, "1", 1) == 1;
    close(fd);
    return on;
}

enum shared_region_result shared_region_attach(struct shared_region *region, struct x_display *display,
                                               const void *reader, const char **reason) {
    shared_region_detach(region);
    *reason = "the service was started without --region";
    if (!region->path) return SHARED_REGION_UNFIT;
    *reason = "the X server shares no memory";
    if (!display->has_shm) return SHARED_REGION_UNFIT;
    int fd = open(region->path, O_RDWR | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) return SHARED_REGION_ABSENT;
    *reason = "it cannot be opened";
    if (fd < 0) return SHARED_REGION_UNFIT;
    *reason = "its device cannot be switched on";
    if (!switch_on(region->path)) {
        close(fd);
        return SHARED_REGION_UNFIT;
    }
    bool opened = grab_open_file(&region->grab, display, fd, PIXELS_AT);
    *reason = region->grab.note;
    if (!opened) return SHARED_REGION_UNFIT;
    region->head = (struct gd_REGION_HEAD *)(void *)region->grab.memory;
    *region->head = (struct gd_REGION_HEAD){.magic = GD_MAGIC, .version = GD_VERSION};
    region->reader = reader;
    return SHARED_REGION_READY;
}

void shared_region_detach(struct shared_region *region) {
    if (!region->reader) return;
    region->reader = NULL;
    struct x_display *display = region->grab.display;
    grab_close(&region->grab);
    x_display_sync(display); /* now the X server has let go, too */
}

void shared_region_lock(struct shared_region *region) {
    __atomic_store_n(&region->head->lock, region->head->lock + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void shared_region_unlock(struct shared_region *region, uint64_t picture, uint64_t after_input) {
    region->head->picture = picture;
    region->head->after_input = after_input;
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* what lies in a processor's buffers is written now */
    __atomic_store_n(&region->head->lock, region->head->lock + 1, __ATOMIC_RELEASE);
}
