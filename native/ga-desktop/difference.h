/* What differs between two frames. */
#ifndef GD_DIFFERENCE_H
#define GD_DIFFERENCE_H

#include "frames.h"

/* The box around the pixels that differ between two slots within `box`; the whole of it as soon as that has more than
 * `area_max` pixels. */
struct box frames_difference(const struct frames *frames, int before, int after, struct box box, size_t area_max);
/* A number for the pixels of a box. */
uint64_t frames_digest(const struct frames *frames, int slot, struct box box);

#endif
