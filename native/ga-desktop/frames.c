#define _GNU_SOURCE
#include "frames.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared_memory.h"

#define PAGE 4096u
#define SLOTS_OFFSET 64u

_Static_assert(sizeof(struct gd_MAPPING) <= SLOTS_OFFSET, "the slots follow the mapping's facts");
_Static_assert(SLOTS_OFFSET + GD_SLOTS * sizeof(struct gd_SLOT) <= PAGE, "facts fit in the first page");

static size_t round_up(size_t size) {
    return (size + PAGE - 1) / PAGE * PAGE;
}

static void describe(struct frames *frames, uint32_t generation, size_t slot_bytes) {
    *frames->mapping = (struct gd_MAPPING){
        .magic = GD_MAGIC,
        .version = GD_VERSION,
        .generation = generation,
        .width = (uint32_t)frames->width,
        .height = (uint32_t)frames->height,
        .stride = (uint32_t)frames->width * 3,
        .slot_count = GD_SLOTS,
        .slots_offset = SLOTS_OFFSET,
        .pixels_offset = PAGE,
        .slot_bytes = slot_bytes,
    };
}

/* The same memory for readers. Where /proc is missing they are trusted not to write. */
static int read_only(int fd) {
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int reopened = open(path, O_RDONLY | O_CLOEXEC);
    if (reopened < 0) return fd;
    close(fd);
    return reopened;
}

static bool map_memory(struct frames *frames) {
    frames->fd = memfd_create("ga-desktop-frames", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (frames->fd < 0) return false;
    void *memory = MAP_FAILED;
    if (ftruncate(frames->fd, (off_t)frames->memory_size) == 0)
        memory = map_shared(frames->fd, frames->memory_size);
    if (memory == MAP_FAILED) {
        close(frames->fd);
        frames->fd = -1;
        return false;
    }
    fcntl(frames->fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
    frames->fd = read_only(frames->fd);
    frames->memory = memory;
    return true;
}

bool frames_open(struct frames *frames, int width, int height, uint32_t generation) {
    size_t slot_bytes = round_up((size_t)width * (size_t)height * 3);
    *frames = (struct frames){.fd = -1, .width = width, .height = height, .newest = NO_SLOT};
    frames->memory_size = PAGE + GD_SLOTS * slot_bytes;
    if (!map_memory(frames)) return false;
    frames->mapping = (struct gd_MAPPING *)(void *)frames->memory;
    frames->slots = (struct gd_SLOT *)(void *)(frames->memory + SLOTS_OFFSET);
    describe(frames, generation, slot_bytes);
    for (int i = 0; i < GD_SLOTS; i++) box_list_add(&frames->stale[i], (struct box){0, 0, width, height});
    return true;
}

void frames_close(struct frames *frames) {
    if (!frames->memory) return;
    __atomic_store_n(&frames->mapping->retired, 1, __ATOMIC_RELEASE);
    munmap(frames->memory, frames->memory_size);
    close(frames->fd);
    frames->memory = NULL;
    frames->fd = -1;
}

static bool is_free(const struct frames *frames, int slot, uint32_t kept) {
    return slot != frames->newest && !(kept & (1u << slot));
}

/* Odd while the slot is written. */
static void lock(struct frames *frames, int slot) {
    __atomic_store_n(&frames->slots[slot].lock, frames->slots[slot].lock + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void unlock(struct frames *frames, int slot) {
    __atomic_store_n(&frames->slots[slot].lock, frames->slots[slot].lock + 1, __ATOMIC_RELEASE);
}

void frames_rest(struct frames *frames, uint32_t kept) {
    size_t slot_bytes = frames->mapping->slot_bytes;
    for (int slot = 0; slot < GD_SLOTS; slot++) {
        if (!is_free(frames, slot, kept)) continue;
        struct box all = {0, 0, frames->width, frames->height};
        lock(frames, slot);
        if (madvise(frames_pixel(frames, slot, 0, 0), slot_bytes, MADV_REMOVE) == 0)
            box_list_add(&frames->stale[slot], all);
        unlock(frames, slot);
    }
}

int frames_choose(const struct frames *frames, uint32_t kept) {
    for (int slot = 0; slot < GD_SLOTS; slot++)
        if (is_free(frames, slot, kept)) return slot;
    return NO_SLOT;
}

int frames_free(const struct frames *frames, uint32_t kept) {
    int count = 0;
    for (int slot = 0; slot < GD_SLOTS; slot++) count += is_free(frames, slot, kept);
    return count;
}

uint8_t *frames_pixel(const struct frames *frames, int slot, int x, int y) {
    size_t stride = frames->mapping->stride;
    size_t start = PAGE + (size_t)slot * frames->mapping->slot_bytes;
    return frames->memory + start + (size_t)y * stride + (size_t)x * 3;
}

static void copy_box(struct frames *frames, int to, struct box box) {
    size_t stride = frames->mapping->stride;
    if (box.width == frames->width) {
        memcpy(frames_pixel(frames, to, 0, box.y), frames_pixel(frames, frames->newest, 0, box.y),
               stride * (size_t)box.height);
        return;
    }
    for (int y = box.y; y < box.y + box.height; y++)
        memcpy(frames_pixel(frames, to, box.x, y), frames_pixel(frames, frames->newest, box.x, y),
               (size_t)box.width * 3);
}

void frames_begin(struct frames *frames, int slot, const struct box_list *coming) {
    struct box_list *stale = &frames->stale[slot];
    lock(frames, slot);
    for (int i = 0; i < stale->count; i++)
        if (frames->newest != NO_SLOT && !box_list_covers(coming, stale->items[i])) copy_box(frames, slot, stale->items[i]);
    stale->count = 0;
}

void frames_finish(struct frames *frames, int slot, const struct box_list *changed, const struct gd_SLOT *facts,
                   bool as_newest) {
    struct gd_SLOT *own = &frames->slots[slot];
    own->picture = facts->picture;
    own->captured_at_ns = facts->captured_at_ns;
    own->after_input = facts->after_input;
    unlock(frames, slot);
    if (!as_newest) {
        box_list_add_all(&frames->stale[slot], changed);
        return;
    }
    for (int other = 0; other < GD_SLOTS; other++)
        if (other != slot) box_list_add_all(&frames->stale[other], changed);
    frames->newest = slot;
    __atomic_store_n(&frames->mapping->newest, (uint32_t)slot, __ATOMIC_RELEASE);
}
