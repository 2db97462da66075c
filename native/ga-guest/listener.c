#define _GNU_SOURCE
#include "listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "descriptors.h"

static int complain(int fd, const char *what, const char *name) {
    fprintf(stderr, "ga-guest: cannot %s '%s': %s\n", what, name, strerror(errno));
    fd_close(&fd);
    return -1;
}

int listen_unix(const char *path, mode_t mode) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat info;
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return complain(-1, "listen on", path);
    }
    strcpy(address.sun_path, path);
    if (!lstat(path, &info) && S_ISSOCK(info.st_mode)) unlink(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t old = umask(0777 & ~mode);
    int error = fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address);
    umask(old);
    if (error || chmod(path, mode) || listen(fd, SOMAXCONN)) return complain(fd, "listen on", path);
    return fd;
}

/* Cuts "HOST:PORT" or "[HOST]:PORT"; false when it is neither. */
static int split_address(char *text, char **host, unsigned long *port) {
    char *colon = strrchr(text, ':'), *end;
    if (!colon || !colon[1]) return 0;
    *colon = 0;
    *host = text;
    if (*text == '[' && colon > text && colon[-1] == ']') {
        colon[-1] = 0;
        *host = text + 1;
    }
    *port = strtoul(colon + 1, &end, 10);
    return !*end && *port <= 65535;
}

int listen_tcp(const char *address) {
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    unsigned long port;
    char *copy = strdup(address), *host;
    int on = 1, fd = -1, error = EINVAL;
    if (copy && split_address(copy, &host, &port)) {
        bool is_v4 = inet_pton(AF_INET, host, &v4.sin_addr) == 1;
        bool is_v6 = !is_v4 && inet_pton(AF_INET6, host, &v6.sin6_addr) == 1;
        v4.sin_port = v6.sin6_port = htons((uint16_t)port);
        if (is_v4 || is_v6) {
            fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
            setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
            const struct sockaddr *to = is_v4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
            error = fd < 0 || bind(fd, to, is_v4 ? sizeof v4 : sizeof v6) || listen(fd, SOMAXCONN) ? errno : 0;
        }
    }
    free(copy);
    if (!error) return fd;
    errno = error;
    return complain(fd, "listen on", address);
}

int open_device(const char *path) {
    struct termios raw;
    int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return complain(-1, "open the device", path);
    if (tcgetattr(fd, &raw) == 0) { /* a serial line */
        cfmakeraw(&raw);
        tcsetattr(fd, TCSANOW, &raw);
    }
    return fd;
}
