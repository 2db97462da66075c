#define _GNU_SOURCE
#include "account.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Cuts the next field of a colon-separated line off; never NULL. */
static char *next_field(char **line) {
    char *field = strsep(line, ":");
    return field ? field : "";
}

static bool parse_id(const char *text, unsigned *id) {
    char *end;
    if (*text < '0' || *text > '9') return false;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (*end || errno || value >= 0xffffffffUL) return false;
    *id = (unsigned)value;
    return true;
}

static void copy_text(char *out, size_t size, const char *text) {
    snprintf(out, size, "%s", text);
}

static bool match_passwd_line(char *line, const char *name, bool by_id, unsigned uid, struct account *account) {
    unsigned line_uid, line_gid;
    char *line_name = next_field(&line);
    next_field(&line);
    if (!parse_id(next_field(&line), &line_uid) || !parse_id(next_field(&line), &line_gid)) return false;
    if (by_id ? line_uid != uid : strcmp(line_name, name) != 0) return false;
    next_field(&line);
    copy_text(account->name, sizeof account->name, line_name);
    copy_text(account->home, sizeof account->home, next_field(&line));
    copy_text(account->shell, sizeof account->shell, next_field(&line));
    account->uid = line_uid;
    account->gid = line_gid;
    return true;
}

/* Calls for each line of a file until `visit` says true; false when none did or the file cannot be read. */
static bool any_line(const char *path, bool (*visit)(char *line, void *state), void *state) {
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t capacity = 0;
    bool found = false;
    if (!file) return false;
    while (!found && getline(&line, &capacity, file) > 0) {
        line[strcspn(line, "\n")] = 0;
        found = visit(line, state);
    }
    free(line);
    fclose(file);
    return found;
}

struct user_query {
    const char *name;
    bool by_id;
    unsigned uid;
    struct account *account;
};

static bool visit_user(char *line, void *state) {
    struct user_query *query = state;
    return match_passwd_line(line, query->name, query->by_id, query->uid, query->account);
}

static bool visit_membership(char *line, void *state) {
    struct account *account = state;
    unsigned gid;
    next_field(&line);
    next_field(&line);
    if (!parse_id(next_field(&line), &gid)) return false;
    char *members = next_field(&line), *member;
    while ((member = strsep(&members, ",")))
        if (!strcmp(member, account->name) && account->group_count < ACCOUNT_MAX_GROUPS && gid != account->gid)
            account->groups[account->group_count++] = gid;
    return false;
}

struct group_query {
    const char *name;
    gid_t *gid;
};

static bool visit_group(char *line, void *state) {
    struct group_query *query = state;
    unsigned gid;
    if (strcmp(next_field(&line), query->name)) return false;
    next_field(&line);
    if (!parse_id(next_field(&line), &gid)) return false;
    *query->gid = gid;
    return true;
}

bool account_find_group(const char *text, gid_t *gid) {
    struct group_query query = {text, gid};
    unsigned number;
    if (any_line("/etc/group", visit_group, &query)) return true;
    if (!parse_id(text, &number)) return false;
    *gid = number;
    return true;
}

bool account_find(const char *text, struct account *account) {
    char copy[256], *group = NULL;
    unsigned uid = 0, gid = 0;
    if (strlen(text) >= sizeof copy) return false;
    copy_text(copy, sizeof copy, text);
    if ((group = strchr(copy, ':'))) *group++ = 0;
    bool by_id = parse_id(copy, &uid);
    if (group && (!by_id || !parse_id(group, &gid))) return false;
    *account = (struct account){.uid = uid, .gid = uid};
    struct user_query query = {copy, by_id, uid, account};
    if (!any_line("/etc/passwd", visit_user, &query)) {
        if (!by_id && strcmp(copy, "root") != 0) return false;
        copy_text(account->name, sizeof account->name, copy);
        if (uid == 0) copy_text(account->name, sizeof account->name, "root");
        copy_text(account->home, sizeof account->home, uid == 0 ? "/root" : "/");
    }
    if (!account->shell[0]) copy_text(account->shell, sizeof account->shell, "/bin/sh");
    if (!account->home[0]) copy_text(account->home, sizeof account->home, "/");
    if (group) account->gid = gid;
    account->groups[account->group_count++] = account->gid;
    any_line("/etc/group", visit_membership, account);
    return true;
}

static bool groups_hold(const struct account *account) {
    gid_t now[ACCOUNT_MAX_GROUPS];
    int count = getgroups(ACCOUNT_MAX_GROUPS, now);
    if (count < 0) return false;
    for (size_t i = 0; i < account->group_count; i++) {
        bool found = account->groups[i] == getegid();
        for (int k = 0; k < count && !found; k++) found = now[k] == account->groups[i];
        if (!found) return false;
    }
    return true;
}

int account_become(const struct account *account) {
    bool same_user = getuid() == account->uid && geteuid() == account->uid;
    if (setgroups(account->group_count, account->groups) && !(same_user && errno == EPERM) && !groups_hold(account))
        return errno;
    if ((getgid() != account->gid || getegid() != account->gid) && setresgid(account->gid, account->gid, account->gid))
        return errno;
    if (!same_user && setresuid(account->uid, account->uid, account->uid)) return errno;
    return 0;
}
