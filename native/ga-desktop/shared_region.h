/* Memory that we share with another machine's reader, who sees none of our files: the screen's own pixels go there. */
#ifndef GD_SHARED_REGION_H
#define GD_SHARED_REGION_H

#include "grab.h"

struct shared_region {
    const char *path;    /* NULL: none was offered */
    const void *reader;  /* whose it is; NULL: nobody's */
    struct grab grab;    /* through which the X server writes into it */
    struct gd_REGION_HEAD *head;
};

enum shared_region_result {
    SHARED_REGION_READY,
    SHARED_REGION_ABSENT, /* its file is not there, yet */
    SHARED_REGION_UNFIT,
};

/* Gives the region to a reader, from whoever had it. UNFIT: *reason says why it is of no use. */
enum shared_region_result shared_region_attach(struct shared_region *region, struct x_display *display,
                                               const void *reader, const char **reason);
/* Nothing of it is mapped afterwards, here or in the X server; idempotent. */
void shared_region_detach(struct shared_region *region);

/* Around the writing. */
void shared_region_lock(struct shared_region *region);
void shared_region_unlock(struct shared_region *region, uint64_t picture, uint64_t after_input);

#endif
