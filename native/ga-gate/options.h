/* The command line. */
#ifndef GG_OPTIONS_H
#define GG_OPTIONS_H

#include "../common/token.h"

struct options {
    const char *desktop_path;
    const char *listen_at; /* ADDRESS:PORT; NULL: listen_fd */
    int listen_fd;
    struct token token, desktop_token;
    const char *certificate, *key; /* PEM files; NULL: no TLS */
    char pem_path[32];             /* of --tls-fd */
};

/* False, after saying why on stderr, when the command line makes no sense. */
bool options_parse(struct options *options, int argc, char **argv);

#endif
