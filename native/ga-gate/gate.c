#include "gate.h"

#include <stdlib.h>
#include <string.h>

#include "../ga-desktop/clock.h"

#define CLOSING_NS (2000 * MS_NS)

static void remove_client(struct gate *gate, int index) {
    struct client *client = gate->clients[index];
    struct session *session = client->session;
    gate->clients[index] = gate->clients[--gate->client_count];
    if (session && session->client == client) {
        if (!client->resumed && !client->welcomed) /* nobody knows its name */
            session_end(session);
        else
            session_cut(session, clock_ns());
    }
    client_free(client);
}

static void make_room(struct gate *gate) {
    int opening = 0, oldest = -1;
    for (int i = 0; i < gate->client_count; i++) {
        const struct client *client = gate->clients[i];
        if (client->state == CLIENT_OPEN) continue;
        opening++;
        if (oldest < 0 || client->opened_ns < gate->clients[oldest]->opened_ns) oldest = i;
    }
    if (opening >= GG_MAX_OPENINGS) remove_client(gate, oldest);
}

void gate_add(struct gate *gate, struct client *client) {
    make_room(gate);
    gate->clients[gate->client_count++] = client;
}

bool gate_link(struct gate *gate, struct session *session) {
    if (!session->link) session->link = gate->connect(gate, session->role);
    return session->link != NULL;
}

static void say_bye(struct client *client, const struct message *message) {
    struct session *session = client->session;
    client_send(client, GG_MESSAGE_BYE, message->request, NULL, 0, NULL, 0);
    client_close(client);
    client->session = NULL;
    session_end(session);
}

/* False: it cannot be taken yet. */
static bool take(struct gate *gate, struct client *client, const struct message *message) {
    if (client->state == CLIENT_LINKING) return false;
    if (client->state != CLIENT_OPEN) {
        opening_message(gate, client, message);
        return true;
    }
    client->session->input.released = false; /* it has read its WELCOME */
    if (message->code == GG_MESSAGE_BYE && message->size == 0) {
        say_bye(client, message); /* whatever is under way */
        return true;
    }
    return client->hello.role == GG_ROLE_INPUT ? input_message(client, message) : frames_message(client, message);
}

void gate_serve_client(struct gate *gate, struct client *client) {
    struct message message;
    while (client_is_heard(client)) {
        enum stream_next next = stream_next(&client->stream, client_largest(client), &message);
        if (next == STREAM_MALFORMED) {
            client_fail(client, 0, GD_ERROR_MALFORMED, "not a message of this protocol");
            client_close(client);
        }
        if (next != STREAM_MESSAGE) return;
        if (take(gate, client, &message))
            stream_taken(&client->stream, &message);
        else
            client->waits = true;
    }
}

/* The session's connection to ga-desktop is of no use any more. */
static void lose_link(struct session *session) {
    struct client *client = session->client;
    struct link *link = session->link;
    bool opening = client && client->state == CLIENT_LINKING;
    input_lost(session, "ga-desktop went away while it did this batch");
    if (client) {
        struct gg_FAILED failed = {.error = link->error};
        client_fail_with(client, opening ? client->proof_request : 0, failed, link->words, link->words_size);
        client_close(client);
    }
    link_free(link);
    session->link = NULL;
}

void gate_serve_link(struct gate *gate, struct session *session) {
    struct link *link = session->link;
    struct client *client = session->client;
    struct message message;
    while (link_next(link, &message)) {
        if (session->role == GG_ROLE_INPUT)
            input_answer(session, &message);
        else
            frames_answer(session, &message);
        stream_taken(&link->stream, &message);
    }
    if (link->state == LINK_LOST)
        lose_link(session);
    else if (client && client->state == CLIENT_LINKING && link->state == LINK_OPEN)
        opening_welcome(client);
    if (!client) return;
    client->waits = false;
    gate_serve_client(gate, client);
}

static bool is_over(const struct client *client, uint64_t now) {
    bool through = stream_waiting(&client->stream) == 0;
    if (client->state == CLIENT_GONE) return true;
    if (client->state == CLIENT_CLOSING) return through || now >= client->closing_ns + CLOSING_NS;
    if (client->state != CLIENT_OPEN) return now >= client->opened_ns + GG_OPENING_TIMEOUT_MS * MS_NS;
    return client->stuck_ns && now >= client->stuck_ns + GG_STALL_MS * MS_NS;
}

static uint64_t look_again(const struct client *client) {
    if (client->state == CLIENT_CLOSING) return client->closing_ns + CLOSING_NS;
    if (client->state != CLIENT_OPEN) return client->opened_ns + GG_OPENING_TIMEOUT_MS * MS_NS;
    return client->stuck_ns ? client->stuck_ns + GG_STALL_MS * MS_NS : NEVER;
}

uint64_t gate_sweep(struct gate *gate, uint64_t now) {
    for (int i = gate->client_count - 1; i >= 0; i--)
        if (is_over(gate->clients[i], now)) remove_client(gate, i);
    uint64_t due = sessions_expire(&gate->sessions, now);
    for (int i = 0; i < gate->client_count; i++) {
        uint64_t again = look_again(gate->clients[i]);
        if (again < due) due = again;
    }
    return due;
}

void gate_end(struct gate *gate, const char *text) {
    for (int i = 0; i < GG_MAX_SESSIONS; i++)
        if (gate->sessions.items[i].used) input_lost(&gate->sessions.items[i], "ended while this batch was being done");
    for (int i = 0; i < gate->client_count; i++) {
        client_fail(gate->clients[i], 0, GD_ERROR_WORLD_LOST, text);
        client_close(gate->clients[i]);
    }
}

void gate_close(struct gate *gate) {
    while (gate->client_count) remove_client(gate, 0);
    for (int i = 0; i < GG_MAX_SESSIONS; i++)
        if (gate->sessions.items[i].used) session_end(&gate->sessions.items[i]);
    encoder_close(&gate->encoder);
}
