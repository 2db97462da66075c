#include "frame_service.h"

#include <stdlib.h>
#include <unistd.h>
#include <xcb/xcb.h>

#include "clock.h"
#include "difference.h"
#include "reader.h"
#include "region_service.h"

static uint32_t kept_slots(void *owner) {
    struct frame_service *service = owner;
    uint32_t kept = 0;
    for (int i = 0; i < service->loop.count; i++) {
        const struct reader *reader = service->loop.connections[i]->state_of_role;
        if (reader) kept |= reader_kept(reader, service->capture.generation);
    }
    return kept;
}

static void drawn(void *owner, const struct box *boxes, int count, uint64_t at) {
    struct frame_service *service = owner;
    for (int i = 0; i < count; i++) box_list_add(&service->drawn, boxes[i]);
    for (int i = 0; i < service->loop.count; i++) {
        struct reader *reader = service->loop.connections[i]->state_of_role;
        if (reader) settle_note(&reader->settle, boxes, count, at);
    }
}

static bool anyone_learns(const struct frame_service *service) {
    for (int i = 0; i < service->loop.count; i++) {
        const struct reader *reader = service->loop.connections[i]->state_of_role;
        if (reader && reader->settle.active && reader->settle.learns) return true;
    }
    return false;
}

/* Tells whoever learns what differs from the frame before. Without that frame all that was drawn counts. */
static void tell_learners(struct frame_service *service, int before) {
    const struct frames *frames = &service->capture.frames;
    uint64_t input = atomic_load(service->capture.owner.acknowledged);
    for (int i = 0; i < service->drawn.count; i++) {
        struct blink_change change = {.box = service->drawn.items[i], .at_ns = clock_ns(), .input = input};
        if (before != NO_SLOT) {
            change.box = frames_difference(frames, before, frames->newest, change.box, BLINK_AREA_MAX);
            if (box_is_empty(change.box)) continue;
        }
        if (before != NO_SLOT && box_area(change.box) <= BLINK_AREA_MAX) {
            change.before = frames_digest(frames, before, change.box);
            change.after = frames_digest(frames, frames->newest, change.box);
        }
        for (int n = 0; n < service->loop.count; n++) {
            struct reader *reader = service->loop.connections[n]->state_of_role;
            if (reader) reader_note_change(reader, &change);
        }
    }
}

static void take_event(void *owner, const xcb_generic_event_t *event) {
    struct frame_service *service = owner;
    reaction_take_event(&service->reaction, event);
}

struct capture_owner frame_service_owner(struct frame_service *service, const atomic_uint_fast64_t *acknowledged) {
    return (struct capture_owner){kept_slots, drawn, take_event, acknowledged, service};
}

enum capture_result frame_service_refresh(struct frame_service *service) {
    const struct capture *capture = &service->capture;
    uint32_t generation = capture->generation;
    int before = capture->frames.newest;
    service->drawn = capture->behind; /* was told of when the region took it, and is new to the frames */
    enum capture_result result = capture_refresh(&service->capture);
    if (result == CAPTURE_LOST) service->loop.x_lost = true;
    bool comparable = capture->generation == generation && capture->frames.newest != before;
    if (service->drawn.count && anyone_learns(service)) tell_learners(service, comparable ? before : NO_SLOT);
    return result;
}

static void wake(struct frame_service *service) {
    service->asked_ns = clock_ns();
    service->rests = false;
}

/* The frame in `slot`, with the mapping when the client does not have it yet. */
static void answer_frame(struct frame_service *service, struct connection *connection, int slot, uint32_t flags) {
    struct reader *reader = connection->state_of_role;
    struct capture *capture = &service->capture;
    const struct gd_SLOT *facts = &capture->frames.slots[slot];
    int fds[2] = {capture->frames.fd, -1};
    struct tail tail = {.data = NULL};
    if (reader->generation != capture->generation) {
        if (!reader_renew_leases(reader, capture->generation)) {
            connection_fail(connection, reader->wanted_request, GD_ERROR_CAPTURE, 0, "no memory for a mapping");
            return;
        }
        fds[1] = reader->leases_fd;
        tail = (struct tail){.fds = fds, .fd_count = 2};
        flags |= GD_FRAME_NEW_MAPPING;
    }
    reader->granted = 0;
    /* One to write, one to lend while it is written, one for a second reader: beyond that views may be kept. */
    if (frames_free(&capture->frames, kept_slots(service)) <= 3) flags |= GD_FRAME_COPY;
    reader->granted = (uint32_t)slot + 1;
    struct gd_FRAME fields = {
        .flags = flags,
        .slot = (uint32_t)slot,
        .seq = ++service->answers,
        .picture = facts->picture,
        .captured_at_ns = facts->captured_at_ns,
        .after_input = facts->after_input,
        .width = (uint16_t)capture->frames.width,
        .height = (uint16_t)capture->frames.height,
    };
    if (reader->wanted.flags & GD_FRAME_FRESH) {
        fields.captured_at_ns = capture->fresh_at_ns;
        fields.after_input = capture->fresh_after_input;
    }
    connection_send(connection, GD_MESSAGE_FRAME, reader->wanted_request, &fields, sizeof fields, tail);
    if (reader->leases_fd >= 0) close(reader->leases_fd);
    reader->leases_fd = -1;
}

void frame_service_serve(struct frame_service *service, struct connection *connection) {
    struct reader *reader = connection->state_of_role;
    struct capture *capture = &service->capture;
    enum capture_result result = CAPTURE_DONE;
    bool behind = capture->damaged && clock_ns() > capture->last_grab_ns + FRAME_OLD_NS;
    uint32_t flags = reader->wanted.flags & GD_FRAME_POINTER;
    reader->granted = 0;
    if (reader->wanted.flags & GD_FRAME_FRESH || behind) result = frame_service_refresh(service);
    int slot = capture->frames.newest;
    if (result == CAPTURE_DONE && flags) result = capture_with_pointer(capture, &slot);
    if (result == CAPTURE_LOST) service->loop.x_lost = true;
    reader->waits = connection->paused = result == CAPTURE_NO_SLOT;
    if (result == CAPTURE_DONE) answer_frame(service, connection, slot, flags);
    if (result == CAPTURE_IMPOSSIBLE)
        connection_fail(connection, reader->wanted_request, GD_ERROR_CAPTURE, 0, "the screen could not be captured");
}

static void begin_settle(struct frame_service *service, struct connection *connection, const struct message *message) {
    struct reader *reader = connection->state_of_role;
    wake(service);
    if (reader->settle.active)
        connection_fail(connection, message->request, GD_ERROR_BUSY, 0, "this connection settles already");
    else if (!settle_begin(&reader->settle, message->request, message))
        connection_fail(connection, message->request, GD_ERROR_MALFORMED, 0, "SETTLE is malformed");
    else
        frame_service_refresh(service); /* what was drawn before counts from now on */
}

static void on_message(struct loop *loop, struct connection *connection, const struct message *message) {
    struct frame_service *service = loop->owner;
    const struct frames *frames = &service->capture.frames;
    if (connection->state != OPEN) {
        opening_message(&service->opening, connection, message, (uint16_t)frames->width, (uint16_t)frames->height);
        if (connection->state == OPEN && connection->role == GD_ROLE_FRAMES) connection->state_of_role = reader_new();
        return;
    }
    struct reader *reader = connection->state_of_role;
    if (!reader) {
        connection->state = CLOSING;
    } else if (message->code == GD_MESSAGE_FRAME_REQUEST && FIELDS(message, &reader->wanted)) {
        reader->wanted_request = message->request;
        if (reader->wanted.flags & GD_FRAME_REGION) {
            region_service_serve(service, connection);
            return;
        }
        wake(service);
        frame_service_serve(service, connection);
    } else if (message->code == GD_MESSAGE_FRAME_DONE && message->size == 0) {
        reader->granted = 0;
    } else if (message->code == GD_MESSAGE_REGION) {
        region_service_message(service, connection, message);
    } else if (message->code == GD_MESSAGE_SETTLE) {
        begin_settle(service, connection, message);
    } else {
        connection_fail(connection, message->request, GD_ERROR_MALFORMED, 0, "not a message for a reader of frames");
        connection->state = CLOSING;
    }
}

static void on_gone(struct loop *loop, struct connection *connection) {
    region_service_gone(loop->owner, connection);
    if (connection->state_of_role) reader_release(connection->state_of_role);
}

static void on_arrived(struct loop *loop, int fd) {
    struct frame_service *service = loop->owner;
    struct connection *connection = connection_new(fd);
    if (!connection) {
        close(fd);
        return;
    }
    bool allowed = opening_allows_peer(&service->opening, fd);
    if (allowed && loop_add(loop, connection)) return;
    connection_fail(connection, 0, allowed ? GD_ERROR_BUSY : GD_ERROR_UNAUTHORIZED, 0,
                    allowed ? "too many connections" : "this user may not connect");
    connection_free(connection);
}

static void on_leaves(struct loop *loop, struct connection *connection) {
    struct frame_service *service = loop->owner;
    if (loop_hand_over(service->input_loop, connection)) return;
    connection_fail(connection, 0, GD_ERROR_BUSY, 0, "too many connections");
    connection_free(connection);
}

bool frame_service_open(struct frame_service *service, int listen_fd) {
    static const struct loop_work work = {.message = on_message,
                                          .gone = on_gone,
                                          .turn = frame_service_turn,
                                          .arrived = on_arrived,
                                          .role = GD_ROLE_FRAMES,
                                          .leaves = on_leaves};
    return loop_open(&service->loop, &work, service, xcb_get_file_descriptor(service->capture.display.connection),
                     listen_fd);
}
