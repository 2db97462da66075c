/* One client: its socket, what has arrived from it, and the opening in which both sides prove the token. */
#ifndef GD_CONNECTION_H
#define GD_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"

enum connection_state { OPENING_HELLO, OPENING_PROOF, OPEN, CLOSING };

struct connection {
    int fd;
    enum connection_state state;
    bool paused; /* an answer is due before more is read */
    uint32_t role;
    uint64_t opened_ns;
    uint8_t client_nonce[GD_NONCE_SIZE], service_nonce[GD_NONCE_SIZE];
    uint8_t *data; /* received, not yet taken */
    size_t size, capacity;
    void *state_of_role;
};

struct message {
    uint32_t code;
    uint64_t request;
    const uint8_t *body;
    uint32_t size;
};

struct connection *connection_new(int fd);
void connection_free(struct connection *connection);

/* Reads what is there; false at the end of the stream. */
bool connection_receive(struct connection *connection);
/* The next whole message; false when there is none. A malformed one is answered and the connection closes. */
bool connection_next(struct connection *connection, struct message *message);
void connection_taken(struct connection *connection, const struct message *message);

struct tail {
    const void *data;
    size_t size;
    const int *fds;
    int fd_count;
};

/* A client that does not read what it asked for is cut off: answers never wait here. */
void connection_send(struct connection *connection, uint16_t code, uint64_t request, const void *fields,
                     size_t fields_size, struct tail tail);
void connection_fail(struct connection *connection, uint64_t request, enum gd_error error, uint32_t chars_typed,
                     const char *text);

#define SEND(connection, request, name, ...) \
    do { \
        struct gd_##name fields_ = {__VA_ARGS__}; \
        connection_send(connection, GD_MESSAGE_##name, request, &fields_, sizeof fields_, (struct tail){0}); \
    } while (0)

/* Copies a body of exactly this kind, with or without a tail; false when it is too short or too long. */
bool message_fields(const struct message *message, void *fields, size_t size, bool has_tail);
#define FIELDS(message, fields) message_fields(message, fields, sizeof *(fields), false)
#define FIELDS_AND_TAIL(message, fields) message_fields(message, fields, sizeof *(fields), true)

#endif
