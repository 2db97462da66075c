#include "spare.h"

#include <stdlib.h>
#include <string.h>
#include <xcb/xkb.h>

#include "spare_record.h"

/* Chromium acts on these whatever symbol they have. */
static const uint8_t never[] = {136, 158, 163, 164, 166, 167, 171, 172, 173, 174, 180, 181, 225};
/* Below this an ordinary keyboard has its ordinary keys, and programs may look at the code. */
#define FIRST_UNUSUAL 93

static bool is_never(int code) {
    return memchr(never, code, sizeof never) != NULL;
}

/* Where an ordinary keyboard has a key that a sparse map may lack. */
static uint8_t usual_code(uint32_t keysym) {
    switch (keysym) {
    case KEYSYM_ESCAPE: return 9;
    case KEYSYM_BACKSPACE: return 22;
    case KEYSYM_TAB: return 23;
    case KEYSYM_RETURN: return 36;
    case ' ': return 65;
    case KEYSYM_DELETE: return 119;
    default: return 0;
    }
}

static bool is_lent(const struct spare_key *key) {
    return key->keysyms[0] != NO_KEYSYM;
}

static bool still_lent(const struct spare_key *key, const struct keymap *keymap) {
    struct key lent = key_with_symbols(key->keysyms);
    return key_equals(&lent, &keymap->keys[key->keycode]);
}

/* Empty, or with nothing but symbols that nobody misses. */
static bool is_unused(const struct keymap *keymap, int code) {
    const struct key *key = &keymap->keys[code];
    if (!key->complete || keymap->modifiers_of[code]) return false;
    for (int i = 0; i < key->symbol_count; i++)
        if (key->symbols[i] != NO_KEYSYM && !keysym_is_unused(key->symbols[i])) return false;
    return true;
}

/* Window managers grab keys of media keyboards; such a key would never reach the application. */
void spare_leave_out_grabbed(struct spare_keys *spare, struct x_display *display) {
    xcb_connection_t *c = display->connection;
    xcb_void_cookie_t tried[SPARE_MAX];
    int kept = 0;
    for (int i = 0; i < spare->count; i++) {
        uint8_t code = spare->keys[i].keycode;
        tried[i] = xcb_grab_key_checked(c, 0, display->root, XCB_MOD_MASK_ANY, code, XCB_GRAB_MODE_ASYNC,
                                        XCB_GRAB_MODE_ASYNC);
        xcb_ungrab_key(c, code, display->root, XCB_MOD_MASK_ANY);
    }
    for (int i = 0; i < spare->count; i++) {
        xcb_generic_error_t *error = xcb_request_check(c, tried[i]);
        bool lent = is_lent(&spare->keys[i]);
        spare->is_spare[spare->keys[i].keycode] = !error || lent;
        if (!error || lent) spare->keys[kept++] = spare->keys[i];
        free(error);
    }
    spare->count = kept;
}

static int by_emptiness(const void *left, const void *right) {
    const struct spare_key *a = left, *b = right;
    bool a_usual = a->keycode < FIRST_UNUSUAL, b_usual = b->keycode < FIRST_UNUSUAL;
    if (a_usual != b_usual) return a_usual - b_usual;
    bool a_full = a->original.symbol_count > 0, b_full = b->original.symbol_count > 0;
    return a_full != b_full ? a_full - b_full : a->keycode - b->keycode;
}

bool spare_open(struct spare_keys *spare, struct x_display *display) {
    memset(spare, 0, sizeof *spare);
    return spare_record_open(&spare->property, display);
}

void spare_choose(struct spare_keys *spare, const struct keymap *keymap, struct x_display *display) {
    struct spare_keys before = *spare;
    spare->count = 0;
    memset(spare->is_spare, 0, sizeof spare->is_spare);
    for (int code = keymap->lowest; code <= keymap->highest && spare->count < SPARE_MAX; code++) {
        const struct spare_key *old = NULL;
        for (int i = 0; i < before.count; i++)
            if (before.keys[i].keycode == code && is_lent(&before.keys[i])) old = &before.keys[i];
        if (old && still_lent(old, keymap))
            spare->keys[spare->count++] = *old;
        else if (is_unused(keymap, code) && !is_never(code) && code > keymap->lowest)
            spare->keys[spare->count++] = (struct spare_key){.keycode = (uint8_t)code, .original = keymap->keys[code]};
    }
    spare_leave_out_grabbed(spare, display);
    qsort(spare->keys, (size_t)spare->count, sizeof *spare->keys, by_emptiness);
}

struct spare_key *spare_find(struct spare_keys *spare, uint32_t keysym, bool *shift) {
    for (int i = 0; i < spare->count; i++) {
        const uint32_t *keysyms = spare->keys[i].keysyms;
        bool plain = keysyms[0] == keysym, shifted = keysyms[1] == keysym;
        if (shift ? !plain && !shifted : !plain || !shifted) continue;
        if (shift) *shift = !plain;
        return &spare->keys[i];
    }
    return NULL;
}

static bool may_share(uint32_t keysym) {
    uint32_t character = keysym_character(keysym);
    return character > ' ' && character != 0x7f;
}

int spare_keys_for(const uint32_t *keysyms, int count, bool share) {
    int sharing = 0;
    for (int i = 0; share && i < count; i++) sharing += may_share(keysyms[i]);
    return count - sharing + (sharing + 1) / 2;
}

static bool is_ready(const struct spare_key *key, uint64_t past) {
    return !key->held && key->epoch <= past;
}

int spare_ready(const struct spare_keys *spare, uint64_t past) {
    int count = 0;
    for (int i = 0; i < spare->count; i++) count += is_ready(&spare->keys[i], past);
    return count;
}

int spare_lendable(const struct spare_keys *spare) {
    int count = 0;
    for (int i = 0; i < spare->count; i++) count += !spare->keys[i].held && spare->keys[i].epoch != RESERVED;
    return count;
}

void spare_mark(struct spare_keys *spare, uint64_t epoch) {
    for (int i = 0; i < spare->count; i++)
        if (spare->keys[i].epoch == RESERVED) spare->keys[i].epoch = epoch;
}

bool spare_any_reserved(const struct spare_keys *spare) {
    for (int i = 0; i < spare->count; i++)
        if (spare->keys[i].epoch == RESERVED) return true;
    return false;
}

/* The usual place of a key if it is free, else the key unused for longest; an empty one first. */
static struct spare_key *pick(struct spare_keys *spare, uint32_t keysym, uint64_t past, const bool taken[SPARE_MAX]) {
    struct spare_key *best = NULL;
    for (int i = 0; i < spare->count; i++) {
        struct spare_key *key = &spare->keys[i];
        if (taken[i] || !is_ready(key, past)) continue;
        if (usual_code(keysym) == key->keycode) return key;
        if (!best || key->epoch < best->epoch) best = key;
    }
    return best;
}

static void widen(int code, int *first, int *last) {
    if (code < *first) *first = code;
    if (code > *last) *last = code;
}

/* In one request, unless a key that we cannot write lies between. */
static void write_map(struct spare_keys *spare, struct keymap *keymap, struct x_display *display, int first, int last) {
    bool begun = false;
    if (first > last) return;
    spare_record_write(spare, display);
    while (first <= last) {
        int end = first;
        while (end <= last && keymap->keys[end].complete) end++;
        if (end > first) {
            spare->written_to = keymap_write(keymap, display, (uint8_t)first, (uint8_t)(end - 1));
            if (!begun) spare->written_from = spare->written_to;
            begun = true;
        }
        first = end + 1; /* past a key that has more symbols than we keep */
    }
}

/* One change of the map in the making. */
struct lending {
    struct spare_keys *spare;
    struct keymap *keymap;
    uint64_t past;
    bool taken[SPARE_MAX];
    int first, last;
};

static void lend_key(struct lending *lending, uint32_t plain, uint32_t with_shift) {
    struct spare_key *key = pick(lending->spare, plain, lending->past, lending->taken);
    if (!key) return;
    lending->taken[key - lending->spare->keys] = true;
    key->keysyms[0] = plain;
    key->keysyms[1] = with_shift;
    key->epoch = RESERVED;
    lending->keymap->keys[key->keycode] = key_with_symbols(key->keysyms);
    widen(key->keycode, &lending->first, &lending->last);
}

void spare_lend(struct spare_keys *spare, struct keymap *keymap, struct x_display *display, const uint32_t *keysyms,
                int count, bool share, uint64_t past) {
    struct lending lending = {.spare = spare, .keymap = keymap, .past = past, .first = KEYCODES};
    uint32_t sharing[SPARE_MAX * 2];
    int sharing_count = 0;
    for (int i = 0; i < count; i++)
        if (share && may_share(keysyms[i]) && sharing_count < SPARE_MAX * 2)
            sharing[sharing_count++] = keysyms[i];
        else
            lend_key(&lending, keysyms[i], keysyms[i]);
    /* Half the list apart: where each symbol is typed once, Shift changes once. */
    int half = (sharing_count + 1) / 2;
    for (int i = 0; i < half; i++)
        lend_key(&lending, sharing[i], i + half < sharing_count ? sharing[i + half] : sharing[i]);
    write_map(spare, keymap, display, lending.first, lending.last);
}

void spare_give_back(struct spare_keys *spare, struct keymap *keymap, struct x_display *display) {
    int first = KEYCODES, last = 0;
    for (int i = 0; i < spare->count; i++) {
        struct spare_key *key = &spare->keys[i];
        if (!is_lent(key) || key->held) continue;
        keymap->keys[key->keycode] = key->original;
        key->keysyms[0] = key->keysyms[1] = NO_KEYSYM;
        widen(key->keycode, &first, &last);
    }
    write_map(spare, keymap, display, first, last);
}

bool spare_any_lent(const struct spare_keys *spare) {
    for (int i = 0; i < spare->count; i++)
        if (is_lent(&spare->keys[i])) return true;
    return false;
}

bool spare_recover(struct spare_keys *spare, struct keymap *keymap, struct x_display *display) {
    int first = KEYCODES, last = 0;
    spare_record_read(spare, display);
    for (int i = 0; i < spare->count; i++) {
        struct spare_key *key = &spare->keys[i];
        if (!still_lent(key, keymap)) continue; /* changed by somebody since */
        keymap->keys[key->keycode] = key->original;
        widen(key->keycode, &first, &last);
    }
    spare->count = 0;
    write_map(spare, keymap, display, first, last);
    return first <= last;
}
