#define _GNU_SOURCE
#include "mapping.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

static bool makes_sense(const struct gd_MAPPING *facts, size_t size) {
    if (facts->magic != GD_MAGIC || facts->version != GD_VERSION || facts->width == 0 || facts->height == 0) return false;
    if (facts->width > UINT16_MAX || facts->height > UINT16_MAX) return false;
    if (facts->stride != facts->width * BYTES_PER_PIXEL || facts->slot_count > GD_SLOTS) return false;
    if (facts->slot_bytes < (uint64_t)facts->stride * facts->height || facts->slot_bytes > size) return false;
    return facts->pixels_offset <= size && facts->slot_count * facts->slot_bytes <= size - facts->pixels_offset;
}

bool mapping_open(struct mapping *mapping, int fd) {
    struct stat about;
    if (fstat(fd, &about) < 0 || (size_t)about.st_size < sizeof mapping->facts) return false;
    void *memory = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) return false;
    *mapping = (struct mapping){.memory = memory, .size = (size_t)about.st_size};
    memcpy(&mapping->facts, memory, sizeof mapping->facts);
    if (makes_sense(&mapping->facts, mapping->size)) return true;
    mapping_close(mapping);
    return false;
}

void mapping_close(struct mapping *mapping) {
    if (mapping->memory) munmap(mapping->memory, mapping->size);
    *mapping = (struct mapping){0};
}

bool mapping_view(const struct mapping *mapping, const struct gd_FRAME *frame, struct view *view) {
    const struct gd_MAPPING *facts = &mapping->facts;
    if (!mapping->memory || frame->slot >= facts->slot_count) return false;
    if (frame->width != facts->width || frame->height != facts->height) return false;
    *view = (struct view){mapping->memory + facts->pixels_offset + frame->slot * facts->slot_bytes, facts->stride,
                          (int)facts->width, (int)facts->height};
    return true;
}
