#include "keysym.h"

#include <stddef.h>

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

bool keysym_is_vendor(uint32_t keysym) {
    return keysym >= 0x1008ff00u && keysym <= 0x1008ffffu;
}
