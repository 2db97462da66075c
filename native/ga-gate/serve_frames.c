#include <string.h>

#include "../ga-desktop/clock.h"
#include "gate.h"

/* Our numbers of requests to ga-desktop; there is at most one of each kind under way. */
enum { FRAME_NUMBER = 1, SETTLE_NUMBER };

/* They travel on as they are. */
_Static_assert(sizeof(struct gg_SETTLE) == sizeof(struct gd_SETTLE), "one layout");
_Static_assert(sizeof(struct gg_SETTLED) == sizeof(struct gd_SETTLED), "one layout");
_Static_assert(sizeof(struct gg_FAILED) == sizeof(struct gd_FAILED), "one layout");

#define REQUEST_FLAGS (GG_FRAME_FRESH | GG_FRAME_POINTER | GG_FRAME_WHOLE)

static bool makes_sense(const struct gg_FRAME_REQUEST *wanted) {
    if (wanted->flags & ~(uint32_t)REQUEST_FLAGS) return false;
    if (wanted->encoding == GG_ENCODING_LZ4) return wanted->quality == 0;
    return wanted->encoding == GG_ENCODING_JPEG && wanted->quality >= 1 && wanted->quality <= 100;
}

static void ask_frame(struct client *client, const struct message *message) {
    struct session *session = client->session;
    struct frame_turn *turn = &session->frames.turn;
    struct gg_FRAME_REQUEST wanted;
    if (!FIELDS(message, &wanted) || !makes_sense(&wanted)) {
        client_fail(client, message->request, GD_ERROR_MALFORMED, "FRAME_REQUEST is malformed");
        client_close(client);
        return;
    }
    *turn = (struct frame_turn){.state = FRAME_ASKED, .request = message->request, .wanted = wanted};
    struct gd_FRAME_REQUEST on = {.flags = wanted.flags & (GD_FRAME_FRESH | GD_FRAME_POINTER)};
    link_send(session->link, GD_MESSAGE_FRAME_REQUEST, FRAME_NUMBER, &on, sizeof on, NULL, 0);
}

static void ask_settle(struct client *client, const struct message *message) {
    struct session *session = client->session;
    struct gg_SETTLE fields;
    if (session->frames.settles) {
        client_fail(client, message->request, GD_ERROR_BUSY, "this connection settles already");
    } else if (!FIELDS_AND_TAIL(message, &fields) || fields.box_count > GD_MAX_BOXES ||
               message->size - sizeof fields != fields.box_count * sizeof(struct gd_BOX)) {
        client_fail(client, message->request, GD_ERROR_MALFORMED, "SETTLE is malformed");
        client_close(client);
    } else {
        session->frames.settles = true;
        session->frames.settle_request = message->request;
        link_send(session->link, GD_MESSAGE_SETTLE, SETTLE_NUMBER, message->body, message->size, NULL, 0);
    }
}

bool frames_message(struct client *client, const struct message *message) {
    if (message->code == GG_MESSAGE_FRAME_REQUEST) {
        if (client->session->frames.turn.state != FRAME_IDLE) return false;
        ask_frame(client, message);
    } else if (message->code == GG_MESSAGE_SETTLE) {
        ask_settle(client, message);
    } else {
        client_fail(client, message->request, GD_ERROR_MALFORMED, "not a message for a reader of frames");
        client_close(client);
    }
    return true;
}

static uint8_t wanted_quality(const struct gg_FRAME_REQUEST *wanted) {
    return wanted->encoding == GG_ENCODING_JPEG ? wanted->quality : QUALITY_EXACT;
}

static uint32_t age_us(uint64_t captured_at_ns) {
    uint64_t now = clock_ns(), age = now > captured_at_ns ? (now - captured_at_ns) / 1000 : 0;
    return age < UINT32_MAX ? (uint32_t)age : UINT32_MAX;
}

/* The slot goes back: it is not needed any more, and there are few. */
static void end_turn(struct session *session) {
    session->frames.turn.state = FRAME_IDLE;
    if (session->link) link_send(session->link, GD_MESSAGE_FRAME_DONE, 0, NULL, 0, NULL, 0);
}

/* Says what is coming, and gets the sending of it going unless nothing is. */
static void begin_frame(struct session *session, const struct gd_FRAME *frame) {
    struct frames_part *frames = &session->frames;
    struct picture *picture = &frames->picture;
    struct frame_turn *turn = &frames->turn;
    if (turn->wanted.flags & GG_FRAME_WHOLE) picture_distrust(picture);
    bool same = picture->number && frames->desktop_picture == frame->picture;
    bool unchanged = same && picture->worst >= wanted_quality(&turn->wanted);
    struct gg_FRAME fields = {
        .flags = frame->flags & GD_FRAME_POINTER,
        .age_us = age_us(frame->captured_at_ns),
        .seq = ++frames->seq,
        .picture = unchanged ? picture->number : ++frames->numbers,
        .captured_at_ns = frame->captured_at_ns,
        .after_input = frame->after_input,
        .width = frame->width,
        .height = frame->height,
    };
    if (unchanged) fields.flags |= GG_FRAME_UNCHANGED;
    if (!picture->number) fields.flags |= GG_FRAME_WHOLE;
    client_send(session->client, GG_MESSAGE_FRAME, turn->request, &fields, sizeof fields, NULL, 0);
    turn->state = FRAME_SENDING;
    turn->number = fields.picture;
    frames->desktop_picture = frame->picture;
    if (unchanged) end_turn(session);
}

static void fail_frame(struct session *session, const char *text) {
    client_fail(session->client, session->frames.turn.request, GD_ERROR_CAPTURE, text);
    end_turn(session);
}

static void take_frame(struct session *session, const struct message *message) {
    struct frames_part *frames = &session->frames;
    struct gd_FRAME frame;
    if (!FIELDS(message, &frame) || !link_take_frame(session->link, &frame) ||
        !mapping_view(&session->link->mapping, &frame, &frames->turn.view))
        fail_frame(session, "ga-desktop's answer makes no sense");
    else if (!picture_fit(&frames->picture, frame.width, frame.height))
        fail_frame(session, "no memory for a picture");
    else
        begin_frame(session, &frame);
}

static void take_failure(struct session *session, const struct message *message, uint64_t request) {
    struct gg_FAILED failed;
    if (FIELDS_AND_TAIL(message, &failed))
        client_fail_with(session->client, request, failed, message->body + sizeof failed, message->size - sizeof failed);
    else
        client_fail(session->client, request, GD_ERROR_CAPTURE, "ga-desktop's answer makes no sense");
}

void frames_answer(struct session *session, const struct message *message) {
    struct frames_part *frames = &session->frames;
    bool frame = message->request == FRAME_NUMBER && frames->turn.state == FRAME_ASKED;
    bool settle = message->request == SETTLE_NUMBER && frames->settles;
    if (!session->client) return;
    if (frame && message->code == GD_MESSAGE_FRAME) {
        take_frame(session, message);
    } else if (settle && message->code == GD_MESSAGE_SETTLED) {
        client_send(session->client, GG_MESSAGE_SETTLED, frames->settle_request, message->body, message->size, NULL, 0);
        frames->settles = false;
    } else if (frame && message->code == GD_MESSAGE_FAILED) {
        take_failure(session, message, frames->turn.request);
        frames->turn.state = FRAME_IDLE;
    } else if (settle && message->code == GD_MESSAGE_FAILED) {
        take_failure(session, message, frames->settle_request);
        frames->settles = false;
    } else {
        link_fail(session->link, "ga-desktop sent what nobody asked for");
    }
}

/* The next part of a frame; false at its end. */
static bool put_part(struct gate *gate, struct client *client) {
    struct frames_part *frames = &client->session->frames;
    struct frame_turn *turn = &frames->turn;
    struct area area;
    uint8_t quality = wanted_quality(&turn->wanted);
    if (!scan_next(&turn->scan, &frames->picture, &turn->view, quality, GG_MAX_RECT_BYTES, &area)) return false;
    struct gg_RECT fields = {(uint16_t)area.x, (uint16_t)area.y, (uint16_t)area.width, (uint16_t)area.height, 0};
    struct gd_header header = {.message = GG_MESSAGE_RECT, .request = turn->request};
    size_t before = sizeof header + sizeof fields;
    uint8_t *at = stream_reserve(&client->stream, before + (size_t)area.width * (size_t)area.height * BYTES_PER_PIXEL);
    if (!at) {
        client->state = CLIENT_GONE;
        return true;
    }
    size_t size = encoder_write(&gate->encoder, &turn->view, area, quality, at + before, &fields.encoding);
    header.body_bytes = (uint32_t)(sizeof fields + size);
    memcpy(at, &header, sizeof header);
    memcpy(at + sizeof header, &fields, sizeof fields);
    stream_add(&client->stream, before + size);
    picture_take(&frames->picture, &turn->view, area,
                 fields.encoding == GG_ENCODING_JPEG ? quality : QUALITY_EXACT);
    turn->rect_count++;
    return true;
}

void gate_fill(struct gate *gate, struct client *client) {
    struct session *session = client->session;
    if (client->state != CLIENT_OPEN || session->role != GG_ROLE_FRAMES) return;
    struct frame_turn *turn = &session->frames.turn;
    while (turn->state == FRAME_SENDING && client->state == CLIENT_OPEN && stream_waiting(&client->stream) < FLUSH_BYTES) {
        if (put_part(gate, client)) continue;
        CLIENT_SEND(client, turn->request, FRAME_END, .picture = turn->number, .rect_count = turn->rect_count);
        picture_finish(&session->frames.picture, turn->number);
        end_turn(session);
        client->waits = false;
    }
}
