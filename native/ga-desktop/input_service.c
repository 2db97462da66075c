#include "input_service.h"

#include "batch.h"
#include "clock.h"
#include "held.h"
#include "keyboard.h"

/* Lent keys stay lent for so long after the last batch: the next text may want the same. */
#define LENT_NS (2000 * MS_NS)

static void do_batch(struct input_service *service, struct connection *connection, const struct message *message) {
    struct input *input = &service->input;
    int x, y;
    input->client = connection;
    struct verdict verdict = batch_do(input, message, &x, &y);
    input->client = NULL;
    if (verdict.error == GD_ERROR_NONE) {
        uint64_t number = atomic_fetch_add(&service->acknowledged, 1) + 1;
        SEND(connection, message->request, INPUT_ACK, .number = number, .x = x, .y = y,
             .chars_typed = input->chars_typed);
    } else {
        connection_fail(connection, message->request, verdict.error, input->chars_typed, verdict.text);
    }
    if (verdict.error == GD_ERROR_MALFORMED) connection->state = CLOSING;
    if (verdict.error == GD_ERROR_WORLD_LOST) service->loop.x_lost = true;
    service->give_back_ns = spare_any_lent(&input->spare) ? clock_ns() + LENT_NS : 0;
}

static void tell_pointer(struct input_service *service, struct connection *connection, const struct message *message) {
    int x, y;
    if (batch_pointer(&service->input, &x, &y))
        SEND(connection, message->request, POINTER, .x = x, .y = y);
    else
        service->loop.x_lost = true;
}

static void release(struct input_service *service, struct connection *connection, const struct message *message) {
    held_release_all(&service->input);
    keyboard_give_back(&service->input);
    service->give_back_ns = 0;
    if (x_display_sync(&service->input.display))
        connection_send(connection, GD_MESSAGE_RELEASED, message->request, NULL, 0, (struct tail){0});
    else
        service->loop.x_lost = true;
}

static void on_message(struct loop *loop, struct connection *connection, const struct message *message) {
    struct input_service *service = loop->owner;
    bool bare = message->size == 0;
    if (message->code == GD_MESSAGE_INPUT) {
        do_batch(service, connection, message);
    } else if (message->code == GD_MESSAGE_POINTER_REQUEST && bare) {
        tell_pointer(service, connection, message);
    } else if (message->code == GD_MESSAGE_RELEASE && bare) {
        release(service, connection, message);
    } else {
        connection_fail(connection, message->request, GD_ERROR_MALFORMED, 0, "not a message for an input connection");
        connection->state = CLOSING;
    }
}

/* What a client held does not outlive it. */
static void on_gone(struct loop *loop, struct connection *connection) {
    struct input_service *service = loop->owner;
    if (loop->x_lost || !held_release_of(&service->input, connection)) return;
    xcb_flush(service->input.display.connection);
}

static uint64_t on_turn(struct loop *loop) {
    struct input_service *service = loop->owner;
    if (!input_read_events(&service->input)) loop->x_lost = true;
    if (loop->x_lost) return NOT_DUE;
    if (service->give_back_ns && clock_ns() >= service->give_back_ns) {
        keyboard_give_back(&service->input);
        service->give_back_ns = 0;
    }
    return service->give_back_ns ? service->give_back_ns : NOT_DUE;
}

bool input_service_open(struct input_service *service) {
    static const struct loop_work work = {on_message, on_gone, on_turn, NULL, GD_ROLE_INPUT, NULL};
    return loop_open(&service->loop, &work, service, xcb_get_file_descriptor(service->input.display.connection), -1);
}
