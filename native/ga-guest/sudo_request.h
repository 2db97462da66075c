/* What a sudo command line asks for: who, where, what, with which environment. */
#ifndef GA_SUDO_REQUEST_H
#define GA_SUDO_REQUEST_H

#include <stdbool.h>

#include "account.h"
#include "sudo_options.h"

struct sudo_request {
    struct account target;
    char user[32]; /* uid:gid */
    char *folder;
    char **argv;
    char **env;
};

/* Prints what is wrong and returns false. */
bool sudo_request_make(struct sudo_request *request, const struct sudo_options *options);

#endif
