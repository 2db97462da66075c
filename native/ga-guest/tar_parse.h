/* Reading an archive entry by entry: ustar with pax and GNU long names. What is wrong with it ends the process by a status. */
#ifndef GA_TAR_PARSE_H
#define GA_TAR_PARSE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define TAR_MAX_NAME 4096

/* One file of the archive, pax and GNU long names applied. */
struct tar_entry {
    char name[TAR_MAX_NAME];
    char link[TAR_MAX_NAME];
    char type;
    mode_t mode;
    uid_t uid;
    gid_t gid;
    uint64_t size;
    struct timespec mtime;
};

void tar_begin(int in_fd, int status_fd);
bool tar_next(struct tar_entry *entry); /* false at the end; the content follows */
void tar_take(void *out, size_t size);  /* the next bytes of the content */
void tar_skip_pad(uint64_t size);       /* after a content of that size */
_Noreturn void tar_bad(const char *what, const char *name);

#endif
