#define _GNU_SOURCE
#include "file_work.h"

#include <dirent.h>
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
#include "process_tree.h"
#include "status.h"

#define COPY_SIZE 65536

_Noreturn void file_done(int status_fd, uint64_t value) {
    status_send(status_fd, &(struct status){.kind = STATUS_DONE, .value = value});
    _exit(0);
}

_Noreturn void file_failed(int status_fd, int os_error, const char *what, const char *path) {
    status_fail(status_fd, GA_ERROR_FILE, os_error, what, path);
    _exit(0);
}

void file_owner(struct ga_slice owner, int status_fd, struct account *account) {
    char *name = ga_string_of(owner);
    if (!account_find(*name ? name : "root", account)) file_failed(status_fd, 0, "no such user", name);
    free(name);
}

int file_make_parents(const char *path, const struct account *account) {
    char *copy = strdup(path);
    int error = 0;
    for (char *at = copy + 1; copy[0] && !error && (at = strchr(at, '/')); at++) {
        *at = 0;
        if (!mkdir(copy, 0755)) {
            if (lchown(copy, account->uid, account->gid) && errno != EPERM) error = errno;
        } else if (errno != EEXIST && errno != EROFS && errno != EACCES) {
            error = errno;
        }
        *at = '/';
    }
    free(copy);
    return error;
}

/* --- stat ------------------------------------------------------------------------------------------------------- */

static char *read_link(int folder, const char *name) {
    char target[4096];
    ssize_t size = readlinkat(folder, name, target, sizeof target - 1);
    target[size > 0 ? size : 0] = 0;
    return strdup(target);
}

static int write_entry(int out_fd, int folder, const char *path, const char *name, int flags) {
    struct stat info;
    struct buffer out = {0};
    if (fstatat(folder, path, &info, flags)) return errno;
    char *target = S_ISLNK(info.st_mode) ? read_link(folder, path) : strdup("");
    struct ga_ENTRY entry = {.mode = info.st_mode, .uid = info.st_uid, .gid = info.st_gid, .size = (uint64_t)info.st_size};
    entry.mtime_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
    entry.name = ga_slice_of(name);
    entry.link_target = ga_slice_of(target);
    ga_put_number(&out, 0, 4);
    ga_encode_ENTRY(&out, &entry);
    uint32_t size = (uint32_t)(out.size - 4);
    for (unsigned i = 0; i < 4; i++) buffer_front(&out)[i] = (uint8_t)(size >> (8 * i));
    bool written = fd_write_all(out_fd, buffer_front(&out), out.size);
    free(target);
    buffer_free(&out);
    return written ? 0 : errno;
}

static void write_children(const char *path, int out_fd, int status_fd) {
    DIR *folder = opendir(path);
    struct dirent *entry;
    if (!folder) file_failed(status_fd, errno, "cannot list", path);
    while ((entry = readdir(folder))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        int error = write_entry(out_fd, dirfd(folder), entry->d_name, entry->d_name, AT_SYMLINK_NOFOLLOW);
        if (error && error != ENOENT) file_failed(status_fd, error, "cannot look at", entry->d_name);
    }
    closedir(folder);
}

void file_work_stat(void *request, int in_fd, int out_fd, int status_fd) {
    const struct ga_STAT *message = request;
    char *path = ga_string_of(message->path);
    (void)in_fd;
    if (message->flags & GA_STAT_CHILDREN) {
        write_children(path, out_fd, status_fd);
    } else {
        int flags = message->flags & GA_STAT_FOLLOW ? 0 : AT_SYMLINK_NOFOLLOW;
        int error = write_entry(out_fd, AT_FDCWD, path, path, flags);
        if (error) file_failed(status_fd, error, "cannot look at", path);
    }
    file_done(status_fd, 0);
}

/* --- get -------------------------------------------------------------------------------------------------------- */

void file_work_get(void *request, int in_fd, int out_fd, int status_fd) {
    static uint8_t chunk[COPY_SIZE];
    const struct ga_GET *message = request;
    char *path = ga_string_of(message->path);
    uint64_t left = message->max_size ? message->max_size : UINT64_MAX, sent = 0;
    struct stat info;
    (void)in_fd;
    /* Not blocking: a pipe without a writer must not hold the call. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &info)) file_failed(status_fd, errno, "cannot read", path);
    if (!S_ISREG(info.st_mode)) file_failed(status_fd, S_ISDIR(info.st_mode) ? EISDIR : EINVAL, "not a file", path);
    if (message->offset && lseek(fd, (off_t)message->offset, SEEK_SET) < 0)
        file_failed(status_fd, errno, "cannot read from that offset of", path);
    while (left) {
        ssize_t size = read(fd, chunk, left < sizeof chunk ? (size_t)left : sizeof chunk);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) file_failed(status_fd, errno, "cannot read", path);
        if (size == 0) break;
        if (!fd_write_all(out_fd, chunk, (size_t)size)) file_failed(status_fd, errno, "cannot send", path);
        left -= (uint64_t)size;
        sent += (uint64_t)size;
    }
    file_done(status_fd, sent);
}

/* --- folders, removal, processes -------------------------------------------------------------------------------- */

void file_work_mkdir(void *request, int in_fd, int out_fd, int status_fd) {
    const struct ga_MKDIR *message = request;
    char *path = ga_string_of(message->path);
    struct account account;
    struct stat info;
    (void)in_fd;
    (void)out_fd;
    file_owner(message->owner, status_fd, &account);
    umask(0);
    if (message->flags & GA_MKDIR_PARENTS) {
        umask(022);
        int error = file_make_parents(path, &account);
        if (error) file_failed(status_fd, error, "cannot make the folders above", path);
        umask(0);
        if (!stat(path, &info) && S_ISDIR(info.st_mode)) file_done(status_fd, 0);
    }
    if (mkdir(path, message->mode & 07777)) file_failed(status_fd, errno, "cannot make the folder", path);
    if (lchown(path, account.uid, account.gid)) file_failed(status_fd, errno, "cannot give away", path);
    if (chmod(path, message->mode & 07777)) file_failed(status_fd, errno, "cannot set the mode of", path);
    file_done(status_fd, 1);
}

/* Removes `name` below an open folder, never following a link; 0 or an errno. */
static int remove_at(int folder, const char *name, bool tree, unsigned depth) {
    if (!unlinkat(folder, name, 0)) return 0;
    if (errno != EISDIR && errno != EPERM) return errno;
    if (!tree) return unlinkat(folder, name, AT_REMOVEDIR) ? errno : 0;
    if (depth > 512) return ELOOP;
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), error = 0;
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    if (!listing) return errno;
    while (!error && (entry = readdir(listing)))
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            error = remove_at(dirfd(listing), entry->d_name, true, depth + 1);
    closedir(listing);
    if (error && error != ENOENT) return error;
    return unlinkat(folder, name, AT_REMOVEDIR) ? errno : 0;
}

void file_work_remove(void *request, int in_fd, int out_fd, int status_fd) {
    const struct ga_REMOVE *message = request;
    char *path = ga_string_of(message->path);
    (void)in_fd;
    (void)out_fd;
    int error = remove_at(AT_FDCWD, path, message->flags & GA_REMOVE_TREE, 0);
    if (error) file_failed(status_fd, error, "cannot remove", path);
    file_done(status_fd, 0);
}

void file_work_kill_tree(void *request, int in_fd, int out_fd, int status_fd) {
    const struct ga_KILL *message = request;
    pid_t pid = (pid_t)message->pid;
    (void)in_fd;
    (void)out_fd;
    bool gone = true;
    if (kill(pid, 0)) {
        status_fail(status_fd, GA_ERROR_NO_PROCESS, errno, "cannot signal the process", NULL);
        _exit(0);
    }
    if (message->signal == SIGKILL)
        gone = process_tree_kill(pid, true, 3000, NULL);
    else
        process_tree_signal(pid, message->signal);
    if (!gone) file_failed(status_fd, 0, "something of the process tree would not die", NULL);
    file_done(status_fd, 0);
}
