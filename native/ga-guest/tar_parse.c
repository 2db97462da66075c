#define _GNU_SOURCE
#include "tar_parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "file_work.h"
#include "tar.h"

#define MAX_RECORDS (1024 * 1024)

static int in_fd, status_fd;

void tar_begin(int in, int status) {
    in_fd = in;
    status_fd = status;
}

/* What a preceding record says about the next entry. */
struct override {
    char *name;
    char *link;
    char *size;
    char *mtime;
    char *uid;
    char *gid;
};

_Noreturn void tar_bad(const char *what, const char *name) {
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
        if (got == 0) tar_bad("the archive is cut short", NULL);
        at += got;
        left -= (size_t)got;
    }
    return true;
}

void tar_take(void *out, size_t size) {
    if (size && !take(out, size)) tar_bad("the archive is cut short", NULL);
}

void tar_skip_pad(uint64_t size) {
    uint8_t rest[TAR_BLOCK];
    if (size % TAR_BLOCK) tar_take(rest, TAR_BLOCK - size % TAR_BLOCK);
}

static uint64_t number(const char *field, size_t size) {
    uint64_t value = 0;
    if ((uint8_t)field[0] == 0x80) { /* base 256, GNU */
        for (size_t i = 1; i < size; i++) value = value << 8 | (uint8_t)field[i];
        return value;
    }
    for (size_t i = 0; i < size && field[i]; i++) {
        if (field[i] == ' ') continue;
        if (field[i] < '0' || field[i] > '7') tar_bad("a bad number in the archive", NULL);
        value = value << 3 | (uint64_t)(field[i] - '0');
    }
    return value;
}

static char *take_text(uint64_t size) {
    if (size > MAX_RECORDS) tar_bad("a name in the archive is too long", NULL);
    char *text = allocate((size_t)size + 1);
    tar_take(text, (size_t)size);
    text[size] = 0;
    tar_skip_pad(size);
    return text;
}

static char **pax_field(struct override *override, const char *key) {
    if (!strcmp(key, "path")) return &override->name;
    if (!strcmp(key, "linkpath")) return &override->link;
    if (!strcmp(key, "size")) return &override->size;
    if (!strcmp(key, "mtime")) return &override->mtime;
    if (!strcmp(key, "uid")) return &override->uid;
    return strcmp(key, "gid") ? NULL : &override->gid;
}

static void take_pax(struct override *override, uint64_t size) {
    char *records = take_text(size), *at = records, *end = records + size;
    while (at < end) {
        char *key, *value, *rest;
        unsigned long length = strtoul(at, &key, 10);
        if (*key != ' ' || !length || length > (size_t)(end - at)) tar_bad("a bad pax record", NULL);
        rest = at + length;
        value = memchr(key + 1, '=', (size_t)(rest - key - 1));
        if (rest[-1] != '\n' || !value) tar_bad("a bad pax record", NULL);
        *value++ = 0;
        rest[-1] = 0;
        char **field = pax_field(override, key + 1);
        if (field) {
            free(*field);
            *field = strdup(value);
        }
        at = rest;
    }
    free(records);
}

static void copy_name(char *out, const char *prefix, size_t prefix_size, const char *name, size_t name_size) {
    int front = (int)strnlen(prefix, prefix_size);
    snprintf(out, TAR_MAX_NAME, "%.*s%s%.*s", front, prefix, front ? "/" : "", (int)strnlen(name, name_size), name);
}

/* "seconds" or "seconds.fraction". */
static void parse_time(const char *text, struct timespec *time) {
    char *end;
    long scale = 100000000;
    time->tv_sec = (time_t)strtoll(text, &end, 10);
    time->tv_nsec = 0;
    if (*end != '.') return;
    for (end++; *end >= '0' && *end <= '9' && scale; end++, scale /= 10) time->tv_nsec += (*end - '0') * scale;
}

static void apply(struct tar_entry *entry, struct override *override) {
    if ((override->name && strlen(override->name) >= TAR_MAX_NAME) || (override->link && strlen(override->link) >= TAR_MAX_NAME))
        tar_bad("a name in the archive is too long", NULL);
    if (override->name) snprintf(entry->name, TAR_MAX_NAME, "%s", override->name);
    if (override->link) snprintf(entry->link, TAR_MAX_NAME, "%s", override->link);
    if (override->size) entry->size = strtoull(override->size, NULL, 10);
    if (override->uid) entry->uid = (uid_t)strtoul(override->uid, NULL, 10);
    if (override->gid) entry->gid = (gid_t)strtoul(override->gid, NULL, 10);
    if (override->mtime) parse_time(override->mtime, &entry->mtime);
    char *owned[] = {override->name, override->link, override->size, override->mtime, override->uid, override->gid};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    *override = (struct override){0};
}

/* False at the end of the archive. */
bool tar_next(struct tar_entry *entry) {
    struct override override = {0};
    struct tar_header header;
    for (;;) {
        if (!take(&header, sizeof header) || !header.name[0]) return false;
        if (number(header.checksum, sizeof header.checksum) != tar_checksum(&header)) tar_bad("a bad checksum", NULL);
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
            entry->mtime = (struct timespec){.tv_sec = (time_t)number(header.mtime, sizeof header.mtime)};
            entry->size = size;
            apply(entry, &override);
            return true;
        }
    }
}
