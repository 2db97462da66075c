/* What the main thread does: opens connections, serves frames, tells when the screen has come to rest. */
#ifndef GD_FRAME_SERVICE_H
#define GD_FRAME_SERVICE_H

#include "capture.h"
#include "clock.h"
#include "loop.h"
#include "opening.h"
#include "reaction.h"

/* A newest frame that is older is brought up to date for who asks or settles; with FRAME_FRESH however old it is. */
#define FRAME_OLD_NS (15 * MS_NS)
/* While nobody asks it follows the screen at most this often: what nobody may ever look at costs little. */
#define FRAME_FOLLOW_NS (50 * MS_NS)

struct frame_service {
    struct loop loop;
    struct capture capture;
    struct opening opening;
    struct reaction reaction;
    struct loop *input_loop;    /* takes the connections that are for input */
    uint64_t answers;
    uint64_t asked_ns; /* the last request for a frame */
    bool rests;        /* nobody has asked for long */
    struct box_list drawn; /* by the present refresh */
};

/* The capture is open already. */
bool frame_service_open(struct frame_service *service, int listen_fd);
/* For capture_open. */
struct capture_owner frame_service_owner(struct frame_service *service, const atomic_uint_fast64_t *acknowledged);

/* Brings the newest frame up to date, and notes it when the X server is gone. */
enum capture_result frame_service_refresh(struct frame_service *service);
/* Answers a reader that wants a frame, or leaves its connection paused until a slot is free. */
void frame_service_serve(struct frame_service *service, struct connection *connection);
/* Part of the loop. */
uint64_t frame_service_turn(struct loop *loop);

#endif
