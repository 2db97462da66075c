/* Characters and keysyms are each other's inverse, and UTF-8 is read strictly. */
#include <stdio.h>
#include <string.h>

#include "../typist.h"

static int failures;

static void check(bool good, const char *what, unsigned value) {
    if (good) return;
    fprintf(stderr, "%s: %#x\n", what, value);
    failures++;
}

static void check_inverse(void) {
    for (uint32_t character = 1; character <= 0x10ffff; character++) {
        uint32_t keysym = keysym_of_character(character);
        bool control = character < 0x20 || (character >= 0x7f && character < 0xa0);
        bool surrogate = character >= 0xd800 && character <= 0xdfff;
        bool known_control = character && strchr("\n\r\t\b\x1b\x7f", (int)character) && character < 0x80;
        check((keysym != NO_KEYSYM) == (known_control || !(control || surrogate)), "typable", character);
        if (keysym == NO_KEYSYM || character == '\r') continue;
        check(keysym_character(keysym) == character, "inverse", character);
    }
}

static void check_old_keysyms(void) {
    const uint32_t known[][2] = {{0x6c1, 0x430}, {0x6e1, 0x410}, {0x7e1, 0x3b1}, {0xce0, 0x5d0}, {0x20ac, 0x20ac},
                                 {0x1a1, 0x104}, {0x5c7, 0x627}, {0xda1, 0xe01}, {0x4b1, 0x30a2}, {0xeba, 0x314a}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        check(keysym_character(known[i][0]) == known[i][1], "old keysym", known[i][0]);
    const uint32_t none[] = {0xffe1, 0xffbe, 0xff50, 0xffb1, 0x1008ff12, 0xfe03, 0};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        check(keysym_character(none[i]) == NO_CHARACTER, "types nothing", none[i]);
}

static void check_utf8(void) {
    const char *good[] = {"", "a", "\xc3\xa9", "\xe4\xbd\xa0", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf",
                          "-0.07; rm -rf\n"};
    const char *bad[] = {"\xff", "\xc3", "\xc3\x28", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                         "\x80", "\x01", "\xf0\x9f\x98", "\xf8\x88\x80\x80\x80"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        check(text_is_typable((const uint8_t *)good[i], (uint32_t)strlen(good[i])), "good text refused", (unsigned)i);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check(!text_is_typable((const uint8_t *)bad[i], (uint32_t)strlen(bad[i])), "bad text taken", (unsigned)i);
}

int main(void) {
    check_inverse();
    check_old_keysyms();
    check_utf8();
    printf(failures ? "FAILED\n" : "ok\n");
    return failures != 0;
}
