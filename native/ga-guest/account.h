/* Users and groups read straight from /etc/passwd and /etc/group (a static program cannot use NSS). */
#ifndef GA_ACCOUNT_H
#define GA_ACCOUNT_H

#include <stdbool.h>
#include <sys/types.h>

#define ACCOUNT_MAX_GROUPS 256

struct account {
    char name[256];
    char home[1024];
    char shell[1024];
    uid_t uid;
    gid_t gid;
    gid_t groups[ACCOUNT_MAX_GROUPS];
    size_t group_count;
};

/* `text` is a name, a uid or uid:gid; a number needs no entry. False when there is no such user. */
bool account_find(const char *text, struct account *account);

/* A group's id by name or number. */
bool account_find_group(const char *text, gid_t *gid);

/* Becomes the account for good; 0, or an errno. What already holds is not asked of the kernel again, so a sandbox that maps
 * one user works. */
int account_become(const struct account *account);

#endif
