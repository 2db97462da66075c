/* One client's connection, from its first byte to its last. */
#ifndef GG_CLIENT_H
#define GG_CLIENT_H

#include "session.h"
#include "stream.h"
#include "transport.h"

enum client_state { CLIENT_HELLO, CLIENT_PROOF, CLIENT_LINKING, CLIENT_OPEN, CLIENT_CLOSING, CLIENT_GONE };

struct client {
    struct transport transport;
    struct stream stream;
    enum client_state state;
    bool waits; /* its next message has come, and cannot be taken yet */
    uint64_t opened_ns;
    uint64_t stuck_ns; /* since when nothing of what waits could be sent; 0: it can */
    uint64_t closing_ns;
    struct gg_HELLO hello;
    uint8_t nonce[GG_NONCE_SIZE]; /* ours */
    uint64_t proof_request;
    struct session *session;
    bool resumed, welcomed;
};

/* Takes the transport over; NULL when there is no memory, and it is closed then. */
struct client *client_new(struct transport transport);
void client_free(struct client *client);

/* The largest body that the client may send now. */
uint32_t client_largest(const struct client *client);
/* More of what the client sends may be read: it reads its answers, and has no whole message waiting for its turn. */
bool client_is_heard(const struct client *client);

/* A client that lets too many answers pile up is cut. */
void client_send(struct client *client, uint16_t code, uint64_t request, const void *fields, size_t fields_size,
                 const void *tail, size_t tail_size);
void client_fail(struct client *client, uint64_t request, uint32_t error, const char *text);
void client_fail_with(struct client *client, uint64_t request, struct gg_FAILED failed, const void *words, size_t size);
/* Once what waits has been sent. */
void client_close(struct client *client);

#define CLIENT_SEND(client, request, name, ...) \
    do { \
        struct gg_##name fields_ = {__VA_ARGS__}; \
        client_send(client, GG_MESSAGE_##name, request, &fields_, sizeof fields_, NULL, 0); \
    } while (0)

/* Frames are put in parts, each of them when less than this waits: the client unpacks one while the next is made. */
#define FLUSH_BYTES 8192
#define RECT_ROOM (sizeof(struct gd_header) + sizeof(struct gg_RECT) + GG_MAX_RECT_BYTES)

#endif
