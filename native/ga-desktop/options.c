#define _GNU_SOURCE
#include "options.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 16
#ifndef GA_BUILD
#define GA_BUILD "unknown"
#endif

static const char usage[] =
    "usage: ga-desktop --display :1 (--socket PATH | --listen-fd N) [--token-fd N] [--allow-uid UID]... "
    "[--wait-display SECONDS] [--region FILE]\n";

enum { DISPLAY = 1, SOCKET, LISTEN_FD, TOKEN_FD, ALLOW_UID, WAIT_DISPLAY, REGION, VERSION };

static const struct option long_options[] = {
    {"display", required_argument, NULL, DISPLAY},
    {"socket", required_argument, NULL, SOCKET},
    {"listen-fd", required_argument, NULL, LISTEN_FD},
    {"token-fd", required_argument, NULL, TOKEN_FD},
    {"allow-uid", required_argument, NULL, ALLOW_UID},
    {"version", no_argument, NULL, VERSION},
    {"wait-display", required_argument, NULL, WAIT_DISPLAY},
    {"region", required_argument, NULL, REGION},
    {NULL, 0, NULL, 0},
};

static bool number(const char *text, double largest, double *value) {
    char *end;
    *value = strtod(text, &end);
    bool good = *text && !*end && *value >= 0 && *value <= largest;
    if (!good) fprintf(stderr, "ga-desktop: '%s' is not a number that fits here\n", text);
    return good;
}

static bool descriptor(const char *text, int *fd) {
    double value;
    if (!number(text, 65535, &value)) return false;
    *fd = (int)value;
    return true;
}

static bool token(const char *text, struct opening *opening) {
    int fd;
    if (!descriptor(text, &fd)) return false;
    if (token_read(&opening->token, fd)) return true;
    fprintf(stderr, "ga-desktop: a token has %d to %d bytes\n", TOKEN_MIN, TOKEN_MAX);
    return false;
}

static bool allow(const char *text, struct opening *opening) {
    double value;
    if (opening->allowed_count == ALLOWED_UIDS_MAX || !number(text, 4294967294.0, &value)) return false;
    opening->allowed_uids[opening->allowed_count++] = (uid_t)value;
    return true;
}

static bool take(struct options *options, struct opening *opening, int option) {
    switch (option) {
    case DISPLAY: options->display = optarg; return true;
    case SOCKET: options->socket_path = optarg; return true;
    case LISTEN_FD: return descriptor(optarg, &options->listen_fd);
    case TOKEN_FD: return token(optarg, opening);
    case ALLOW_UID: return allow(optarg, opening);
    case WAIT_DISPLAY: return number(optarg, 3600, &options->wait_display_s);
    case REGION: options->region = optarg; return true;
    case VERSION: printf("ga-desktop %s\n", GA_BUILD); exit(0);
    default: return false;
    }
}

bool options_parse(struct options *options, struct opening *opening, int argc, char **argv) {
    int option;
    *options = (struct options){.display = getenv("DISPLAY"), .listen_fd = -1};
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (take(options, opening, option)) continue;
        fputs(usage, stderr);
        return false;
    }
    bool one_place = (options->socket_path != NULL) != (options->listen_fd >= 0);
    bool sensible = optind == argc && options->display && one_place;
    if (!sensible) fputs(usage, stderr);
    return sensible;
}

/* A socket file that nobody listens at is left over from one that was killed. */
static void remove_leftover(const struct sockaddr_un *address) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return;
    bool refused = connect(fd, (const void *)address, sizeof *address) < 0 && errno == ECONNREFUSED;
    close(fd);
    if (refused) unlink(address->sun_path);
}

int options_listen(const struct options *options) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!options->socket_path) {
        fcntl(options->listen_fd, F_SETFD, FD_CLOEXEC);
        fcntl(options->listen_fd, F_SETFL, O_NONBLOCK);
        return options->listen_fd;
    }
    if (strlen(options->socket_path) >= sizeof address.sun_path) {
        fprintf(stderr, "ga-desktop: the socket's path is longer than %zu bytes\n", sizeof address.sun_path - 1);
        return -1;
    }
    strcpy(address.sun_path, options->socket_path);
    remove_leftover(&address);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t mask = umask(0177);
    bool bound = fd >= 0 && bind(fd, (const void *)&address, sizeof address) == 0;
    umask(mask);
    if (bound && listen(fd, BACKLOG) == 0) return fd;
    fprintf(stderr, "ga-desktop: cannot listen at %s: %s\n", options->socket_path, strerror(errno));
    if (fd >= 0) close(fd);
    return -1;
}
