/* What is learnt to blink, and what never is: changes in, the time of what counts out. */
#include <stdio.h>
#include <stdlib.h>

#include "../blinks.h"
#include "../clock.h"

static int failures;

#define CHECK(good) check(good, #good, __LINE__)
static void check(bool good, const char *what, int line) {
    if (good) return;
    fprintf(stderr, "line %d: %s\n", line, what);
    failures++;
}

/* As a settle would see it: until when something counted, and how many places blink. */
struct watch {
    struct blinks blinks;
    uint64_t certain_ns, input;
};

static void see(struct watch *watch, int at_ms, struct box box, uint64_t before, uint64_t after) {
    struct blink_change change = {box, before, after, (uint64_t)at_ms * MS_NS, watch->input};
    uint64_t counts = blinks_take(&watch->blinks, &change);
    if (counts > watch->certain_ns) watch->certain_ns = counts;
    check(watch->blinks.count <= BLINK_PLACES, "too many places", at_ms);
}

static int last_ms(const struct watch *watch) {
    uint64_t last = watch->certain_ns;
    for (int i = 0; i < watch->blinks.count; i++) {
        const struct blink_place *place = &watch->blinks.places[i];
        uint64_t at = blink_place_changed_ns(place);
        if (place->kind == BLINK_UNKNOWN && at > last) last = at;
    }
    return (int)(last / MS_NS);
}

static int blinking(const struct watch *watch) {
    int count = 0;
    for (int i = 0; i < watch->blinks.count; i++) count += watch->blinks.places[i].kind != BLINK_UNKNOWN;
    return count;
}

static const struct box caret = {100, 50, 2, 17};
static const struct box digits = {1200, 5, 14, 12};

/* GTK's caret: 0.8 s there, 0.4 s gone. Returns when it changed last. */
static int blink_caret(struct watch *watch, int from_ms, int times) {
    int at = from_ms;
    for (int i = 0; i < times; i++) {
        see(watch, at, caret, i % 2 ? 7 : 8, i % 2 ? 8 : 7);
        at += i % 2 ? 800 : 400;
    }
    return at;
}

static void a_caret_is_learnt_at_its_third_change(void) {
    struct watch watch = {.certain_ns = 0};
    blink_caret(&watch, 1000, 2);
    CHECK(blinking(&watch) == 0 && last_ms(&watch) == 1400);
    see(&watch, 2200, caret, 8, 7);
    CHECK(blinking(&watch) == 1 && last_ms(&watch) == 0); /* none of the three counts any more */
    see(&watch, 2600, caret, 7, 8);
    see(&watch, 9000, caret, 8, 7); /* it is known by its pixels, however long nobody looked */
    see(&watch, 12000, caret, 8, 7);
    CHECK(blinking(&watch) == 1 && last_ms(&watch) == 0);
}

static void a_caret_that_fades_is_learnt_at_its_fourth_change(void) {
    struct watch watch = {.certain_ns = 0};
    int at = 1000;
    for (int i = 0; i < 40; i++, at += i % 10 ? 17 : 500) {
        see(&watch, at, caret, (uint64_t)i, (uint64_t)i + 1);
        CHECK(blinking(&watch) == (i >= 3) && last_ms(&watch) == (i >= 3 ? 0 : at));
    }
    see(&watch, at, (struct box){caret.x, caret.y, 9, caret.height}, 40, 41); /* a letter beside it */
    CHECK(blinking(&watch) == 0 && last_ms(&watch) == at);
}

static void anything_else_in_its_place_counts(void) {
    struct watch watch = {.certain_ns = 0};
    int at = blink_caret(&watch, 0, 5);
    see(&watch, at, caret, 8, 9);
    CHECK(blinking(&watch) == 0 && last_ms(&watch) == at);
    struct watch typed = {.certain_ns = 0};
    at = blink_caret(&typed, 0, 5);
    see(&typed, at, (struct box){96, 50, 14, 17}, 8, 9); /* a character, and the caret behind it */
    CHECK(blinking(&typed) == 0 && last_ms(&typed) == at);
    struct watch covered = {.certain_ns = 0};
    at = blink_caret(&covered, 0, 5);
    see(&covered, at, (struct box){0, 0, 800, 600}, 0, 0);
    CHECK(covered.blinks.count == 0 && last_ms(&covered) == at);
}

static void a_moved_caret_is_learnt_anew(void) {
    struct watch watch = {.certain_ns = 0};
    int at = blink_caret(&watch, 0, 4);
    see(&watch, at, (struct box){100, 50, 12, 17}, 1, 2);
    const struct box moved = {110, 50, 2, 17};
    for (int i = 1; i <= 3; i++) see(&watch, at + 500 * i, moved, 3 + i % 2, 4 - i % 2);
    CHECK(blinking(&watch) == 1 && last_ms(&watch) == 0);
}

static void a_clock_is_learnt_at_its_fourth_second(void) {
    struct watch watch = {.certain_ns = 0};
    const int at[] = {1000, 2010, 2990, 4100, 5000, 6020};
    for (int i = 0; i < 6; i++) {
        struct box box = digits;
        if (i == 5) box.x -= 16, box.width += 16; /* ten seconds more */
        see(&watch, at[i], box, (uint64_t)(20 + i), (uint64_t)(21 + i));
        CHECK(blinking(&watch) == (i >= 3) && last_ms(&watch) == (i >= 3 ? 0 : at[i]));
    }
    see(&watch, 6400, digits, 26, 99); /* not its time */
    CHECK(blinking(&watch) == 0 && last_ms(&watch) == 6400);
}

static void a_clock_that_stopped_is_forgotten(void) {
    struct watch watch = {.certain_ns = 0};
    for (int i = 1; i <= 4; i++) see(&watch, 1000 * i, digits, (uint64_t)i, (uint64_t)i + 1);
    CHECK(blinking(&watch) == 1);
    see(&watch, 9000, digits, 5, 6);
    CHECK(blinking(&watch) == 0 && last_ms(&watch) == 9000);
}

static void what_input_does_is_no_blink(void) {
    struct watch watch = {.certain_ns = 0}, clock = {.certain_ns = 0};
    for (int i = 0; i < 20; i++, watch.input++) {
        see(&watch, 300 * i, caret, (uint64_t)i % 2, 1 - (uint64_t)i % 2); /* a box that is checked and cleared */
        CHECK(blinking(&watch) == 0 && last_ms(&watch) == 300 * i);
    }
    for (int i = 0; i < 20; i++, clock.input++) {
        see(&clock, 1000 * i, digits, (uint64_t)i, (uint64_t)i + 1); /* a number that is clicked up */
        CHECK(blinking(&clock) == 0 && last_ms(&clock) == 1000 * i);
    }
    int at = blink_caret(&watch, 10000, 6); /* by itself now */
    CHECK(blinking(&watch) == 1);
    watch.input++; /* elsewhere: what was learnt stays known */
    see(&watch, at, caret, 8, 7);
    CHECK(blinking(&watch) == 1 && last_ms(&watch) < 10000);
}

static void what_covers_a_clock_counts(void) {
    struct watch watch = {.certain_ns = 0};
    for (int i = 1; i <= 4; i++) see(&watch, 1000 * i, digits, (uint64_t)i, (uint64_t)i + 1);
    see(&watch, 5000, (struct box){1100, 0, 200, 40}, 5, 6); /* in its time, but larger than any clock */
    CHECK(blinking(&watch) == 0 && last_ms(&watch) == 5000);
}

/* A place that is dropped unlearnt, for want of room or after long, still counts when it did. */
static void what_was_forgotten_has_counted(void) {
    const struct box once = {700, 700, 10, 10};
    struct watch old = {.certain_ns = 0}, crowded = {.certain_ns = 0};
    see(&old, 100, once, 1, 2);
    blink_caret(&old, 200, 80);
    CHECK(old.blinks.count == 1 && blinking(&old) == 1 && last_ms(&old) == 100);
    see(&crowded, 100, once, 1, 2);
    for (int i = 0; i < 3 * BLINK_PLACES; i++) {
        uint64_t shown = (uint64_t)(i / BLINK_PLACES % 2);
        see(&crowded, 200 + 30 * i, (struct box){20 * (i % BLINK_PLACES), 0, 2, 17}, shown, 1 - shown);
    }
    CHECK(blinking(&crowded) == BLINK_PLACES && last_ms(&crowded) == 100);
}

static void two_blink_at_once(void) {
    struct watch watch = {.certain_ns = 0};
    for (int i = 1; i <= 5; i++) {
        see(&watch, 1000 * i, digits, (uint64_t)i, (uint64_t)i + 1);
        see(&watch, 1000 * i + 300, caret, (uint64_t)i % 2, 1 - (uint64_t)i % 2);
    }
    CHECK(blinking(&watch) == 2 && last_ms(&watch) == 0);
}

/* Each is fed for a minute; its last change must count all the time. */
static void never_learnt(const char *name, void (*next)(int i, struct blink_change *change), int period_ms) {
    struct watch watch = {.certain_ns = 0};
    for (int i = 0; i * period_ms < 60000; i++) {
        struct blink_change change = {.before = (uint64_t)i, .after = (uint64_t)i + 1};
        next(i, &change);
        see(&watch, 1000 + i * period_ms, change.box, change.before, change.after);
        check(last_ms(&watch) == 1000 + i * period_ms && blinking(&watch) == 0, name, i);
    }
}

static void spinner(int i, struct blink_change *change) {
    change->box = (struct box){40, 40, 24, 24};
    change->before = (uint64_t)i % 8;
    change->after = (uint64_t)(i + 1) % 8;
}

static void progress_bar(int i, struct blink_change *change) {
    change->box = (struct box){10 + 5 * i, 300, 5, 20};
}

static void overlapping_bar(int i, struct blink_change *change) {
    change->box = (struct box){10 + 5 * i, 300, 7, 20};
}

/* Put back unseen each time. */
static void one_way(int i, struct blink_change *change) {
    (void)i;
    change->box = digits;
    change->before = 1;
    change->after = 2;
}

static void large_counter(int i, struct blink_change *change) {
    (void)i;
    change->box = (struct box){100, 100, 120, 60};
}

/* The block of a bar without end, to and fro: at its ends it shows the picture before once more. */
static void pulse(int i, struct blink_change *change) {
    int phase = i % 40, at = phase < 20 ? phase : 39 - phase;
    change->box = (struct box){10 + 10 * at, 300, 60, 20};
    change->before = (uint64_t)(phase < 20 ? at : at + 1);
    change->after = (uint64_t)(phase < 20 ? at + 1 : at);
}

static void video(int i, struct blink_change *change) {
    (void)i;
    change->box = (struct box){100, 100, 320, 180};
}

static void large_blink(int i, struct blink_change *change) {
    change->box = (struct box){100, 100, 200, 60};
    change->before = (uint64_t)i % 2;
    change->after = 1 - (uint64_t)i % 2;
}

static void flicker(int i, struct blink_change *change) {
    change->box = digits;
    change->before = (uint64_t)i % 2;
    change->after = 1 - (uint64_t)i % 2;
}

static void thin_bar(int i, struct blink_change *change) {
    change->box = (struct box){10 + 2 * i, 300, 2, 20};
}

static void counter(int i, struct blink_change *change) {
    (void)i;
    change->box = digits;
}

static void nothing_else_is_learnt(void) {
    never_learnt("spinner", spinner, 100);
    never_learnt("slow spinner", spinner, 400);
    never_learnt("progress bar", progress_bar, 100);
    never_learnt("progress bar, each second", progress_bar, 1000);
    never_learnt("bar with a border, each second", overlapping_bar, 1000);
    never_learnt("one way", one_way, 500);
    never_learnt("large counter, each second", large_counter, 1000);
    never_learnt("pulse", pulse, 60);
    never_learnt("slow pulse", pulse, 300);
    never_learnt("video", video, 33);
    never_learnt("video, each second", video, 1000);
    never_learnt("large blink", large_blink, 500);
    never_learnt("flicker", flicker, 50);
    never_learnt("thin bar", thin_bar, 100);
    never_learnt("counter", counter, 200);
    never_learnt("counter, each two thirds of a second", counter, 660);
    never_learnt("counter, each two seconds", counter, 2000);
}

/* Whatever comes: few places, none outside what was seen, and time never runs back. */
static void anything_is_bounded(void) {
    struct watch watch = {.certain_ns = 0};
    int at = 0;
    srandom(7);
    for (int i = 0; i < 200000; i++) {
        at += (int)(random() % 700);
        struct box box = {(int)(random() % 60) * 20, (int)(random() % 40) * 20, 1 + (int)(random() % 120),
                          1 + (int)(random() % 90)};
        see(&watch, at, box, (uint64_t)(random() % 3), (uint64_t)(random() % 3));
        CHECK(last_ms(&watch) <= at);
        for (int p = 0; p < watch.blinks.count; p++) {
            const struct blink_place *place = &watch.blinks.places[p];
            CHECK(place->count >= 1 && place->count <= BLINK_HISTORY && box_area(place->box) <= BLINK_AREA_MAX);
        }
    }
}

int main(void) {
    a_caret_is_learnt_at_its_third_change();
    a_caret_that_fades_is_learnt_at_its_fourth_change();
    anything_else_in_its_place_counts();
    a_moved_caret_is_learnt_anew();
    a_clock_is_learnt_at_its_fourth_second();
    a_clock_that_stopped_is_forgotten();
    what_input_does_is_no_blink();
    what_covers_a_clock_counts();
    what_was_forgotten_has_counted();
    two_blink_at_once();
    nothing_else_is_learnt();
    anything_is_bounded();
    printf(failures ? "FAILED\n" : "ok\n");
    return failures != 0;
}
