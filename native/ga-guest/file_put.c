#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "account.h"
#include "descriptors.h"
#include "file_work.h"

#define COPY_SIZE 65536

/* Copies until the end of `in_fd`; 0 or an errno. */
static int copy_all(int in_fd, int out_fd, uint64_t *copied) {
    static uint8_t chunk[COPY_SIZE];
    for (;;) {
        ssize_t size = read(in_fd, chunk, sizeof chunk);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return errno;
        if (size == 0) return 0;
        if (!fd_write_all(out_fd, chunk, (size_t)size)) return errno;
        *copied += (uint64_t)size;
    }
}

static int give_away(int fd, const struct account *account, uint32_t mode) {
    if (fchown(fd, account->uid, account->gid)) return errno;
    return fchmod(fd, mode & 07777) ? errno : 0;
}

static char *unfinished; /* what a cancelled put must not leave behind */

static void clean_up(int number) {
    if (unfinished) unlink(unfinished);
    _exit(128 + number);
}

/* A name beside `path` that does not exist yet; *fd is open on it. */
static char *make_beside(const char *path, int *fd) {
    size_t size = strlen(path) + 40;
    char *name = allocate(size);
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    for (unsigned turn = 0; turn < 100; turn++) {
        snprintf(name, size, "%.*s.ga-put-%d-%u", folder, path, getpid(), turn);
        unfinished = name;
        *fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (*fd >= 0 || errno != EEXIST) break;
    }
    return name;
}

/* A file that is itself a mount point cannot be replaced, so its content is. */
static int overwrite(const char *path, int from_fd) {
    uint64_t copied = 0;
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || lseek(from_fd, 0, SEEK_SET) < 0) return errno;
    int error = copy_all(from_fd, fd, &copied);
    if (close(fd) && !error) error = errno;
    return error;
}

static _Noreturn void append(const char *path, const struct ga_PUT *message, const struct account *account, int in_fd,
                             int status_fd) {
    uint64_t copied = 0;
    struct stat info;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, message->mode & 07777);
    if (fd < 0 || fstat(fd, &info)) file_failed(status_fd, errno, "cannot write", path);
    if (!S_ISREG(info.st_mode)) file_failed(status_fd, EINVAL, "not a file", path);
    int error = info.st_size == 0 ? give_away(fd, account, message->mode) : 0;
    if (!error) error = copy_all(in_fd, fd, &copied);
    if (error) file_failed(status_fd, error, "cannot write", path);
    file_done(status_fd, copied);
}

static _Noreturn void replace(const char *path, const struct ga_PUT *message, const struct account *account, int in_fd,
                              int status_fd) {
    uint64_t copied = 0;
    int fd = -1;
    signal(SIGTERM, clean_up);
    char *beside = make_beside(path, &fd);
    if (fd < 0) file_failed(status_fd, errno, "cannot write", path);
    int error = copy_all(in_fd, fd, &copied);
    if (!error) error = give_away(fd, account, message->mode);
    if (!error && rename(beside, path)) error = errno == EBUSY ? overwrite(path, fd) : errno;
    if (error) unlink(beside);
    if (error) file_failed(status_fd, error, "cannot write", path);
    unlink(beside); /* still there when the content was replaced in place */
    file_done(status_fd, copied);
}

void file_work_put(void *request, int in_fd, int out_fd, int status_fd) {
    const struct ga_PUT *message = request;
    char *path = ga_string_of(message->path);
    struct account account;
    (void)out_fd;
    file_owner(message->owner, status_fd, &account);
    umask(022);
    if (message->flags & GA_PUT_PARENTS) {
        int error = file_make_parents(path, &account);
        if (error) file_failed(status_fd, error, "cannot make the folders above", path);
    }
    umask(0);
    if (message->flags & GA_PUT_APPEND) append(path, message, &account, in_fd, status_fd);
    replace(path, message, &account, in_fd, status_fd);
}
