/* Sockets and devices that the server listens on; each prints why it failed and returns -1. */
#ifndef GA_LISTENER_H
#define GA_LISTENER_H

#include <sys/types.h>

int listen_unix(const char *path, mode_t mode); /* replaces a socket left there */
int listen_tcp(const char *address);            /* numeric HOST:PORT or [HOST]:PORT */
int open_device(const char *path);

#endif
