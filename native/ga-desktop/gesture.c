#include "gesture.h"

#include <math.h>
#include <stdlib.h>

#include "clock.h"
#include "held.h"

/* A drag as a quick hand does it. Applications take hold of what is dragged only after some pixels of motion, and talk
 * with the place where it will fall before they accept it; so at both ends we also wait until they have caught up. */
#define DWELL_NS (25 * MS_NS)
#define STEP_NS (4 * MS_NS)
#define TAKE_HOLD_PX 16.0
#define TAKE_HOLD_STEPS 4
#define STEP_PX 24.0
#define STEPS_MIN 8
#define STEPS_MAX 60
#define CATCH_UP_NS (3000 * MS_NS)

/* A window manager holds each press until it has looked at it. Presses that come faster than that now and then count as
 * fewer: without a pause, on a busy machine, up to half of the triple clicks that a GTK text view was sent. */
#define BETWEEN_CLICKS_NS (4 * MS_NS)

enum wheel { WHEEL_UP = 4, WHEEL_DOWN, WHEEL_LEFT, WHEEL_RIGHT };

void click(struct input *input, const struct gd_CLICK *op) {
    input_move(input, op->x, op->y);
    for (int i = 0; i < op->count; i++) {
        if (i > 0) {
            xcb_flush(input->display.connection);
            clock_wait_ns(BETWEEN_CLICKS_NS);
        }
        input_button(input, op->button, true);
        input_button(input, op->button, false);
    }
}

void scroll(struct input *input, const struct gd_SCROLL *op) {
    for (int i = 0; i < abs(op->dy); i++) {
        input_button(input, op->dy > 0 ? WHEEL_DOWN : WHEEL_UP, true);
        input_button(input, op->dy > 0 ? WHEEL_DOWN : WHEEL_UP, false);
    }
    for (int i = 0; i < abs(op->dx); i++) {
        input_button(input, op->dx > 0 ? WHEEL_RIGHT : WHEEL_LEFT, true);
        input_button(input, op->dx > 0 ? WHEEL_RIGHT : WHEEL_LEFT, false);
    }
}

void change_button(struct input *input, const struct gd_BUTTON *op) {
    for (int i = 0; i < input->held_count; i++) {
        const struct held *held = &input->held[i];
        if (held->keysym != NO_KEYSYM || held->code != op->button) continue;
        if (!op->down) held_release(input, held);
        return;
    }
    if (!op->down) return;
    input_button(input, op->button, true);
    held_add(input, (struct held){.holder = input->client, .code = op->button});
}

/* Dwells, and until the application under the pointer has done what it was sent: what lies under a drag is asked for and
 * answered in turns of its own, long after the motion was read. */
static bool catch_up(struct input *input) {
    struct drain_patience patience = input_patience(input, CATCH_UP_NS);
    if (!x_display_sync(&input->display)) return false;
    struct drain_target target = drain_under_pointer(&input->drain);
    drain_await_deed(&input->drain, &target, DWELL_NS, &patience);
    return input_go_on(input); /* one that takes longer gets its release all the same */
}

/* Moves along a straight line, a step at a time, without the first point. */
static bool glide(struct input *input, double x, double y, double to_x, double to_y, int steps) {
    for (int i = 1; i <= steps; i++) {
        double part = (double)i / steps;
        input_move(input, (int)lround(x + (to_x - x) * part), (int)lround(y + (to_y - y) * part));
        xcb_flush(input->display.connection);
        clock_wait_ns(STEP_NS);
        if (!input_go_on(input)) return false;
    }
    return true;
}

/* Along the line to a pixel before its end, and from there to the end when all have followed: a place that was asked
 * whether it takes what is dragged may say so only when the pointer moves again, as under a hand. */
static bool carry(struct input *input, const struct gd_DRAG *op) {
    int near_x = op->to_x + (op->x > op->to_x) - (op->x < op->to_x);
    int near_y = op->to_y + (op->y > op->to_y) - (op->y < op->to_y);
    double length = hypot((double)near_x - op->x, (double)near_y - op->y);
    double part = length > TAKE_HOLD_PX ? TAKE_HOLD_PX / length : 1;
    double x = op->x + (near_x - op->x) * part, y = op->y + (near_y - op->y) * part;
    int steps = (int)(length / STEP_PX);
    steps = steps < STEPS_MIN ? STEPS_MIN : steps > STEPS_MAX ? STEPS_MAX : steps;
    if (!catch_up(input)) return false;
    if (!glide(input, op->x, op->y, x, y, TAKE_HOLD_STEPS) || !catch_up(input)) return false;
    if (part < 1 && (!glide(input, x, y, near_x, near_y, steps) || !catch_up(input))) return false;
    /* Some act on where the pointer rests, not on where it passed. */
    input_move(input, op->to_x, op->to_y);
    return catch_up(input);
}

enum input_result drag(struct input *input, const struct gd_DRAG *op) {
    input_move(input, op->x, op->y);
    input_button(input, op->button, true);
    bool carried = carry(input, op);
    input_button(input, op->button, false);
    if (x_display_lost(&input->display)) return INPUT_LOST;
    return carried ? INPUT_DONE : INPUT_CUT;
}
