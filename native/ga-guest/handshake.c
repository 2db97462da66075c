#define _GNU_SOURCE
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "../common/sha256.h"
#include "connection.h"
#include "options.h"
#include "server.h"

#ifndef GA_BUILD
#define GA_BUILD "unknown"
#endif

/* HMAC over a label that differs per side, both nonces and the version. */
static void make_proof(const struct connection *connection, const char *label, uint8_t proof[GA_PROOF_SIZE]) {
    const struct options *options = connection->server->options;
    const uint8_t version[2] = {GA_VERSION & 0xff, GA_VERSION >> 8};
    struct hmac_sha256 mac;
    hmac_sha256_begin(&mac, options->token, options->token_size);
    hmac_sha256_update(&mac, label, strlen(label));
    hmac_sha256_update(&mac, connection->host_nonce, GA_NONCE_SIZE);
    hmac_sha256_update(&mac, connection->guest_nonce, GA_NONCE_SIZE);
    hmac_sha256_update(&mac, version, sizeof version);
    hmac_sha256_end(&mac, proof);
}

static bool refuse(struct connection *connection, uint16_t error, const char *message) {
    GA_SEND(&connection->tx, 0, REFUSED, .error = error, .version = GA_VERSION, .message = ga_slice_of(message));
    connection_close_after_flush(connection);
    return true;
}

static bool take_hello(struct connection *connection, struct ga_slice payload) {
    struct ga_HELLO hello;
    uint8_t proof[GA_PROOF_SIZE];
    if (!ga_decode_HELLO(payload, &hello) || hello.magic != GA_MAGIC || hello.nonce.size != GA_NONCE_SIZE) return false;
    if (hello.version != GA_VERSION) return refuse(connection, GA_ERROR_VERSION, "this guest speaks another version");
    memcpy(connection->host_nonce, hello.nonce.data, GA_NONCE_SIZE);
    if (getrandom(connection->guest_nonce, GA_NONCE_SIZE, 0) != GA_NONCE_SIZE) return false;
    make_proof(connection, "ga-guest guest", proof);
    GA_SEND(&connection->tx, 0, CHALLENGE, .version = GA_VERSION, .nonce = {connection->guest_nonce, GA_NONCE_SIZE},
            .proof = {proof, GA_PROOF_SIZE});
    connection->state = AWAIT_PROOF;
    return true;
}

static bool take_proof(struct connection *connection, struct ga_slice payload) {
    struct ga_PROOF answer;
    uint8_t proof[GA_PROOF_SIZE];
    if (!ga_decode_PROOF(payload, &answer) || answer.proof.size != GA_PROOF_SIZE) return false;
    make_proof(connection, "ga-guest host", proof);
    if (!equal_in_constant_time(proof, answer.proof.data, GA_PROOF_SIZE))
        return refuse(connection, GA_ERROR_UNAUTHORIZED, "the token is wrong");
    GA_SEND(&connection->tx, 0, WELCOME, .role = connection->server->options->role, .pid = (uint32_t)getpid(),
            .build = ga_slice_of(GA_BUILD));
    connection->state = READY;
    connection->opening_deadline_ns = 0;
    return true;
}

bool handshake_step(struct connection *connection, const struct ga_header *header, struct ga_slice payload) {
    if (header->channel != 0) return false;
    if (connection->state == AWAIT_HELLO && header->message == GA_MESSAGE_HELLO) return take_hello(connection, payload);
    if (connection->state == AWAIT_PROOF && header->message == GA_MESSAGE_PROOF) return take_proof(connection, payload);
    return false;
}
