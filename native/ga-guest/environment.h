/* The environment of a command. */
#ifndef GA_ENVIRONMENT_H
#define GA_ENVIRONMENT_H

#include <stdbool.h>

#include "account.h"
#include "wire.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* ga-guest's own variables, then the user's HOME, USER, LOGNAME and SHELL, then `env`; or `env` alone when `exact`. */
char **environment_for(const struct account *account, struct ga_texts env, bool exact);

/* Adds or replaces NAME=VALUE in a vector from allocate(); returns the vector, moved when it grew. */
char **environment_set(char **vector, char *entry);
char *environment_entry(const char *name, const char *value);
const char *environment_get(char *const *vector, const char *name); /* NULL when unset */

#endif
