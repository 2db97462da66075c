/* Keys and buttons that stay down across actions, until released or until who pressed them is gone. */
#ifndef GD_HELD_H
#define GD_HELD_H

#include "input.h"

const struct held *held_key(const struct input *input, uint32_t keysym);
bool held_keycode(const struct input *input, uint8_t keycode);
bool held_button(const struct input *input, uint8_t button);

/* False when too many are held already. */
bool held_add(struct input *input, struct held held);
void held_release(struct input *input, const struct held *held);
/* Everything, or what one client holds; returns whether there was something. */
void held_release_all(struct input *input);
bool held_release_of(struct input *input, const void *holder);

#endif
