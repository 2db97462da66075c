#define _GNU_SOURCE
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef GA_BUILD
#define GA_BUILD "unknown"
#endif

static const char usage[] =
    "usage: ga-gate --desktop PATH [--desktop-token-fd N] (--listen ADDRESS:PORT | --listen-fd N) --token-fd N "
    "[--tls-cert FILE --tls-key FILE | --tls-fd N]\n";

enum { DESKTOP = 1, DESKTOP_TOKEN_FD, LISTEN, LISTEN_FD, TOKEN_FD, TLS_CERT, TLS_KEY, TLS_FD, VERSION };

static const struct option long_options[] = {
    {"desktop", required_argument, NULL, DESKTOP},
    {"desktop-token-fd", required_argument, NULL, DESKTOP_TOKEN_FD},
    {"listen", required_argument, NULL, LISTEN},
    {"listen-fd", required_argument, NULL, LISTEN_FD},
    {"token-fd", required_argument, NULL, TOKEN_FD},
    {"tls-cert", required_argument, NULL, TLS_CERT},
    {"tls-key", required_argument, NULL, TLS_KEY},
    {"tls-fd", required_argument, NULL, TLS_FD},
    {"version", no_argument, NULL, VERSION},
    {NULL, 0, NULL, 0},
};

static bool descriptor(const char *text, int *fd) {
    char *end;
    long value = strtol(text, &end, 10);
    bool good = *text && !*end && value >= 0 && value <= 65535;
    if (!good) fprintf(stderr, "ga-gate: '%s' is not a descriptor\n", text);
    *fd = (int)value;
    return good;
}

static bool token(const char *text, struct token *token) {
    int fd;
    if (!descriptor(text, &fd)) return false;
    if (token_read(token, fd)) return true;
    fprintf(stderr, "ga-gate: a token has %d to %d bytes\n", TOKEN_MIN, TOKEN_MAX);
    return false;
}

/* OpenSSL reads it twice, so it must be a file, not a pipe. */
static bool pem_descriptor(const char *text, struct options *options) {
    int fd;
    if (!descriptor(text, &fd)) return false;
    snprintf(options->pem_path, sizeof options->pem_path, "/proc/self/fd/%d", fd);
    options->certificate = options->key = options->pem_path;
    return true;
}

static bool take(struct options *options, int option) {
    switch (option) {
    case DESKTOP: options->desktop_path = optarg; return true;
    case DESKTOP_TOKEN_FD: return token(optarg, &options->desktop_token);
    case LISTEN: options->listen_at = optarg; return true;
    case LISTEN_FD: return descriptor(optarg, &options->listen_fd);
    case TOKEN_FD: return token(optarg, &options->token);
    case TLS_CERT: options->certificate = optarg; return true;
    case TLS_KEY: options->key = optarg; return true;
    case TLS_FD: return pem_descriptor(optarg, options);
    case VERSION: printf("ga-gate %s\n", GA_BUILD); exit(0);
    default: return false;
    }
}

bool options_parse(struct options *options, int argc, char **argv) {
    int option;
    *options = (struct options){.listen_fd = -1};
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (take(options, option)) continue;
        fputs(usage, stderr);
        return false;
    }
    bool one_place = (options->listen_at != NULL) != (options->listen_fd >= 0);
    bool whole_tls = !options->certificate == !options->key;
    bool sensible = optind == argc && options->desktop_path && one_place && options->token.size && whole_tls;
    if (!sensible) fputs(usage, stderr);
    return sensible;
}
