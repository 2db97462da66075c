/* Who reads our keyboard, and whether he has read what it said.
 *
 * The kernel keeps some sixteen keys for a reader and drops all of them when they become more, so we must not be faster
 * than he is. A thread that sleeps in its wait for events has read all there were: writing to the device makes it
 * runnable before the write returns. */
#ifndef GI_READER_H
#define GI_READER_H

#include <stdbool.h>
#include <stdint.h>

struct reader {
    int pid;    /* 0: nobody */
    int thread; /* the one that reads input */
};

/* Finds the display server: another process that has this node of /dev/input open. False: there is none. */
bool reader_find(struct reader *reader, const char *node);
/* Whether it still has the node open. */
bool reader_is_there(struct reader *reader, const char *node);
/* Until it has read all that was written. False: it has not by then (clock_ns). */
bool reader_has_read(const struct reader *reader, uint64_t until_ns);
/* Until it has acted on it, too: it rests, or has run for so long that it must have come by. False: neither by then. */
bool reader_has_acted(const struct reader *reader, uint64_t until_ns);

#endif
