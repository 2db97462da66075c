/* What the main thread does: opens connections, serves frames, tells when the screen has come to rest. */
#ifndef GD_FRAME_SERVICE_H
#define GD_FRAME_SERVICE_H

#include "capture.h"
#include "loop.h"
#include "opening.h"

struct frame_service {
    struct loop loop;
    struct capture capture;
    struct opening opening;
    struct loop *input_loop;    /* takes the connections that are for input */
    atomic_uint *screen_size;   /* width << 16 | height, for whoever checks coordinates */
    uint64_t answers;
    uint64_t asked_ns; /* the last request for a frame */
    bool rests;        /* nobody has asked for long */
};

/* The capture is open already. */
bool frame_service_open(struct frame_service *service, int listen_fd);
/* For capture_open. */
struct capture_owner frame_service_owner(struct frame_service *service, const atomic_uint_fast64_t *acknowledged);

#endif
