/* ga-gate: one desktop's frames and input for clients on other hosts. See README.md and protocol.def. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "listen.h"
#include "loop.h"
#include "options.h"

enum { EXIT_FINE = 0, EXIT_OTHER = 1, EXIT_USAGE = 2, EXIT_DESKTOP_LOST = 3 };

static struct options options;
static struct gate gate;
static struct loop loop = {.gate = &gate, .listen_fd = -1};

static void on_signal(int signal) {
    (void)signal;
    loop.stop = 1;
}

/* Both are held back until the loop waits, so that none is missed. */
static void watch_signals(sigset_t *while_waiting) {
    struct sigaction stop = {.sa_handler = on_signal}, ignore = {.sa_handler = SIG_IGN};
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGINT);
    sigprocmask(SIG_BLOCK, &held, while_waiting);
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
}

static bool open_tls(void) {
    if (!options.certificate) return true;
    loop.tls = tls_open(options.certificate, options.key);
    if (!loop.tls || !tls_channel(loop.tls, gate.channel)) return false;
    gate.channel_size = CHANNEL_SIZE;
    return true;
}

static int serve(const sigset_t *while_waiting) {
    char place[PLACE_SIZE];
    enum listen_result result = listen_open(&options, &loop.listen_fd, place);
    if (result != LISTENING) return result == LISTEN_REFUSED ? EXIT_USAGE : EXIT_OTHER;
    if (!open_tls()) return EXIT_USAGE;
    if (!encoder_open(&gate.encoder)) return EXIT_OTHER;
    if (!loop_reach_desktop(&loop)) return EXIT_DESKTOP_LOST;
    printf("listening at %s\n", place);
    fflush(stdout);
    return loop_run(&loop, while_waiting) ? EXIT_FINE : EXIT_DESKTOP_LOST;
}

int main(int argc, char **argv) {
    sigset_t while_waiting;
    if (!options_parse(&options, argc, argv)) return EXIT_USAGE;
    gate.token = options.token;
    gate.desktop_token = options.desktop_token;
    gate.desktop_path = options.desktop_path;
    gate.connect = loop_connect;
    watch_signals(&while_waiting);
    int code = serve(&while_waiting);
    gate_close(&gate);
    link_free(loop.watch);
    tls_close(loop.tls);
    return code;
}
