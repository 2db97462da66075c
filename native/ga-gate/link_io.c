#define _GNU_SOURCE
#include "link_io.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int link_io_connect(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (const void *)&address, sizeof address) == 0) return fd;
    int reason = errno;
    close(fd);
    errno = reason;
    return -1;
}

static void keep_fds(struct link *link, struct msghdr *whole) {
    for (struct cmsghdr *part = CMSG_FIRSTHDR(whole); part; part = CMSG_NXTHDR(whole, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
        size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
            if (link->fd_count < LINK_FDS)
                link->fds[link->fd_count++] = fd;
            else
                close(fd);
        }
    }
}

void link_io_receive(struct link *link) {
    uint8_t *at;
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(LINK_FDS * sizeof(int))];
    } control;
    size_t room = stream_room(&link->stream, GD_MAX_BODY, &at);
    struct iovec part = {at, room};
    struct msghdr whole = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room,
                           .msg_controllen = sizeof control.room};
    if (room == 0 || link->state == LINK_LOST) return;
    ssize_t got = recvmsg(link->fd, &whole, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got > 0) keep_fds(link, &whole);
    if (got > 0)
        stream_arrived(&link->stream, (size_t)got);
    else
        link_fail(link, "ga-desktop, or the world it runs in, is gone");
}

void link_io_send(struct link *link) {
    struct stream *stream = &link->stream;
    size_t waiting = stream_waiting(stream);
    if (waiting == 0 || link->state == LINK_LOST) return;
    ssize_t sent = send(link->fd, stream->out + stream->out_start, waiting, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) stream_sent(stream, (size_t)sent);
    stream_trim(stream);
    /* Why it does not take it any more can still be read. */
}
