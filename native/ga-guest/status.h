/* What a process that ga-guest forked tells it through a pipe: fixed records, written whole. */
#ifndef GA_STATUS_H
#define GA_STATUS_H

#include <stdbool.h>
#include <stdint.h>

enum status_kind { STATUS_STARTED = 1, STATUS_FAILED, STATUS_EXITED, STATUS_DONE };

struct status {
    int32_t kind;
    int32_t error;    /* FAILED: a GA_ERROR_ */
    int32_t os_error; /* FAILED: errno or 0 */
    int32_t wait_status; /* EXITED */
    int32_t kill_incomplete; /* EXITED */
    int32_t pid; /* STARTED */
    uint64_t value; /* DONE */
    char text[480]; /* FAILED */
};

void status_send(int fd, const struct status *status);

/* "<what> '<subject>': <strerror>" (without the parts that are NULL or 0). */
void status_fail(int fd, int error, int os_error, const char *what, const char *subject);

#endif
