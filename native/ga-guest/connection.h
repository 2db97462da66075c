/* One peer: the host over its socket, or a `sudo` over the root socket. */
#ifndef GA_CONNECTION_H
#define GA_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "buffer.h"
#include "protocol.h"

struct server;

enum connection_kind { CONNECTION_HOST, CONNECTION_DEVICE, CONNECTION_SUDO };
enum connection_state { AWAIT_HELLO, AWAIT_PROOF, READY, CLOSING };

struct connection {
    struct connection *next;
    struct server *server;
    enum connection_kind kind;
    enum connection_state state;
    int fd;
    struct buffer rx, tx;
    uint64_t opening_deadline_ns; /* also the limit of CLOSING */
    uint8_t host_nonce[GA_NONCE_SIZE], guest_nonce[GA_NONCE_SIZE];
    int passed[3]; /* descriptors received with SCM_RIGHTS */
    unsigned passed_count;
    uid_t peer_uid;
    bool dead; /* swept by the server */
};

#define TX_HIGH (1024 * 1024)     /* above it no output is read from commands */
#define TX_LIMIT (4 * 1024 * 1024) /* above it no request is read */

struct connection *connection_open(struct server *server, int fd, enum connection_kind kind);
void connection_readable(struct connection *connection);
void connection_flush(struct connection *connection);
void connection_tick(struct connection *connection, uint64_t now);
bool connection_wants_read(const struct connection *connection);
/* Ends it: its jobs are abandoned. A device starts over instead. */
void connection_drop(struct connection *connection);
/* Sends what is queued, for at most a second, then drops. */
void connection_close_after_flush(struct connection *connection);
void connection_free(struct connection *connection);

void connection_fail(struct connection *connection, uint32_t channel, uint16_t error, int os_error, const char *message);

/* Handles one frame in state READY; false when it is malformed. (dispatch.c) */
bool connection_dispatch(struct connection *connection, const struct ga_header *header, struct ga_slice payload);

/* Handles one frame of the opening; false drops the connection. (handshake.c) */
bool handshake_step(struct connection *connection, const struct ga_header *header, struct ga_slice payload);

#endif
