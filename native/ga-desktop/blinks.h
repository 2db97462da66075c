/* Which small places of the screen only blink. Pure: changes go in, the time of what counts comes out.
 *
 * A place blinks when it has been seen to go back and forth between the same two pictures (a caret, an urgent button), to
 * change once a second in the same spot (a clock), or to change again and again in a spot as narrow as a caret (one that
 * fades, as GTK 4's does), with no input in between. Anything larger, quicker or of another kind counts as a change:
 * spinners have more than two pictures, progress bars move on, videos are large. What blinks is known by its pixels: once
 * a place shows anything else, that counts, and the place has to be learnt anew.
 */
#ifndef GD_BLINKS_H
#define GD_BLINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "box.h"

/* Larger changes are never taken for a blink: about a button of a task bar, and about the digits of a clock. */
#define BLINK_AREA_MAX 10000
#define TICK_AREA_MAX 6000
#define CARET_WIDTH_MAX 4
#define CARET_HEIGHT_MAX 80
#define BLINK_PLACES 16
#define BLINK_HISTORY 4

/* The pixels of `box` changed; `before` and `after` are digests of them, `input` is how much input there had been. */
struct blink_change {
    struct box box;
    uint64_t before, after, at_ns, input;
};

enum blink_kind { BLINK_UNKNOWN, BLINK_ALTERNATES, BLINK_TICKS, BLINK_FADES };

struct blink_place {
    enum blink_kind kind;
    struct box box; /* around its changes */
    int count;
    struct blink_change changes[BLINK_HISTORY]; /* the newest last */
};

struct blinks {
    int count;
    struct blink_place places[BLINK_PLACES];
};

/* Takes in a change, in order of time. Returns when something changed of which it is certain by now that it is no blink,
 * 0 when nothing did: changes in places that are still unknown are not among it. */
uint64_t blinks_take(struct blinks *blinks, const struct blink_change *change);
uint64_t blink_place_changed_ns(const struct blink_place *place);

#endif
