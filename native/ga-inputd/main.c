/* gym-anything-fast-inputd: a keyboard of our own in a machine, played by acknowledged batches. See README.md. */
#define _GNU_SOURCE
#include <getopt.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../ga-desktop/loop.h"
#include "../ga-desktop/opening.h"
#include "keyboard.h"
#include "pointing.h"

#ifndef GA_BUILD
#define GA_BUILD "unknown"
#endif

enum { EXIT_FINE = 0, EXIT_OTHER = 1, EXIT_USAGE = 2 };
enum { LISTEN_FD = 1, TOKEN_FD, VERSION };

static const char usage[] = "usage: ga-inputd --listen-fd N --token-fd N\n";

struct service {
    struct loop loop;
    struct opening opening;
    struct keyboard keyboard;
    struct pointing pointing;
    uint64_t acknowledged;
    int listen_fd;
};

static struct service service = {.listen_fd = -1, .pointing.fd = -1};

static void on_signal(int signal) {
    (void)signal;
    loop_stop(&service.loop);
}

static void do_batch(struct connection *connection, const struct message *message) {
    struct verdict verdict = keyboard_do(&service.keyboard, message, connection);
    if (verdict.error == GD_ERROR_NONE)
        SEND(connection, message->request, INPUT_ACK, .number = ++service.acknowledged,
             .chars_typed = service.keyboard.chars_typed);
    else
        connection_fail(connection, message->request, verdict.error, service.keyboard.chars_typed, verdict.text);
    if (verdict.error == GD_ERROR_MALFORMED) connection->state = CLOSING;
}

/* The buttons stand in the upper half of y: places have fifteen bits. */
static void tell_pointing(struct connection *connection, const struct message *message) {
    struct pointing_state state;
    if (!pointing_read(&service.pointing, &state)) {
        connection_fail(connection, message->request, GD_ERROR_NOT_DELIVERED, 0, "the machine has no pointing device");
        return;
    }
    if (!keyboard_await_reader(&service.keyboard)) {
        connection_fail(connection, message->request, GD_ERROR_DELIVERY_UNKNOWN, 0, "the display server does not read");
        return;
    }
    SEND(connection, message->request, POINTER, .x = state.x, .y = (int32_t)(state.buttons << 16 | (uint32_t)state.y));
}

static void on_message(struct loop *loop, struct connection *connection, const struct message *message) {
    (void)loop;
    if (connection->state != OPEN) {
        opening_message(&service.opening, connection, message, 0, 0);
    } else if (message->code == GD_MESSAGE_INPUT) {
        do_batch(connection, message);
    } else if (message->code == GD_MESSAGE_POINTER_REQUEST && message->size == 0) {
        tell_pointing(connection, message);
    } else if (message->code == GD_MESSAGE_RELEASE && message->size == 0) {
        keyboard_release(&service.keyboard, NULL);
        connection_send(connection, GD_MESSAGE_RELEASED, message->request, NULL, 0, (struct tail){0});
    } else {
        connection_fail(connection, message->request, GD_ERROR_MALFORMED, 0, "not a message for a keyboard");
        connection->state = CLOSING;
    }
}

static void on_gone(struct loop *loop, struct connection *connection) {
    (void)loop;
    keyboard_release(&service.keyboard, connection);
}

static uint64_t on_turn(struct loop *loop) {
    (void)loop;
    return NOT_DUE;
}

static void on_arrived(struct loop *loop, int fd) {
    struct connection *connection = connection_new(fd);
    if (!connection) {
        close(fd);
        return;
    }
    if (loop_add(loop, connection)) return;
    connection_fail(connection, 0, GD_ERROR_BUSY, 0, "too many connections");
    connection_free(connection);
}

/* One in the role of somebody who looks has come to the wrong door. */
static void on_leaves(struct loop *loop, struct connection *connection) {
    (void)loop;
    connection_fail(connection, 0, GD_ERROR_MALFORMED, 0, "a keyboard has no frames");
    connection_free(connection);
}

static bool descriptor(const char *text, int *fd) {
    char *end;
    long value = strtol(text, &end, 10);
    *fd = (int)value;
    return *text && !*end && value >= 0 && value <= 65535;
}

static bool take(int option) {
    int fd;
    switch (option) {
    case LISTEN_FD: return descriptor(optarg, &service.listen_fd);
    case TOKEN_FD: return descriptor(optarg, &fd) && token_read(&service.opening.token, fd);
    case VERSION: printf("ga-inputd %s\n", GA_BUILD); exit(0);
    default: return false;
    }
}

static bool parse(int argc, char **argv) {
    static const struct option known[] = {{"listen-fd", required_argument, NULL, LISTEN_FD},
                                          {"token-fd", required_argument, NULL, TOKEN_FD},
                                          {"version", no_argument, NULL, VERSION},
                                          {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1)
        if (!take(option)) return false;
    return optind == argc && service.listen_fd >= 0 && service.opening.token.size;
}

int main(int argc, char **argv) {
    static const struct loop_work work = {on_message, on_gone, on_turn, on_arrived, GD_ROLE_INPUT, on_leaves};
    if (!parse(argc, argv)) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    fcntl(service.listen_fd, F_SETFD, FD_CLOEXEC);
    fcntl(service.listen_fd, F_SETFL, O_NONBLOCK);
    service.opening.vendor = DEVICE_NAME;
    /* Without a device it serves all the same, and says to whoever types what is missing. */
    if (!device_open(&service.keyboard.device)) fprintf(stderr, "ga-inputd: %s\n", service.keyboard.device.reason);
    service.opening.note = service.keyboard.device.node;
    if (!loop_open(&service.loop, &work, &service, -1, service.listen_fd)) return EXIT_OTHER;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    loop_run(&service.loop);
    loop_close(&service.loop);
    pointing_close(&service.pointing);
    device_close(&service.keyboard.device);
    return EXIT_FINE;
}
