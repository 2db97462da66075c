#include "protocol.h"

size_t ga_frame_begin(struct buffer *out, uint32_t channel, enum ga_message message) {
    size_t frame = out->size;
    ga_put_number(out, 0, 4);
    ga_put_number(out, channel, 4);
    ga_put_number(out, message, 2);
    ga_put_number(out, 0, 2);
    return frame;
}

void ga_frame_end(struct buffer *out, size_t frame) {
    uint32_t size = (uint32_t)(out->size - frame - GA_HEADER_SIZE);
    uint8_t *at = buffer_front(out) + frame;
    for (unsigned i = 0; i < 4; i++) at[i] = (uint8_t)(size >> (8 * i));
}

bool ga_decode_header(const uint8_t *data, struct ga_header *header) {
    struct ga_reader reader = {data, data + GA_HEADER_SIZE, false};
    header->size = (uint32_t)ga_take_number(&reader, 4);
    header->channel = (uint32_t)ga_take_number(&reader, 4);
    header->message = (uint16_t)ga_take_number(&reader, 2);
    return ga_take_number(&reader, 2) == 0;
}
