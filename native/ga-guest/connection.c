#define _GNU_SOURCE
#include "connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "descriptors.h"
#include "server.h"

#define READ_SIZE 65536
#define DEVICE_RETRY_NS 250000000ULL

static bool take_frame(struct connection *connection);

static void begin(struct connection *connection) {
    bool trusted = connection->kind == CONNECTION_SUDO;
    connection->state = trusted ? READY : AWAIT_HELLO;
    connection->opening_deadline_ns = clock_ns() + GA_OPENING_TIMEOUT_MS * 1000000ULL;
    if (connection->kind == CONNECTION_DEVICE) connection->opening_deadline_ns = 0;
}

struct connection *connection_open(struct server *server, int fd, enum connection_kind kind) {
    struct connection *connection = allocate(sizeof *connection);
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t size = sizeof peer;
    *connection = (struct connection){.server = server, .kind = kind, .fd = fd, .passed = {-1, -1, -1}};
    if (kind == CONNECTION_SUDO && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size)) peer.uid = (uid_t)-1;
    connection->peer_uid = peer.uid;
    begin(connection);
    connection->next = server->connections;
    server->connections = connection;
    return connection;
}

static void drop_passed(struct connection *connection) {
    for (int i = 0; i < 3; i++) fd_close(&connection->passed[i]);
    connection->passed_count = 0;
}

void connection_free(struct connection *connection) {
    drop_passed(connection);
    fd_close(&connection->fd);
    buffer_free(&connection->rx);
    buffer_free(&connection->tx);
    free(connection);
}

static void abandon_jobs(struct connection *connection) {
    for (struct job *job = connection->server->jobs; job; job = job->next)
        if (job->owner == connection) job_abandon(job);
}

void connection_drop(struct connection *connection) {
    abandon_jobs(connection);
    if (connection->kind == CONNECTION_DEVICE && !connection->server->ending) {
        buffer_free(&connection->rx);
        buffer_free(&connection->tx);
        begin(connection);
        connection->server->device_retry_ns = clock_ns() + DEVICE_RETRY_NS;
        return;
    }
    connection->dead = true;
    /* Forked children may still hold a copy of the descriptor; the peer must see the end now. */
    shutdown(connection->fd, SHUT_RDWR);
}

void connection_close_after_flush(struct connection *connection) {
    if (connection->state == CLOSING) return;
    connection->state = CLOSING;
    connection->opening_deadline_ns = clock_ns() + 1000000000ULL;
}

void connection_fail(struct connection *connection, uint32_t channel, uint16_t error, int os_error, const char *message) {
    GA_SEND(&connection->tx, channel, FAILED, .error = error, .os_error = os_error, .message = ga_slice_of(message));
}

bool connection_wants_read(const struct connection *connection) {
    return !connection->dead && connection->state != CLOSING && connection->tx.size < TX_LIMIT;
}

void connection_flush(struct connection *connection) {
    while (!connection->dead && connection->tx.size) {
        ssize_t sent = write(connection->fd, buffer_front(&connection->tx), connection->tx.size);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && errno == EAGAIN) return;
        if (sent < 0) {
            connection_drop(connection);
            return;
        }
        buffer_consume(&connection->tx, (size_t)sent);
    }
    if (!connection->dead && connection->state == CLOSING) connection_drop(connection);
    /* Requests that waited for room in tx. */
    while (connection_wants_read(connection) && take_frame(connection)) {
    }
}

void connection_tick(struct connection *connection, uint64_t now) {
    if (!connection->dead && connection->opening_deadline_ns && now >= connection->opening_deadline_ns)
        connection_drop(connection);
}

static void refuse_malformed(struct connection *connection) {
    if (connection->state == READY) {
        abandon_jobs(connection);
        connection_fail(connection, 0, GA_ERROR_MALFORMED, 0, "a malformed frame");
        connection_close_after_flush(connection);
    } else if (connection->state != CLOSING) {
        connection_drop(connection);
    }
}

/* A device has no connections: what precedes an opening is left over from an earlier peer and is skipped, and an
 * opening in the middle means that a new peer has come. */
static bool is_opening(const uint8_t *data) {
    static const uint8_t hello[GA_HEADER_SIZE + 4] = {
        42, 0, 0, 0, 0, 0, 0, 0, GA_MESSAGE_HELLO, 0, 0, 0, GA_MAGIC & 0xff, GA_MAGIC >> 8 & 0xff,
        GA_MAGIC >> 16 & 0xff, GA_MAGIC >> 24 & 0xff};
    return memcmp(data, hello, sizeof hello) == 0;
}

static void synchronise_device(struct connection *connection) {
    struct buffer *rx = &connection->rx;
    while (connection->state == AWAIT_HELLO && rx->size >= GA_HEADER_SIZE + 4 && !is_opening(buffer_front(rx)))
        buffer_consume(rx, 1);
    if (connection->state == AWAIT_HELLO || rx->size < GA_HEADER_SIZE + 4 || !is_opening(buffer_front(rx))) return;
    abandon_jobs(connection);
    buffer_free(&connection->tx);
    begin(connection);
}

/* Handles one whole frame if there is one; false when there is nothing more to do. */
static bool take_frame(struct connection *connection) {
    struct buffer *rx = &connection->rx;
    struct ga_header header;
    if (connection->kind == CONNECTION_DEVICE) synchronise_device(connection);
    size_t least = connection->kind == CONNECTION_DEVICE && connection->state == AWAIT_HELLO ? 16 : GA_HEADER_SIZE;
    if (rx->size < least || connection->state == CLOSING || connection->dead) return false;
    uint32_t limit = connection->state == READY ? GA_MAX_PAYLOAD : GA_MAX_OPENING_PAYLOAD;
    if (!ga_decode_header(buffer_front(rx), &header) || header.size > limit) {
        refuse_malformed(connection);
        return false;
    }
    if (rx->size < GA_HEADER_SIZE + header.size) return false;
    struct ga_slice payload = {buffer_front(rx) + GA_HEADER_SIZE, header.size};
    bool good = connection->state == READY ? connection_dispatch(connection, &header, payload)
                                           : handshake_step(connection, &header, payload);
    if (!good) {
        refuse_malformed(connection);
        return false;
    }
    if (connection->dead) return false;
    buffer_consume(rx, GA_HEADER_SIZE + header.size);
    return connection->tx.size < TX_LIMIT;
}

static void take_descriptors(struct connection *connection, struct msghdr *message) {
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
        size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
            if (connection->passed_count < 3)
                connection->passed[connection->passed_count++] = fd;
            else
                close(fd);
        }
    }
}

static ssize_t receive(struct connection *connection, uint8_t *out, size_t size) {
    union {
        char bytes[CMSG_SPACE(3 * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec part = {out, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (connection->kind != CONNECTION_SUDO) return read(connection->fd, out, size);
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    ssize_t received = recvmsg(connection->fd, &message, MSG_CMSG_CLOEXEC);
    if (received >= 0) take_descriptors(connection, &message);
    return received;
}

void connection_readable(struct connection *connection) {
    uint8_t *out = buffer_reserve(&connection->rx, READ_SIZE);
    ssize_t received = receive(connection, out, READ_SIZE);
    if (received < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (received <= 0) {
        connection_drop(connection);
        return;
    }
    connection->rx.size += (size_t)received;
    while (take_frame(connection)) {
    }
}
