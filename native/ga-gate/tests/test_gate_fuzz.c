/* Over a million seeded messages, right ones and spoilt ones, through the real reader and all that lies behind it: from clients
 * that are opening, from open ones of both roles, and from ga-desktop. Run under the sanitizers. After each: memory is bounded,
 * no batch is done twice, and nobody got in without the token. */
#define _GNU_SOURCE
#include <stdio.h>

#define SCREEN_HEIGHT 70 /* pixels are not what is tried here */
#include "fake_desktop.h"

#define WANTED 1000000
#define BODY_MAX 200
#define IN_MAX (sizeof(struct gd_header) + GG_MAX_BODY)

static uint64_t messages, entered, refused, frames, lost_links;

static uint32_t seed = 20;
static uint32_t number(uint32_t below) {
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed % below;
}

struct draft {
    struct gd_header header;
    uint8_t body[BODY_MAX];
    size_t size; /* of what is there of the body */
};

static struct draft draft_of(uint16_t code, const void *body, size_t size) {
    struct draft draft = {.header = {(uint32_t)size, code, 0, number(5)}, .size = size};
    if (size) memcpy(draft.body, body, size);
    return draft;
}

static size_t some_ops(uint8_t *at, uint32_t *count) {
    static const uint8_t ops[][14] = {
        {9, GD_OP_MOVE, 1, 0, 0, 0, 2, 0, 0, 0},
        {11, GD_OP_CLICK, 1, 0, 0, 0, 2, 0, 0, 0, 1, 2},
        {3, GD_OP_BUTTON, 1, 1},
        {9, GD_OP_SCROLL, 0, 0, 0, 0, 1, 0, 0, 0},
        {8, GD_OP_TEXT, 3, 0, 0, 0, 'a', 'b', 'c'},
        {6, GD_OP_KEYS_DOWN, 1, 0x61, 0, 0, 0},
        {10, GD_OP_KEYS_UP, 2, 0x61, 0, 0, 0, 0x62, 0, 0, 0},
    };
    size_t size = 0;
    *count = number(5);
    for (uint32_t i = 0; i < *count; i++) {
        const uint8_t *op = ops[number(sizeof ops / sizeof *ops)];
        memcpy(at + size, op + 1, op[0]);
        size += op[0];
    }
    return size;
}

static struct draft input_draft(const struct client *client) {
    uint8_t body[BODY_MAX];
    uint32_t count;
    size_t size = some_ops(body + sizeof(struct gg_INPUT), &count);
    struct gg_INPUT fields = {client->session->input.last_batch + (number(4) != 0), count};
    memcpy(body, &fields, sizeof fields);
    return draft_of(GG_MESSAGE_INPUT, body, sizeof fields + size);
}

static struct draft settle_draft(void) {
    struct {
        struct gg_SETTLE fields;
        struct gd_BOX boxes[4];
    } __attribute__((packed)) body = {.fields = {1, 2, 0, number(5)}};
    return draft_of(GG_MESSAGE_SETTLE, &body, sizeof body.fields + body.fields.box_count * sizeof *body.boxes);
}

/* What a client of its role would send. */
static struct draft right_message(const struct client *client) {
    bool jpeg = number(8) == 0;
    struct gg_FRAME_REQUEST frame = {number(8), jpeg ? GG_ENCODING_JPEG : GG_ENCODING_LZ4, (uint8_t)(jpeg ? 1 + number(100) : 0)};
    if (number(500) == 0) return draft_of(GG_MESSAGE_BYE, NULL, 0);
    if (client->hello.role == GG_ROLE_FRAMES)
        return number(3) ? draft_of(GG_MESSAGE_FRAME_REQUEST, &frame, sizeof frame) : settle_draft();
    if (number(4)) return input_draft(client);
    return draft_of(number(2) ? GG_MESSAGE_POINTER_REQUEST : GG_MESSAGE_RELEASE, NULL, 0);
}

static void spoil(struct draft *draft) {
    uint8_t *bytes = (uint8_t *)draft;
    switch (number(6)) {
    case 0: draft->header.body_bytes = number(2) ? number(1u << 31) : number(64); break;
    case 1: draft->header.message = (uint16_t)number(40); break;
    case 2: draft->size = number((uint32_t)draft->size + 1); break;
    case 3: draft->header.body_bytes = (uint32_t)(draft->size = number(BODY_MAX)); break;
    default:
        for (uint32_t i = 0; i <= number(4); i++)
            bytes[number((uint32_t)(sizeof draft->header + draft->size))] ^= (uint8_t)(1u << number(8));
    }
}

/* On the heap and exactly as large as it is, in one piece or several. */
static void send_draft(struct client *client, const struct draft *draft) {
    size_t size = sizeof draft->header + draft->size, at = 0;
    uint8_t *data = malloc(size);
    memcpy(data, &draft->header, sizeof draft->header);
    memcpy(data + sizeof draft->header, draft->body, draft->size);
    while (at < size) {
        size_t part = number(4) ? size - at : 1 + number((uint32_t)(size - at));
        uint8_t *piece = malloc(part);
        memcpy(piece, data + at, part);
        deliver(client, piece, part);
        free(piece);
        at += part;
    }
    free(data);
    messages++;
}

static void check_bounds(void) {
    CHECK(gate.client_count <= CLIENTS_MAX);
    for (int i = 0; i < gate.client_count; i++) {
        const struct client *client = gate.clients[i];
        CHECK(client->stream.in_capacity <= IN_MAX && client->stream.out_capacity <= client->stream.out_limit);
        CHECK(client->state != CLIENT_OPEN || (client->session && client->session->client == client));
    }
}

/* Reads what a client is sent; whatever that is, it is whole messages. */
static void read_all(struct client *client) {
    uint16_t code;
    while ((code = hear(client, NULL, 0))) {
        frames += code == GG_MESSAGE_FRAME;
        refused += code == GG_MESSAGE_FAILED;
    }
    CHECK(stream_waiting(&client->stream) == 0);
}

/* ga-desktop says something that it should not. */
static void spoil_links(void) {
    struct session *session = &gate.sessions.items[number(GG_MAX_SESSIONS)];
    struct gd_FRAME frame = {.flags = number(16), .slot = number(3), .width = SCREEN_WIDTH, .height = SCREEN_HEIGHT};
    uint8_t body[64];
    if (!session->link || session->link->state == LINK_LOST) return;
    for (size_t i = 0; i < sizeof body; i++) body[i] = (uint8_t)number(4);
    if (number(2)) memcpy(body, &frame, sizeof frame);
    tell_link(session->link, (uint16_t)number(40), number(4), body, number(2) ? sizeof frame : number(sizeof body));
    messages++;
    gate_serve_link(&gate, session);
    lost_links++;
}

static struct client *enter_somehow(void) {
    static struct gg_WELCOME last;
    struct gg_WELCOME welcome;
    struct gg_HELLO hello = hello_of(1 + number(2), number(2) ? &last : NULL);
    struct client *client = arrive();
    hello.picture = number(3);
    uint16_t code = try_enter(client, &hello, &welcome, sizeof(struct gg_FAILED));
    messages += 2;
    if (code != GG_MESSAGE_WELCOME) return NULL;
    memcpy(last.session, client->session->id, GG_SESSION_SIZE);
    entered++;
    return client;
}

/* One whose opening is spoilt somewhere does not get in. */
static void try_to_break_in(void) {
    struct gg_HELLO hello = hello_of(1 + number(2), NULL);
    struct gg_PROOF proof;
    struct client *client = arrive();
    for (size_t i = 0; i < sizeof proof.proof; i++) proof.proof[i] = (uint8_t)number(256);
    for (int i = 0; i < 4; i++) {
        struct draft draft = i % 2 ? draft_of(GG_MESSAGE_PROOF, &proof, sizeof proof)
                                   : draft_of(GG_MESSAGE_HELLO, &hello, sizeof hello);
        if (number(3) == 0) spoil(&draft);
        send_draft(client, &draft);
        CHECK(client->state != CLIENT_OPEN && client->state != CLIENT_LINKING && !client->session);
    }
    read_all(client);
}

static void talk(struct client *client) {
    for (uint32_t i = 0; i < 400 && client->state == CLIENT_OPEN; i++) {
        struct draft draft = right_message(client);
        if (number(150) == 0) spoil(&draft);
        send_draft(client, &draft);
        desktop.silent = number(20) == 0;
        if (number(3) == 0) desktop_draw((int)number(SCREEN_WIDTH), (int)number(SCREEN_HEIGHT), (uint8_t)number(256));
        if (number(3)) desktop_works();
        if (client->state == CLIENT_OPEN && client->session->role == GG_ROLE_INPUT && desktop.owed) {
            struct session *session = client->session;
            if (session->link && session->input.asked == ASKED_INPUT) desktop_acknowledges(session->link, desktop.owed);
            desktop.owed = 0;
            gate_serve_link(&gate, session);
        }
        if (number(1000) == 0) spoil_links();
        read_all(client);
        check_bounds();
    }
}

int main(void) {
    gate_begin();
    while (messages < WANTED) {
        struct client *client = enter_somehow();
        desktop.refuses = number(20) == 0;
        if (client) talk(client);
        if (number(2)) try_to_break_in();
        if (number(3) == 0) spoil_links();
        uint64_t later = number(10) ? 0 : number(2 * GG_LEASE_MS) * MS_NS;
        if (client && number(2)) client->state = CLIENT_GONE;
        gate_sweep(&gate, clock_ns() + later);
        check_bounds();
    }
    /* It got everywhere. */
    CHECK(entered > 1000 && refused > 1000 && frames > 50000 && desktop.pointer > 50000 && lost_links > 300);
    printf("ok: %llu messages, %llu sessions, %llu frames, %d batches done\n", (unsigned long long)messages,
           (unsigned long long)entered, (unsigned long long)frames, desktop.pointer);
    gate_finish();
    return 0;
}
