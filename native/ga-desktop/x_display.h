/* One connection to the X server, and what that server can do. */
#ifndef GD_X_DISPLAY_H
#define GD_X_DISPLAY_H

#include <stdbool.h>
#include <xcb/xcb.h>

#include "pixels.h"

struct x_display {
    xcb_connection_t *connection;
    xcb_screen_t *screen;
    xcb_window_t root;
    int width, height; /* of the screen, as far as events have been read; for who prepared for input */
    bool answered;     /* an X server did, whatever it lacks */
    bool has_other_screens;
    uint32_t root_events; /* that we always listen to there */
    struct pixel_format format; /* bytes_per_pixel is 0 when frames cannot be made of it */
    bool has_shm;               /* by file descriptor; whether it works is seen when it is tried */
    uint8_t damage_event, xkb_event;
};

/* Connects to `name`, trying again for wait_s seconds; false with a reason. */
bool x_display_open(struct x_display *display, const char *name, double wait_s, char *reason, int reason_size);
void x_display_close(struct x_display *display);

/* Asks for the extensions; false with the name of what is missing. */
bool x_display_prepare_capture(struct x_display *display, const char **missing);
bool x_display_prepare_input(struct x_display *display, const char **missing);

/* The screen's present size; false when the server is gone. */
bool x_display_size(struct x_display *display, int *width, int *height);
/* Whether the pointer is on this screen, not on another of the server. */
bool x_display_has_pointer(struct x_display *display);
bool x_display_lost(const struct x_display *display);
/* Takes in a change of the screen's size. */
void x_display_take_configure(struct x_display *display, const xcb_configure_notify_event_t *event);
/* A round trip: when it is back the server has done all that was sent before. */
bool x_display_sync(struct x_display *display);

#endif
