/* Keys by name: chords, and keys that stay down. */
#include "halt.h"
#include "held.h"
#include "typist.h"

static int missing(struct input *input, const uint32_t *keysyms, int count, uint32_t *needed) {
    int missing_count = 0;
    struct stroke stroke;
    for (int i = 0; i < count; i++)
        if (!held_key(input, keysyms[i]) && !keyboard_stroke(input, keysyms[i], &stroke))
            needed[missing_count++] = keysyms[i];
        else if (!held_key(input, keysyms[i]) && stroke.spare)
            stroke.spare->epoch = RESERVED;
    return missing_count;
}

bool keys_are_known(struct input *input, const uint32_t *keysyms, int count) {
    struct stroke stroke;
    int spares = 0;
    for (int i = 0; i < count; i++) {
        bool known = held_key(input, keysyms[i]) || keyboard_stroke(input, keysyms[i], &stroke);
        if (known) continue;
        if (keysym_is_modifier(keysyms[i])) return false; /* a lent key would set no modifier */
        spares++;
    }
    return spares <= spare_lendable(&input->spare);
}

/* The layout's keys, and spare ones for what it lacks; `target` is who will get them when spare keys are among them. */
static enum input_result get_ready(struct input *input, const uint32_t *keysyms, int count,
                                   struct keyboard_state *state, struct drain_target *target) {
    uint32_t needed[GD_MAX_KEYS];
    enum input_result result;
    struct drain_target focus;
    *target = (struct drain_target){.window = XCB_NONE};
    result = halt_before(input, NULL, NULL, &focus);
    if (result != INPUT_DONE) return result;
    halt_later(input, &focus); /* a chord is most often a command */
    if (!keyboard_update(input, state)) return INPUT_LOST;
    int left = missing(input, keysyms, count, needed);
    bool lends = left > 0;
    while (left) {
        if (!keyboard_lend(input, needed, left, false, &result)) return result;
        left = missing(input, keysyms, count, needed);
    }
    if (spare_any_reserved(&input->spare)) *target = drain_focus(&input->drain, NULL);
    if (lends && !keyboard_await_map(input, target)) return input_go_on(input) ? INPUT_STUCK : INPUT_CUT;
    return INPUT_DONE;
}

/* Presses one key with the modifiers it needs beyond those that are down; false when it is down already. */
static bool press(struct input *input, uint32_t keysym, uint8_t *down, struct held *pressed) {
    struct stroke stroke;
    if (held_key(input, keysym) || !keyboard_stroke(input, keysym, &stroke)) return false;
    if (held_keycode(input, stroke.keycode)) return false;
    uint8_t with = stroke.modifiers & (uint8_t)~*down;
    keyboard_modifiers(input, with, true);
    input_key(input, stroke.keycode, true);
    if (stroke.spare) stroke.spare->epoch = RESERVED;
    *down |= with | input->keymap.modifiers_of[stroke.keycode];
    *pressed = (struct held){.keysym = keysym, .code = stroke.keycode, .with = with};
    return true;
}

enum input_result press_keys(struct input *input, const uint32_t *keysyms, int count) {
    struct keyboard_state state;
    struct held pressed[GD_MAX_KEYS];
    int pressed_count = 0;
    struct drain_target target;
    enum input_result result = get_ready(input, keysyms, count, &state, &target);
    if (result != INPUT_DONE) return result;
    uint8_t down = state.base;
    for (int i = 0; i < count; i++)
        if (press(input, keysyms[i], &down, &pressed[pressed_count])) pressed_count++;
    while (pressed_count--) {
        input_key(input, pressed[pressed_count].code, false);
        keyboard_modifiers(input, pressed[pressed_count].with, false);
    }
    keyboard_mark(input, &target);
    return INPUT_DONE;
}

enum input_result keys_down(struct input *input, const uint32_t *keysyms, int count) {
    struct keyboard_state state;
    struct drain_target target;
    enum input_result result = get_ready(input, keysyms, count, &state, &target);
    if (result != INPUT_DONE) return result;
    uint8_t down = state.base;
    for (int i = 0; i < count; i++) {
        struct held pressed;
        if (!press(input, keysyms[i], &down, &pressed)) continue;
        pressed.holder = input->client;
        held_add(input, pressed);
    }
    keyboard_mark(input, &target);
    return INPUT_DONE;
}

void keys_up(struct input *input, const uint32_t *keysyms, int count) {
    for (int i = 0; i < count; i++) {
        const struct held *held = held_key(input, keysyms[i]);
        if (held) held_release(input, held);
    }
}
