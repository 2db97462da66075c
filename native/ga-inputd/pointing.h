/* What the machine's own pointing device said last, as the kernel has it: for who moves it from outside and wants to know
 * that it arrived. */
#ifndef GI_POINTING_H
#define GI_POINTING_H

#include <stdbool.h>
#include <stdint.h>

struct pointing_state {
    int32_t x, y;     /* on the device's own scale */
    uint32_t buttons; /* bit 0 left, 1 middle, 2 right */
};

/* The kernel serves whoever opened the device first before it serves us, so what we have read the display server has got. */
struct pointing {
    int fd; /* -1: none was found yet */
    struct pointing_state said, saying; /* by whole reports; by the one that is being read */
};

/* False when there is no device with places and buttons. */
bool pointing_read(struct pointing *pointing, struct pointing_state *state);
void pointing_close(struct pointing *pointing);

#endif
