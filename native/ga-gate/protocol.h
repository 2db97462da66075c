/* C types made from protocol.def: struct gg_NAME, GG_NAME, GG_MESSAGE_NAME, GG_ERROR_NAME. */
#ifndef GG_PROTOCOL_H
#define GG_PROTOCOL_H

#include "../ga-desktop/protocol.h"
#include "protocol.def"

#define GG_CONSTANT(name, value) GG_##name = value,
enum { GG_CONSTANTS(GG_CONSTANT) };

#define GG_ERROR_CODE(name, code, text) GG_ERROR_##name = code,
enum gg_error { GG_ERRORS(GG_ERROR_CODE) };

#define GG_MESSAGE_CODE(name, code) GG_MESSAGE_##name = code,
enum gg_message { GG_MESSAGES(GG_MESSAGE_CODE) };

#define GG_STRUCT(name, ...) \
    struct gg_##name { \
        GG_FIELDS_##name(GD_MEMBER, GD_ARRAY_MEMBER) \
    } __attribute__((packed));
GG_MESSAGES(GG_STRUCT)

/* The two flags travel on to ga-desktop as they are. */
_Static_assert((int)GG_FRAME_FRESH == (int)GD_FRAME_FRESH && (int)GG_FRAME_POINTER == (int)GD_FRAME_POINTER, "one meaning");
_Static_assert(sizeof(struct gg_HELLO) <= GG_MAX_OPENING_BODY, "HELLO fits");
/* Whatever ga-desktop takes fits in a message of ours. */
_Static_assert(GG_MAX_BODY >= GD_MAX_BODY + sizeof(struct gg_INPUT) - sizeof(struct gd_INPUT), "a batch fits");

#endif
