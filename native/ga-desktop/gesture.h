/* What the pointer does. */
#ifndef GD_GESTURE_H
#define GD_GESTURE_H

#include "input.h"

void click(struct input *input, const struct gd_CLICK *op);
enum input_result drag(struct input *input, const struct gd_DRAG *op);
void scroll(struct input *input, const struct gd_SCROLL *op);
void change_button(struct input *input, const struct gd_BUTTON *op);

#endif
