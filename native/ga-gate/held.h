/* What a session's batches hold down, so far as they say. */
#ifndef GG_HELD_H
#define GG_HELD_H

#include "../ga-desktop/op_reader.h"

#define HELD_KEYS 64 /* as many as ga-desktop lets be held */

struct held {
    uint32_t buttons; /* a bit for each */
    uint32_t keysyms[HELD_KEYS];
    int key_count;
};

void held_note(struct held *held, const struct op *op);
bool held_any(const struct held *held);

#endif
