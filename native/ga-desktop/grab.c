#define _GNU_SOURCE
#include "grab.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared_memory.h"

#define ALL_PLANES 0xffffffffu
/* Pixels of at most four bytes, in rows of a multiple of four bytes: at most four for each pixel. */
#define PART_BYTES ((size_t)GRAB_PART_PIXELS * 4)

static size_t box_bytes(const struct grab *grab, struct box box) {
    return pixel_stride(&grab->display->format, box.width) * (size_t)box.height;
}

/* By file descriptor always: System V segments fail late across IPC namespaces. */
static bool attach(struct grab *grab, int fd) {
    xcb_connection_t *c = grab->display->connection;
    grab->segment = xcb_generate_id(c);
    xcb_generic_error_t *error = xcb_request_check(c, xcb_shm_attach_fd_checked(c, grab->segment, fd, 0));
    bool attached = !error && !x_display_lost(grab->display);
    free(error);
    return attached;
}

static void open_memory(struct grab *grab) {
    size_t size = (size_t)grab->width * (size_t)grab->height * 4; /* for all of the screen as one part */
    if (size < GRAB_PARTS * PART_BYTES) size = GRAB_PARTS * PART_BYTES;
    int fd = memfd_create("ga-desktop-grab", MFD_CLOEXEC);
    if (fd < 0) return;
    if (ftruncate(fd, (off_t)size) == 0) {
        void *memory = map_shared(fd, size);
        if (memory != MAP_FAILED) {
            grab->memory = memory;
            grab->memory_size = size;
        }
    }
    if (!grab->memory) {
        close(fd);
        return;
    }
    if (!attach(grab, fd)) { /* xcb closes fd once it is sent */
        munmap(grab->memory, grab->memory_size);
        grab->memory = NULL;
        grab->note = "without shared memory: the X server refused a descriptor";
    }
}

void grab_open(struct grab *grab, struct x_display *display, int width, int height) {
    *grab = (struct grab){.display = display, .width = width, .height = height};
    grab->note = "without shared memory: the X server has no MIT-SHM 1.2";
    if (!display->has_shm) return;
    grab->note = "without shared memory: none to be had";
    open_memory(grab);
    if (grab->memory) grab->note = "through shared memory";
    display->has_shm = grab->memory != NULL; /* not tried again after the next change of size */
}

bool grab_open_file(struct grab *grab, struct x_display *display, int fd, size_t base) {
    struct stat file;
    *grab = (struct grab){.display = display, .base = base, .note = "its size cannot be told"};
    if (fstat(fd, &file) < 0 || (size_t)file.st_size <= base) {
        close(fd);
        return false;
    }
    grab->note = "it cannot be mapped";
    grab->memory_size = (size_t)file.st_size;
    void *memory = map_shared(fd, grab->memory_size);
    if (memory == MAP_FAILED) {
        close(fd);
        return false;
    }
    grab->memory = memory;
    grab->note = "the X server cannot write there";
    if (attach(grab, fd)) return true; /* xcb closes fd once it is sent */
    munmap(memory, grab->memory_size);
    grab->memory = NULL;
    return false;
}

bool grab_fits(const struct grab *grab, int width, int height) {
    struct box screen = {0, 0, width, height};
    size_t least = box_bytes(grab, screen);
    if (least < GRAB_PARTS * PART_BYTES) least = GRAB_PARTS * PART_BYTES;
    return grab->memory && grab->base + least <= grab->memory_size;
}

size_t grab_offset(const struct grab *grab, const struct grab_part *part, int box) {
    return (size_t)(part->pixels[box] - grab->memory);
}

static void drop_replies(struct grab_part *part) {
    for (int i = 0; i < BOX_LIST_MAX; i++) {
        free(part->replies[i]);
        part->replies[i] = NULL;
    }
}

static void drop_parts(struct grab *grab) {
    for (int i = 0; i < GRAB_PARTS; i++) drop_replies(&grab->parts[i]);
}

void grab_close(struct grab *grab) {
    drop_parts(grab);
    if (!grab->memory) return;
    xcb_shm_detach(grab->display->connection, grab->segment);
    munmap(grab->memory, grab->memory_size);
    grab->memory = NULL;
}

void grab_rest(struct grab *grab) {
    drop_parts(grab);
    if (grab->memory) madvise(grab->memory, grab->memory_size, MADV_REMOVE);
}

struct grab_part *grab_ask(struct grab *grab, const struct box_list *boxes) {
    xcb_connection_t *c = grab->display->connection;
    xcb_window_t root = grab->display->root;
    const uint8_t format = XCB_IMAGE_FORMAT_Z_PIXMAP;
    unsigned int place = box_list_area(boxes) > GRAB_PART_PIXELS ? 0 : grab->turn % GRAB_PARTS;
    size_t offset = grab->base + place * PART_BYTES;
    struct grab_part *part = &grab->parts[place];
    drop_replies(part);
    part->boxes = *boxes;
    grab->turn = place + 1;
    for (int i = 0; i < boxes->count; i++) {
        int16_t x = (int16_t)boxes->items[i].x, y = (int16_t)boxes->items[i].y;
        uint16_t width = (uint16_t)boxes->items[i].width, height = (uint16_t)boxes->items[i].height;
        if (grab->memory) {
            part->pixels[i] = grab->memory + offset;
            part->asked[i] = xcb_shm_get_image(c, root, x, y, width, height, ALL_PLANES, format, grab->segment,
                                               (uint32_t)offset).sequence;
        } else {
            part->asked[i] = xcb_get_image(c, format, root, x, y, width, height, ALL_PLANES).sequence;
        }
        offset += box_bytes(grab, boxes->items[i]);
    }
    return part;
}

static bool answered_in_memory(struct grab *grab, unsigned int asked) {
    xcb_generic_error_t *error = NULL;
    xcb_shm_get_image_cookie_t cookie = {asked};
    xcb_shm_get_image_reply_t *reply = xcb_shm_get_image_reply(grab->display->connection, cookie, &error);
    bool complete = reply != NULL;
    free(reply);
    free(error);
    return complete;
}

static bool answered_by_reply(struct grab *grab, struct grab_part *part, int i) {
    xcb_generic_error_t *error = NULL;
    xcb_get_image_cookie_t cookie = {part->asked[i]};
    xcb_get_image_reply_t *reply = xcb_get_image_reply(grab->display->connection, cookie, &error);
    size_t bytes = box_bytes(grab, part->boxes.items[i]);
    bool complete = reply && (size_t)xcb_get_image_data_length(reply) >= bytes;
    part->pixels[i] = complete ? xcb_get_image_data(reply) : NULL;
    part->replies[i] = reply;
    free(error);
    return complete;
}

enum grab_result grab_answer(struct grab *grab, struct grab_part *part) {
    bool complete = true;
    for (int i = 0; i < part->boxes.count; i++) {
        bool one = grab->memory ? answered_in_memory(grab, part->asked[i]) : answered_by_reply(grab, part, i);
        complete = complete && one;
    }
    if (x_display_lost(grab->display)) return GRAB_LOST;
    return complete ? GRAB_DONE : GRAB_REFUSED;
}
