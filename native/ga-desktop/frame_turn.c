/* What the main thread does between messages: follows the screen, ends waits, rests. */
#include "clock.h"
#include "frame_service.h"
#include "reader.h"

/* While nobody asks we neither follow nor keep memory that can be had again: desktops that wait cost nothing. */
#define REST_AFTER_NS (3000 * MS_NS)
/* How soon to look again for a slot that readers gave back. */
#define SLOT_WAIT_NS (1 * MS_NS)

/* Answers a wait that is over; else says when to look again. */
static uint64_t finish_settle(struct frame_service *service, struct connection *connection) {
    struct reader *reader = connection->state_of_role;
    bool settled;
    uint64_t again;
    if (!reader_has_settled(reader, clock_ns(), &settled, &again)) return again;
    /* Quiet as far as we know: now ask the X server. */
    if (settled && frame_service_refresh(service) == CAPTURE_LOST) return NOT_DUE;
    uint64_t now = clock_ns();
    if (!reader_has_settled(reader, now, &settled, &again)) return again;
    reader->settle.active = false;
    struct gd_BOX ignored[BLINK_PLACES];
    int count = reader_ignored(reader, ignored);
    struct gd_SETTLED fields = {settled, (uint32_t)((now - reader->settle.began_ns) / 1000)};
    struct tail tail = {.data = ignored, .size = (size_t)count * sizeof *ignored};
    connection_send(connection, GD_MESSAGE_SETTLED, reader->settle.request, &fields, sizeof fields, tail);
    return NOT_DUE;
}

static bool anyone_settles(const struct frame_service *service) {
    for (int i = 0; i < service->loop.count; i++) {
        const struct reader *reader = service->loop.connections[i]->state_of_role;
        if (reader && reader->settle.active) return true;
    }
    return false;
}

/* What has just been sent may not have reached the screen yet, however quiet that is. Says when to look again. */
static uint64_t await_reaction(struct frame_service *service) {
    uint64_t due = NOT_DUE;
    bool pending = reaction_pending(&service->reaction, &due);
    if (!capture_read_events(&service->capture)) service->loop.x_lost = true;
    for (int i = 0; i < service->loop.count; i++) {
        struct reader *reader = service->loop.connections[i]->state_of_role;
        if (reader) settle_note_reaction(&reader->settle, pending, clock_ns());
    }
    return due;
}

static uint64_t finish_settles(struct frame_service *service) {
    if (!anyone_settles(service)) return NOT_DUE;
    uint64_t due = await_reaction(service);
    for (int i = 0; i < service->loop.count && !service->loop.x_lost; i++) {
        struct reader *reader = service->loop.connections[i]->state_of_role;
        if (!reader || !reader->settle.active) continue;
        uint64_t again = finish_settle(service, service->loop.connections[i]);
        if (again < due) due = again;
    }
    return due;
}

static uint64_t serve_waiting(struct frame_service *service) {
    uint64_t due = NOT_DUE;
    for (int i = 0; i < service->loop.count; i++) {
        struct reader *reader = service->loop.connections[i]->state_of_role;
        if (reader && reader->waits) frame_service_serve(service, service->loop.connections[i]);
        if (reader && reader->waits) due = clock_ns() + SLOT_WAIT_NS;
    }
    return due;
}

static uint64_t rest(struct frame_service *service) {
    uint64_t due = service->asked_ns + REST_AFTER_NS;
    if (service->rests || anyone_settles(service)) return NOT_DUE;
    if (clock_ns() < due) return due;
    capture_rest(&service->capture);
    service->rests = true;
    return NOT_DUE;
}

static uint64_t follow_screen(struct frame_service *service) {
    struct capture *capture = &service->capture;
    if (service->rests || !(capture->damaged || capture->resized)) return NOT_DUE;
    uint64_t often = anyone_settles(service) ? FRAME_OLD_NS : FRAME_FOLLOW_NS;
    uint64_t due = capture->last_grab_ns + often, now = clock_ns();
    if (now < due) return due;
    capture->for_later = often == FRAME_FOLLOW_NS;
    enum capture_result result = frame_service_refresh(service);
    capture->for_later = false;
    if (result == CAPTURE_NO_SLOT) return now + SLOT_WAIT_NS;
    return capture->damaged || capture->resized ? capture->last_grab_ns + often : NOT_DUE;
}

uint64_t frame_service_turn(struct loop *loop) {
    struct frame_service *service = loop->owner;
    if (!capture_read_events(&service->capture)) loop->x_lost = true;
    if (loop->x_lost) return NOT_DUE;
    uint64_t dues[] = {follow_screen(service), serve_waiting(service), finish_settles(service), rest(service)};
    uint64_t due = NOT_DUE;
    for (size_t i = 0; i < sizeof dues / sizeof *dues; i++)
        if (dues[i] < due) due = dues[i];
    return due;
}
