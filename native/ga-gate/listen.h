/* The listening socket. */
#ifndef GG_LISTEN_H
#define GG_LISTEN_H

#include "options.h"

#define PLACE_SIZE 80

enum listen_result { LISTENING, LISTEN_REFUSED, LISTEN_FAILED };

/* A socket that listens, and where ("ADDRESS:PORT"), or a word on stderr. Beyond this machine only with TLS. */
enum listen_result listen_open(const struct options *options, int *fd, char place[PLACE_SIZE]);

#endif
