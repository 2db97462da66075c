/* Types text exactly, whatever the layout, the modifiers and the locks are. */
#ifndef GD_TYPIST_H
#define GD_TYPIST_H

#include "input.h"
#include "keyboard.h"

/* The next character of UTF-8; false when it is not well formed. */
bool utf8_next(const uint8_t **at, const uint8_t *end, uint32_t *character);
/* Well formed, and every character can be typed. */
bool text_is_typable(const uint8_t *text, uint32_t size);

enum input_result type_text(struct input *input, const uint8_t *text, uint32_t size);
/* A chord: pressed in order, released in reverse. */
enum input_result press_keys(struct input *input, const uint32_t *keysyms, int count);
enum input_result keys_down(struct input *input, const uint32_t *keysyms, int count);
void keys_up(struct input *input, const uint32_t *keysyms, int count);
/* Whether these can be pressed, with spare keys if need be. keyboard_update comes before. */
bool keys_are_known(struct input *input, const uint32_t *keysyms, int count);

#endif
