/* The socket of a link. */
#ifndef GG_LINK_IO_H
#define GG_LINK_IO_H

#include "link.h"

/* A socket connected to a path; -1 with errno. Never waits. */
int link_io_connect(const char *path);
/* What is there, with descriptors; the end of the stream is the end of the link. */
void link_io_receive(struct link *link);
void link_io_send(struct link *link);

#endif
