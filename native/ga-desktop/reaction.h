/* Whether the last input has been taken by the application that it went to. A screen at rest says little as long as the
 * application has not even read its click: on a busy machine that can take long. */
#ifndef GD_REACTION_H
#define GD_REACTION_H

#include "drain.h"
#include "input.h"
#include "wm_turn.h"

enum reaction_stage { REACTION_OVER, REACTION_AT_WINDOW_MANAGER, REACTION_AT_APPLICATION };

struct reaction {
    const struct input_traces *traces;
    struct drain drain;
    struct wm_turn wm_turn;
    enum reaction_stage stage;
    unsigned int presses, pointer, keys; /* the traces when we last looked */
    bool of_pointer, of_keys;            /* where the last input went */
    uint64_t epoch, step_ns;
};

bool reaction_open(struct reaction *reaction, struct x_display *display, const struct input_traces *traces);
void reaction_close(struct reaction *reaction);
void reaction_take_event(struct reaction *reaction, const xcb_generic_event_t *event);
/* One look, without waiting; when it is pending, *due says when to look again. */
bool reaction_pending(struct reaction *reaction, uint64_t *due);

#endif
