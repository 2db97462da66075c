/* ga-desktop's frames in memory, as one of our connections to it was given them. */
#ifndef GG_MAPPING_H
#define GG_MAPPING_H

#include "picture.h"
#include "protocol.h"

struct mapping {
    uint8_t *memory;
    size_t size;
    struct gd_MAPPING facts;
};

/* Maps the descriptor, which stays the caller's; false when it is not what protocol.def says. */
bool mapping_open(struct mapping *mapping, int fd);
void mapping_close(struct mapping *mapping);
/* The pixels that an answer speaks of; false when there are no such. */
bool mapping_view(const struct mapping *mapping, const struct gd_FRAME *frame, struct view *view);

#endif
