#define _GNU_SOURCE
#include "keyboard.h"

#include <linux/input-event-codes.h>
#include <string.h>

#include "../ga-desktop/clock.h"
#include "../ga-desktop/op_reader.h"
#include "layout.h"

/* A key every half millisecond is what every reader follows; it is asked in between whether it does. */
#define KEY_NS (MS_NS / 2)
#define KEYS_UNREAD 4
#define READ_NS (15000 * MS_NS)
#define ACT_NS (100 * MS_NS)
/* Xorg's input thread puts what it reads into a queue of 512 events, four for a key, and drops what does not fit. */
#define KEYS_UNDONE 24
#define QUEUE_NS (15000 * MS_NS)

static const struct verdict fine = {GD_ERROR_NONE, ""};

static bool is_held(const struct keyboard *keyboard, uint16_t key) {
    for (int i = 0; i < keyboard->held_count; i++)
        if (keyboard->held[i].key == key) return true;
    return false;
}

static bool shift_is_held(const struct keyboard *keyboard) {
    return is_held(keyboard, KEY_LEFTSHIFT) || is_held(keyboard, KEY_RIGHTSHIFT);
}

static bool await_reader(struct keyboard *keyboard) {
    keyboard->unread = 0;
    return reader_has_read(&keyboard->reader, clock_ns() + READ_NS);
}

/* Until the time of the next key that goes down has come and the reader has room for it. */
static bool await_room(struct keyboard *keyboard) {
    uint64_t now = clock_ns();
    if (now < keyboard->next_ns) clock_wait_ns(keyboard->next_ns - now);
    keyboard->next_ns = clock_ns() + KEY_NS;
    if (++keyboard->unread > KEYS_UNREAD && !await_reader(keyboard)) return false;
    if (++keyboard->undone <= KEYS_UNDONE) return true;
    keyboard->undone = 0;
    return await_reader(keyboard) && reader_has_acted(&keyboard->reader, clock_ns() + QUEUE_NS);
}

static bool change(struct keyboard *keyboard, uint16_t key, bool down) {
    return (!down || await_room(keyboard)) && device_key(&keyboard->device, key, down);
}

static bool tap(struct keyboard *keyboard, uint16_t key) {
    return await_room(keyboard) && device_tap(&keyboard->device, key);
}

static bool set_shift(struct keyboard *keyboard, bool wanted) {
    if (keyboard->shift == wanted) return true;
    keyboard->shift = wanted;
    return change(keyboard, KEY_LEFTSHIFT, wanted);
}

static bool type_character(struct keyboard *keyboard, struct stroke stroke) {
    bool wanted = stroke.shift != (stroke.letter && keyboard->device.caps_lock);
    return (shift_is_held(keyboard) || set_shift(keyboard, wanted)) && tap(keyboard, stroke.key);
}

static bool type_text(struct keyboard *keyboard, const struct op *op) {
    for (uint32_t i = 0; i < op->text_size; i++) {
        if (!type_character(keyboard, stroke_of_character(op->text[i]))) return false;
        keyboard->chars_typed++;
    }
    return set_shift(keyboard, false);
}

static bool press_chord(struct keyboard *keyboard, const struct op *op) {
    bool good = true, shifted = false;
    for (int i = 0; i < op->key_count && good; i++) {
        struct stroke stroke = stroke_of_keysym(op->keysyms[i]);
        if (stroke.shift && !shift_is_held(keyboard) && !shifted) {
            shifted = true;
            good = set_shift(keyboard, true);
        }
        bool last = i == op->key_count - 1 && !is_held(keyboard, stroke.key);
        good = good && (last ? tap(keyboard, stroke.key) : change(keyboard, stroke.key, true));
    }
    for (int i = op->key_count - 2; i >= 0; i--) {
        uint16_t key = stroke_of_keysym(op->keysyms[i]).key;
        if (!is_held(keyboard, key)) good = change(keyboard, key, false) && good;
    }
    return set_shift(keyboard, false) && good;
}

static bool hold(struct keyboard *keyboard, const struct op *op, const void *client) {
    for (int i = 0; i < op->key_count; i++) {
        uint16_t key = stroke_of_keysym(op->keysyms[i]).key;
        if (is_held(keyboard, key)) continue;
        if (keyboard->held_count == HELD_MAX || !change(keyboard, key, true)) return false;
        keyboard->held[keyboard->held_count++] = (struct held_key){key, client};
    }
    return true;
}

static bool let_go(struct keyboard *keyboard, const struct op *op) {
    bool good = true;
    for (int i = 0; i < op->key_count; i++) {
        uint16_t key = stroke_of_keysym(op->keysyms[i]).key;
        for (int j = 0; j < keyboard->held_count; j++) {
            if (keyboard->held[j].key != key) continue;
            keyboard->held[j--] = keyboard->held[--keyboard->held_count];
            good = change(keyboard, key, false) && good;
        }
    }
    return good;
}

void keyboard_release(struct keyboard *keyboard, const void *client) {
    for (int i = keyboard->held_count - 1; i >= 0; i--) {
        struct held_key held = keyboard->held[i];
        if (client && held.holder != client) continue;
        keyboard->held[i] = keyboard->held[--keyboard->held_count];
        change(keyboard, held.key, false);
    }
}

static struct verdict check_op(const struct op *op) {
    if (op->code == GD_OP_TEXT) {
        for (uint32_t i = 0; i < op->text_size; i++)
            if (!stroke_of_character(op->text[i]).key)
                return (struct verdict){GD_ERROR_UNSUPPORTED_INPUT, "no key of a US keyboard types some of the text"};
        return fine;
    }
    if (op->code != GD_OP_PRESS && op->code != GD_OP_KEYS_DOWN && op->code != GD_OP_KEYS_UP)
        return (struct verdict){GD_ERROR_UNSUPPORTED_INPUT, "a keyboard has no pointer"};
    for (int i = 0; i < op->key_count; i++)
        if (!stroke_of_keysym(op->keysyms[i]).key)
            return (struct verdict){GD_ERROR_UNSUPPORTED_INPUT, "this keyboard does not have one of the keys"};
    return fine;
}

static struct verdict check_all(const struct message *message, struct gd_INPUT *fields, struct op_reader *ops) {
    const struct verdict malformed = {GD_ERROR_MALFORMED, "not a batch of input"};
    if (!FIELDS_AND_TAIL(message, fields) || fields->op_count > GD_MAX_OPS) return malformed;
    *ops = (struct op_reader){message->body + sizeof *fields, message->body + message->size};
    struct op_reader ahead = *ops;
    for (uint32_t i = 0; i < fields->op_count; i++) {
        struct op op;
        if (!op_next(&ahead, &op)) return malformed;
        struct verdict verdict = check_op(&op);
        if (verdict.error != GD_ERROR_NONE) return verdict;
    }
    return ahead.at == ahead.end ? fine : malformed;
}

/* The contract of the device: it is there, and a display server reads it. */
static struct verdict check_reader(struct keyboard *keyboard) {
    if (keyboard->device.fd < 0) return (struct verdict){GD_ERROR_NOT_DELIVERED, keyboard->device.reason};
    if (reader_is_there(&keyboard->reader, keyboard->device.node)) return fine;
    if (reader_find(&keyboard->reader, keyboard->device.node)) return fine;
    return (struct verdict){GD_ERROR_NOT_DELIVERED, "no display server reads the " DEVICE_NAME};
}

bool keyboard_await_reader(struct keyboard *keyboard) {
    return !keyboard->reader.pid || await_reader(keyboard);
}

static bool do_op(struct keyboard *keyboard, const struct op *op, const void *client) {
    switch (op->code) {
    case GD_OP_TEXT: return type_text(keyboard, op);
    case GD_OP_PRESS: return press_chord(keyboard, op);
    case GD_OP_KEYS_DOWN: return hold(keyboard, op, client);
    default: return let_go(keyboard, op);
    }
}

struct verdict keyboard_do(struct keyboard *keyboard, const struct message *message, const void *client) {
    struct gd_INPUT fields;
    struct op_reader ops;
    struct op op;
    bool good = true;
    keyboard->chars_typed = 0;
    struct verdict verdict = check_all(message, &fields, &ops);
    if (verdict.error == GD_ERROR_NONE) verdict = check_reader(keyboard);
    if (verdict.error != GD_ERROR_NONE) return verdict;
    device_read_lights(&keyboard->device);
    for (uint32_t i = 0; i < fields.op_count && good; i++) good = op_next(&ops, &op) && do_op(keyboard, &op, client);
    if (!good) {
        set_shift(keyboard, false);
        return (struct verdict){GD_ERROR_DELIVERY_UNKNOWN, "the display server does not read the keyboard any more"};
    }
    if (!await_reader(keyboard))
        return (struct verdict){GD_ERROR_DELIVERY_UNKNOWN, "the display server does not read the keys"};
    reader_has_acted(&keyboard->reader, clock_ns() + ACT_NS);
    return fine;
}
