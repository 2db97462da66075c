#include <string.h>

#include "../ga-desktop/op_reader.h"
#include "gate.h"

/* Our number of the one request to ga-desktop that is under way. */
#define REQUEST_NUMBER 1

static void malformed(struct client *client, uint64_t request, const char *text) {
    client_fail(client, request, GD_ERROR_MALFORMED, text);
    client_close(client);
}

/* Whole ops and nothing else; ga-desktop judges what they say. What they hold down is noted in a copy. */
static bool ops_are_whole(const uint8_t *data, size_t size, uint32_t count, struct held *held) {
    struct op_reader reader = {data, data + size};
    if (count > GD_MAX_OPS) return false;
    for (uint32_t i = 0; i < count; i++) {
        struct op op = {0};
        if (!op_next(&reader, &op)) return false;
        held_note(held, &op);
    }
    return reader.at == reader.end;
}

static void ask(struct client *client, enum asked asked, uint64_t request) {
    struct input_part *input = &client->session->input;
    input->asked = asked;
    input->request = request;
    input->orphaned = false;
}

/* A batch that ga-desktop has not seen: from here on it counts as begun. */
static void begin_batch(struct client *client, const struct message *message, const struct gg_INPUT *fields) {
    struct session *session = client->session;
    struct gd_INPUT on = {.op_count = fields->op_count};
    const uint8_t *ops = message->body + sizeof *fields;
    size_t size = message->size - sizeof *fields;
    struct held held = session->input.held;
    session->input.held_before = held;
    if (!ops_are_whole(ops, size, fields->op_count, &held)) {
        malformed(client, message->request, "INPUT is malformed");
        return;
    }
    session->input.held = held;
    session->input.last_batch = fields->batch;
    ask(client, ASKED_INPUT, message->request);
    link_send(session->link, GD_MESSAGE_INPUT, REQUEST_NUMBER, &on, sizeof on, ops, size);
}

static void give_answer(struct client *client, uint64_t request, const struct batch_answer *answer, uint32_t flags) {
    struct gg_INPUT_ACK ack = answer->ack;
    ack.flags |= flags;
    if (answer->acknowledged)
        client_send(client, GG_MESSAGE_INPUT_ACK, request, &ack, sizeof ack, NULL, 0);
    else
        client_fail_with(client, request, answer->failed, answer->words, answer->words_size);
}

static bool take_batch(struct client *client, const struct message *message) {
    struct input_part *input = &client->session->input;
    struct gg_INPUT fields;
    if (!FIELDS_AND_TAIL(message, &fields) || fields.batch == 0) {
        malformed(client, message->request, "INPUT is malformed");
        return true;
    }
    switch (session_judge_batch(client->session, fields.batch)) {
    case BATCH_OLD: malformed(client, message->request, "a batch with a number below the last"); break;
    case BATCH_AGAIN: give_answer(client, message->request, &input->answer, GG_ACK_REPEATED); break;
    case BATCH_UNDER_WAY:
        if (!input->orphaned) return false; /* sent twice: the second is answered after the first */
        ask(client, ASKED_INPUT, message->request);
        break;
    case BATCH_NEW:
        if (input->asked != ASKED_NOTHING) return false; /* of the client that was cut */
        begin_batch(client, message, &fields);
    }
    return true;
}

bool input_message(struct client *client, const struct message *message) {
    struct session *session = client->session;
    bool bare = message->size == 0;
    if (message->code == GG_MESSAGE_INPUT) return take_batch(client, message);
    if (!bare || (message->code != GG_MESSAGE_POINTER_REQUEST && message->code != GG_MESSAGE_RELEASE)) {
        malformed(client, message->request, "not a message for an input connection");
        return true;
    }
    if (session->input.asked != ASKED_NOTHING) return false;
    bool release = message->code == GG_MESSAGE_RELEASE;
    ask(client, release ? ASKED_RELEASE : ASKED_POINTER, message->request);
    if (release) session->input.held = (struct held){0};
    link_send(session->link, release ? GD_MESSAGE_RELEASE : GD_MESSAGE_POINTER_REQUEST, REQUEST_NUMBER, NULL, 0, NULL, 0);
    return true;
}

/* Kept, since the client may be cut before it has read it. */
static void keep_answer(struct input_part *input, const struct message *message, const struct gd_INPUT_ACK *ack) {
    struct batch_answer *answer = &input->answer;
    *answer = (struct batch_answer){.acknowledged = ack != NULL};
    if (ack) {
        answer->ack = (struct gg_INPUT_ACK){.batch = input->last_batch, .number = ack->number, .x = ack->x, .y = ack->y,
                                            .chars_typed = ack->chars_typed};
        return;
    }
    memcpy(&answer->failed, message->body, sizeof answer->failed);
    size_t size = message->size - sizeof answer->failed;
    answer->words_size = (uint32_t)(size < ANSWER_WORDS ? size : ANSWER_WORDS);
    memcpy(answer->words, message->body + sizeof answer->failed, answer->words_size);
}

/* Whether a batch that failed so has done nothing at all. */
static bool did_nothing(uint32_t error) {
    return error == GD_ERROR_INVALID_INPUT || error == GD_ERROR_UNSUPPORTED_INPUT || error == GD_ERROR_NOT_DELIVERED;
}

/* Whoever waits for the answer; NULL when that client was cut. */
static struct client *waiting(const struct session *session) {
    return session->input.orphaned ? NULL : session->client;
}

static bool is_wanted(const struct input_part *input, const struct message *message) {
    static const uint16_t answers[] = {[ASKED_INPUT] = GD_MESSAGE_INPUT_ACK, [ASKED_POINTER] = GD_MESSAGE_POINTER,
                                       [ASKED_RELEASE] = GD_MESSAGE_RELEASED};
    static const size_t sizes[] = {[ASKED_INPUT] = sizeof(struct gd_INPUT_ACK),
                                   [ASKED_POINTER] = sizeof(struct gd_POINTER)};
    if (input->asked == ASKED_NOTHING || message->request != REQUEST_NUMBER) return false;
    if (message->code == GD_MESSAGE_FAILED) return message->size >= sizeof(struct gd_FAILED);
    size_t size = input->asked == ASKED_RELEASE ? 0 : sizes[input->asked];
    return message->code == answers[input->asked] && message->size == size;
}

static void pass_on(struct client *client, uint64_t request, const struct message *message) {
    struct gg_FAILED failed;
    if (message->code == GD_MESSAGE_POINTER) {
        client_send(client, GG_MESSAGE_POINTER, request, message->body, message->size, NULL, 0);
    } else if (message->code == GD_MESSAGE_RELEASED) {
        client_send(client, GG_MESSAGE_RELEASED, request, NULL, 0, NULL, 0);
    } else if (FIELDS_AND_TAIL(message, &failed)) {
        client_fail_with(client, request, failed, message->body + sizeof failed, message->size - sizeof failed);
    }
}

void input_answer(struct session *session, const struct message *message) {
    struct input_part *input = &session->input;
    struct client *client = waiting(session);
    struct gd_INPUT_ACK ack;
    if (!is_wanted(input, message)) {
        link_fail(session->link, "ga-desktop sent what nobody asked for");
        return;
    }
    if (input->asked == ASKED_INPUT) {
        bool acknowledged = message->code == GD_MESSAGE_INPUT_ACK && FIELDS(message, &ack);
        keep_answer(input, message, acknowledged ? &ack : NULL);
        if (!acknowledged && did_nothing(input->answer.failed.error)) input->held = input->held_before;
        if (client) give_answer(client, input->request, &input->answer, 0);
    } else if (client) {
        pass_on(client, input->request, message);
    }
    input->asked = ASKED_NOTHING;
}

void input_lost(struct session *session, const char *text) {
    struct input_part *input = &session->input;
    struct client *client = waiting(session);
    if (input->asked == ASKED_INPUT) {
        struct batch_answer *answer = &input->answer;
        *answer = (struct batch_answer){.failed = {.error = GD_ERROR_DELIVERY_UNKNOWN}};
        answer->words_size = (uint32_t)strlen(text);
        memcpy(answer->words, text, answer->words_size);
        if (client) give_answer(client, input->request, answer, 0);
    }
    input->asked = ASKED_NOTHING;
}
