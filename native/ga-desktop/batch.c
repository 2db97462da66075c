#include "batch.h"

#include <stdlib.h>

#include "clock.h"
#include "gesture.h"
#include "held.h"
#include "op_reader.h"
#include "typist.h"

#define FIRST_BUTTON GD_BUTTON_LEFT
#define LAST_BUTTON GD_BUTTON_RIGHT
#define WM_LIMIT_NS (1000 * MS_NS)

static const struct verdict done = {GD_ERROR_NONE, NULL};

static struct verdict invalid(const char *text) {
    return (struct verdict){GD_ERROR_INVALID_INPUT, text};
}

/* What a batch will have changed by the time an op's turn comes. */
struct foresight {
    unsigned int buttons; /* a bit for each that is down */
    int held;
    bool keyboard_known;
};

static bool on_screen(const struct input *input, int x, int y) {
    return x >= 0 && y >= 0 && x < input->display.width && y < input->display.height;
}

static bool is_button(uint8_t button) {
    return button >= FIRST_BUTTON && button <= LAST_BUTTON;
}

static bool is_scroll(int32_t clicks) {
    return clicks >= -GD_MAX_SCROLL && clicks <= GD_MAX_SCROLL;
}

static struct verdict check_pointer(struct input *input, const struct op *op, struct foresight *ahead) {
    uint8_t button = op->code == GD_OP_CLICK ? op->click.button : op->drag.button;
    if (op->code == GD_OP_MOVE) return on_screen(input, op->move.x, op->move.y) ? done : invalid("off the screen");
    if (op->code == GD_OP_CLICK && !on_screen(input, op->click.x, op->click.y)) return invalid("off the screen");
    if (op->code == GD_OP_CLICK && (op->click.count == 0 || op->click.count > GD_MAX_CLICKS))
        return invalid("too many clicks, or none");
    if (op->code == GD_OP_DRAG &&
        (!on_screen(input, op->drag.x, op->drag.y) || !on_screen(input, op->drag.to_x, op->drag.to_y)))
        return invalid("off the screen");
    if (!is_button(button)) return invalid("no such button");
    if (ahead->buttons & 1u << button) return invalid("the button is held down: release it first");
    return done;
}

static struct verdict check_button(const struct op *op, struct foresight *ahead) {
    if (!is_button(op->button.button) || op->button.down > 1) return invalid("no such button");
    unsigned int bit = 1u << op->button.button;
    if (op->button.down && !(ahead->buttons & bit)) ahead->held++;
    ahead->buttons = op->button.down ? ahead->buttons | bit : ahead->buttons & ~bit;
    return ahead->held <= HELD_MAX ? done : invalid("too much is held down");
}

static struct verdict check_keys(struct input *input, const struct op *op, struct foresight *ahead) {
    struct keyboard_state state;
    if (!ahead->keyboard_known && !keyboard_update(input, &state))
        return (struct verdict){GD_ERROR_WORLD_LOST, "the X server is gone"};
    ahead->keyboard_known = true;
    for (int i = 0; i < op->key_count; i++)
        if (op->keysyms[i] == NO_KEYSYM || op->keysyms[i] > 0x1fffffffu) return invalid("no such key");
    if (op->code == GD_OP_KEYS_UP) return done;
    if (op->code == GD_OP_KEYS_DOWN) ahead->held += op->key_count;
    if (ahead->held > HELD_MAX) return invalid("too much is held down");
    if (!keys_are_known(input, op->keysyms, op->key_count))
        return (struct verdict){GD_ERROR_UNSUPPORTED_INPUT, "the keyboard map has no such key and none to spare"};
    return done;
}

static struct verdict check_op(struct input *input, const struct op *op, struct foresight *ahead) {
    switch (op->code) {
    case GD_OP_MOVE:
    case GD_OP_CLICK:
    case GD_OP_DRAG: return check_pointer(input, op, ahead);
    case GD_OP_BUTTON: return check_button(op, ahead);
    case GD_OP_SCROLL:
        return is_scroll(op->scroll.dx) && is_scroll(op->scroll.dy) ? done : invalid("too far to scroll");
    case GD_OP_TEXT: return text_is_typable(op->text, op->text_size) ? done : invalid("text that no key types");
    case GD_OP_PRESS:
    case GD_OP_KEYS_DOWN:
    case GD_OP_KEYS_UP: return check_keys(input, op, ahead);
    case GD_OP_ELSEWHERE: return op->elsewhere.kinds < 16 ? done : invalid("no such kind of input");
    }
    return invalid("no such op");
}

static struct verdict check(struct input *input, struct op_reader reader, uint32_t count) {
    struct foresight ahead = {.held = input->held_count};
    struct verdict verdict = done;
    for (uint8_t button = FIRST_BUTTON; button <= LAST_BUTTON; button++)
        if (held_button(input, button)) ahead.buttons |= 1u << button;
    for (uint32_t i = 0; i < count && verdict.error == GD_ERROR_NONE; i++) {
        struct op op = {0};
        if (!op_next(&reader, &op)) return (struct verdict){GD_ERROR_MALFORMED, "INPUT is malformed"};
        verdict = check_op(input, &op, &ahead);
    }
    if (verdict.error == GD_ERROR_NONE && reader.at != reader.end)
        return (struct verdict){GD_ERROR_MALFORMED, "INPUT has something after its ops"};
    return verdict;
}

static void leave_traces_of_others(struct input *input, uint8_t kinds) {
    if (kinds & GD_ELSEWHERE_PRESSES) {
        input->wm_turn.pressed = true;
        atomic_fetch_add(&input->traces.presses, 1);
    }
    if (kinds & GD_ELSEWHERE_POINTER) atomic_fetch_add(&input->traces.pointer, 1);
    if (kinds & GD_ELSEWHERE_KEYS) atomic_fetch_add(&input->traces.keys, 1);
}

static void leave_trace(struct input *input, const struct op *op) {
    if (op->code == GD_OP_ELSEWHERE) {
        leave_traces_of_others(input, op->elsewhere.kinds);
        return;
    }
    bool keys = op->code == GD_OP_TEXT || op->code >= GD_OP_PRESS;
    atomic_fetch_add(keys ? &input->traces.keys : &input->traces.pointer, 1);
}

static bool is_keys(const struct op *op) {
    bool next = op->code == GD_OP_ELSEWHERE && op->elsewhere.kinds & GD_ELSEWHERE_KEYS_NEXT;
    return next || op->code == GD_OP_TEXT || op->code == GD_OP_PRESS || op->code == GD_OP_KEYS_DOWN;
}

/* An X server with several screens has one pointer and one focus; neither may leave our input to another screen. */
static void come_home(struct input *input) {
    xcb_connection_t *c = input->display.connection;
    /* XTest moves the pointer within the screen that it is on. */
    if (!x_display_has_pointer(&input->display))
        xcb_warp_pointer(c, XCB_NONE, input->display.root, 0, 0, 0, 0, (int16_t)(input->display.width / 2),
                         (int16_t)(input->display.height / 2));
    xcb_get_input_focus_reply_t *focus = xcb_get_input_focus_reply(c, xcb_get_input_focus(c), NULL);
    xcb_window_t window = focus ? focus->focus : XCB_NONE;
    free(focus);
    if (window == XCB_NONE || window == XCB_INPUT_FOCUS_POINTER_ROOT) return;
    xcb_get_geometry_reply_t *place = xcb_get_geometry_reply(c, xcb_get_geometry(c, window), NULL);
    if (place && place->root != input->display.root)
        xcb_set_input_focus(c, XCB_INPUT_FOCUS_POINTER_ROOT, XCB_INPUT_FOCUS_POINTER_ROOT, XCB_CURRENT_TIME);
    free(place);
}

static enum input_result do_op(struct input *input, const struct op *op) {
    struct drain_patience patience = input_patience(input, WM_LIMIT_NS);
    if (is_keys(op) && !wm_turn_wait(&input->wm_turn, &patience))
        return x_display_lost(&input->display) ? INPUT_LOST : INPUT_CUT;
    leave_trace(input, op);
    switch (op->code) {
    case GD_OP_MOVE: input_move(input, op->move.x, op->move.y); break;
    case GD_OP_CLICK: click(input, &op->click); break;
    case GD_OP_DRAG: return drag(input, &op->drag);
    case GD_OP_BUTTON: change_button(input, &op->button); break;
    case GD_OP_SCROLL: scroll(input, &op->scroll); break;
    case GD_OP_TEXT: return type_text(input, op->text, op->text_size);
    case GD_OP_PRESS: return press_keys(input, op->keysyms, op->key_count);
    case GD_OP_KEYS_DOWN: return keys_down(input, op->keysyms, op->key_count);
    case GD_OP_KEYS_UP: keys_up(input, op->keysyms, op->key_count); break;
    case GD_OP_ELSEWHERE: break; /* the traces were all there is to it */
    }
    return INPUT_DONE;
}

bool batch_pointer(struct input *input, int *x, int *y) {
    xcb_connection_t *c = input->display.connection;
    xcb_query_pointer_reply_t *pointer = xcb_query_pointer_reply(c, xcb_query_pointer(c, input->display.root), NULL);
    if (!pointer) return false;
    *x = pointer->root_x;
    *y = pointer->root_y;
    free(pointer);
    return true;
}

static struct verdict verdict_of(enum input_result result) {
    switch (result) {
    case INPUT_DONE: return done;
    case INPUT_UNSUPPORTED:
        return (struct verdict){GD_ERROR_DELIVERY_UNKNOWN, "no key to spare for a symbol; what came before was done"};
    case INPUT_CUT: return (struct verdict){GD_ERROR_DELIVERY_UNKNOWN, "cut short: the service was told to stop"};
    case INPUT_STUCK:
        return (struct verdict){GD_ERROR_DELIVERY_UNKNOWN, "the application does not take the keys it was sent"};
    case INPUT_LOST: break;
    }
    return (struct verdict){GD_ERROR_WORLD_LOST, "the X server is gone"};
}

struct verdict batch_do(struct input *input, const struct message *message, int *x, int *y) {
    struct gd_INPUT fields;
    input->chars_typed = 0;
    if (!FIELDS_AND_TAIL(message, &fields) || fields.op_count > GD_MAX_OPS)
        return (struct verdict){GD_ERROR_MALFORMED, "INPUT is malformed"};
    struct op_reader reader = {message->body + sizeof fields, message->body + message->size};
    if (!input_read_events(input)) return verdict_of(INPUT_LOST); /* the screen's size may have changed */
    struct verdict verdict = check(input, reader, fields.op_count);
    if (verdict.error != GD_ERROR_NONE) return verdict;
    unsigned int errors = input->errors;
    if (input->display.has_other_screens) come_home(input);
    enum input_result result = INPUT_DONE;
    for (uint32_t i = 0; i < fields.op_count && result == INPUT_DONE; i++) {
        struct op op = {0};
        op_next(&reader, &op);
        result = do_op(input, &op);
        if (result == INPUT_UNSUPPORTED && i == 0 && input->chars_typed == 0)
            return (struct verdict){GD_ERROR_UNSUPPORTED_INPUT, "the keyboard map has no key to spare"};
    }
    if (!batch_pointer(input, x, y) || !input_read_events(input)) result = INPUT_LOST;
    if (result == INPUT_DONE && input->errors != errors)
        return (struct verdict){GD_ERROR_DELIVERY_UNKNOWN, "the X server refused a part of it"};
    return verdict_of(result);
}
