#include "held.h"

static void lift(struct held *held, uint32_t keysym) {
    for (int i = 0; i < held->key_count; i++)
        if (held->keysyms[i] == keysym) held->keysyms[i--] = held->keysyms[--held->key_count];
}

static void note_keys(struct held *held, const struct op *op) {
    for (int i = 0; i < op->key_count; i++) {
        lift(held, op->keysyms[i]);
        if (op->code == GD_OP_KEYS_DOWN && held->key_count < HELD_KEYS)
            held->keysyms[held->key_count++] = op->keysyms[i];
    }
}

static void note_button(struct held *held, struct gd_BUTTON button) {
    uint32_t bit = 1u << (button.button & 31);
    held->buttons = button.down ? held->buttons | bit : held->buttons & ~bit;
}

void held_note(struct held *held, const struct op *op) {
    if (op->code == GD_OP_KEYS_DOWN || op->code == GD_OP_KEYS_UP) note_keys(held, op);
    if (op->code == GD_OP_BUTTON) note_button(held, op->button);
}

bool held_any(const struct held *held) {
    return held->buttons || held->key_count;
}
