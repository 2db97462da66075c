/* Which key gives which character in the present layout, group and locks. */
#include <stdlib.h>
#include <string.h>

#include "keymap.h"

#define MODIFIER_WAYS 4 /* nothing, Shift, Level3, both */

/* The group a key uses when the keyboard's group is beyond the key's own (XKB protocol, section 7.2). */
static int effective_group(const struct key *key, int group) {
    int groups = key->group_info & 0x0f;
    if (groups == 0) return -1;
    if (group < groups) return group;
    switch (key->group_info & 0xc0) {
    case 0x40: return groups - 1;
    case 0x80: {
        int redirected = (key->group_info & 0x30) >> 4;
        return redirected < groups ? redirected : 0;
    }
    default: return group % groups;
    }
}

static int level_of(const struct key_type *type, uint8_t modifiers) {
    for (int i = 0; i < type->entry_count; i++)
        if (type->entries[i].modifiers == (modifiers & type->modifier_mask)) return type->entries[i].level;
    return 0;
}

static void add_key(struct keymap *keymap, int code, const struct keyboard_state *state,
                    const uint8_t ways[MODIFIER_WAYS], int way_count) {
    const struct key *key = &keymap->keys[code];
    int group = effective_group(key, state->group);
    if (group < 0 || group > 3) return;
    const struct key_type *type = &keymap->types[key->types[group]];
    bool seen[KEY_SYMBOLS_MAX] = {false};
    for (int i = 0; i < way_count; i++) {
        int level = level_of(type, ways[i] | (state->locked & keymap->num_lock_mask));
        int index = group * key->width + level;
        if (level >= key->width || index >= key->symbol_count || seen[level]) continue;
        seen[level] = true;
        uint32_t keysym = key->symbols[index];
        if (keysym == NO_KEYSYM) continue;
        keymap->places[keymap->place_count++] = (struct place){
            keysym, keysym_character(keysym), (uint8_t)code, ways[i], (uint8_t)level};
    }
}

/* By character; then the fewest modifiers, then the lowest key. */
static int compare(const void *left, const void *right) {
    const struct place *a = left, *b = right;
    if (a->character != b->character) return a->character < b->character ? -1 : 1;
    int a_count = __builtin_popcount(a->modifiers), b_count = __builtin_popcount(b->modifiers);
    if (a_count != b_count) return a_count - b_count;
    if (a->modifiers != b->modifiers) return a->modifiers - b->modifiers;
    return a->keycode - b->keycode;
}

void keymap_place(struct keymap *keymap, const struct keyboard_state *state, const bool left_out[KEYCODES]) {
    uint8_t locked = state->locked & keymap->num_lock_mask;
    if (keymap->placed && keymap->placed_group == state->group && keymap->placed_locked == locked) return;
    if (!keymap->places) keymap->places = calloc(KEYCODES * MODIFIER_WAYS, sizeof *keymap->places);
    keymap->place_count = 0;
    if (!keymap->places) return;
    uint8_t ways[MODIFIER_WAYS] = {0};
    int way_count = 1;
    if (keymap->shift_key) ways[way_count++] = MODIFIER_SHIFT;
    if (keymap->level3_key) ways[way_count++] = keymap->level3_mask;
    if (keymap->shift_key && keymap->level3_key) ways[way_count++] = MODIFIER_SHIFT | keymap->level3_mask;
    for (int code = keymap->lowest; code <= keymap->highest; code++)
        if (!left_out[code]) add_key(keymap, code, state, ways, way_count);
    qsort(keymap->places, (size_t)keymap->place_count, sizeof *keymap->places, compare);
    keymap->placed = true;
    keymap->placed_group = state->group;
    keymap->placed_locked = locked;
}

const struct place *keymap_find_character(const struct keymap *keymap, uint32_t character) {
    int low = 0, high = keymap->place_count;
    if (character == NO_CHARACTER) return NULL;
    while (low < high) {
        int middle = (low + high) / 2;
        if (keymap->places[middle].character < character)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < keymap->place_count && keymap->places[low].character == character;
    return found ? &keymap->places[low] : NULL;
}

/* A modifier is pressed for what it sets, so a key that sets nothing is the last to take. */
static int cost(const struct keymap *keymap, const struct place *place) {
    bool idle = keysym_is_modifier(place->keysym) && !keymap->modifiers_of[place->keycode];
    return place->level + (idle ? KEY_SYMBOLS_MAX : 0);
}

const struct place *keymap_find_keysym(const struct keymap *keymap, uint32_t keysym) {
    const struct place *best = NULL;
    for (int i = 0; i < keymap->place_count; i++) {
        const struct place *place = &keymap->places[i];
        if (place->keysym == keysym && (!best || cost(keymap, place) < cost(keymap, best))) best = place;
    }
    return best ? best : keymap_find_character(keymap, keysym_character(keysym));
}
