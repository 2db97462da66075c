#define _GNU_SOURCE
#include "opening.h"

#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../common/sha256.h"

#define VENDOR_MAX 128

_Static_assert(TOKEN_MIN == GD_MIN_TOKEN_SIZE && TOKEN_MAX == GD_MAX_TOKEN_SIZE, "as the protocol says");

bool opening_allows_peer(const struct opening *opening, int fd) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (opening->token.size) return true; /* the proof decides */
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) return false;
    if (peer.uid == geteuid()) return true;
    for (int i = 0; i < opening->allowed_count; i++)
        if (peer.uid == opening->allowed_uids[i]) return true;
    return false;
}

static void prove(const struct opening *opening, const struct connection *connection, const char *label,
                  uint8_t proof[GD_PROOF_SIZE]) {
    struct hmac_sha256 mac;
    uint8_t facts[8];
    uint32_t version = GD_VERSION;
    memcpy(facts, &version, 4);
    memcpy(facts + 4, &connection->role, 4);
    hmac_sha256_begin(&mac, opening->token.data, opening->token.size);
    hmac_sha256_update(&mac, label, strlen(label));
    hmac_sha256_update(&mac, connection->client_nonce, GD_NONCE_SIZE);
    hmac_sha256_update(&mac, connection->service_nonce, GD_NONCE_SIZE);
    hmac_sha256_update(&mac, facts, sizeof facts);
    hmac_sha256_end(&mac, proof);
}

static void refuse(struct connection *connection, uint64_t request, enum gd_error error, const char *text) {
    connection_fail(connection, request, error, 0, text);
    connection->state = CLOSING;
}

static void hello(const struct opening *opening, struct connection *connection, const struct message *message) {
    struct gd_HELLO fields;
    if (message->code != GD_MESSAGE_HELLO || !FIELDS(message, &fields) || fields.magic != GD_MAGIC) {
        refuse(connection, message->request, GD_ERROR_MALFORMED, "a connection begins with HELLO");
        return;
    }
    if (fields.version != GD_VERSION) {
        refuse(connection, message->request, GD_ERROR_VERSION, "this ga-desktop speaks another protocol version");
        return;
    }
    if (fields.role != GD_ROLE_FRAMES && fields.role != GD_ROLE_INPUT) {
        refuse(connection, message->request, GD_ERROR_MALFORMED, "no such role");
        return;
    }
    struct gd_CHALLENGE challenge = {.version = GD_VERSION};
    if (getrandom(connection->service_nonce, GD_NONCE_SIZE, 0) != GD_NONCE_SIZE) {
        refuse(connection, message->request, GD_ERROR_BUSY, "no randomness to be had");
        return;
    }
    connection->role = fields.role;
    memcpy(connection->client_nonce, fields.nonce, GD_NONCE_SIZE);
    memcpy(challenge.nonce, connection->service_nonce, GD_NONCE_SIZE);
    prove(opening, connection, "ga-desktop service", challenge.proof);
    connection_send(connection, GD_MESSAGE_CHALLENGE, message->request, &challenge, sizeof challenge,
                    (struct tail){0});
    connection->state = OPENING_PROOF;
}

static void welcome(const struct opening *opening, struct connection *connection, uint64_t request, uint16_t width,
                    uint16_t height) {
    struct gd_WELCOME fields = {opening->features, opening->spare_keys, width, height};
    char text[2 * VENDOR_MAX + 2];
    size_t vendor = strnlen(opening->vendor, VENDOR_MAX), note = strnlen(opening->note, VENDOR_MAX);
    memcpy(text, opening->vendor, vendor);
    text[vendor] = 0;
    memcpy(text + vendor + 1, opening->note, note);
    struct tail tail = {.data = text, .size = vendor + 1 + note};
    connection->state = OPEN;
    connection_send(connection, GD_MESSAGE_WELCOME, request, &fields, sizeof fields, tail);
}

void opening_message(const struct opening *opening, struct connection *connection, const struct message *message,
                     uint16_t width, uint16_t height) {
    if (connection->state == OPENING_HELLO) {
        hello(opening, connection, message);
        return;
    }
    struct gd_PROOF fields;
    uint8_t wanted[GD_PROOF_SIZE];
    prove(opening, connection, "ga-desktop client", wanted);
    if (message->code != GD_MESSAGE_PROOF || !FIELDS(message, &fields))
        refuse(connection, message->request, GD_ERROR_MALFORMED, "CHALLENGE is answered by PROOF");
    else if (!equal_in_constant_time(wanted, fields.proof, GD_PROOF_SIZE))
        refuse(connection, message->request, GD_ERROR_UNAUTHORIZED, "the token is wrong");
    else
        welcome(opening, connection, message->request, width, height);
}
