#include "held.h"

#include "keyboard.h"

const struct held *held_key(const struct input *input, uint32_t keysym) {
    for (int i = 0; i < input->held_count; i++)
        if (input->held[i].keysym == keysym) return &input->held[i];
    return NULL;
}

bool held_keycode(const struct input *input, uint8_t keycode) {
    for (int i = 0; i < input->held_count; i++)
        if (input->held[i].keysym != NO_KEYSYM && input->held[i].code == keycode) return true;
    return false;
}

bool held_button(const struct input *input, uint8_t button) {
    for (int i = 0; i < input->held_count; i++)
        if (input->held[i].keysym == NO_KEYSYM && input->held[i].code == button) return true;
    return false;
}

static void keep_symbol(struct input *input, uint8_t keycode, bool held) {
    for (int i = 0; i < input->spare.count; i++)
        if (input->spare.keys[i].keycode == keycode) input->spare.keys[i].held = held;
}

bool held_add(struct input *input, struct held held) {
    if (input->held_count == HELD_MAX) return false;
    input->held[input->held_count++] = held;
    if (held.keysym != NO_KEYSYM) keep_symbol(input, held.code, true);
    return true;
}

void held_release(struct input *input, const struct held *held) {
    struct held gone = *held;
    int index = (int)(held - input->held);
    for (int i = index; i + 1 < input->held_count; i++) input->held[i] = input->held[i + 1];
    input->held_count--;
    if (gone.keysym == NO_KEYSYM) {
        input_button(input, gone.code, false);
        return;
    }
    input_key(input, gone.code, false);
    keyboard_modifiers(input, gone.with, false);
    keep_symbol(input, gone.code, false);
}

void held_release_all(struct input *input) {
    while (input->held_count) held_release(input, &input->held[input->held_count - 1]);
}

bool held_release_of(struct input *input, const void *holder) {
    bool any = false;
    for (int i = input->held_count - 1; i >= 0; i--) {
        if (input->held[i].holder != holder) continue;
        held_release(input, &input->held[i]);
        any = true;
    }
    return any;
}
