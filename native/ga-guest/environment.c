#define _GNU_SOURCE
#include "environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t name_length(const char *entry) {
    return strcspn(entry, "=");
}

char **environment_set(char **vector, char *entry) {
    size_t count = 0, length = name_length(entry);
    for (; vector[count]; count++) {
        if (name_length(vector[count]) != length || strncmp(vector[count], entry, length) != 0) continue;
        vector[count] = entry;
        return vector;
    }
    char **grown = allocate((count + 2) * sizeof *grown);
    memcpy(grown, vector, count * sizeof *grown);
    grown[count] = entry;
    grown[count + 1] = NULL;
    free(vector);
    return grown;
}

char *environment_entry(const char *name, const char *value) {
    size_t size = strlen(name) + strlen(value) + 2;
    char *entry = allocate(size);
    snprintf(entry, size, "%s=%s", name, value);
    return entry;
}

const char *environment_get(char *const *vector, const char *name) {
    size_t length = strlen(name);
    for (; *vector; vector++)
        if (name_length(*vector) == length && !strncmp(*vector, name, length) && (*vector)[length] == '=')
            return *vector + length + 1;
    return NULL;
}

char **environment_for(const struct account *account, struct ga_texts env, bool exact) {
    char **vector = allocate(sizeof *vector), **more = ga_vector_of(env);
    vector[0] = NULL;
    if (!exact) {
        for (char **entry = environ; entry && *entry; entry++) vector = environment_set(vector, *entry);
        if (!environment_get(vector, "PATH")) vector = environment_set(vector, environment_entry("PATH", DEFAULT_PATH));
        vector = environment_set(vector, environment_entry("HOME", account->home));
        vector = environment_set(vector, environment_entry("USER", account->name));
        vector = environment_set(vector, environment_entry("LOGNAME", account->name));
        vector = environment_set(vector, environment_entry("SHELL", account->shell));
    }
    for (; *more; more++) vector = environment_set(vector, *more);
    return vector;
}
