/* What overrides what in a command's environment. */
#define _GNU_SOURCE
#include "../ga-guest/environment.h"

#include <string.h>
#include <unistd.h>

#include "check.h"

static struct ga_texts encode(struct buffer *out, const char *const *entries, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) ga_put_bytes(out, ga_slice_of(entries[i]));
    return (struct ga_texts){buffer_front(out), (uint32_t)out->size, count};
}

static const char *get(char **env, const char *name) {
    const char *value = environment_get(env, name);
    return value ? value : "(unset)";
}

/* What environment_for makes is for exec, which is the end of it: nobody frees it. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "detect_leaks=0";
}

int main(void) {
    static char *own[] = {"BASE=1", "HOME=/base", "EMPTY=", "BASELONG=x", NULL};
    static const char *const given[] = {"USER=given", "BASE=2", "NEW=a=b"};
    struct account account = {.name = "ga", .home = "/home/ga", .shell = "/bin/bash"};
    struct buffer encoded = {0};
    struct ga_texts texts = encode(&encoded, given, 3);
    environ = own;
    char **env = environment_for(&account, texts, false);
    CHECK(!strcmp(get(env, "HOME"), "/home/ga") && !strcmp(get(env, "USER"), "given"));
    CHECK(!strcmp(get(env, "BASE"), "2") && !strcmp(get(env, "BASELONG"), "x") && !strcmp(get(env, "EMPTY"), ""));
    CHECK(!strcmp(get(env, "NEW"), "a=b") && !strcmp(get(env, "PATH"), DEFAULT_PATH));
    CHECK(!strcmp(get(env, "LOGNAME"), "ga") && !strcmp(get(env, "SHELL"), "/bin/bash"));
    char **exact = environment_for(&account, texts, true);
    CHECK(exact[3] == NULL && !environment_get(exact, "HOME"));
    return 0;
}
