#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "account.h"
#include "descriptors.h"
#include "file_work.h"
#include "tar_parse.h"

static int status_fd;
static uint64_t files;

/* Opens the folder that holds the last part of `path`, making what is missing, following no link; *last is that part,
 * NULL when the path names the root of the tree. */
static int open_parent(int root, char *path, char **last) {
    char *part = NULL, *next, *state = NULL;
    int folder = dup(root);
    if (path[0] == '/') tar_bad("an absolute name in the archive", path);
    for (next = strtok_r(path, "/", &state); next; next = strtok_r(NULL, "/", &state)) {
        if (!strcmp(next, ".")) continue;
        if (!strcmp(next, "..")) tar_bad("a name in the archive leads outside", next);
        if (part) {
            if (mkdirat(folder, part, 0755) && errno != EEXIST) file_failed(status_fd, errno, "cannot make", part);
            int inner = openat(folder, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            if (inner < 0) file_failed(status_fd, errno, "cannot enter", part);
            close(folder);
            folder = inner;
        }
        part = next;
    }
    *last = part;
    return folder;
}

static void make_file(int folder, const char *name, const struct tar_entry *entry) {
    static uint8_t chunk[65536];
    uint64_t left = entry->size;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, entry->mtime};
    if (unlinkat(folder, name, 0) && errno != ENOENT) file_failed(status_fd, errno, "cannot replace", name);
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) file_failed(status_fd, errno, "cannot write", name);
    while (left) {
        size_t size = left < sizeof chunk ? (size_t)left : sizeof chunk;
        tar_take(chunk, size);
        if (!fd_write_all(fd, chunk, size)) file_failed(status_fd, errno, "cannot write", name);
        left -= size;
    }
    tar_skip_pad(entry->size);
    if (fchown(fd, entry->uid, entry->gid)) file_failed(status_fd, errno, "cannot give away", name);
    if (fchmod(fd, entry->mode)) file_failed(status_fd, errno, "cannot set the mode of", name);
    futimens(fd, times);
    if (close(fd)) file_failed(status_fd, errno, "cannot write", name);
}

static void make_folder(int folder, const char *name, const struct tar_entry *entry) {
    if (mkdirat(folder, name, 0700) && errno != EEXIST) file_failed(status_fd, errno, "cannot make", name);
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) file_failed(status_fd, errno, "cannot enter", name);
    if (fchown(fd, entry->uid, entry->gid)) file_failed(status_fd, errno, "cannot give away", name);
    if (fchmod(fd, entry->mode)) file_failed(status_fd, errno, "cannot set the mode of", name);
    close(fd);
}

static void make_link(int folder, const char *name, const struct tar_entry *entry) {
    if (unlinkat(folder, name, 0) && errno != ENOENT) file_failed(status_fd, errno, "cannot replace", name);
    if (symlinkat(entry->link, folder, name)) file_failed(status_fd, errno, "cannot link", name);
    if (fchownat(folder, name, entry->uid, entry->gid, AT_SYMLINK_NOFOLLOW))
        file_failed(status_fd, errno, "cannot give away", name);
}

static void make_hard_link(int root, int folder, const char *name, struct tar_entry *entry) {
    char *last;
    int from = open_parent(root, entry->link, &last);
    if (!last) tar_bad("a bad link in the archive", name);
    unlinkat(folder, name, 0);
    if (linkat(from, last, folder, name, 0)) file_failed(status_fd, errno, "cannot link", name);
    close(from);
}

static void make_entry(int root, struct tar_entry *entry) {
    char *name;
    int folder = open_parent(root, entry->name, &name);
    if (name) {
        switch (entry->type) {
        case '0':
        case 0: make_file(folder, name, entry); break;
        case '5': make_folder(folder, name, entry); break;
        case '2': make_link(folder, name, entry); break;
        case '1': make_hard_link(root, folder, name, entry); break;
        default: tar_bad("a kind of file that does not travel", name);
        }
        files++;
    }
    close(folder);
}

void file_work_tar_put(void *request, int in, int out_fd, int status) {
    static struct tar_entry entry;
    const struct ga_TAR_PUT *message = request;
    char *path = ga_string_of(message->path);
    struct account account;
    (void)out_fd;
    status_fd = status;
    tar_begin(in, status);
    file_owner(message->owner, status_fd, &account);
    umask(022);
    int error = file_make_parents(path, &account);
    if (error) file_failed(status_fd, error, "cannot make the folders above", path);
    if (mkdir(path, 0755) == 0 && lchown(path, account.uid, account.gid) && errno != EPERM)
        file_failed(status_fd, errno, "cannot give away", path);
    int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) file_failed(status_fd, errno, "cannot enter", path);
    while (tar_next(&entry)) {
        if (message->owner.size) {
            entry.uid = account.uid;
            entry.gid = account.gid;
        }
        make_entry(root, &entry);
    }
    while (read(in, entry.name, sizeof entry.name) > 0) {
    }
    file_done(status_fd, files);
}
