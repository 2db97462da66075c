/* Symbols to keys: through the layout where it has them, else through spare keys. */
#ifndef GD_KEYBOARD_H
#define GD_KEYBOARD_H

#include "input.h"

/* How to get a symbol: a key, and modifiers to hold. */
struct stroke {
    uint8_t keycode, modifiers;
    struct spare_key *spare; /* NULL: the layout's own */
};

/* Cleans up after a killed predecessor and reads the map. */
bool keyboard_begin(struct input *input);
void keyboard_give_back(struct input *input);
/* Reads the map again when it has changed, and the state; false when the server is gone. */
bool keyboard_update(struct input *input, struct keyboard_state *state);

/* False when the symbol has no key yet. */
bool keyboard_stroke(struct input *input, uint32_t keysym, struct stroke *stroke);
bool keyboard_stroke_of_character(struct input *input, uint32_t character, struct stroke *stroke);
/* Lends spare keys to symbols, once enough of them are ready: at most `count`; returns how many, 0 when it cannot.
 * With `share` two symbols may get one key. */
int keyboard_lend(struct input *input, const uint32_t *keysyms, int count, bool share, enum input_result *result);
/* Presses or releases the keys of these modifiers. */
void keyboard_modifiers(struct input *input, uint8_t modifiers, bool down);
/* After keys were lent to it, before they are pressed; false when it does not take notice. */
bool keyboard_await_map(struct input *input, const struct drain_target *target);
/* Sets a mark behind the spare keys used so far, if any were, towards whoever had the focus before and has it now. */
void keyboard_mark(struct input *input, const struct drain_target *before);

/* Modifiers that are down or locked when text is to be typed, lifted and put back. */
struct lifted {
    uint8_t keys[KEYCODES];
    int count;
    uint8_t locked; /* a latch is not put back: the next key would have used it up */
};

bool keyboard_lift(struct input *input, const struct keyboard_state *state, struct lifted *lifted);
void keyboard_put_back(struct input *input, const struct lifted *lifted);

#endif
