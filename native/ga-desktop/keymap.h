/* The X server's keyboard map (XKB), read and written without losing anything of it. */
#ifndef GD_KEYMAP_H
#define GD_KEYMAP_H

#include "keysym.h"
#include "x_display.h"

#define KEYCODES 256
#define KEY_SYMBOLS_MAX 64
#define MODIFIER_SHIFT 0x01
#define MODIFIER_LOCK 0x02

/* One key as XKB has it: symbols by group and level. */
struct key {
    uint8_t types[4];
    uint8_t group_info;
    uint8_t width; /* levels */
    uint16_t symbol_count;
    uint32_t symbols[KEY_SYMBOLS_MAX];
    bool complete; /* false: it has more symbols than we keep, so we never write it */
};

/* Where a symbol is in the present group: which key, with which modifiers held. */
struct place {
    uint32_t keysym, character;
    uint8_t keycode, modifiers, level;
};

struct key_type {
    uint8_t modifier_mask;
    int entry_count;
    struct {
        uint8_t modifiers, level;
    } entries[32];
};

/* What decides the meaning of a key besides the map. */
struct keyboard_state {
    uint8_t base, latched, locked; /* modifiers */
    uint8_t group;
};

struct keymap {
    bool known; /* false: read it again before use */
    uint8_t lowest, highest;
    struct key keys[KEYCODES];
    uint8_t modifiers_of[KEYCODES]; /* which real modifiers a key sets */
    int type_count;
    struct key_type types[256];
    uint8_t shift_key, level3_key; /* 0: none */
    uint8_t level3_mask, num_lock_mask;
    /* the places of the symbols, sorted by character, for one state */
    struct place *places;
    int place_count;
    uint8_t placed_group, placed_locked;
    bool placed;
};

bool keymap_read(struct keymap *keymap, struct x_display *display);
void keymap_free(struct keymap *keymap);
bool keymap_state(struct x_display *display, struct keyboard_state *state);

/* Prepares keymap_find for this state. `left_out` keys (by keycode) are not looked at. */
void keymap_place(struct keymap *keymap, const struct keyboard_state *state, const bool left_out[KEYCODES]);
/* The easiest way to get a character, or exactly a symbol; NULL when the map has none. */
const struct place *keymap_find_character(const struct keymap *keymap, uint32_t character);
const struct place *keymap_find_keysym(const struct keymap *keymap, uint32_t keysym);

/* A key with one symbol, and another with Shift; no other modifier and no lock matters to it. */
struct key key_with_symbols(const uint32_t keysyms[2]);
bool key_equals(const struct key *a, const struct key *b);
/* Sends keys [first, last] as they are in the map; the answer is not awaited. Returns the request's number. */
unsigned int keymap_write(const struct keymap *keymap, struct x_display *display, uint8_t first, uint8_t last);

#endif
