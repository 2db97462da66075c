#include "../layout.h"

#include <linux/input-event-codes.h>
#include <stdio.h>

#define CHECK(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
            return 1; \
        } \
    } while (0)

static void count(void *owner, uint16_t key) {
    if (key) ++*(int *)owner;
}

int main(void) {
    int keys = 0;
    for (uint32_t character = ' '; character <= '~'; character++) CHECK(stroke_of_character(character).key);
    CHECK(stroke_of_character('a').key == KEY_A && !stroke_of_character('a').shift && stroke_of_character('a').letter);
    CHECK(stroke_of_character('A').key == KEY_A && stroke_of_character('A').shift);
    CHECK(stroke_of_character('~').key == KEY_GRAVE && stroke_of_character('~').shift);
    CHECK(stroke_of_character('\n').key == KEY_ENTER && stroke_of_character('\b').key == KEY_BACKSPACE);
    CHECK(!stroke_of_character(0xfc).key && !stroke_of_character(0x1f600).key && !stroke_of_character(7).key);
    CHECK(!stroke_of_character(0).key);
    CHECK(stroke_of_keysym(0xffe3).key == KEY_LEFTCTRL && stroke_of_keysym(0xffc9).key == KEY_F12);
    CHECK(stroke_of_keysym('%').key == KEY_5 && stroke_of_keysym('%').shift);
    CHECK(!stroke_of_keysym('\n').key && !stroke_of_keysym(0x1000416).key);
    each_key(count, &keys);
    CHECK(keys > 90);
    return 0;
}
