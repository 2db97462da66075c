#include "halt.h"

#include <xcb/xtest.h>

#include "clock.h"
#include "typist.h"

#define LARGEST_PLAIN 0xffff
#define DEED_LIMIT_NS (10000 * MS_NS)
/* A key repeats when it is held down, but nobody's so early. */
#define REPEAT_NS (100 * MS_NS)
#define APART_MS 2
/* LibreOffice keeps characters back for 20 ms. */
#define KEPT_BACK_NS (30 * MS_NS)

static bool is_command(uint32_t character) {
    return character < ' ' || character == 0x7f;
}

static bool comes_another_way(const uint8_t *text, const uint8_t *end) {
    uint32_t character = 0;
    return text && utf8_next(&text, end, &character) && character > LARGEST_PLAIN;
}

enum halt halt_at(uint32_t character, const uint8_t *next, const uint8_t *end) {
    if (next == end) return HALT_NEVER;
    if (is_command(character)) return HALT_UP;
    return character <= LARGEST_PLAIN && comes_another_way(next, end) ? HALT_DOWN : HALT_NEVER;
}

void halt_and_press(struct input *input, uint8_t keycode) {
    xcb_test_fake_input(input->display.connection, XCB_KEY_PRESS, keycode, APART_MS, input->display.root, 0, 0, 0);
}

static enum input_result await_deed(struct input *input, const struct drain_target *target, uint64_t quiet_ns) {
    struct drain_patience patience = input_patience(input, DEED_LIMIT_NS);
    if (drain_await_deed(&input->drain, target, quiet_ns, &patience)) return INPUT_DONE;
    if (x_display_lost(&input->display)) return INPUT_LOST;
    return input_go_on(input) ? INPUT_STUCK : INPUT_CUT;
}

enum input_result halt_on_key(struct input *input, uint8_t keycode, enum halt halt, struct drain_target *target) {
    struct drain_patience brief = input_patience(input, REPEAT_NS);
    bool done = halt == HALT_DOWN && drain_await_deed(&input->drain, target, 0, &brief);
    input_key(input, keycode, false);
    enum input_result result = done ? INPUT_DONE : await_deed(input, target, halt == HALT_DOWN ? KEPT_BACK_NS : 0);
    if (result == INPUT_DONE) *target = drain_focus(&input->drain, target);
    return result;
}

enum input_result halt_before(struct input *input, const uint8_t *text, const uint8_t *end,
                              struct drain_target *target) {
    struct drain *drain = &input->drain;
    uint64_t quiet_ns = comes_another_way(text, end) ? KEPT_BACK_NS : 0;
    enum input_result result = INPUT_DONE;
    if (drain->owing.window != XCB_NONE) result = await_deed(input, &drain->owing, quiet_ns);
    drain->owing.window = XCB_NONE;
    drain->seen = *target = drain_focus(drain, &drain->seen);
    return result;
}

void halt_later(struct input *input, const struct drain_target *target) {
    if (target->defers) input->drain.owing = *target;
}
