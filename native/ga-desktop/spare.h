/* Key codes that the layout does without, and the symbols we lend them.
 *
 * A key has room for two symbols, one of them with Shift. What is no character, or may mean something else with Shift
 * (Return, Tab, space), has a key of its own, as has what is pressed in a chord.
 *
 * What a key was before is kept here and, for the case that we are killed, in a property of the root window, so that
 * the next ga-desktop gives it back.
 */
#ifndef GD_SPARE_H
#define GD_SPARE_H

#include "keymap.h"

#define SPARE_MAX 160
#define RESERVED UINT64_MAX

struct spare_key {
    uint8_t keycode;
    bool held;           /* pressed across actions: it keeps its symbol */
    uint32_t keysyms[2]; /* lent, without and with Shift; NO_KEYSYM: as the map had it */
    uint64_t epoch;      /* of the drain mark behind its last use; RESERVED: used since the last mark */
    struct key original;
};

struct spare_keys {
    int count;
    struct spare_key keys[SPARE_MAX];
    bool is_spare[KEYCODES];
    xcb_atom_t property;
    unsigned int written_from, written_to; /* sequence numbers of our last change of the map, to know its echo */
};

bool spare_open(struct spare_keys *spare, struct x_display *display);
/* Gives back what a predecessor that was killed has left; the map is read before, and again if this returns true. */
bool spare_recover(struct spare_keys *spare, struct keymap *keymap, struct x_display *display);
/* Looks for spare keys in a map that was just read; keeps those that still hold what we lent them. */
void spare_choose(struct spare_keys *spare, const struct keymap *keymap, struct x_display *display);

/* Leaves out keys that somebody has grabbed since they were chosen. */
void spare_leave_out_grabbed(struct spare_keys *spare, struct x_display *display);

/* The key that was lent a symbol, and whether it takes Shift to get it. Without `shift` (NULL) the key must have this
 * symbol only, so that it can be pressed with any modifiers. */
struct spare_key *spare_find(struct spare_keys *spare, uint32_t keysym, bool *shift);
/* How many keys these symbols take, alone or, where they may, two to a key. */
int spare_keys_for(const uint32_t *keysyms, int count, bool share);
/* How many keys can take another meaning when marks up to `past` are past. */
int spare_ready(const struct spare_keys *spare, uint64_t past);
/* The mark behind all uses since the last one. */
void spare_mark(struct spare_keys *spare, uint64_t epoch);
bool spare_any_reserved(const struct spare_keys *spare);
/* Keys that are not held and not reserved: as many can be lent in the end. */
int spare_lendable(const struct spare_keys *spare);
/* Lends and reserves the keys unused for longest, in one change of the map. The server is grabbed by the caller. */
void spare_lend(struct spare_keys *spare, struct keymap *keymap, struct x_display *display, const uint32_t *keysyms,
                int count, bool share, uint64_t past);
/* Gives everything back, but what somebody else has changed since. The server is grabbed by the caller. */
void spare_give_back(struct spare_keys *spare, struct keymap *keymap, struct x_display *display);
bool spare_any_lent(const struct spare_keys *spare);

#endif
