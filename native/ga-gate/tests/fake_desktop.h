/* ga-desktop as far as a gate sees it, and clients that speak to the gate, all in one process and without sockets. */
#ifndef GG_FAKE_DESKTOP_H
#define GG_FAKE_DESKTOP_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../common/sha256.h"
#include "../../ga-desktop/clock.h"
#include "../../tests/check.h"
#include "../gate.h"

#define TOKEN "a token of some bytes"
#define SCREEN_WIDTH 160
#ifndef SCREEN_HEIGHT
#define SCREEN_HEIGHT 300
#endif
#define TILE_ROWS ((SCREEN_HEIGHT + TILE_HEIGHT - 1) / TILE_HEIGHT)
#define SCREEN_BYTES (SCREEN_WIDTH * SCREEN_HEIGHT * BYTES_PER_PIXEL)
#define PIXELS_AT 4096

struct fake_desktop {
    int memory_fd;
    uint8_t *memory;
    uint64_t picture, batches;
    int pointer;       /* batches of one MOVE leave it here, which counts how often one was done */
    bool silent;       /* INPUT gets no answer for now */
    uint64_t owed;     /* request of such a batch, 0: none */
    bool refuses;      /* connections */
    bool finds_invalid; /* whatever batch comes */
    struct {
        uint8_t id[GG_SESSION_SIZE];
        uint64_t batches; /* that came for this session */
    } seen[GG_MAX_SESSIONS];
};

static struct fake_desktop desktop;
static struct gate gate;

static void desktop_open(void) {
    struct gd_MAPPING facts = {GD_MAGIC, GD_VERSION, 1, SCREEN_WIDTH, SCREEN_HEIGHT, SCREEN_WIDTH * BYTES_PER_PIXEL, 1, 64,
                               PIXELS_AT, SCREEN_BYTES, 0, 0};
    desktop = (struct fake_desktop){.memory_fd = memfd_create("frames", MFD_CLOEXEC), .picture = 1};
    CHECK(ftruncate(desktop.memory_fd, PIXELS_AT + SCREEN_BYTES) == 0);
    desktop.memory = mmap(NULL, PIXELS_AT + SCREEN_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, desktop.memory_fd, 0);
    CHECK(desktop.memory != MAP_FAILED);
    memcpy(desktop.memory, &facts, sizeof facts);
}

static uint8_t *screen(void) {
    return desktop.memory + PIXELS_AT;
}

static void desktop_draw(int x, int y, uint8_t shade) {
    screen()[(y * SCREEN_WIDTH + x) * BYTES_PER_PIXEL] = shade;
    desktop.picture++;
}

/* Puts a message where the link finds it. */
static void tell_link(struct link *link, uint16_t code, uint64_t request, const void *fields, size_t size) {
    struct gd_header header = {(uint32_t)size, code, 0, request};
    uint8_t *at;
    CHECK(stream_room(&link->stream, GD_MAX_BODY, &at) >= sizeof header + size);
    memcpy(at, &header, sizeof header);
    if (size) memcpy(at + sizeof header, fields, size);
    stream_arrived(&link->stream, sizeof header + size);
}

static void desktop_challenges(struct link *link, const uint8_t *body) {
    struct gd_CHALLENGE challenge = {.version = GD_VERSION};
    struct hmac_sha256 mac;
    uint32_t facts[2] = {GD_VERSION, link->role};
    hmac_sha256_begin(&mac, link->token->data, link->token->size);
    hmac_sha256_update(&mac, "ga-desktop service", 18);
    hmac_sha256_update(&mac, body + 12, GD_NONCE_SIZE);
    hmac_sha256_update(&mac, challenge.nonce, GD_NONCE_SIZE);
    hmac_sha256_update(&mac, facts, sizeof facts);
    hmac_sha256_end(&mac, challenge.proof);
    tell_link(link, GD_MESSAGE_CHALLENGE, 0, &challenge, sizeof challenge);
}

static void desktop_shows(struct link *link, uint64_t request) {
    struct gd_FRAME frame = {.picture = desktop.picture, .after_input = desktop.batches, .width = SCREEN_WIDTH,
                             .height = SCREEN_HEIGHT};
    if (!link->mapping.memory && link->fd_count == 0) {
        frame.flags = GD_FRAME_NEW_MAPPING;
        link->fds[link->fd_count++] = dup(desktop.memory_fd);
    }
    tell_link(link, GD_MESSAGE_FRAME, request, &frame, sizeof frame);
}

static void desktop_acknowledges(struct link *link, uint64_t request) {
    struct gd_INPUT_ACK ack = {.number = ++desktop.batches, .x = ++desktop.pointer};
    tell_link(link, GD_MESSAGE_INPUT_ACK, request, &ack, sizeof ack);
}

/* No batch comes twice: there are no more than there are numbers. */
static void desktop_sees(int index) {
    const struct session *session = &gate.sessions.items[index];
    if (memcmp(desktop.seen[index].id, session->id, GG_SESSION_SIZE) != 0) desktop.seen[index].batches = 0;
    memcpy(desktop.seen[index].id, session->id, GG_SESSION_SIZE);
    CHECK(++desktop.seen[index].batches <= session->input.last_batch);
}

static void desktop_takes(struct link *link, const struct message *message) {
    struct gd_WELCOME welcome = {1, 10, SCREEN_WIDTH, SCREEN_HEIGHT};
    struct gd_SETTLED settled = {1, 5};
    struct gd_POINTER pointer = {desktop.pointer, 0};
    struct gd_FAILED invalid = {GD_ERROR_INVALID_INPUT, 0};
    switch (message->code) {
    case GD_MESSAGE_HELLO: desktop_challenges(link, message->body); break;
    case GD_MESSAGE_PROOF: tell_link(link, GD_MESSAGE_WELCOME, 0, &welcome, sizeof welcome); break;
    case GD_MESSAGE_FRAME_REQUEST: desktop_shows(link, message->request); break;
    case GD_MESSAGE_FRAME_DONE: CHECK(message->size == 0); break;
    case GD_MESSAGE_SETTLE: tell_link(link, GD_MESSAGE_SETTLED, message->request, &settled, sizeof settled); break;
    case GD_MESSAGE_POINTER_REQUEST: tell_link(link, GD_MESSAGE_POINTER, message->request, &pointer, sizeof pointer); break;
    case GD_MESSAGE_RELEASE: tell_link(link, GD_MESSAGE_RELEASED, message->request, NULL, 0); break;
    case GD_MESSAGE_INPUT:
        if (desktop.finds_invalid)
            tell_link(link, GD_MESSAGE_FAILED, message->request, &invalid, sizeof invalid);
        else if (desktop.silent)
            desktop.owed = message->request;
        else
            desktop_acknowledges(link, message->request);
        break;
    default: CHECK(!"the gate sent what ga-desktop does not know");
    }
}

/* Takes what waits in `stream` to be sent as the next message; false when that is not whole. */
static bool next_sent(const struct stream *stream, struct message *message) {
    struct stream sent = {.in = stream->out + stream->out_start, .in_size = stream_waiting(stream)};
    return stream_next(&sent, GG_MAX_BODY, message) == STREAM_MESSAGE;
}

/* The desktop answers all that has been asked. */
static void desktop_works(void) {
    struct message message;
    for (int i = 0; i < GG_MAX_SESSIONS; i++) {
        struct session *session = &gate.sessions.items[i];
        while (session->link && next_sent(&session->link->stream, &message)) {
            size_t size = sizeof(struct gd_header) + message.size;
            uint8_t *copy = malloc(size);
            memcpy(copy, message.body - sizeof(struct gd_header), size);
            message.body = copy + sizeof(struct gd_header);
            stream_sent(&session->link->stream, size);
            if (message.code == GD_MESSAGE_INPUT) desktop_sees(i);
            if (session->link->state != LINK_LOST) desktop_takes(session->link, &message);
            free(copy);
            gate_serve_link(&gate, session);
        }
    }
}

static struct link *fake_connect(struct gate *of, uint32_t role) {
    return desktop.refuses ? NULL : link_new(-1, role, &of->desktop_token);
}

static void gate_begin(void) {
    desktop_open();
    gate = (struct gate){.connect = fake_connect};
    gate.token.size = gate.desktop_token.size = strlen(TOKEN);
    memcpy(gate.token.data, TOKEN, strlen(TOKEN));
    memcpy(gate.desktop_token.data, TOKEN, strlen(TOKEN));
    CHECK(encoder_open(&gate.encoder));
}

static void gate_finish(void) {
    gate_close(&gate);
    munmap(desktop.memory, PIXELS_AT + SCREEN_BYTES);
    close(desktop.memory_fd);
}

/* ---- clients ---- */

static void deliver(struct client *client, const void *data, size_t size) {
    const uint8_t *from = data;
    while (size && client->state < CLIENT_CLOSING) {
        uint8_t *at;
        size_t room = stream_room(&client->stream, client_largest(client), &at);
        size_t part = size < room ? size : room;
        if (part == 0) return; /* it waits for its turn */
        memcpy(at, from, part);
        stream_arrived(&client->stream, part);
        from += part;
        size -= part;
        gate_serve_client(&gate, client);
    }
}

static void say(struct client *client, uint16_t code, uint64_t request, const void *body, size_t size) {
    struct gd_header header = {(uint32_t)size, code, 0, request};
    deliver(client, &header, sizeof header);
    deliver(client, body, size);
}

/* The next message to the client, in static memory; its code, 0 when there is none. */
static uint16_t hear(struct client *client, void *fields, size_t size) {
    struct message message;
    gate_fill(&gate, client);
    if (!next_sent(&client->stream, &message)) return 0;
    uint16_t code = message.code;
    if (fields) {
        CHECK(message.size >= size);
        memcpy(fields, message.body, size);
    }
    stream_sent(&client->stream, sizeof(struct gd_header) + message.size);
    return code;
}

static struct client *arrive(void) {
    struct client *client = client_new((struct transport){.fd = -1});
    CHECK(client != NULL);
    gate_add(&gate, client);
    return client;
}

static void prove_token(const struct gg_HELLO *hello, const struct gg_CHALLENGE *challenge, struct gg_PROOF *proof) {
    struct hmac_sha256 mac;
    hmac_sha256_begin(&mac, TOKEN, strlen(TOKEN));
    hmac_sha256_update(&mac, "ga-gate client", 14);
    hmac_sha256_update(&mac, hello, sizeof *hello);
    hmac_sha256_update(&mac, challenge->nonce, GG_NONCE_SIZE);
    hmac_sha256_end(&mac, proof->proof);
}

static struct gg_HELLO hello_of(uint32_t role, const struct gg_WELCOME *resumed) {
    struct gg_HELLO hello = {.magic = GG_MAGIC, .version = GG_VERSION, .role = role};
    if (resumed) memcpy(hello.session, resumed->session, GG_SESSION_SIZE);
    return hello;
}

/* Up to the answer to PROOF, whose code it returns. */
static uint16_t try_enter(struct client *client, const struct gg_HELLO *hello, void *answer, size_t size) {
    struct gg_CHALLENGE challenge;
    struct gg_PROOF proof;
    say(client, GG_MESSAGE_HELLO, 1, hello, sizeof *hello);
    CHECK(hear(client, &challenge, sizeof challenge) == GG_MESSAGE_CHALLENGE);
    prove_token(hello, &challenge, &proof);
    say(client, GG_MESSAGE_PROOF, 2, &proof, sizeof proof);
    desktop_works();
    return hear(client, answer, size);
}

static inline struct client *enter(const struct gg_HELLO *hello, struct gg_WELCOME *welcome) {
    struct client *client = arrive();
    CHECK(try_enter(client, hello, welcome, sizeof *welcome) == GG_MESSAGE_WELCOME);
    return client;
}

static inline void hang_up(struct client *client) {
    client->state = CLIENT_GONE;
    gate_sweep(&gate, clock_ns());
}

#endif
