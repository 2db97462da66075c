#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buffer.h"
#include "descriptors.h"
#include "file_work.h"
#include "tar.h"

#define MAX_DEPTH 256
#define MAX_USTAR_SIZE 077777777777ULL
#define MAX_USTAR_ID 07777777U

static int out_fd, status_fd;
static uint64_t files;

static void emit(const void *data, size_t size) {
    if (!fd_write_all(out_fd, data, size)) file_failed(status_fd, errno, "cannot send the archive", NULL);
}

static void pad(uint64_t size) {
    static const char zeros[TAR_BLOCK];
    if (size % TAR_BLOCK) emit(zeros, TAR_BLOCK - size % TAR_BLOCK);
}

static void emit_header(char type, const char *name, const char *link, const struct stat *info, uint64_t size) {
    struct tar_header header = {.type = type, .magic = "ustar", .version = {'0', '0'}};
    uint64_t shown = size <= MAX_USTAR_SIZE ? size : 0;
    long long mtime = info->st_mtime > 0 && (uint64_t)info->st_mtime <= MAX_USTAR_SIZE ? info->st_mtime : 0;
    memcpy(header.name, name, strnlen(name, sizeof header.name));
    memcpy(header.link, link, strnlen(link, sizeof header.link));
    snprintf(header.mode, sizeof header.mode, "%07o", info->st_mode & 07777);
    snprintf(header.uid, sizeof header.uid, "%07o", info->st_uid <= MAX_USTAR_ID ? info->st_uid : 0);
    snprintf(header.gid, sizeof header.gid, "%07o", info->st_gid <= MAX_USTAR_ID ? info->st_gid : 0);
    snprintf(header.size, sizeof header.size, "%011llo", (unsigned long long)shown);
    snprintf(header.mtime, sizeof header.mtime, "%011llo", mtime);
    snprintf(header.checksum, sizeof header.checksum, "%06o", tar_checksum(&header));
    emit(&header, sizeof header);
}

/* One pax record is "<length> <key>=<value>\n", where the length counts itself. */
static void add_record(struct buffer *records, const char *key, const char *value) {
    size_t rest = strlen(key) + strlen(value) + 3, length = rest;
    char digits[24];
    for (;;) {
        int width = snprintf(digits, sizeof digits, "%zu", length);
        if (length == rest + (size_t)width) break;
        length = rest + (size_t)width;
    }
    buffer_append(records, digits, strlen(digits));
    buffer_append(records, " ", 1);
    buffer_append(records, key, strlen(key));
    buffer_append(records, "=", 1);
    buffer_append(records, value, strlen(value));
    buffer_append(records, "\n", 1);
}

static void emit_entry(char type, const char *name, const char *link, const struct stat *info, uint64_t size) {
    struct buffer records = {0};
    struct stat plain = {.st_mode = 0644};
    char number[24];
    if (strlen(name) > 100) add_record(&records, "path", name);
    if (strlen(link) > 100) add_record(&records, "linkpath", link);
    if (size > MAX_USTAR_SIZE) {
        snprintf(number, sizeof number, "%llu", (unsigned long long)size);
        add_record(&records, "size", number);
    }
    if (records.size) {
        emit_header('x', "pax", "", &plain, records.size);
        emit(buffer_front(&records), records.size);
        pad(records.size);
        buffer_free(&records);
    }
    emit_header(type, name, link, info, size);
    files++;
}

/* Sends exactly the announced size: a file that shrinks meanwhile is filled with zeros, one that grows is cut. */
static void emit_file(int folder, const char *base, const char *name, const struct stat *info) {
    static uint8_t chunk[65536];
    uint64_t left = (uint64_t)info->st_size;
    int fd = openat(folder, base, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) file_failed(status_fd, errno, "cannot read", name);
    emit_entry('0', name, "", info, left);
    while (left) {
        size_t want = left < sizeof chunk ? (size_t)left : sizeof chunk;
        ssize_t size = read(fd, chunk, want);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) file_failed(status_fd, errno, "cannot read", name);
        if (size == 0) {
            memset(chunk, 0, want);
            size = (ssize_t)want;
        }
        emit(chunk, (size_t)size);
        left -= (uint64_t)size;
    }
    pad((uint64_t)info->st_size);
    close(fd);
}

static void emit_folder(int folder, const char *prefix, unsigned depth);

static void emit_any(int folder, const char *base, const char *name, unsigned depth) {
    struct stat info;
    if (fstatat(folder, base, &info, AT_SYMLINK_NOFOLLOW)) {
        if (errno == ENOENT) return;
        file_failed(status_fd, errno, "cannot look at", name);
    }
    if (S_ISREG(info.st_mode)) {
        emit_file(folder, base, name, &info);
    } else if (S_ISLNK(info.st_mode)) {
        char target[4096];
        ssize_t size = readlinkat(folder, base, target, sizeof target - 1);
        target[size > 0 ? size : 0] = 0;
        emit_entry('2', name, target, &info, 0);
    } else if (S_ISDIR(info.st_mode)) {
        if (depth >= MAX_DEPTH) file_failed(status_fd, ELOOP, "too deep", name);
        int fd = openat(folder, base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0) file_failed(status_fd, errno, "cannot list", name);
        emit_entry('5', name, "", &info, 0);
        emit_folder(fd, name, depth + 1);
    } /* sockets, pipes and devices do not travel */
}

/* Takes `folder` over. */
static void emit_folder(int folder, const char *prefix, unsigned depth) {
    DIR *listing = fdopendir(folder);
    struct dirent *entry;
    if (!listing) file_failed(status_fd, errno, "cannot list", prefix);
    while ((entry = readdir(listing))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        char *name = NULL;
        if (asprintf(&name, "%s%s%s", prefix, *prefix ? "/" : "", entry->d_name) < 0)
            file_failed(status_fd, ENOMEM, "cannot list", prefix);
        emit_any(dirfd(listing), entry->d_name, name, depth);
        free(name);
    }
    closedir(listing);
}

void file_work_tar_get(void *request, int in_fd, int out, int status) {
    static const char end[2 * TAR_BLOCK];
    const struct ga_TAR_GET *message = request;
    char *path = ga_string_of(message->path);
    (void)in_fd;
    out_fd = out;
    status_fd = status;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) file_failed(status_fd, errno, "cannot list", path);
    emit_folder(folder, "", 0);
    emit(end, sizeof end);
    file_done(status_fd, files);
}
