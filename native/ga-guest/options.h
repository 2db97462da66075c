/* The command line of `ga-guest init` and `ga-guest serve`. */
#ifndef GA_OPTIONS_H
#define GA_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "protocol.h"

#define MAX_SUDO_UIDS 64

struct options {
    uint8_t role; /* GA_ROLE_INIT or GA_ROLE_SERVE */
    const char *socket_path;
    int listen_fd;
    const char *tcp_address;
    const char *device_path;
    const char *sudo_path;
    uid_t sudo_uids[MAX_SUDO_UIDS];
    size_t sudo_uid_count;
    uint32_t grace_ms;
    uint8_t token[GA_MAX_TOKEN_SIZE];
    size_t token_size;
    char **child; /* argv of the one child to start, or NULL */
    bool end_with_child;
};

/* Parses and reads the token; prints what is wrong and returns false. argv[0] is the role. */
bool options_parse(struct options *options, int argc, char **argv);

#endif
