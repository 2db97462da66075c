#include "x_display.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xcb/damage.h>
#include <xcb/shm.h>
#include <xcb/xfixes.h>
#include <xcb/xkb.h>
#include <xcb/xtest.h>

#include "clock.h"

#define RETRY_NS 2000000

/* A static program cannot look up host names, so ":1" is said as "unix/:1": never TCP. ("unix:1" is a path since libxcb
 * 1.16.) */
static void local_name(const char *name, char *out, size_t size) {
    bool bare = name[0] == ':' && isdigit((unsigned char)name[1]);
    snprintf(out, size, "%s%s", bare ? "unix/" : "", name);
}

static xcb_screen_t *screen_at(xcb_connection_t *connection, int number) {
    xcb_screen_iterator_t screens = xcb_setup_roots_iterator(xcb_get_setup(connection));
    for (; screens.rem; xcb_screen_next(&screens))
        if (number-- == 0) return screens.data;
    return NULL;
}

static void read_format(struct x_display *display) {
    const xcb_setup_t *setup = xcb_get_setup(display->connection);
    xcb_format_iterator_t formats = xcb_setup_pixmap_formats_iterator(setup);
    xcb_depth_iterator_t depths = xcb_screen_allowed_depths_iterator(display->screen);
    struct pixel_format format = {0, 0, 0, 0};
    for (; formats.rem; xcb_format_next(&formats))
        if (formats.data->depth == display->screen->root_depth)
            format.bytes_per_pixel = formats.data->bits_per_pixel / 8;
    for (; depths.rem; xcb_depth_next(&depths)) {
        xcb_visualtype_iterator_t visuals = xcb_depth_visuals_iterator(depths.data);
        for (; visuals.rem; xcb_visualtype_next(&visuals)) {
            if (visuals.data->visual_id != display->screen->root_visual) continue;
            bool direct = visuals.data->_class == XCB_VISUAL_CLASS_TRUE_COLOR;
            format.red_mask = direct ? visuals.data->red_mask : 0;
            format.green_mask = direct ? visuals.data->green_mask : 0;
            format.blue_mask = direct ? visuals.data->blue_mask : 0;
        }
    }
    bool known = (format.bytes_per_pixel == 2 || format.bytes_per_pixel == 4) && format.red_mask &&
                 setup->image_byte_order == XCB_IMAGE_ORDER_LSB_FIRST;
    if (known) display->format = format;
}

bool x_display_open(struct x_display *display, const char *name, double wait_s, char *reason, int reason_size) {
    char full_name[256];
    int screen_number = 0;
    uint64_t until = clock_ns() + (uint64_t)(wait_s * 1e9);
    memset(display, 0, sizeof *display);
    local_name(name, full_name, sizeof full_name);
    for (;;) {
        display->connection = xcb_connect(full_name, &screen_number);
        int error = xcb_connection_has_error(display->connection);
        if (!error) break;
        xcb_disconnect(display->connection);
        display->connection = NULL;
        if (error == XCB_CONN_CLOSED_INVALID_SCREEN) {
            display->answered = true;
            snprintf(reason, (size_t)reason_size, "the X server has no such screen as %s names", full_name);
            return false;
        }
        if (error != XCB_CONN_ERROR || clock_ns() >= until) {
            snprintf(reason, (size_t)reason_size, "no X server answers at %s%s", full_name,
                     error == XCB_CONN_CLOSED_PARSE_ERR ? " (not a display name)" : "");
            return false;
        }
        clock_wait_ns(RETRY_NS);
    }
    display->answered = true;
    display->has_other_screens = xcb_setup_roots_length(xcb_get_setup(display->connection)) > 1;
    display->screen = screen_at(display->connection, screen_number);
    display->root = display->screen->root;
    read_format(display);
    return true;
}

void x_display_close(struct x_display *display) {
    if (display->connection) xcb_disconnect(display->connection);
    display->connection = NULL;
}

static bool present(struct x_display *display, xcb_extension_t *extension, uint8_t *first_event) {
    const xcb_query_extension_reply_t *reply = xcb_get_extension_data(display->connection, extension);
    if (first_event && reply) *first_event = reply->first_event;
    return reply && reply->present;
}

/* The root window's size is the screen's, RandR or not. */
static void watch_size(struct x_display *display) {
    display->root_events = XCB_EVENT_MASK_STRUCTURE_NOTIFY;
    xcb_change_window_attributes(display->connection, display->root, XCB_CW_EVENT_MASK, &display->root_events);
}

void x_display_take_configure(struct x_display *display, const xcb_configure_notify_event_t *event) {
    if (event->window != display->root) return;
    display->width = event->width;
    display->height = event->height;
}

bool x_display_prepare_capture(struct x_display *display, const char **missing) {
    xcb_connection_t *c = display->connection;
    *missing = NULL;
    if (!present(display, &xcb_damage_id, &display->damage_event)) *missing = "DAMAGE";
    if (!present(display, &xcb_xfixes_id, NULL)) *missing = "XFIXES";
    if (display->format.bytes_per_pixel == 0) *missing = "a TrueColor screen of 16 or 32 bits a pixel";
    if (*missing) return false;
    /* Each extension wants to hear our version before anything else. */
    free(xcb_damage_query_version_reply(c, xcb_damage_query_version(c, 1, 1), NULL));
    free(xcb_xfixes_query_version_reply(c, xcb_xfixes_query_version(c, 5, 0), NULL));
    watch_size(display);
    if (present(display, &xcb_shm_id, NULL)) {
        xcb_shm_query_version_reply_t *version = xcb_shm_query_version_reply(c, xcb_shm_query_version(c), NULL);
        display->has_shm = version && (version->major_version > 1 || version->minor_version >= 2);
        free(version);
    }
    return true;
}

bool x_display_prepare_input(struct x_display *display, const char **missing) {
    xcb_connection_t *c = display->connection;
    *missing = NULL;
    if (!present(display, &xcb_test_id, NULL)) *missing = "XTEST";
    if (!present(display, &xcb_xkb_id, &display->xkb_event)) *missing = "XKEYBOARD";
    if (*missing) return false;
    watch_size(display);
    x_display_size(display, &display->width, &display->height);
    free(xcb_test_get_version_reply(c, xcb_test_get_version(c, 2, 2), NULL));
    free(xcb_xkb_use_extension_reply(c, xcb_xkb_use_extension(c, 1, 0), NULL));
    return true;
}

bool x_display_size(struct x_display *display, int *width, int *height) {
    xcb_connection_t *c = display->connection;
    xcb_get_geometry_reply_t *geometry = xcb_get_geometry_reply(c, xcb_get_geometry(c, display->root), NULL);
    if (!geometry) return false;
    *width = geometry->width;
    *height = geometry->height;
    free(geometry);
    return true;
}

bool x_display_has_pointer(struct x_display *display) {
    xcb_connection_t *c = display->connection;
    xcb_query_pointer_reply_t *pointer = xcb_query_pointer_reply(c, xcb_query_pointer(c, display->root), NULL);
    bool here = pointer && pointer->same_screen;
    free(pointer);
    return here;
}

bool x_display_lost(const struct x_display *display) {
    return xcb_connection_has_error(display->connection) != 0;
}

bool x_display_sync(struct x_display *display) {
    xcb_connection_t *c = display->connection;
    free(xcb_get_input_focus_reply(c, xcb_get_input_focus(c), NULL));
    return !x_display_lost(display);
}
