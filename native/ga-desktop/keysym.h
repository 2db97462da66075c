/* Keysyms and the characters they type. */
#ifndef GD_KEYSYM_H
#define GD_KEYSYM_H

#include <stdbool.h>
#include <stdint.h>

#define NO_KEYSYM 0u
#define NO_CHARACTER 0u

enum {
    KEYSYM_BACKSPACE = 0xff08,
    KEYSYM_TAB = 0xff09,
    KEYSYM_RETURN = 0xff0d,
    KEYSYM_ESCAPE = 0xff1b,
    KEYSYM_DELETE = 0xffff,
    KEYSYM_SHIFT_LEFT = 0xffe1,
    KEYSYM_SHIFT_RIGHT = 0xffe2,
    KEYSYM_NUM_LOCK = 0xff7f,
    KEYSYM_LEVEL3_SHIFT = 0xfe03,
};

/* NO_CHARACTER for a key that types none; the keypad's keys count as such, since Num Lock decides what they type. */
uint32_t keysym_character(uint32_t keysym);
/* The keysym that types a character; NO_KEYSYM when no key does (control characters, surrogates). */
uint32_t keysym_of_character(uint32_t character);
bool keysym_is_modifier(uint32_t keysym);
/* Keys of media keyboards that no program acts on by itself, so that nobody misses them. */
bool keysym_is_unused(uint32_t keysym);

#endif
