/* Users by name, by number and by pair. */
#include "../ga-guest/account.h"

#include <string.h>

#include "check.h"

int main(void) {
    struct account account;
    CHECK(account_find("root", &account) && account.uid == 0 && account.gid == 0);
    CHECK(account.group_count >= 1 && account.groups[0] == 0);
    CHECK(account_find("0", &account) && !strcmp(account.name, "root"));
    CHECK(account_find("54321", &account) && account.uid == 54321 && account.gid == 54321);
    CHECK(!strcmp(account.home, "/") && !strcmp(account.shell, "/bin/sh"));
    CHECK(account_find("54321:7", &account) && account.uid == 54321 && account.gid == 7);
    CHECK(account_find("daemon", &account) && account.uid == 1 && !strcmp(account.home, "/usr/sbin"));
    static const char *const wrong[] = {"nobody-of-that-name", "root:0", "12:", ":", "", "-1", "99999999999", "1:x", "1 "};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) CHECK(!account_find(wrong[i], &account));
    char endless[5000];
    memset(endless, 'a', sizeof endless - 1);
    endless[sizeof endless - 1] = 0;
    CHECK(!account_find(endless, &account));
    gid_t gid;
    CHECK(account_find_group("root", &gid) && gid == 0);
    CHECK(account_find_group("77", &gid) && gid == 77);
    CHECK(!account_find_group("no-such-group", &gid));
    return 0;
}
