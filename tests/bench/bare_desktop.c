/* The bare mechanism that the desktop service is measured against in the same run: no more than the X requests and the
 * copies that a frame, a click or following the screen cannot do without. One client, on standard input and output (a
 * socket); each command is answered by one byte.
 *
 *     u        one round trip to the X server
 *     f        grab the screen through shared memory, convert it to RGB; the answer is the red of pixel 900,900
 *     p X Y    the same for 400x300 pixels at X, Y (two 16-bit numbers)
 *     c X Y    move there, press, release, one round trip
 *     w        from now until the next command: on each damage grab and convert the screen
 */
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xcb/damage.h>
#include <xcb/shm.h>
#include <xcb/xtest.h>

#include "pixels.h"

#define CHECK(condition) ((condition) ? (void)0 : exit(1))

static xcb_connection_t *c;
static xcb_screen_t *screen;
static xcb_shm_seg_t segment;
static uint8_t *grabbed, *frames[2];
static unsigned turn;
static xcb_damage_damage_t damage;

static uint8_t *shared(size_t bytes, int *fd) {
    *fd = memfd_create("bare", MFD_CLOEXEC);
    CHECK(*fd >= 0 && ftruncate(*fd, (off_t)bytes) == 0);
    uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

static void open_screen(void) {
    c = xcb_connect(NULL, NULL);
    CHECK(!xcb_connection_has_error(c));
    screen = xcb_setup_roots_iterator(xcb_get_setup(c)).data;
    size_t pixels = (size_t)screen->width_in_pixels * screen->height_in_pixels;
    int fd;
    for (int i = 0; i < 2; i++) frames[i] = shared(pixels * 3, &fd);
    grabbed = shared(pixels * 4, &fd);
    segment = xcb_generate_id(c);
    xcb_shm_attach_fd(c, segment, fd, 0);
    free(xcb_damage_query_version_reply(c, xcb_damage_query_version(c, 1, 1), NULL));
    damage = xcb_generate_id(c);
}

static void round_trip(void) {
    free(xcb_get_input_focus_reply(c, xcb_get_input_focus(c), NULL));
}

static void take(int x, int y, int width, int height) {
    xcb_shm_get_image_cookie_t asked = xcb_shm_get_image(c, screen->root, (int16_t)x, (int16_t)y, (uint16_t)width,
        (uint16_t)height, ~0u, XCB_IMAGE_FORMAT_Z_PIXMAP, segment, 0);
    xcb_shm_get_image_reply_t *answer = xcb_shm_get_image_reply(c, asked, NULL);
    CHECK(answer);
    free(answer);
    uint8_t *frame = frames[turn++ % 2];
    size_t stride = screen->width_in_pixels;
    for (int row = 0; row < height; row++)
        bgrx_row_best()(frame + ((size_t)(y + row) * stride + (size_t)x) * 3, grabbed + (size_t)row * (size_t)width * 4,
            (size_t)width);
}

static void take_all(void) {
    take(0, 0, screen->width_in_pixels, screen->height_in_pixels);
}

static void click(int x, int y) {
    xcb_test_fake_input(c, XCB_MOTION_NOTIFY, 0, 0, screen->root, (int16_t)x, (int16_t)y, 0);
    xcb_test_fake_input(c, XCB_BUTTON_PRESS, 1, 0, XCB_NONE, 0, 0, 0);
    xcb_test_fake_input(c, XCB_BUTTON_RELEASE, 1, 0, XCB_NONE, 0, 0, 0);
    round_trip();
}

static void follow(void) {
    xcb_damage_create(c, damage, screen->root, XCB_DAMAGE_REPORT_LEVEL_NON_EMPTY);
    struct pollfd sources[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {xcb_get_file_descriptor(c), POLLIN, 0}};
    xcb_flush(c);
    while (!sources[0].revents) {
        xcb_generic_event_t *event;
        int damaged = 0;
        while ((event = xcb_poll_for_event(c))) free(event), damaged = 1;
        if (damaged) { /* what comes meanwhile is read with the answers: look again before we sleep */
            xcb_damage_subtract(c, damage, XCB_NONE, XCB_NONE);
            take_all();
        }
        CHECK(poll(sources, 2, damaged ? 0 : -1) >= 0);
    }
    xcb_damage_destroy(c, damage);
}

int main(void) {
    open_screen();
    struct {
        char command;
        uint8_t zero;
        uint16_t x, y;
    } asked;
    while (read(STDIN_FILENO, &asked, sizeof asked) == (ssize_t)sizeof asked) {
        uint8_t answer = 0;
        switch (asked.command) {
        case 'u': round_trip(); break;
        case 'f':
            take_all();
            answer = frames[(turn - 1) % 2][((size_t)900 * screen->width_in_pixels + 900) * 3];
            break;
        case 'p': take(asked.x, asked.y, 400, 300); break;
        case 'c': click(asked.x, asked.y); break;
        default: break;
        }
        CHECK(write(STDOUT_FILENO, &answer, 1) == 1);
        if (asked.command == 'w') follow();
    }
    return 0;
}
