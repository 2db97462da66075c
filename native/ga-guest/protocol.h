/* C types and codecs made from protocol.def: struct ga_NAME, ga_decode_NAME, ga_encode_NAME. */
#ifndef GA_PROTOCOL_H
#define GA_PROTOCOL_H

#include "protocol.def"
#include "wire.h"

#define GA_CONSTANT(name, value) GA_##name = value,
enum { GA_CONSTANTS(GA_CONSTANT) };
enum { GA_ERRORS(GA_CONSTANT) };

#define GA_CODE(name, code, direction) GA_MESSAGE_##name = code,
enum ga_message { GA_MESSAGES(GA_CODE) };

#define GA_CTYPE_u8 uint8_t
#define GA_CTYPE_u16 uint16_t
#define GA_CTYPE_u32 uint32_t
#define GA_CTYPE_u64 uint64_t
#define GA_CTYPE_i32 int32_t
#define GA_CTYPE_i64 int64_t
#define GA_CTYPE_bytes struct ga_slice
#define GA_CTYPE_text struct ga_slice
#define GA_CTYPE_texts struct ga_texts
#define GA_CTYPE_rest struct ga_slice

#define GA_TAKE_u8(reader, out) *(out) = (uint8_t)ga_take_number(reader, 1)
#define GA_TAKE_u16(reader, out) *(out) = (uint16_t)ga_take_number(reader, 2)
#define GA_TAKE_u32(reader, out) *(out) = (uint32_t)ga_take_number(reader, 4)
#define GA_TAKE_u64(reader, out) *(out) = ga_take_number(reader, 8)
#define GA_TAKE_i32(reader, out) *(out) = (int32_t)ga_take_number(reader, 4)
#define GA_TAKE_i64(reader, out) *(out) = (int64_t)ga_take_number(reader, 8)
#define GA_TAKE_bytes ga_take_bytes
#define GA_TAKE_text ga_take_text
#define GA_TAKE_texts ga_take_texts
#define GA_TAKE_rest ga_take_rest

#define GA_PUT_u8(out, value) ga_put_number(out, value, 1)
#define GA_PUT_u16(out, value) ga_put_number(out, value, 2)
#define GA_PUT_u32(out, value) ga_put_number(out, value, 4)
#define GA_PUT_u64(out, value) ga_put_number(out, value, 8)
#define GA_PUT_i32(out, value) ga_put_number(out, (uint32_t)(value), 4)
#define GA_PUT_i64(out, value) ga_put_number(out, (uint64_t)(value), 8)
#define GA_PUT_bytes ga_put_bytes
#define GA_PUT_text ga_put_bytes
#define GA_PUT_texts ga_put_texts
#define GA_PUT_rest ga_put_rest

#define GA_MEMBER(type, name) GA_CTYPE_##type name;
#define GA_STRUCT(name, code, direction) \
    struct ga_##name { \
        GA_FIELDS_##name(GA_MEMBER) \
    };
GA_MESSAGES(GA_STRUCT)

#define GA_TAKE_FIELD(type, name) GA_TAKE_##type(&reader, &message->name);
#define GA_DECODER(name, code, direction) \
    static inline bool ga_decode_##name(struct ga_slice payload, struct ga_##name *message) { \
        struct ga_reader reader = {payload.data, payload.data + payload.size, false}; \
        (void)message; \
        GA_FIELDS_##name(GA_TAKE_FIELD) return !reader.bad && reader.at == reader.end; \
    }
GA_MESSAGES(GA_DECODER)

#define GA_PUT_FIELD(type, name) GA_PUT_##type(out, message->name);
#define GA_ENCODER(name, code, direction) \
    static inline void ga_encode_##name(struct buffer *out, const struct ga_##name *message) { \
        (void)out; \
        (void)message; \
        GA_FIELDS_##name(GA_PUT_FIELD) \
    }
GA_MESSAGES(GA_ENCODER)

/* Appends a whole frame: GA_SEND(buffer, channel, DONE, .value = 1). */
#define GA_SEND(out, channel_number, name, ...) \
    do { \
        struct ga_##name message_ = {__VA_ARGS__}; \
        size_t frame_ = ga_frame_begin(out, channel_number, GA_MESSAGE_##name); \
        ga_encode_##name(out, &message_); \
        ga_frame_end(out, frame_); \
    } while (0)

size_t ga_frame_begin(struct buffer *out, uint32_t channel, enum ga_message message);
void ga_frame_end(struct buffer *out, size_t frame);

struct ga_header {
    uint32_t size;
    uint32_t channel;
    uint16_t message;
};

/* False when the reserved field is not zero. `data` holds GA_HEADER_SIZE bytes. */
bool ga_decode_header(const uint8_t *data, struct ga_header *header);

#endif
