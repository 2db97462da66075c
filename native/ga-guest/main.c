#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "descriptors.h"
#include "launch.h"
#include "listener.h"
#include "server.h"
#include "process_limits.h"
#include "sudo.h"
#include "title.h"

#ifndef GA_BUILD
#define GA_BUILD "unknown"
#endif

static int open_signals(void) {
    static const int numbers[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPWR};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaddset(&set, numbers[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool open_ways_in(struct server *server) {
    const struct options *options = server->options;
    if (options->device_path) {
        int fd = open_device(options->device_path);
        if (fd < 0) return false;
        connection_open(server, fd, CONNECTION_DEVICE);
    } else {
        if (options->socket_path)
            server->listen_fd = listen_unix(options->socket_path, 0600);
        else
            server->listen_fd = options->tcp_address ? listen_tcp(options->tcp_address) : options->listen_fd;
        if (server->listen_fd < 0) return false;
        if (!fd_set_nonblocking(server->listen_fd)) {
            perror("ga-guest: the listening descriptor");
            return false;
        }
        fcntl(server->listen_fd, F_SETFD, FD_CLOEXEC);
    }
    if (options->sudo_path) server->sudo_listen_fd = listen_unix(options->sudo_path, 0666);
    return !options->sudo_path || server->sudo_listen_fd >= 0;
}

/* The child named after "--": as root, with our own output, in a session of its own. */
static void start_child(struct server *server) {
    char **argv = server->options->child;
    if (!argv) return;
    pid_t pid = fork();
    if (pid < 0) perror("ga-guest: cannot start the child");
    if (pid > 0) server->main_child = pid;
    if (pid != 0) return;
    sigset_t none;
    setsid();
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    execvp(argv[0], argv);
    fprintf(stderr, "ga-guest: cannot start '%s': %s\n", argv[0], strerror(errno));
    _exit(127);
}

static int run(int argc, char **argv) {
    static struct options options;
    static struct server server;
    if (!options_parse(&options, argc, argv)) return 2;
    server = (struct server){.options = &options, .listen_fd = -1, .sudo_listen_fd = -1};
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_DUMPABLE, 0);
    server.signal_fd = open_signals();
    if (server.signal_fd < 0) {
        perror("ga-guest: signalfd");
        return 1;
    }
    if (!open_ways_in(&server)) return 1;
    start_child(&server);
    limits_raise();
    title_set(options.role == GA_ROLE_INIT ? "ga-guest init" : "ga-guest serve");
    int status = server_run(&server);
    if (options.socket_path) unlink(options.socket_path);
    if (options.sudo_path) unlink(options.sudo_path);
    return status;
}

static int usage(FILE *out, int status) {
    fputs("usage: ga-guest init (--socket PATH | --listen-fd N | --tcp HOST:PORT | --device PATH)\n"
          "                     (--token-fd N | --token-file PATH) [--sudo-socket PATH] [--sudo-uid UID]...\n"
          "                     [--grace-ms N] [--end-with-child] [-- COMMAND...]\n"
          "       ga-guest serve ...the same...\n"
          "       ga-guest sudo ...as sudo(8)...\n"
          "       ga-guest --version\n",
          out);
    return status;
}

int main(int argc, char **argv) {
    title_begin(argc, argv);
    const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    size_t length = strlen(name);
    if (length >= 4 && !strcmp(name + length - 4, "sudo")) return sudo_main(argc, argv);
    if (argc < 2) return usage(stderr, 2);
    if (!strcmp(argv[1], "sudo")) return sudo_main(argc - 1, argv + 1);
    if (!strcmp(argv[1], "init") || !strcmp(argv[1], "serve")) return run(argc - 1, argv + 1);
    if (!strcmp(argv[1], "--version")) return printf("ga-guest %s, protocol %d\n", GA_BUILD, GA_VERSION) < 0;
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) return usage(stdout, 0);
    return usage(stderr, 2);
}
