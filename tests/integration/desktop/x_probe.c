/* A minimal X client for tests: draws what it is told and says what input it got.
 *
 *     x_probe X Y WIDTH HEIGHT      (display from DISPLAY)
 *
 * Commands on stdin, one a line, each answered by "done" when the X server has processed it:
 *     fill RRGGBB X Y W H     fill a rectangle of the window
 *     react RRGGBB            from now on every button press fills the window with this colour
 *     flip TIMES MICROSECONDS fill the whole window TIMES times, each with another grey, so long apart
 *     blink TIMES MICROSECONDS X Y W H   fill a rectangle white and black by turns, so long apart
 *     pair TIMES              fill the left half and then the right half with one grey more, TIMES times, without a pause
 *     move X Y W H            move and resize the window
 *     opacity PERCENT         be translucent, if there is a compositor
 *     raise                   go above all other windows
 *     keyboard                take the keyboard focus
 *     grab CODE               grab a key, as window managers do
 * Events on stdout: "button press|release N X Y STATE TIME", "motion X Y", "key press|release CODE STATE".
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xcb/xcb.h>

static xcb_connection_t *c;
static xcb_screen_t *screen;
static xcb_window_t window;
static xcb_gcontext_t gc;
static unsigned width, height;
static long reaction = -1;

static void sync_server(void) {
    free(xcb_get_input_focus_reply(c, xcb_get_input_focus(c), NULL));
}

static void fill(unsigned colour, int x, int y, unsigned w, unsigned h) {
    const xcb_rectangle_t box = {(int16_t)x, (int16_t)y, (uint16_t)w, (uint16_t)h};
    xcb_change_gc(c, gc, XCB_GC_FOREGROUND, &colour);
    xcb_poly_fill_rectangle(c, window, gc, 1, &box);
}

static void handle(xcb_generic_event_t *event) {
    const xcb_button_press_event_t *e = (const void *)event;
    const char *way = "release";
    switch (event->response_type & 0x7f) {
    case XCB_BUTTON_PRESS:
        way = "press";
        if (reaction >= 0) fill((unsigned)reaction, 0, 0, width, height), xcb_flush(c);
        __attribute__((fallthrough));
    case XCB_BUTTON_RELEASE:
        printf("button %s %d %d %d %d %u\n", way, e->detail, e->root_x, e->root_y, e->state, e->time);
        break;
    case XCB_MOTION_NOTIFY: printf("motion %d %d\n", e->root_x, e->root_y); break;
    case XCB_KEY_PRESS: printf("key press %d %d\n", e->detail, e->state); break;
    case XCB_KEY_RELEASE: printf("key release %d %d\n", e->detail, e->state); break;
    default: break;
    }
}

static void handle_all(void) {
    xcb_generic_event_t *event;
    while ((event = xcb_poll_for_event(c))) {
        handle(event);
        free(event);
    }
}

static void flip(int times, long microseconds) {
    const struct timespec span = {microseconds / 1000000, microseconds % 1000000 * 1000};
    for (int i = 0; i < times; i++) {
        unsigned grey = (unsigned)(i * 37 % 256);
        fill(grey << 16 | grey << 8 | grey, 0, 0, width, height);
        xcb_flush(c);
        nanosleep(&span, NULL);
    }
}

static void blink(int times, long microseconds, int x, int y, unsigned w, unsigned h) {
    const struct timespec span = {microseconds / 1000000, microseconds % 1000000 * 1000};
    for (int i = 0; i < times; i++) {
        fill(i % 2 ? 0x000000 : 0xffffff, x, y, w, h);
        xcb_flush(c);
        nanosleep(&span, NULL);
    }
}

static void set_opacity(uint32_t percent) {
    static const char name[] = "_NET_WM_WINDOW_OPACITY";
    const uint32_t value = UINT32_MAX / 100 * percent;
    xcb_intern_atom_reply_t *atom = xcb_intern_atom_reply(c, xcb_intern_atom(c, 0, sizeof name - 1, name), NULL);
    if (atom) xcb_change_property(c, XCB_PROP_MODE_REPLACE, window, atom->atom, XCB_ATOM_CARDINAL, 32, 1, &value);
    free(atom);
}

/* The screen that DISPLAY names. */
static xcb_screen_t *screen_of(int number) {
    xcb_screen_iterator_t screens = xcb_setup_roots_iterator(xcb_get_setup(c));
    while (number-- > 0) xcb_screen_next(&screens);
    return screens.data;
}

static void pair(int times) {
    static unsigned char step;
    for (int i = 0; i < times; i++) {
        unsigned grey = ++step;
        for (unsigned half = 0; half < 2; half++) {
            fill(grey << 16 | grey << 8 | grey, (int)(half * width / 2), 0, width / 2, height);
            sync_server(); /* so that others get their turn between the two */
        }
    }
}

static void command(const char *line) {
    unsigned colour, w, h;
    int x, y, times;
    long microseconds;
    if (sscanf(line, "fill %x %d %d %u %u", &colour, &x, &y, &w, &h) == 5) fill(colour, x, y, w, h);
    if (sscanf(line, "react %x", &colour) == 1) reaction = colour;
    if (sscanf(line, "flip %d %ld", &times, &microseconds) == 2) flip(times, microseconds);
    if (sscanf(line, "blink %d %ld %d %d %u %u", &times, &microseconds, &x, &y, &w, &h) == 6)
        blink(times, microseconds, x, y, w, h);
    if (sscanf(line, "pair %d", &times) == 1) pair(times);
    if (sscanf(line, "move %d %d %u %u", &x, &y, &w, &h) == 4) {
        const uint32_t values[] = {(uint32_t)x, (uint32_t)y, w, h};
        xcb_configure_window(c, window, 15, values);
        width = w, height = h;
    }
    if (sscanf(line, "grab %d", &x) == 1)
        xcb_grab_key(c, 0, screen->root, XCB_MOD_MASK_ANY, (xcb_keycode_t)x, XCB_GRAB_MODE_ASYNC, XCB_GRAB_MODE_ASYNC);
    if (sscanf(line, "opacity %d", &x) == 1) set_opacity((uint32_t)x);
    if (strncmp(line, "raise", 5) == 0) {
        const uint32_t above = XCB_STACK_MODE_ABOVE;
        xcb_configure_window(c, window, XCB_CONFIG_WINDOW_STACK_MODE, &above);
    }
    if (strncmp(line, "keyboard", 8) == 0) xcb_set_input_focus(c, XCB_INPUT_FOCUS_PARENT, window, XCB_CURRENT_TIME);
    sync_server();
    handle_all(); /* what happened before is said before */
    printf("done\n");
}

int main(int argc, char **argv) {
    char line[256];
    if (argc != 5) return 2;
    int number = 0;
    c = xcb_connect(NULL, &number);
    if (xcb_connection_has_error(c)) return 1;
    screen = screen_of(number);
    width = (unsigned)atoi(argv[3]), height = (unsigned)atoi(argv[4]);
    window = xcb_generate_id(c);
    gc = xcb_generate_id(c);
    const uint32_t events = XCB_EVENT_MASK_BUTTON_PRESS | XCB_EVENT_MASK_BUTTON_RELEASE | XCB_EVENT_MASK_POINTER_MOTION |
                            XCB_EVENT_MASK_KEY_PRESS | XCB_EVENT_MASK_KEY_RELEASE;
    const uint32_t values[] = {screen->black_pixel, 1, events};
    xcb_create_window(c, XCB_COPY_FROM_PARENT, window, screen->root, (int16_t)atoi(argv[1]), (int16_t)atoi(argv[2]),
                      (uint16_t)width, (uint16_t)height, 0, XCB_WINDOW_CLASS_INPUT_OUTPUT, XCB_COPY_FROM_PARENT,
                      XCB_CW_BACK_PIXEL | XCB_CW_OVERRIDE_REDIRECT | XCB_CW_EVENT_MASK, values);
    xcb_create_gc(c, gc, window, 0, NULL);
    xcb_map_window(c, window);
    sync_server();
    setvbuf(stdin, NULL, _IONBF, 0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("ready\n");
    struct pollfd polled[] = {{.fd = xcb_get_file_descriptor(c), .events = POLLIN}, {.fd = 0, .events = POLLIN}};
    for (;;) {
        handle_all();
        if (xcb_connection_has_error(c)) return 1;
        poll(polled, 2, -1);
        if (!polled[1].revents) continue;
        if (!fgets(line, sizeof line, stdin)) return 0;
        command(line);
    }
}
