#define _GNU_SOURCE
#include "options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct token_source {
    int fd;
    const char *path;
};

static bool complain(const char *format, ...) {
    va_list arguments;
    fputs("ga-guest: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return false;
}

static bool parse_number(const char *name, const char *text, unsigned long limit, unsigned long *value) {
    char *end;
    errno = 0;
    *value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || *value > limit)
        return complain("%s needs a number up to %lu, not '%s'", name, limit, text);
    return true;
}

/* From a file a final newline is no part of the token; from a descriptor every byte is. */
static bool read_token(struct options *options, int fd, bool from_file) {
    size_t used = 0;
    uint8_t token[GA_MAX_TOKEN_SIZE + 2];
    ssize_t size;
    while (used < sizeof token && (size = read(fd, token + used, sizeof token - used)) != 0) {
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return complain("cannot read the token: %s", strerror(errno));
        used += (size_t)size;
    }
    close(fd);
    if (from_file && used && token[used - 1] == '\n') used--;
    if (used < GA_MIN_TOKEN_SIZE || used > GA_MAX_TOKEN_SIZE)
        return complain("the token must have %d to %d bytes", GA_MIN_TOKEN_SIZE, GA_MAX_TOKEN_SIZE);
    memcpy(options->token, token, used);
    options->token_size = used;
    explicit_bzero(token, sizeof token);
    return true;
}

static bool take_number_option(struct options *options, const char *name, const char *value, struct token_source *token) {
    unsigned long number;
    unsigned long limit = !strcmp(name, "--sudo-uid") ? 0xfffffffeUL : !strcmp(name, "--grace-ms") ? 600000 : 1000000;
    if (!parse_number(name, value, limit, &number)) return false;
    if (!strcmp(name, "--listen-fd")) {
        options->listen_fd = (int)number;
    } else if (!strcmp(name, "--token-fd")) {
        token->fd = (int)number;
    } else if (!strcmp(name, "--grace-ms")) {
        options->grace_ms = (uint32_t)number;
    } else {
        if (options->sudo_uid_count == MAX_SUDO_UIDS) return complain("too many --sudo-uid");
        options->sudo_uids[options->sudo_uid_count++] = (uid_t)number;
    }
    return true;
}

static bool take_option(struct options *options, const char *name, const char *value, struct token_source *token) {
    static const char *const numbers[] = {"--listen-fd", "--token-fd", "--grace-ms", "--sudo-uid"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!strcmp(name, numbers[i])) return take_number_option(options, name, value, token);
    if (!strcmp(name, "--socket"))
        options->socket_path = strdup(value);
    else if (!strcmp(name, "--tcp"))
        options->tcp_address = strdup(value);
    else if (!strcmp(name, "--device"))
        options->device_path = strdup(value);
    else if (!strcmp(name, "--sudo-socket"))
        options->sudo_path = strdup(value);
    else if (!strcmp(name, "--token-file"))
        token->path = value;
    else
        return complain("unknown option '%s'", name);
    return true;
}

static bool check(const struct options *options, const struct token_source *token) {
    int ways = (options->socket_path != NULL) + (options->listen_fd >= 0) + (options->tcp_address != NULL) +
               (options->device_path != NULL);
    if (ways != 1) return complain("exactly one of --socket, --listen-fd, --tcp, --device is needed");
    if ((token->fd >= 0) == (token->path != NULL)) return complain("one of --token-fd and --token-file is needed");
    if (options->end_with_child && !options->child) return complain("--end-with-child needs a command after --");
    return true;
}

bool options_parse(struct options *options, int argc, char **argv) {
    struct token_source token = {-1, NULL};
    *options = (struct options){.role = GA_ROLE_INIT, .listen_fd = -1, .grace_ms = 2000};
    if (!strcmp(argv[0], "serve")) options->role = GA_ROLE_SERVE;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--")) {
            if (i + 1 < argc) options->child = argv + i + 1;
            break;
        }
        if (!strcmp(argv[i], "--end-with-child")) {
            options->end_with_child = true;
            continue;
        }
        if (i + 1 >= argc) return complain("%s needs a value", argv[i]);
        if (!take_option(options, argv[i], argv[i + 1], &token)) return false;
        i++;
    }
    if (!check(options, &token)) return false;
    int fd = token.path ? open(token.path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : token.fd;
    if (fd < 0) return complain("cannot open the token file '%s': %s", token.path, strerror(errno));
    return read_token(options, fd, token.path != NULL);
}
