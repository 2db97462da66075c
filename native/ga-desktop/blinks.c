#include "blinks.h"

#include <string.h>

#include "clock.h"

/* A caret blinks every 0.3 to 1.2 s. A busy machine draws late. */
#define ALTERNATE_MIN_NS (150 * MS_NS)
#define ALTERNATE_MAX_NS (2000 * MS_NS)
#define ALTERNATIONS 3 /* A to B, back to A, to B */
#define TICK_MIN_NS (750 * MS_NS)
#define TICK_MAX_NS (1250 * MS_NS)
#define TICKS_MIN_NS (2700 * MS_NS) /* BLINK_HISTORY of them, from the first to the last */
#define TICKS_MAX_NS (3300 * MS_NS)
#define TICK_MISSED_NS (3 * 1000 * MS_NS)
#define FORGET_NS (30 * 1000 * MS_NS)

static bool same_box(struct box a, struct box b) {
    return a.x == b.x && a.y == b.y && a.width == b.width && a.height == b.height;
}

static bool touch(struct box a, struct box b) {
    return !box_is_empty(box_intersection(a, b));
}

static const struct blink_change *newest(const struct blink_place *place) {
    return &place->changes[place->count - 1];
}

uint64_t blink_place_changed_ns(const struct blink_place *place) {
    return newest(place)->at_ns;
}

/* Whether the last `count` changes came by themselves, so far apart. */
static bool recurs(const struct blink_place *place, int count, uint64_t least, uint64_t most) {
    if (place->changes[place->count - count].input != newest(place)->input) return false;
    for (int i = place->count - count + 1; i < place->count; i++) {
        uint64_t gap = place->changes[i].at_ns - place->changes[i - 1].at_ns;
        if (gap < least || gap > most) return false;
    }
    return true;
}

/* The same two pictures, this way or that. */
static bool same_pictures(const struct blink_change *a, const struct blink_change *b) {
    bool again = a->before == b->before && a->after == b->after;
    bool back = a->before == b->after && a->after == b->before;
    return same_box(a->box, b->box) && (again || back);
}

static bool alternates(const struct blink_place *place) {
    if (place->count < ALTERNATIONS) return false;
    for (int i = place->count - ALTERNATIONS + 1; i < place->count; i++) {
        const struct blink_change *one = &place->changes[i - 1], *next = &place->changes[i];
        if (!same_pictures(one, next) || one->after != next->before) return false;
    }
    return recurs(place, ALTERNATIONS, ALTERNATE_MIN_NS, ALTERNATE_MAX_NS);
}

/* A progress bar that advances once a second changes another spot each time. */
static bool ticks(const struct blink_place *place) {
    if (place->count < BLINK_HISTORY || box_area(place->box) > TICK_AREA_MAX) return false;
    struct box common = place->changes[0].box;
    for (int i = 1; i < place->count; i++) common = box_intersection(common, place->changes[i].box);
    uint64_t all = newest(place)->at_ns - place->changes[0].at_ns;
    return !box_is_empty(common) && all >= TICKS_MIN_NS && all <= TICKS_MAX_NS &&
           recurs(place, BLINK_HISTORY, TICK_MIN_NS, TICK_MAX_NS);
}

static bool narrow(struct box box) {
    return box.width <= CARET_WIDTH_MAX && box.height <= CARET_HEIGHT_MAX;
}

/* A caret that fades has many pictures, in one spot. */
static bool fades(const struct blink_place *place) {
    return place->count == BLINK_HISTORY && narrow(place->box) && recurs(place, BLINK_HISTORY, 0, ALTERNATE_MAX_NS);
}

/* Whether a change is what its place has been seen to do before. */
static bool goes_on(const struct blink_place *place, const struct blink_change *change) {
    uint64_t gap = change->at_ns - newest(place)->at_ns;
    if (place->kind == BLINK_ALTERNATES) return same_pictures(newest(place), change) && gap >= ALTERNATE_MIN_NS;
    if (place->kind == BLINK_FADES) return narrow(box_union(place->box, change->box));
    bool in_place = touch(place->box, change->box) && box_area(box_union(place->box, change->box)) <= TICK_AREA_MAX;
    return place->kind == BLINK_TICKS && in_place && gap >= TICK_MIN_NS && gap <= TICK_MISSED_NS;
}

static void remember(struct blink_place *place, const struct blink_change *change) {
    if (place->count == BLINK_HISTORY) {
        memmove(place->changes, place->changes + 1, sizeof place->changes - sizeof *place->changes);
        place->count--;
    }
    place->changes[place->count++] = *change;
    place->box = change->box;
    for (int i = 0; i < place->count; i++) place->box = box_union(place->box, place->changes[i].box);
}

static void drop(struct blinks *blinks, int index) {
    blinks->places[index] = blinks->places[--blinks->count];
}

static uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* When the place changed, if that counts. */
static uint64_t counted(const struct blink_place *place) {
    return place->kind == BLINK_UNKNOWN ? newest(place)->at_ns : 0;
}

/* Drops the places that a change touches, save one in the same spot, and those not seen for long. */
static uint64_t clear_the_way(struct blinks *blinks, const struct blink_change *change, bool keep_one) {
    uint64_t counts = 0;
    for (int i = blinks->count - 1; i >= 0; i--) {
        const struct blink_place *place = &blinks->places[i];
        bool old = newest(place)->at_ns + FORGET_NS < change->at_ns;
        bool touched = touch(place->box, change->box);
        bool fits = keep_one && box_area(box_union(place->box, change->box)) <= BLINK_AREA_MAX;
        if (touched && fits && !old) {
            keep_one = false;
            continue;
        }
        if (!touched && !old) continue;
        counts = later(counts, counted(place));
        drop(blinks, i);
    }
    return counts;
}

static struct blink_place *place_of(struct blinks *blinks, struct box box) {
    for (int i = 0; i < blinks->count; i++)
        if (touch(blinks->places[i].box, box)) return &blinks->places[i];
    return NULL;
}

static uint64_t make_room(struct blinks *blinks) {
    int oldest = 0;
    if (blinks->count < BLINK_PLACES) return 0;
    for (int i = 1; i < blinks->count; i++)
        if (newest(&blinks->places[i])->at_ns < newest(&blinks->places[oldest])->at_ns) oldest = i;
    uint64_t counts = counted(&blinks->places[oldest]);
    drop(blinks, oldest);
    return counts;
}

uint64_t blinks_take(struct blinks *blinks, const struct blink_change *change) {
    bool small = box_area(change->box) <= BLINK_AREA_MAX && change->before != change->after;
    uint64_t counts = clear_the_way(blinks, change, small);
    if (!small) return change->at_ns;
    struct blink_place *place = place_of(blinks, change->box);
    if (!place) {
        counts = later(counts, make_room(blinks));
        place = &blinks->places[blinks->count++];
        *place = (struct blink_place){.kind = BLINK_UNKNOWN};
    } else if (place->kind != BLINK_UNKNOWN && !goes_on(place, change)) {
        *place = (struct blink_place){.kind = BLINK_UNKNOWN};
    }
    remember(place, change);
    if (place->kind != BLINK_UNKNOWN) return counts;
    if (alternates(place))
        place->kind = BLINK_ALTERNATES;
    else if (ticks(place))
        place->kind = BLINK_TICKS;
    else if (fades(place))
        place->kind = BLINK_FADES;
    return counts;
}
