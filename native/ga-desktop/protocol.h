/* C types made from protocol.def: struct gd_NAME, GD_NAME, GD_MESSAGE_NAME, GD_OP_NAME, GD_ERROR_NAME. */
#ifndef GD_PROTOCOL_H
#define GD_PROTOCOL_H

#include <stdint.h>

#include "protocol.def"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the wire structures below are read and written as they lie in memory"
#endif

#define GD_CONSTANT(name, value) GD_##name = value,
enum { GD_CONSTANTS(GD_CONSTANT) };

#define GD_ERROR_CODE(name, code, text) GD_ERROR_##name = code,
enum gd_error { GD_ERROR_NONE = 0, GD_ERRORS(GD_ERROR_CODE) };

#define GD_MESSAGE_CODE(name, code) GD_MESSAGE_##name = code,
enum gd_message { GD_MESSAGES(GD_MESSAGE_CODE) };

#define GD_OP_CODE(name, code) GD_OP_##name = code,
enum gd_op { GD_OPS(GD_OP_CODE) };

#define GD_TYPE_u8 uint8_t
#define GD_TYPE_u16 uint16_t
#define GD_TYPE_u32 uint32_t
#define GD_TYPE_u64 uint64_t
#define GD_TYPE_i32 int32_t

#define GD_MEMBER(type, name) GD_TYPE_##type name;
#define GD_ARRAY_MEMBER(type, name, count) GD_TYPE_##type name[count];
#define GD_STRUCT(name, ...) \
    struct gd_##name { \
        GD_FIELDS_##name(GD_MEMBER, GD_ARRAY_MEMBER) \
    } __attribute__((packed));

GD_MESSAGES(GD_STRUCT)
GD_OPS(GD_STRUCT)
GD_STRUCT(BOX)
GD_STRUCT(REGION_BOX)

struct gd_header {
    GD_HEADER(GD_MEMBER)
} __attribute__((packed));

/* Shared with readers while they run, so every member lies at its natural place. */
#define GD_SHARED_STRUCT(name) \
    struct gd_##name { \
        GD_FIELDS_##name(GD_MEMBER, GD_ARRAY_MEMBER) \
    };
GD_SHARED_STRUCT(MAPPING)
GD_SHARED_STRUCT(SLOT)
GD_SHARED_STRUCT(REGION_HEAD)

#endif
