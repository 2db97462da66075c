#define _GNU_SOURCE
#include <string.h>
#include <sys/random.h>

#include "../common/sha256.h"
#include "../ga-desktop/clock.h"
#include "gate.h"

_Static_assert(TOKEN_MIN == GG_MIN_TOKEN_SIZE && TOKEN_MAX == GG_MAX_TOKEN_SIZE, "as the protocol says");

static void prove(const struct gate *gate, const struct client *client, const char *label,
                  uint8_t proof[GG_PROOF_SIZE]) {
    struct hmac_sha256 mac;
    hmac_sha256_begin(&mac, gate->token.data, gate->token.size);
    hmac_sha256_update(&mac, label, strlen(label));
    hmac_sha256_update(&mac, &client->hello, sizeof client->hello);
    hmac_sha256_update(&mac, client->nonce, GG_NONCE_SIZE);
    hmac_sha256_update(&mac, gate->channel, gate->channel_size);
    hmac_sha256_end(&mac, proof);
}

static void refuse(struct client *client, uint64_t request, uint32_t error, const char *text) {
    client_fail(client, request, error, text);
    client_close(client);
}

static void hello(const struct gate *gate, struct client *client, const struct message *message) {
    struct gg_HELLO *fields = &client->hello;
    struct gg_CHALLENGE challenge = {.version = GG_VERSION};
    bool good = message->code == GG_MESSAGE_HELLO && message->size >= 8;
    if (good) memcpy(fields, message->body, 8);
    if (!good || fields->magic != GG_MAGIC)
        refuse(client, message->request, GD_ERROR_MALFORMED, "a connection begins with HELLO");
    else if (fields->version != GG_VERSION)
        refuse(client, message->request, GD_ERROR_VERSION, "this ga-gate speaks another protocol version");
    else if (!FIELDS(message, fields) || (fields->role != GG_ROLE_FRAMES && fields->role != GG_ROLE_INPUT))
        refuse(client, message->request, GD_ERROR_MALFORMED, "HELLO is malformed");
    else if (getrandom(client->nonce, GG_NONCE_SIZE, 0) != GG_NONCE_SIZE)
        refuse(client, message->request, GD_ERROR_BUSY, "no randomness to be had");
    if (client->state >= CLIENT_CLOSING) return;
    memcpy(challenge.nonce, client->nonce, GG_NONCE_SIZE);
    prove(gate, client, "ga-gate service", challenge.proof);
    client_send(client, GG_MESSAGE_CHALLENGE, message->request, &challenge, sizeof challenge, NULL, 0);
    client->state = CLIENT_PROOF;
}

/* The session that HELLO names, taken from a connection that seems to have it still. */
static struct session *resume(struct gate *gate, struct client *client) {
    struct session *session = sessions_find(&gate->sessions, client->hello.session, client->hello.role);
    if (!session || client->hello.acknowledged > session->input.last_batch) return NULL;
    if (session->client) {
        session->client->session = NULL;
        session->client->state = CLIENT_GONE;
        session_cut(session, clock_ns());
    }
    struct picture *picture = &session->frames.picture;
    if (picture->number == 0 || picture->number != client->hello.picture) picture_distrust(picture);
    client->resumed = true;
    return session;
}

static void begin(struct gate *gate, struct client *client, uint64_t request) {
    static const uint8_t none[GG_SESSION_SIZE];
    bool fresh = memcmp(client->hello.session, none, GG_SESSION_SIZE) == 0;
    client->proof_request = request;
    client->session = fresh ? sessions_begin(&gate->sessions, client->hello.role) : resume(gate, client);
    if (!client->session) {
        if (fresh)
            refuse(client, request, GD_ERROR_BUSY, "too many sessions");
        else
            refuse(client, request, GG_ERROR_SESSION_LOST, "the session is over, or was another gate's");
        return;
    }
    client->session->client = client;
    client->state = CLIENT_LINKING;
    if (!gate_link(gate, client->session)) {
        refuse(client, request, GD_ERROR_BUSY, "ga-desktop takes no more connections");
    } else if (client->session->link->state == LINK_OPEN) {
        opening_welcome(client);
    }
}

void opening_welcome(struct client *client) {
    struct session *session = client->session;
    const struct gd_WELCOME *desktop = &session->link->welcome;
    struct gg_WELCOME fields = {
        .flags = client->resumed ? GG_WELCOME_RESUMED : 0,
        .picture = session->frames.picture.number,
        .batch = session->input.last_batch,
        .features = desktop->features,
        .spare_keys = desktop->spare_keys,
        .width = desktop->width,
        .height = desktop->height,
    };
    if (session->input.released) fields.flags |= GG_WELCOME_RELEASED;
    memcpy(fields.session, session->id, GG_SESSION_SIZE);
    client->state = CLIENT_OPEN;
    client->welcomed = true;
    client_send(client, GG_MESSAGE_WELCOME, client->proof_request, &fields, sizeof fields, session->link->words,
                session->link->words_size);
}

void opening_message(struct gate *gate, struct client *client, const struct message *message) {
    struct gg_PROOF fields;
    uint8_t wanted[GG_PROOF_SIZE];
    if (client->state == CLIENT_HELLO) {
        hello(gate, client, message);
        return;
    }
    prove(gate, client, "ga-gate client", wanted);
    if (message->code != GG_MESSAGE_PROOF || !FIELDS(message, &fields))
        refuse(client, message->request, GD_ERROR_MALFORMED, "CHALLENGE is answered by PROOF");
    else if (!equal_in_constant_time(wanted, fields.proof, GG_PROOF_SIZE))
        refuse(client, message->request, GD_ERROR_UNAUTHORIZED, "the token is wrong");
    else
        begin(gate, client, message->request);
}
