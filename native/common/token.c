#define _GNU_SOURCE
#include "token.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

bool token_read(struct token *token, int fd) {
    uint8_t data[TOKEN_MAX + 1];
    size_t size = 0;
    ssize_t got;
    do {
        got = read(fd, data + size, sizeof data - size);
        if (got > 0) size += (size_t)got;
    } while (size < sizeof data && (got > 0 || (got < 0 && errno == EINTR)));
    close(fd);
    bool fits = got >= 0 && size >= TOKEN_MIN && size <= TOKEN_MAX;
    if (fits) {
        memcpy(token->data, data, size);
        token->size = size;
    }
    explicit_bzero(data, sizeof data);
    return fits;
}
