#include "region_service.h"

#include <stdio.h>

#include "reader.h"

#define WHY_MAX 192

static void attach(struct frame_service *service, struct connection *connection, uint64_t request) {
    struct capture *capture = &service->capture;
    const struct pixel_format *format = &capture->display.format;
    const char *reason;
    enum shared_region_result result =
        shared_region_attach(&capture->shared, &capture->display, connection, &reason);
    if (result == SHARED_REGION_UNFIT) {
        char text[WHY_MAX];
        snprintf(text, sizeof text, "the shared region is of no use: %s", reason);
        connection_fail(connection, request, GD_ERROR_CAPTURE, 0, text);
        return;
    }
    capture->shared_behind.count = 0;
    box_list_add(&capture->shared_behind, (struct box){0, 0, capture->frames.width, capture->frames.height});
    size_t bytes = result == SHARED_REGION_READY ? capture->shared.grab.memory_size : 0;
    SEND(connection, request, REGION_READY, bytes, (uint32_t)format->bytes_per_pixel, format->red_mask,
         format->green_mask, format->blue_mask);
}

void region_service_message(struct frame_service *service, struct connection *connection,
                            const struct message *message) {
    struct gd_REGION fields;
    if (!FIELDS(message, &fields)) {
        connection_fail(connection, message->request, GD_ERROR_MALFORMED, 0, "REGION is malformed");
        return;
    }
    if (fields.attach) {
        attach(service, connection, message->request);
    } else {
        region_service_gone(service, connection);
        SEND(connection, message->request, REGION_READY, 0);
    }
    if (x_display_lost(&service->capture.display)) service->loop.x_lost = true;
}

static void answer(struct frame_service *service, struct connection *connection, const struct grab_part *part) {
    const struct reader *reader = connection->state_of_role;
    const struct capture *capture = &service->capture;
    struct gd_REGION_BOX boxes[BOX_LIST_MAX];
    int count = part ? part->boxes.count : 0;
    for (int i = 0; i < count; i++) {
        struct box box = part->boxes.items[i];
        boxes[i] = (struct gd_REGION_BOX){(uint16_t)box.x, (uint16_t)box.y, (uint16_t)box.width, (uint16_t)box.height,
                                          (uint32_t)grab_offset(&capture->shared.grab, part, i)};
    }
    struct gd_FRAME fields = {
        .flags = GD_FRAME_REGION,
        .seq = ++service->answers,
        .picture = capture->shared.head->picture,
        .captured_at_ns = capture->fresh_at_ns,
        .after_input = capture->fresh_after_input,
        .width = (uint16_t)capture->frames.width,
        .height = (uint16_t)capture->frames.height,
    };
    struct tail tail = {.data = boxes, .size = (size_t)count * sizeof *boxes};
    connection_send(connection, GD_MESSAGE_FRAME, reader->wanted_request, &fields, sizeof fields, tail);
}

void region_service_serve(struct frame_service *service, struct connection *connection) {
    const struct reader *reader = connection->state_of_role;
    const struct grab_part *part;
    const char *reason = NULL;
    if (reader->wanted.flags & GD_FRAME_POINTER) reason = "the pointer is never in the shared region";
    if (service->capture.shared.reader != connection) reason = "this connection has no shared region";
    if (reason) {
        connection_fail(connection, reader->wanted_request, GD_ERROR_CAPTURE, 0, reason);
        return;
    }
    enum capture_result result = capture_refresh_shared(&service->capture, &part);
    if (result == CAPTURE_LOST)
        service->loop.x_lost = true;
    else if (result == CAPTURE_DONE)
        answer(service, connection, part);
    else
        connection_fail(connection, reader->wanted_request, GD_ERROR_CAPTURE, 0,
                        "the screen could not be captured, or the shared region is too small for it");
}

void region_service_gone(struct frame_service *service, const struct connection *connection) {
    if (service->capture.shared.reader == connection) shared_region_detach(&service->capture.shared);
}
