#include "keysym.h"

#include <stddef.h>
#include <string.h>

#define UNICODE_BASE 0x01000000u
#define LARGEST_CHARACTER 0x10ffffu

struct run {
    uint16_t first;
    uint16_t character;
    uint16_t length;
};

static const struct run runs[] = {
#include "keysym_runs.inc"
};

static uint32_t in_runs(uint32_t keysym) {
    size_t low = 0, high = sizeof runs / sizeof *runs;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct run *run = &runs[middle];
        if (keysym < run->first)
            high = middle;
        else if (keysym >= (uint32_t)run->first + run->length)
            low = middle + 1;
        else
            return run->character + (keysym - run->first);
    }
    return NO_CHARACTER;
}

static bool is_latin1(uint32_t value) {
    return (value >= 0x20 && value <= 0x7e) || (value >= 0xa0 && value <= 0xff);
}

uint32_t keysym_character(uint32_t keysym) {
    if (is_latin1(keysym)) return keysym;
    if (keysym >= UNICODE_BASE + 0x20 && keysym <= UNICODE_BASE + LARGEST_CHARACTER) return keysym - UNICODE_BASE;
    switch (keysym) {
    case KEYSYM_RETURN: return '\n';
    case KEYSYM_TAB: return '\t';
    case KEYSYM_BACKSPACE: return '\b';
    case KEYSYM_ESCAPE: return 0x1b;
    case KEYSYM_DELETE: return 0x7f;
    default: return in_runs(keysym);
    }
}

uint32_t keysym_of_character(uint32_t character) {
    if (is_latin1(character)) return character;
    switch (character) {
    case '\n':
    case '\r': return KEYSYM_RETURN;
    case '\t': return KEYSYM_TAB;
    case '\b': return KEYSYM_BACKSPACE;
    case 0x1b: return KEYSYM_ESCAPE;
    case 0x7f: return KEYSYM_DELETE;
    default: break;
    }
    bool surrogate = character >= 0xd800 && character <= 0xdfff;
    if (character < 0x100 || character > LARGEST_CHARACTER || surrogate) return NO_KEYSYM;
    return UNICODE_BASE + character;
}

bool keysym_is_modifier(uint32_t keysym) {
    bool shift_to_hyper = keysym >= 0xffe1 && keysym <= 0xffee;
    bool levels_and_groups = keysym >= 0xfe01 && keysym <= 0xfe13;
    return shift_to_hyper || levels_and_groups || keysym == 0xff7e || keysym == KEYSYM_NUM_LOCK;
}

/* Browsers and desktops act on these: audio, power, mail, back, forward, search, copy, cut, paste, open, save, new, close,
 * send, reply, reload, zoom, scroll, menu … Chromium even does when the key has got another symbol since it started. */
static const uint8_t acting[] = {
    0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1b, 0x1c, 0x21, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x2b, 0x2c,
    0x2e, 0x2f, 0x30, 0x31, 0x37, 0x38, 0x3e, 0x56, 0x57, 0x58, 0x65, 0x68, 0x6b, 0x6d, 0x72, 0x73, 0x77, 0x78, 0x79,
    0x7b, 0x8b, 0x8c, 0x90, 0xa7};
#define VENDOR_BASE 0x1008ff00u

bool keysym_is_unused(uint32_t keysym) {
    return keysym >= VENDOR_BASE && keysym <= VENDOR_BASE + 0xff && !memchr(acting, (int)(keysym & 0xff), sizeof acting);
}
