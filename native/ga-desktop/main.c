/* ga-desktop: newest frame and acknowledged input of one X11 desktop. See README.md and protocol.def. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xcb/xcb.h>

#include "frame_service.h"
#include "input_service.h"
#include "options.h"

enum { EXIT_FINE = 0, EXIT_OTHER = 1, EXIT_USAGE = 2, EXIT_X_LOST = 3, EXIT_X_LACKS = 4 };

#define INPUT_GRACE_S 3
#define REASON_MAX 256

static struct frame_service frames;
static struct input_service inputs;
static char vendor[128];

static void on_signal(int signal) {
    (void)signal;
    loop_stop(&frames.loop);
}

static void watch_signals(void) {
    struct sigaction stop = {.sa_handler = on_signal}, ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
}

static void *serve_input(void *service) {
    struct input_service *own = service;
    loop_run(&own->loop);
    if (own->loop.x_lost) loop_stop(&frames.loop);
    loop_close(&own->loop);
    input_close(&own->input);
    return NULL;
}

static int open_display(const struct options *options) {
    char reason[REASON_MAX] = "";
    struct capture_owner owner = frame_service_owner(&frames, &inputs.acknowledged);
    frames.input_loop = &inputs.loop;
    bool opened = capture_open(&frames.capture, options->display, options->wait_display_s, owner, reason, REASON_MAX) &&
                  input_open(&inputs.input, options->display, &inputs.loop.stopping, reason, REASON_MAX);
    opened = opened && reaction_open(&frames.reaction, &frames.capture.display, &inputs.input.traces);
    if (opened) return EXIT_FINE;
    fprintf(stderr, "ga-desktop: %s\n", reason);
    const struct x_display *display = &frames.capture.display;
    bool reached = display->answered && !(display->connection && x_display_lost(display));
    return reached ? EXIT_X_LACKS : EXIT_X_LOST;
}

static void describe(void) {
    const xcb_setup_t *setup = xcb_get_setup(frames.capture.display.connection);
    int size = xcb_setup_vendor_length(setup);
    if (size > (int)sizeof vendor - 1) size = sizeof vendor - 1;
    memcpy(vendor, xcb_setup_vendor(setup), (size_t)size);
    frames.opening.vendor = vendor;
    frames.opening.note = frames.capture.grab.note;
    frames.opening.features = frames.capture.grab.memory ? GD_FEATURE_SHARED_MEMORY : 0;
    frames.opening.spare_keys = (uint32_t)inputs.input.spare.count;
}

/* Both threads until the end; the input thread gets a little time to give the keyboard back. */
static int serve(const char *socket_path) {
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the main thread's */
    int failed = pthread_create(&thread, NULL, serve_input, &inputs);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) return EXIT_OTHER;
    loop_run(&frames.loop);
    if (socket_path) unlink(socket_path);
    loop_stop(&inputs.loop);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += INPUT_GRACE_S;
    bool joined = pthread_timedjoin_np(thread, NULL, &until) == 0;
    bool lost = frames.loop.x_lost || (joined && inputs.loop.x_lost);
    if (lost) fprintf(stderr, "ga-desktop: the X server is gone\n");
    int code = lost ? EXIT_X_LOST : EXIT_FINE;
    if (!joined) _exit(code); /* it hangs in the X server, and uses what we would free */
    return code;
}

int main(int argc, char **argv) {
    struct options options;
    if (!options_parse(&options, &frames.opening, argc, argv)) return EXIT_USAGE;
    int code = open_display(&options);
    if (code != EXIT_FINE) return code;
    describe();
    frames.capture.shared.path = options.region;
    int listen_fd = options_listen(&options);
    if (listen_fd < 0) return EXIT_OTHER;
    if (!input_service_open(&inputs) || !frame_service_open(&frames, listen_fd)) return EXIT_OTHER;
    watch_signals();
    code = serve(options.socket_path);
    loop_close(&frames.loop);
    reaction_close(&frames.reaction);
    capture_close(&frames.capture);
    return code;
}
