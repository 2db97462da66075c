#include "keymap.h"

#include <stdlib.h>
#include <string.h>
#include <xcb/xkb.h>

#define CORE_KEYBOARD XCB_XKB_ID_USE_CORE_KBD
#define TWO_LEVEL_TYPE 1 /* XKB reserves the first four types; this one is chosen by Shift alone */

/* The reply's tail, as the protocol lays it out (XKB protocol, section 16.2.1). */
struct cursor {
    const uint8_t *at, *end;
    bool bad;
};

static const void *take(struct cursor *cursor, size_t size) {
    static const uint8_t nothing[16];
    if (cursor->bad || (size_t)(cursor->end - cursor->at) < size) {
        cursor->bad = true;
        return size <= sizeof nothing ? nothing : NULL;
    }
    const void *taken = cursor->at;
    cursor->at += size;
    return taken;
}

static void read_type(struct cursor *cursor, struct key_type *type) {
    const xcb_xkb_key_type_t *wire = take(cursor, 8);
    int entries = wire->nMapEntries;
    type->modifier_mask = wire->mods_mask;
    type->entry_count = 0;
    bool preserves = wire->hasPreserve;
    for (int i = 0; i < entries && !cursor->bad; i++) {
        const xcb_xkb_kt_map_entry_t *entry = take(cursor, 8);
        if (!entry->active || type->entry_count == 32) continue;
        type->entries[type->entry_count].modifiers = entry->mods_mask;
        type->entries[type->entry_count++].level = entry->level;
    }
    if (preserves) take(cursor, (size_t)entries * 4);
}

static void read_key(struct cursor *cursor, struct key *key) {
    const xcb_xkb_key_sym_map_t *wire = take(cursor, 8);
    *key = (struct key){.group_info = wire->groupInfo, .width = wire->width};
    memcpy(key->types, wire->kt_index, sizeof key->types);
    size_t count = wire->nSyms;
    const uint8_t *symbols = take(cursor, count * 4);
    if (!symbols || cursor->bad) return;
    key->complete = count <= KEY_SYMBOLS_MAX;
    key->symbol_count = (uint16_t)(key->complete ? count : KEY_SYMBOLS_MAX);
    memcpy(key->symbols, symbols, (size_t)key->symbol_count * 4);
}

static bool parse(struct keymap *keymap, const xcb_xkb_get_map_reply_t *reply) {
    const uint8_t *end = (const uint8_t *)reply + 32 + (size_t)reply->length * 4;
    struct cursor cursor = {(const uint8_t *)(reply + 1), end, false};
    memset(keymap->keys, 0, sizeof keymap->keys);
    memset(keymap->modifiers_of, 0, sizeof keymap->modifiers_of);
    keymap->lowest = reply->minKeyCode;
    keymap->highest = reply->maxKeyCode;
    keymap->type_count = reply->nTypes;
    for (int i = 0; i < reply->nTypes; i++) read_type(&cursor, &keymap->types[i]);
    for (int i = 0; i < reply->nKeySyms; i++) read_key(&cursor, &keymap->keys[(reply->firstKeySym + i) % KEYCODES]);
    for (int i = 0; i < reply->totalModMapKeys; i++) {
        const uint8_t *pair = take(&cursor, 2);
        keymap->modifiers_of[pair[0]] = pair[1];
    }
    return !cursor.bad;
}

static bool has_symbol(const struct key *key, uint32_t keysym) {
    for (int i = 0; i < key->symbol_count; i++)
        if (key->symbols[i] == keysym) return true;
    return false;
}

static void find_modifiers(struct keymap *keymap) {
    keymap->shift_key = keymap->level3_key = keymap->level3_mask = keymap->num_lock_mask = 0;
    for (int code = keymap->highest; code >= keymap->lowest; code--) {
        const struct key *key = &keymap->keys[code];
        uint8_t modifiers = keymap->modifiers_of[code];
        uint32_t first = key->symbol_count ? key->symbols[0] : NO_KEYSYM;
        if (modifiers == MODIFIER_SHIFT && (first == KEYSYM_SHIFT_LEFT || first == KEYSYM_SHIFT_RIGHT))
            keymap->shift_key = (uint8_t)code;
        if (modifiers && has_symbol(key, KEYSYM_NUM_LOCK)) keymap->num_lock_mask |= modifiers;
        if (modifiers && first == KEYSYM_LEVEL3_SHIFT) {
            keymap->level3_key = (uint8_t)code;
            keymap->level3_mask = modifiers;
        }
    }
}

bool keymap_read(struct keymap *keymap, struct x_display *display) {
    xcb_connection_t *c = display->connection;
    uint16_t parts = XCB_XKB_MAP_PART_KEY_TYPES | XCB_XKB_MAP_PART_KEY_SYMS | XCB_XKB_MAP_PART_MODIFIER_MAP;
    xcb_xkb_get_map_reply_t *reply = xcb_xkb_get_map_reply(
        c, xcb_xkb_get_map(c, CORE_KEYBOARD, parts, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), NULL);
    keymap->known = reply && parse(keymap, reply);
    keymap->placed = false;
    free(reply);
    if (keymap->known) find_modifiers(keymap);
    return keymap->known;
}

void keymap_free(struct keymap *keymap) {
    free(keymap->places);
    keymap->places = NULL;
    keymap->placed = false;
}

bool keymap_state(struct x_display *display, struct keyboard_state *state) {
    xcb_connection_t *c = display->connection;
    xcb_xkb_get_state_reply_t *reply = xcb_xkb_get_state_reply(c, xcb_xkb_get_state(c, CORE_KEYBOARD), NULL);
    if (!reply) return false;
    *state = (struct keyboard_state){reply->baseMods, reply->latchedMods, reply->lockedMods, reply->group};
    free(reply);
    return true;
}

struct key key_with_symbols(const uint32_t keysyms[2]) {
    return (struct key){
        .types = {TWO_LEVEL_TYPE}, .group_info = 1, .width = 2, .symbol_count = 2,
        .symbols = {keysyms[0], keysyms[1]}, .complete = true};
}

bool key_equals(const struct key *a, const struct key *b) {
    int groups = a->group_info & 0x0f;
    return a->group_info == b->group_info && a->width == b->width && a->symbol_count == b->symbol_count &&
           memcmp(a->types, b->types, (size_t)(groups < 4 ? groups : 4)) == 0 &&
           memcmp(a->symbols, b->symbols, (size_t)a->symbol_count * 4) == 0;
}

unsigned int keymap_write(const struct keymap *keymap, struct x_display *display, uint8_t first, uint8_t last) {
    uint8_t wire[KEYCODES * (8 + KEY_SYMBOLS_MAX * 4)];
    size_t size = 0;
    unsigned symbols = 0;
    for (int code = first; code <= last; code++) {
        const struct key *key = &keymap->keys[code];
        xcb_xkb_key_sym_map_t head = {
            .groupInfo = key->group_info, .width = key->width, .nSyms = key->symbol_count};
        memcpy(head.kt_index, key->types, sizeof head.kt_index);
        memcpy(wire + size, &head, 8);
        memcpy(wire + size + 8, key->symbols, (size_t)key->symbol_count * 4);
        size += 8 + (size_t)key->symbol_count * 4;
        symbols += key->symbol_count;
    }
    return xcb_xkb_set_map(display->connection, CORE_KEYBOARD, XCB_XKB_MAP_PART_KEY_SYMS,
                           XCB_XKB_SET_MAP_FLAGS_RECOMPUTE_ACTIONS, keymap->lowest, keymap->highest, 0, 0, first,
                           (uint8_t)(last - first + 1), (uint16_t)symbols, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                           0, wire)
        .sequence;
}
