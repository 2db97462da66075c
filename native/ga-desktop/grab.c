#define _GNU_SOURCE
#include "grab.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALL_PLANES 0xffffffffu

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
    size_t padding = (size_t)grab->height * 4 * BOX_LIST_MAX; /* of rows of 16-bit pixels, in the worst case */
    size_t size = box_bytes(grab, (struct box){0, 0, grab->width, grab->height}) + padding;
    int fd = memfd_create("ga-desktop-grab", MFD_CLOEXEC);
    if (fd < 0) return;
    if (ftruncate(fd, (off_t)size) == 0) {
        void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
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

static void drop_replies(struct grab *grab) {
    for (int i = 0; i < BOX_LIST_MAX; i++) {
        free(grab->replies[i]);
        grab->replies[i] = NULL;
        grab->pixels[i] = NULL;
    }
}

void grab_close(struct grab *grab) {
    drop_replies(grab);
    if (!grab->memory) return;
    xcb_shm_detach(grab->display->connection, grab->segment);
    munmap(grab->memory, grab->memory_size);
    grab->memory = NULL;
}

void grab_rest(struct grab *grab) {
    drop_replies(grab);
    if (grab->memory) madvise(grab->memory, grab->memory_size, MADV_REMOVE);
}

static enum grab_result result_of(struct grab *grab, bool complete) {
    if (x_display_lost(grab->display)) return GRAB_LOST;
    return complete ? GRAB_DONE : GRAB_REFUSED;
}

static enum grab_result through_memory(struct grab *grab, const struct box_list *boxes) {
    xcb_connection_t *c = grab->display->connection;
    xcb_shm_get_image_cookie_t cookies[BOX_LIST_MAX];
    size_t offset = 0;
    bool complete = true;
    if (boxes->count > 1) xcb_grab_server(c);
    for (int i = 0; i < boxes->count; i++) {
        const struct box *b = &boxes->items[i];
        grab->pixels[i] = grab->memory + offset;
        cookies[i] = xcb_shm_get_image(c, grab->display->root, (int16_t)b->x, (int16_t)b->y, (uint16_t)b->width,
                                       (uint16_t)b->height, ALL_PLANES, XCB_IMAGE_FORMAT_Z_PIXMAP, grab->segment,
                                       (uint32_t)offset);
        offset += box_bytes(grab, *b);
    }
    if (boxes->count > 1) xcb_ungrab_server(c);
    for (int i = 0; i < boxes->count; i++) {
        xcb_generic_error_t *error = NULL;
        xcb_shm_get_image_reply_t *reply = xcb_shm_get_image_reply(c, cookies[i], &error);
        complete = complete && reply;
        free(reply);
        free(error);
    }
    return result_of(grab, complete);
}

static enum grab_result through_replies(struct grab *grab, const struct box_list *boxes) {
    xcb_connection_t *c = grab->display->connection;
    xcb_get_image_cookie_t cookies[BOX_LIST_MAX];
    bool complete = true;
    xcb_grab_server(c);
    for (int i = 0; i < boxes->count; i++) {
        const struct box *b = &boxes->items[i];
        cookies[i] = xcb_get_image(c, XCB_IMAGE_FORMAT_Z_PIXMAP, grab->display->root, (int16_t)b->x, (int16_t)b->y,
                                   (uint16_t)b->width, (uint16_t)b->height, ALL_PLANES);
    }
    xcb_ungrab_server(c);
    for (int i = 0; i < boxes->count; i++) {
        xcb_generic_error_t *error = NULL;
        grab->replies[i] = xcb_get_image_reply(c, cookies[i], &error);
        size_t got = grab->replies[i] ? (size_t)xcb_get_image_data_length(grab->replies[i]) : 0;
        bool whole = grab->replies[i] && got >= box_bytes(grab, boxes->items[i]);
        if (whole) grab->pixels[i] = xcb_get_image_data(grab->replies[i]);
        complete = complete && whole;
        free(error);
    }
    return result_of(grab, complete);
}

enum grab_result grab_boxes(struct grab *grab, const struct box_list *boxes) {
    drop_replies(grab);
    return grab->memory ? through_memory(grab, boxes) : through_replies(grab, boxes);
}
