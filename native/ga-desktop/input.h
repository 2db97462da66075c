/* The hands: one connection to the X server that presses, moves and types. */
#ifndef GD_INPUT_H
#define GD_INPUT_H

#include <stdatomic.h>

#include "connection.h"
#include "drain.h"
#include "keymap.h"
#include "spare.h"
#include "wm_turn.h"

#define HELD_MAX 64

/* A key or button that stays down across actions, and who pressed it. */
struct held {
    const void *holder;
    uint32_t keysym; /* NO_KEYSYM: a button */
    uint8_t code;    /* key code or button */
    uint8_t with;    /* modifiers that were pressed along with it */
};

/* How much input there was, for whoever wants to know where the last of it went. Any thread may read. */
struct input_traces {
    atomic_uint presses; /* of buttons */
    atomic_uint pointer; /* ops for the application under the pointer */
    atomic_uint keys;    /* ops for the one with the focus */
};

struct input {
    struct x_display display;
    struct keymap keymap;
    struct spare_keys spare;
    struct drain drain;
    struct wm_turn wm_turn;
    struct held held[HELD_MAX];
    int held_count;
    struct input_traces traces;
    unsigned int errors; /* that the X server has reported */
    const atomic_bool *stopping;
    /* the batch that is being done */
    struct connection *client;
    uint32_t chars_typed;
};

enum input_result {
    INPUT_DONE,
    INPUT_UNSUPPORTED, /* nothing was done */
    INPUT_CUT,         /* the client went away, or we were told to stop */
    INPUT_STUCK,       /* the application does not take its keys */
    INPUT_LOST,        /* the X server is gone */
};

bool input_open(struct input *input, const char *display, const atomic_bool *stopping, char *reason,
                int reason_size);
/* Releases what is held and gives the keyboard map back. */
void input_close(struct input *input);

/* Takes in what the X server has sent; false when it is gone. */
bool input_read_events(struct input *input);
/* False when the batch must end: nobody waits for it any more. */
bool input_go_on(struct input *input);
struct drain_patience input_patience(struct input *input, uint64_t limit_ns);

void input_key(struct input *input, uint8_t keycode, bool down);
void input_button(struct input *input, uint8_t button, bool down);
void input_move(struct input *input, int x, int y);

#endif
