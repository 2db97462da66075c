/* A machine's id in a file, and what is refused. */
#include "../ga-guest/identity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static struct ga_slice slice(const char *text) {
    return (struct ga_slice){(const uint8_t *)text, strlen(text)};
}

int main(void) {
    char folder[] = "/tmp/ga-identity-XXXXXX", path[64], content[64] = "";
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/machine-id", folder);
    CHECK(identity_set_machine_id(path, slice("0123456789abcdef0123456789abcdee")) == 0);
    CHECK(identity_set_machine_id(path, slice("0123456789abcdef0123456789abcdef")) == 0);
    FILE *file = fopen(path, "r");
    CHECK(file && fread(content, 1, sizeof content, file) == 33);
    fclose(file);
    CHECK(!strcmp(content, "0123456789abcdef0123456789abcdef\n"));
    static const char *const wrong[] = {"", "0123456789abcdef0123456789abcde", "0123456789ABCDEF0123456789abcdef",
                                        "0123456789abcdef0123456789abcdef0", "../../../../etc/passwd0123456789"};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(identity_set_machine_id(path, slice(wrong[i])) == EINVAL);
    CHECK(identity_set_machine_id("/nowhere/machine-id", slice("0123456789abcdef0123456789abcdef")) == ENOENT);
    CHECK(unlink(path) == 0 && symlink("elsewhere", path) == 0);
    CHECK(identity_set_machine_id(path, slice("0123456789abcdef0123456789abcdef")) == ELOOP);
    CHECK(unlink(path) == 0 && rmdir(folder) == 0);

    CHECK(identity_set_address(slice("no-such-card"), slice("sixsix")) != 0);
    CHECK(identity_set_address(slice("lo"), slice("five5")) == EINVAL);
    CHECK(identity_set_address(slice(""), slice("sixsix")) == EINVAL);
    CHECK(identity_set_address(slice("a-name-that-is-much-too-long"), slice("sixsix")) == EINVAL);
    return 0;
}
