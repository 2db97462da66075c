#include "status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void status_send(int fd, const struct status *status) {
    while (write(fd, status, sizeof *status) < 0 && errno == EINTR) {
    }
}

void status_fail(int fd, int error, int os_error, const char *what, const char *subject) {
    struct status status = {.kind = STATUS_FAILED, .error = error, .os_error = os_error};
    int used = snprintf(status.text, sizeof status.text, "%s", what);
    if (subject && used >= 0 && (size_t)used < sizeof status.text)
        used += snprintf(status.text + used, sizeof status.text - (size_t)used, " '%.300s'", subject);
    if (os_error && used >= 0 && (size_t)used < sizeof status.text)
        snprintf(status.text + used, sizeof status.text - (size_t)used, ": %s", strerror(os_error));
    status_send(fd, &status);
}
