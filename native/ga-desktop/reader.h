/* What the service keeps for one client that reads frames: the slots it holds, what it waits for. */
#ifndef GD_READER_H
#define GD_READER_H

#include "blinks.h"
#include "connection.h"

struct settle_wait {
    bool active;
    bool awaits; /* the application has not taken the last input yet */
    bool learns; /* drawing does not count where blinks have been learnt */
    uint64_t request, began_ns, quiet_ns, until_ns;
    uint64_t last_drawn_ns;
    int ignored_count;
    struct box ignored[GD_MAX_BOXES];
};

struct reader {
    const volatile uint8_t *leases; /* written by the client: slot + 1 for each slot it keeps */
    int leases_fd;                  /* -1: sent */
    uint32_t generation;            /* of the mapping that the client has; 0: none */
    uint32_t granted;               /* slot + 1 of its last answer, 0: none */
    bool waits;                     /* for a slot to become free */
    struct gd_FRAME_REQUEST wanted;
    uint64_t wanted_request;
    struct settle_wait settle;
    struct blinks blinks; /* of all its waits */
};

struct reader *reader_new(void);
void reader_release(struct reader *reader);

/* A fresh lease page for a new mapping; false when there is no memory. */
bool reader_renew_leases(struct reader *reader, uint32_t generation);
/* A bit for each slot of this generation that the client holds. */
uint32_t reader_kept(const struct reader *reader, uint32_t generation);

/* False when the fields make no sense. */
bool settle_begin(struct settle_wait *settle, uint64_t request, const struct message *message);
void settle_note(struct settle_wait *settle, const struct box *drawn, int count, uint64_t at);
/* For a wait that learns: what has been drawn, or what of it differs from before. */
void reader_note_change(struct reader *reader, const struct blink_change *change);
/* Quiet counts from when the last input has been taken. */
void settle_note_reaction(struct settle_wait *settle, bool pending, uint64_t now);
/* Whether its wait is over; else *due is when to look again. */
bool reader_has_settled(const struct reader *reader, uint64_t now, bool *settled, uint64_t *due);
/* The learnt boxes in which something blinked during the wait. Returns how many there are. */
int reader_ignored(const struct reader *reader, struct gd_BOX boxes[BLINK_PLACES]);

#endif
