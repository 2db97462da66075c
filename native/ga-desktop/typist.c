#include "typist.h"

#include <string.h>

#include "halt.h"

/* After so many characters the X server is asked whether it is still there, and the client too. */
#define CHUNK 256

bool utf8_next(const uint8_t **at, const uint8_t *end, uint32_t *character) {
    static const uint32_t smallest[] = {0, 0x80, 0x800, 0x10000};
    uint32_t first = **at;
    int more = first < 0x80 ? 0 : first >> 5 == 6 ? 1 : first >> 4 == 14 ? 2 : first >> 3 == 30 ? 3 : -1;
    if (more < 0 || end - *at <= more) return false;
    uint32_t value = more ? first & (0x3fu >> more) : first;
    for (int i = 1; i <= more; i++) {
        if (((*at)[i] & 0xc0) != 0x80) return false;
        value = value << 6 | ((*at)[i] & 0x3f);
    }
    if (value < smallest[more] || value > 0x10ffff) return false;
    *at += more + 1;
    *character = value;
    return true;
}

bool text_is_typable(const uint8_t *text, uint32_t size) {
    const uint8_t *at = text, *end = text + size;
    uint32_t character;
    while (at < end)
        if (!utf8_next(&at, end, &character) || keysym_of_character(character) == NO_KEYSYM) return false;
    return true;
}

static bool is_in(const uint32_t *list, int count, uint32_t value) {
    for (int i = 0; i < count; i++)
        if (list[i] == value) return true;
    return false;
}

/* What the next characters need of spare keys: those that have one keep it, the others are listed. */
static int needs_of_chunk(struct input *input, const uint8_t *at, const uint8_t *end, uint32_t *needed) {
    const bool can_share = input->keymap.shift_key != 0;
    int count = 0;
    uint32_t character;
    for (int n = 0; n < CHUNK && at < end && utf8_next(&at, end, &character); n++) {
        struct stroke stroke;
        uint32_t keysym = keysym_of_character(character);
        if (keyboard_stroke_of_character(input, character, &stroke)) {
            if (stroke.spare && spare_lendable(&input->spare) > spare_keys_for(needed, count, can_share))
                stroke.spare->epoch = RESERVED;
        } else if (!is_in(needed, count, keysym)) {
            needed[count] = keysym;
            if (spare_keys_for(needed, count + 1, can_share) > spare_lendable(&input->spare)) break;
            count++;
        }
    }
    return count;
}

/* Types what has a key by now, and moves `*at` behind it. */
static enum input_result type_chunk(struct input *input, const uint8_t **at, const uint8_t *end,
                                    struct drain_target *focus) {
    enum input_result result = INPUT_DONE;
    uint8_t down = 0, before = 0;
    uint32_t character;
    const uint8_t *next = *at;
    for (int n = 0; result == INPUT_DONE && n < CHUNK && *at < end; n++, *at = next) {
        struct stroke stroke;
        if (!utf8_next(&next, end, &character)) break;
        if (!keyboard_stroke_of_character(input, character, &stroke)) break;
        if (stroke.spare) stroke.spare->epoch = RESERVED;
        keyboard_modifiers(input, down & (uint8_t)~stroke.modifiers, false);
        keyboard_modifiers(input, stroke.modifiers & (uint8_t)~down, true);
        down = stroke.modifiers;
        if (focus->defers && stroke.keycode == before)
            halt_and_press(input, stroke.keycode);
        else
            input_key(input, stroke.keycode, true);
        before = stroke.keycode;
        enum halt halt = focus->defers ? halt_at(character, next, end) : HALT_NEVER;
        if (halt != HALT_NEVER)
            result = halt_on_key(input, stroke.keycode, halt, focus);
        else
            input_key(input, stroke.keycode, false);
        input->chars_typed++;
    }
    keyboard_modifiers(input, down, false);
    return result;
}

static enum input_result type_lifted(struct input *input, const uint8_t *at, const uint8_t *end,
                                     struct drain_target *focus) {
    struct drain_target target = {.window = XCB_NONE};
    uint32_t needed[CHUNK];
    bool aimed = false;
    while (at < end) {
        struct keyboard_state state;
        enum input_result result = INPUT_DONE;
        if (!input->keymap.known && !keyboard_update(input, &state)) return INPUT_LOST;
        int count = needs_of_chunk(input, at, end, needed);
        /* Only where the keys are too few: an application may look at Shift, too. */
        bool share = count > spare_lendable(&input->spare);
        if (count && !keyboard_lend(input, needed, count, share, &result)) return result;
        if (!aimed && spare_any_reserved(&input->spare)) {
            target = drain_focus(&input->drain, NULL);
            aimed = true;
        }
        if (count && !keyboard_await_map(input, &target)) return input_go_on(input) ? INPUT_STUCK : INPUT_CUT;
        result = type_chunk(input, &at, end, focus);
        keyboard_mark(input, &target);
        if (at == end || result != INPUT_DONE) return result;
        if (!x_display_sync(&input->display)) return INPUT_LOST;
        if (!input_go_on(input)) return INPUT_CUT;
    }
    return INPUT_DONE;
}

enum input_result type_text(struct input *input, const uint8_t *text, uint32_t size) {
    struct keyboard_state state;
    struct lifted lifted;
    struct drain_target focus;
    enum input_result result = halt_before(input, text, text + size, &focus);
    if (result != INPUT_DONE) return result;
    if (!keyboard_update(input, &state)) return INPUT_LOST;
    if (!keyboard_lift(input, &state, &lifted)) return INPUT_LOST;
    result = type_lifted(input, text, text + size, &focus);
    keyboard_put_back(input, &lifted);
    halt_later(input, &focus);
    return x_display_lost(&input->display) ? INPUT_LOST : result;
}
