/* How a connection opens: both sides prove the token, and without a token the peer's user id decides. */
#ifndef GD_OPENING_H
#define GD_OPENING_H

#include <sys/types.h>

#include "../common/token.h"
#include "connection.h"

#define ALLOWED_UIDS_MAX 16

struct opening {
    struct token token;
    uid_t allowed_uids[ALLOWED_UIDS_MAX];
    int allowed_count;
    /* for WELCOME */
    uint32_t features, spare_keys;
    const char *vendor, *note;
};

bool opening_allows_peer(const struct opening *opening, int fd);
/* One message of a connection that is not open yet. */
void opening_message(const struct opening *opening, struct connection *connection, const struct message *message,
                     uint16_t width, uint16_t height);

#endif
