/* Keeps the newest complete frame of one screen. */
#ifndef GD_CAPTURE_H
#define GD_CAPTURE_H

#include <stdatomic.h>
#include <xcb/damage.h>
#include <xcb/xfixes.h>

#include "frames.h"
#include "grab.h"
#include "shared_region.h"
#include "x_display.h"

enum capture_result {
    CAPTURE_DONE,
    CAPTURE_NO_SLOT,   /* readers keep all slots: try again later */
    CAPTURE_IMPOSSIBLE,
    CAPTURE_LOST,      /* the X server is gone */
};

/* Whom the capture works for. */
struct capture_owner {
    uint32_t (*kept_slots)(void *owner);                                        /* a bit for each slot readers hold */
    void (*drawn)(void *owner, const struct box *boxes, int count, uint64_t at); /* what was drawn, exactly */
    void (*event)(void *owner, const xcb_generic_event_t *event);               /* what is not for the capture */
    const atomic_uint_fast64_t *acknowledged;                                   /* number of the last input batch */
    void *owner;
};

struct capture {
    struct x_display display;
    struct grab grab;
    struct frames frames;
    struct capture_owner owner;
    struct shared_region shared;
    struct box_list behind;        /* taken from what the X server notes, and not in the newest frame yet */
    struct box_list shared_behind; /* not in the region yet, as far as its reader knows */
    uint32_t generation;
    xcb_damage_damage_t damage;
    xcb_xfixes_region_t region;
    xcb_xfixes_fetch_region_cookie_t asked;
    bool resized;
    bool for_later;          /* nobody waits for the frames that are made */
    bool damaged;            /* the X server has said so since we last took the damage */
    unsigned int taken_at;   /* sequence number of the request that took it */
    uint64_t pictures, last_grab_ns;
    uint64_t fresh_at_ns, fresh_after_input; /* of the last refresh: the newest frame is what the screen showed then */
};

/* Everything is ready when it returns true, the first frame too; else `reason` says why. */
bool capture_open(struct capture *capture, const char *display, double wait_s, struct capture_owner owner,
                  char *reason, int reason_size);
void capture_close(struct capture *capture);

/* Takes in what the X server has sent; does not block. False when the server is gone. */
bool capture_read_events(struct capture *capture);

/* Afterwards the newest frame holds all that was drawn before the call. One round trip when nothing was. */
enum capture_result capture_refresh(struct capture *capture);

/* Brings what its reader lacks into the region: the parts to tell of, or NULL when there is nothing. Frames are not made
 * meanwhile; they follow when somebody asks for one. */
enum capture_result capture_refresh_shared(struct capture *capture, const struct grab_part **part);

/* Gives back memory that only the next refresh needs. */
void capture_rest(struct capture *capture);

/* Makes a frame of its own, the newest with the pointer drawn in; it is in *slot, not the newest. */
enum capture_result capture_with_pointer(struct capture *capture, int *slot);

#endif
