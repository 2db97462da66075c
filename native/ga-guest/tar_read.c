#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "account.h"
#include "buffer.h"
#include "descriptors.h"
#include "file_work.h"
#include "tar.h"

#define MAX_RECORDS (1024 * 1024)
#define MAX_NAME 4096

static int in_fd, status_fd;
static uint64_t files;

/* One file of the archive, pax and GNU long names applied. */
struct entry {
    char name[MAX_NAME];
    char link[MAX_NAME];
    char type;
    mode_t mode;
    uid_t uid;
    gid_t gid;
    uint64_t size;
    int64_t mtime;
};

/* What a preceding record says about the next entry. */
struct override {
    char *name;
    char *link;
    bool has_size;
    uint64_t size;
};

_Noreturn static void bad(const char *what, const char *name) {
    file_failed(status_fd, EINVAL, what, name);
}

/* False at the end of the input, when nothing of the block was there. */
static bool take(void *out, size_t size) {
    uint8_t *at = out;
    size_t left = size;
    while (left) {
        ssize_t got = read(in_fd, at, left);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) file_failed(status_fd, errno, "cannot receive the archive", NULL);
        if (got == 0 && left == size) return false;
        if (got == 0) bad("the archive is cut short", NULL);
        at += got;
        left -= (size_t)got;
    }
    return true;
}

static void must_take(void *out, size_t size) {
    if (size && !take(out, size)) bad("the archive is cut short", NULL);
}

static void skip_pad(uint64_t size) {
    uint8_t rest[TAR_BLOCK];
    if (size % TAR_BLOCK) must_take(rest, TAR_BLOCK - size % TAR_BLOCK);
}

static uint64_t number(const char *field, size_t size) {
    uint64_t value = 0;
    if ((uint8_t)field[0] == 0x80) { /* base 256, GNU */
        for (size_t i = 1; i < size; i++) value = value << 8 | (uint8_t)field[i];
        return value;
    }
    for (size_t i = 0; i < size && field[i]; i++) {
        if (field[i] == ' ') continue;
        if (field[i] < '0' || field[i] > '7') bad("a bad number in the archive", NULL);
        value = value << 3 | (uint64_t)(field[i] - '0');
    }
    return value;
}

static char *take_text(uint64_t size) {
    if (size > MAX_RECORDS) bad("a name in the archive is too long", NULL);
    char *text = allocate((size_t)size + 1);
    must_take(text, (size_t)size);
    text[size] = 0;
    skip_pad(size);
    return text;
}

static void take_pax(struct override *override, uint64_t size) {
    char *records = take_text(size), *at = records, *end = records + size;
    while (at < end) {
        char *key, *value, *rest;
        unsigned long length = strtoul(at, &key, 10);
        if (*key != ' ' || !length || length > (size_t)(end - at)) bad("a bad pax record", NULL);
        rest = at + length;
        value = memchr(key + 1, '=', (size_t)(rest - key - 1));
        if (rest[-1] != '\n' || !value) bad("a bad pax record", NULL);
        *value++ = 0;
        rest[-1] = 0;
        if (!strcmp(key + 1, "path")) {
            free(override->name);
            override->name = strdup(value);
        } else if (!strcmp(key + 1, "linkpath")) {
            free(override->link);
            override->link = strdup(value);
        } else if (!strcmp(key + 1, "size")) {
            override->has_size = true;
            override->size = strtoull(value, NULL, 10);
        }
        at = rest;
    }
    free(records);
}

static void copy_name(char *out, const char *prefix, size_t prefix_size, const char *name, size_t name_size) {
    int front = (int)strnlen(prefix, prefix_size);
    snprintf(out, MAX_NAME, "%.*s%s%.*s", front, prefix, front ? "/" : "", (int)strnlen(name, name_size), name);
}

static void apply(struct entry *entry, struct override *override) {
    if ((override->name && strlen(override->name) >= MAX_NAME) || (override->link && strlen(override->link) >= MAX_NAME))
        bad("a name in the archive is too long", NULL);
    if (override->name) snprintf(entry->name, MAX_NAME, "%s", override->name);
    if (override->link) snprintf(entry->link, MAX_NAME, "%s", override->link);
    if (override->has_size) entry->size = override->size;
    free(override->name);
    free(override->link);
    *override = (struct override){0};
}

/* False at the end of the archive. */
static bool next_entry(struct entry *entry) {
    struct override override = {0};
    struct tar_header header;
    for (;;) {
        if (!take(&header, sizeof header) || !header.name[0]) return false;
        if (number(header.checksum, sizeof header.checksum) != tar_checksum(&header)) bad("a bad checksum", NULL);
        uint64_t size = number(header.size, sizeof header.size);
        if (header.type == 'x') {
            take_pax(&override, size);
        } else if (header.type == 'g') {
            free(take_text(size));
        } else if (header.type == 'L') {
            free(override.name);
            override.name = take_text(size);
        } else if (header.type == 'K') {
            free(override.link);
            override.link = take_text(size);
        } else {
            bool ustar = !memcmp(header.magic, "ustar", 6);
            copy_name(entry->name, header.prefix, ustar ? sizeof header.prefix : 0, header.name, sizeof header.name);
            copy_name(entry->link, "", 0, header.link, sizeof header.link);
            entry->type = header.type;
            entry->mode = (mode_t)number(header.mode, sizeof header.mode) & 07777;
            entry->uid = (uid_t)number(header.uid, sizeof header.uid);
            entry->gid = (gid_t)number(header.gid, sizeof header.gid);
            entry->mtime = (int64_t)number(header.mtime, sizeof header.mtime);
            entry->size = size;
            apply(entry, &override);
            return true;
        }
    }
}

/* Opens the folder that holds the last part of `path`, making what is missing, following no link; *last is that part,
 * NULL when the path names the root of the tree. */
static int open_parent(int root, char *path, char **last) {
    char *part = NULL, *next, *state = NULL;
    int folder = dup(root);
    if (path[0] == '/') bad("an absolute name in the archive", path);
    for (next = strtok_r(path, "/", &state); next; next = strtok_r(NULL, "/", &state)) {
        if (!strcmp(next, ".")) continue;
        if (!strcmp(next, "..")) bad("a name in the archive leads outside", next);
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

static void make_file(int folder, const char *name, const struct entry *entry) {
    static uint8_t chunk[65536];
    uint64_t left = entry->size;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = (time_t)entry->mtime}};
    if (unlinkat(folder, name, 0) && errno != ENOENT) file_failed(status_fd, errno, "cannot replace", name);
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) file_failed(status_fd, errno, "cannot write", name);
    while (left) {
        size_t size = left < sizeof chunk ? (size_t)left : sizeof chunk;
        must_take(chunk, size);
        if (!fd_write_all(fd, chunk, size)) file_failed(status_fd, errno, "cannot write", name);
        left -= size;
    }
    skip_pad(entry->size);
    if (fchown(fd, entry->uid, entry->gid)) file_failed(status_fd, errno, "cannot give away", name);
    if (fchmod(fd, entry->mode)) file_failed(status_fd, errno, "cannot set the mode of", name);
    futimens(fd, times);
    if (close(fd)) file_failed(status_fd, errno, "cannot write", name);
}

static void make_folder(int folder, const char *name, const struct entry *entry) {
    if (mkdirat(folder, name, 0700) && errno != EEXIST) file_failed(status_fd, errno, "cannot make", name);
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) file_failed(status_fd, errno, "cannot enter", name);
    if (fchown(fd, entry->uid, entry->gid)) file_failed(status_fd, errno, "cannot give away", name);
    if (fchmod(fd, entry->mode)) file_failed(status_fd, errno, "cannot set the mode of", name);
    close(fd);
}

static void make_link(int folder, const char *name, const struct entry *entry) {
    if (unlinkat(folder, name, 0) && errno != ENOENT) file_failed(status_fd, errno, "cannot replace", name);
    if (symlinkat(entry->link, folder, name)) file_failed(status_fd, errno, "cannot link", name);
    if (fchownat(folder, name, entry->uid, entry->gid, AT_SYMLINK_NOFOLLOW))
        file_failed(status_fd, errno, "cannot give away", name);
}

static void make_hard_link(int root, int folder, const char *name, struct entry *entry) {
    char *last;
    int from = open_parent(root, entry->link, &last);
    if (!last) bad("a bad link in the archive", name);
    unlinkat(folder, name, 0);
    if (linkat(from, last, folder, name, 0)) file_failed(status_fd, errno, "cannot link", name);
    close(from);
}

static void make_entry(int root, struct entry *entry) {
    char *name;
    int folder = open_parent(root, entry->name, &name);
    if (name) {
        switch (entry->type) {
        case '0':
        case 0: make_file(folder, name, entry); break;
        case '5': make_folder(folder, name, entry); break;
        case '2': make_link(folder, name, entry); break;
        case '1': make_hard_link(root, folder, name, entry); break;
        default: bad("a kind of file that does not travel", name);
        }
        files++;
    }
    close(folder);
}

void file_work_tar_put(void *request, int in, int out_fd, int status) {
    static struct entry entry;
    const struct ga_TAR_PUT *message = request;
    char *path = ga_string_of(message->path);
    struct account account;
    (void)out_fd;
    in_fd = in;
    status_fd = status;
    file_owner(message->owner, status_fd, &account);
    umask(022);
    int error = file_make_parents(path, &account);
    if (error) file_failed(status_fd, error, "cannot make the folders above", path);
    if (mkdir(path, 0755) == 0 && lchown(path, account.uid, account.gid) && errno != EPERM)
        file_failed(status_fd, errno, "cannot give away", path);
    int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) file_failed(status_fd, errno, "cannot enter", path);
    while (next_entry(&entry)) {
        if (message->owner.size) {
            entry.uid = account.uid;
            entry.gid = account.gid;
        }
        make_entry(root, &entry);
    }
    while (read(in_fd, entry.name, sizeof entry.name) > 0) {
    }
    file_done(status_fd, files);
}
