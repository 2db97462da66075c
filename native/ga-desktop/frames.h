/* The slots that hold complete RGB frames, in memory shared with readers. */
#ifndef GD_FRAMES_H
#define GD_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "box.h"
#include "protocol.h"

#define NO_SLOT (-1)

struct frames {
    int fd; /* for readers, who cannot write through it */
    uint8_t *memory;
    size_t memory_size;
    struct gd_MAPPING *mapping;
    struct gd_SLOT *slots;
    int width, height, newest;
    struct box_list stale[GD_SLOTS]; /* where a slot differs from the newest */
};

bool frames_open(struct frames *frames, int width, int height, uint32_t generation);
/* Tells readers that no newer frame comes here; their views stay. */
void frames_close(struct frames *frames);

/* Gives the memory of slots that are free back until they are written again. */
void frames_rest(struct frames *frames, uint32_t kept);

/* A slot that is neither the newest nor in the mask, else NO_SLOT. The lowest, so that few are ever touched. */
int frames_choose(const struct frames *frames, uint32_t kept);
/* Free slots left for writing. */
int frames_free(const struct frames *frames, uint32_t kept);

/* Makes a chosen slot equal to the newest, except where `coming` will be written anyway, and locks it. */
void frames_begin(struct frames *frames, int slot, const struct box_list *coming);
uint8_t *frames_pixel(const struct frames *frames, int slot, int x, int y);
/* Unlocks it. `changed` is where it differs from the newest; as_newest makes it that. */
void frames_finish(struct frames *frames, int slot, const struct box_list *changed, const struct gd_SLOT *facts,
                   bool as_newest);

#endif
