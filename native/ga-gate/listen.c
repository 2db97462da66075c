#define _GNU_SOURCE
#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 16

union address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    struct sockaddr_un local;
};

/* Numbers only: names would need a resolver, which a static program has not got. */
static bool parse(const char *text, union address *address, socklen_t *size) {
    char host[INET6_ADDRSTRLEN + 1];
    const char *colon = strrchr(text, ':');
    char *end;
    if (!colon || colon == text || !colon[1]) return false;
    unsigned long port = strtoul(colon + 1, &end, 10);
    bool brackets = text[0] == '[' && colon[-1] == ']';
    const char *start = text + brackets;
    size_t length = (size_t)(colon - start) - brackets;
    if (*end || port > 65535 || length >= sizeof host) return false;
    memcpy(host, start, length);
    host[length] = 0;
    memset(address, 0, sizeof *address);
    if (brackets) {
        address->six.sin6_family = AF_INET6;
        address->six.sin6_port = htons((uint16_t)port);
        *size = sizeof address->six;
        return inet_pton(AF_INET6, host, &address->six.sin6_addr) == 1;
    }
    address->four.sin_family = AF_INET;
    address->four.sin_port = htons((uint16_t)port);
    *size = sizeof address->four;
    return inet_pton(AF_INET, host, &address->four.sin_addr) == 1;
}

static bool stays_here(const union address *address) {
    if (address->any.sa_family == AF_INET) return ntohl(address->four.sin_addr.s_addr) >> 24 == 127;
    if (address->any.sa_family == AF_INET6) return IN6_IS_ADDR_LOOPBACK(&address->six.sin6_addr);
    return address->any.sa_family == AF_UNIX;
}

static void describe(const union address *address, char place[PLACE_SIZE]) {
    char host[INET6_ADDRSTRLEN] = "";
    if (address->any.sa_family == AF_INET) {
        inet_ntop(AF_INET, &address->four.sin_addr, host, sizeof host);
        snprintf(place, PLACE_SIZE, "%s:%u", host, ntohs(address->four.sin_port));
    } else if (address->any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &address->six.sin6_addr, host, sizeof host);
        snprintf(place, PLACE_SIZE, "[%s]:%u", host, ntohs(address->six.sin6_port));
    } else {
        snprintf(place, PLACE_SIZE, "a socket that it was given");
    }
}

static int bind_socket(const union address *address, socklen_t size) {
    int one = 1, fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    /* Otherwise a port could not be had again for a minute after an end with clients. */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, &address->any, size) == 0 && listen(fd, BACKLOG) == 0) return fd;
    int reason = errno;
    close(fd);
    errno = reason;
    return -1;
}

static bool is_safe(const union address *address, const struct options *options, const char *place) {
    if (options->certificate || stays_here(address)) return true;
    fprintf(stderr,
            "ga-gate: %s can be reached from other machines, who would see every picture and key: give --tls-cert and "
            "--tls-key, or listen at 127.0.0.1 and bring clients there by a tunnel\n",
            place);
    return false;
}

enum listen_result listen_open(const struct options *options, int *fd, char place[PLACE_SIZE]) {
    union address address = {.any = {0}};
    socklen_t size = sizeof address;
    if (options->listen_at && !parse(options->listen_at, &address, &size)) {
        fprintf(stderr, "ga-gate: '%s' is not ADDRESS:PORT (as 127.0.0.1:0 or [::1]:0)\n", options->listen_at);
        return LISTEN_REFUSED;
    }
    *fd = options->listen_fd;
    if (options->listen_at) {
        if (!is_safe(&address, options, options->listen_at)) return LISTEN_REFUSED;
        *fd = bind_socket(&address, size);
        size = sizeof address;
    }
    if (*fd < 0 || getsockname(*fd, &address.any, &size) < 0) {
        const char *what = options->listen_at ? options->listen_at : "the socket that it was given";
        fprintf(stderr, "ga-gate: cannot listen at %s: %s\n", what, strerror(errno));
        return LISTEN_FAILED;
    }
    describe(&address, place);
    fcntl(*fd, F_SETFD, FD_CLOEXEC);
    fcntl(*fd, F_SETFL, O_NONBLOCK);
    return is_safe(&address, options, place) ? LISTENING : LISTEN_REFUSED;
}
