#include "keyboard.h"

#include <stdlib.h>
#include <string.h>
#include <xcb/xkb.h>

#include "clock.h"

#define CORE_KEYBOARD XCB_XKB_ID_USE_CORE_KBD
#define DRAIN_LIMIT_NS (10000 * MS_NS)

static bool read_map(struct input *input) {
    if (!keymap_read(&input->keymap, &input->display)) return false;
    spare_choose(&input->spare, &input->keymap, &input->display);
    return true;
}

/* Until the map is released nobody else changes it. What others did before is known when this returns. */
static bool grab_map(struct input *input) {
    xcb_grab_server(input->display.connection);
    if (!x_display_sync(&input->display) || !input_read_events(input)) return false;
    if (!input->keymap.known) return read_map(input);
    spare_leave_out_grabbed(&input->spare, &input->display);
    return true;
}

static void release_map(struct input *input) {
    xcb_ungrab_server(input->display.connection);
    xcb_flush(input->display.connection);
}

bool keyboard_begin(struct input *input) {
    xcb_grab_server(input->display.connection);
    bool ready = keymap_read(&input->keymap, &input->display);
    if (ready && spare_recover(&input->spare, &input->keymap, &input->display))
        ready = x_display_sync(&input->display) && keymap_read(&input->keymap, &input->display);
    release_map(input);
    if (ready) spare_choose(&input->spare, &input->keymap, &input->display);
    return ready;
}

void keyboard_give_back(struct input *input) {
    struct drain_patience patience = input_patience(input, 2000 * MS_NS);
    if (!spare_any_lent(&input->spare)) return;
    drain_wait(&input->drain, input->drain.epoch, &patience);
    if (grab_map(input)) spare_give_back(&input->spare, &input->keymap, &input->display);
    release_map(input);
    input->keymap.placed = false;
}

bool keyboard_update(struct input *input, struct keyboard_state *state) {
    if (!input_read_events(input)) return false;
    if (!keymap_state(&input->display, state)) return false;
    if (!input_read_events(input) || (!input->keymap.known && !read_map(input))) return false;
    keymap_place(&input->keymap, state, input->spare.is_spare);
    return true;
}

/* By the layout's key or, failing that, by a spare one. */
static bool fill(struct stroke *stroke, const struct place *place, struct spare_key *spare, bool shift) {
    if (place)
        *stroke = (struct stroke){place->keycode, place->modifiers, NULL};
    else if (spare)
        *stroke = (struct stroke){spare->keycode, shift ? MODIFIER_SHIFT : 0, spare};
    return place || spare;
}

bool keyboard_stroke(struct input *input, uint32_t keysym, struct stroke *stroke) {
    const struct place *place = keymap_find_keysym(&input->keymap, keysym);
    if (!fill(stroke, place, spare_find(&input->spare, keysym, NULL), false)) return false;
    if (keysym_is_modifier(keysym)) stroke->modifiers = 0; /* pressed for what it sets, on whatever level it is named */
    return true;
}

bool keyboard_stroke_of_character(struct input *input, uint32_t character, struct stroke *stroke) {
    uint32_t keysym = keysym_of_character(character);
    uint32_t typed = character == '\r' ? '\n' : character;
    bool shift = false;
    struct spare_key *spare = spare_find(&input->spare, keysym, &shift);
    return fill(stroke, keymap_find_character(&input->keymap, typed), spare, shift);
}

int keyboard_lend(struct input *input, const uint32_t *keysyms, int count, bool share, enum input_result *result) {
    struct drain_patience patience = input_patience(input, DRAIN_LIMIT_NS);
    *result = INPUT_DONE;
    drain_look(&input->drain);
    if (!spare_lendable(&input->spare)) {
        *result = INPUT_UNSUPPORTED;
        return 0;
    }
    /* Every change of the map costs every application a new look at it, so rather wait for many keys than lend few. */
    bool drained = spare_ready(&input->spare, input->drain.past) >= spare_keys_for(keysyms, count, share) ||
                   drain_wait(&input->drain, input->drain.epoch, &patience);
    if (!drained) {
        *result = input_go_on(input) ? INPUT_STUCK : INPUT_CUT;
        return 0;
    }
    int lent = 0;
    if (grab_map(input)) {
        int ready = spare_ready(&input->spare, input->drain.past);
        lent = count;
        while (spare_keys_for(keysyms, lent, share) > ready) lent--;
        spare_lend(&input->spare, &input->keymap, &input->display, keysyms, lent, share, input->drain.past);
    }
    release_map(input);
    if (!lent) *result = INPUT_UNSUPPORTED; /* somebody has grabbed or changed them all */
    if (x_display_lost(&input->display)) *result = INPUT_LOST;
    return *result == INPUT_DONE ? lent : 0;
}

void keyboard_modifiers(struct input *input, uint8_t modifiers, bool down) {
    if (modifiers & MODIFIER_SHIFT) input_key(input, input->keymap.shift_key, down);
    if (modifiers & input->keymap.level3_mask) input_key(input, input->keymap.level3_key, down);
}

bool keyboard_await_map(struct input *input, const struct drain_target *target) {
    struct drain_patience patience = input_patience(input, DRAIN_LIMIT_NS);
    return drain_await_map(&input->drain, target, &patience);
}

void keyboard_mark(struct input *input, const struct drain_target *before) {
    struct drain_patience patience = input_patience(input, DRAIN_LIMIT_NS);
    if (!spare_any_reserved(&input->spare)) return;
    struct drain_target now = drain_focus(&input->drain, before);
    if (now.focus != before->focus) drain_set_mark(&input->drain, *before, &patience);
    spare_mark(&input->spare, drain_set_mark(&input->drain, now, &patience));
}

/* The protocol can also set latches; xcb always sends none. */
static void change_locks(struct input *input, uint8_t affect_locks, uint8_t locks, uint8_t clear_latches) {
    xcb_xkb_latch_lock_state(input->display.connection, CORE_KEYBOARD, affect_locks, locks, 0, 0, clear_latches, 0, 0);
}

bool keyboard_lift(struct input *input, const struct keyboard_state *state, struct lifted *lifted) {
    xcb_connection_t *c = input->display.connection;
    lifted->count = 0;
    lifted->locked = state->locked & (uint8_t)~input->keymap.num_lock_mask;
    if (lifted->locked || state->latched) change_locks(input, lifted->locked, 0, state->latched);
    if (!state->base) return true;
    xcb_query_keymap_reply_t *down = xcb_query_keymap_reply(c, xcb_query_keymap(c), NULL);
    if (!down) return false;
    for (int code = 0; code < KEYCODES; code++) {
        bool pressed = down->keys[code / 8] & 1 << code % 8;
        if (!pressed || !input->keymap.modifiers_of[code]) continue;
        lifted->keys[lifted->count++] = (uint8_t)code;
        input_key(input, (uint8_t)code, false);
    }
    free(down);
    return true;
}

void keyboard_put_back(struct input *input, const struct lifted *lifted) {
    for (int i = 0; i < lifted->count; i++) input_key(input, lifted->keys[i], true);
    if (lifted->locked) change_locks(input, lifted->locked, lifted->locked, 0);
}
