#include "reaction.h"

#include "clock.h"

/* Far from the epochs of the hands, whose pings are answered to every connection that listens. */
#define FIRST_EPOCH 0x80000000ull
#define FIRST_STEP_NS (MS_NS / 2)
#define LAST_STEP_NS (5 * MS_NS)

bool reaction_open(struct reaction *reaction, struct x_display *display, const struct input_traces *traces) {
    *reaction = (struct reaction){.traces = traces};
    return drain_open(&reaction->drain, display, FIRST_EPOCH) && wm_turn_open(&reaction->wm_turn, display);
}

void reaction_close(struct reaction *reaction) {
    drain_close(&reaction->drain);
}

void reaction_take_event(struct reaction *reaction, const xcb_generic_event_t *event) {
    uint8_t type = event->response_type & 0x7f;
    if (!reaction->traces) return; /* not open yet */
    if (type == XCB_CLIENT_MESSAGE)
        drain_take_message(&reaction->drain, (const xcb_client_message_event_t *)event);
    else if (type == XCB_PROPERTY_NOTIFY)
        wm_turn_take_property(&reaction->wm_turn, (const xcb_property_notify_event_t *)event);
}

/* Whether there was input since we last looked. */
static bool take_traces(struct reaction *reaction) {
    unsigned int presses = atomic_load(&reaction->traces->presses);
    unsigned int pointer = atomic_load(&reaction->traces->pointer), keys = atomic_load(&reaction->traces->keys);
    bool of_pointer = pointer != reaction->pointer, of_keys = keys != reaction->keys;
    if (!of_pointer && !of_keys && presses == reaction->presses) return false;
    if (presses != reaction->presses) reaction->wm_turn.pressed = true;
    reaction->of_pointer = of_pointer;
    reaction->of_keys = of_keys;
    reaction->presses = presses;
    reaction->pointer = pointer;
    reaction->keys = keys;
    return true;
}

static bool nobody_waits(void *owner) {
    (void)owner;
    return false;
}

static void mark(struct reaction *reaction, struct drain_target target) {
    static const struct drain_patience none = {nobody_waits, NULL, 0};
    reaction->epoch = drain_set_mark(&reaction->drain, target, &none);
}

/* The window manager gets presses first, and may give the focus to another window: so it is asked before them. */
static void begin(struct reaction *reaction) {
    reaction->stage = wm_turn_ask(&reaction->wm_turn) ? REACTION_AT_WINDOW_MANAGER : REACTION_AT_APPLICATION;
    drain_forget(&reaction->drain);
    reaction->epoch = 0;
    reaction->step_ns = FIRST_STEP_NS;
}

static void mark_applications(struct reaction *reaction) {
    struct drain_target pointed = {.window = XCB_NONE};
    if (reaction->of_pointer) pointed = drain_under_pointer(&reaction->drain);
    if (reaction->of_pointer) mark(reaction, pointed);
    if (!reaction->of_keys) return;
    struct drain_target focus = drain_focus(&reaction->drain, NULL);
    if (!reaction->of_pointer || focus.window != pointed.window) mark(reaction, focus);
}

bool reaction_pending(struct reaction *reaction, uint64_t *due) {
    if (take_traces(reaction)) begin(reaction);
    if (reaction->stage == REACTION_AT_WINDOW_MANAGER && reaction->wm_turn.answered)
        reaction->stage = REACTION_AT_APPLICATION;
    if (reaction->stage == REACTION_AT_APPLICATION) {
        if (!reaction->epoch) mark_applications(reaction);
        if (drain_poll(&reaction->drain, reaction->epoch)) reaction->stage = REACTION_OVER;
    }
    if (reaction->stage == REACTION_OVER) return false;
    *due = clock_ns() + reaction->step_ns;
    if (reaction->step_ns < LAST_STEP_NS) reaction->step_ns += reaction->step_ns / 2;
    return true;
}
