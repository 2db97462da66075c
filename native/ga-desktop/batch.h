/* One INPUT message: checked as a whole, then done in order. */
#ifndef GD_BATCH_H
#define GD_BATCH_H

#include "input.h"

struct verdict {
    enum gd_error error; /* GD_ERROR_NONE: done */
    const char *text;
};

/* Does the batch; the pointer's place is in x and y when it is done. */
struct verdict batch_do(struct input *input, const struct message *message, int *x, int *y);
/* Where the X server says that the pointer is; all that was sent before has been processed. False when it is gone. */
bool batch_pointer(struct input *input, int *x, int *y);

#endif
