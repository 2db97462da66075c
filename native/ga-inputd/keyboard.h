/* Doing the ops of a batch on the virtual keyboard, not faster than its reader reads. */
#ifndef GI_KEYBOARD_H
#define GI_KEYBOARD_H

#include "../ga-desktop/connection.h"
#include "device.h"
#include "reader.h"

#define HELD_MAX 64

struct held_key {
    uint16_t key;
    const void *holder;
};

struct keyboard {
    struct device device;
    struct reader reader;
    struct held_key held[HELD_MAX];
    int held_count;
    uint64_t next_ns; /* before that no key goes down */
    int unread;       /* keys since the reader was last seen to have read all */
    int undone;       /* keys since it was last seen to have acted on all */
    bool shift;       /* we hold it, between two characters */
    uint32_t chars_typed;
};

struct verdict {
    enum gd_error error;
    const char *text;
};

/* All ops of an INPUT message, checked before the first is done. An empty batch only asks whether keys would arrive. */
struct verdict keyboard_do(struct keyboard *keyboard, const struct message *message, const void *client);
/* Until the reader of the keyboard has read whatever any device said; at once when nobody reads it. False: it has not. */
bool keyboard_await_reader(struct keyboard *keyboard);
/* What one client holds; NULL: all that is held. */
void keyboard_release(struct keyboard *keyboard, const void *client);

#endif
