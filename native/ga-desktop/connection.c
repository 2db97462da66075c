#define _GNU_SOURCE
#include "connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"

#define FIRST_CAPACITY 4096
#define FDS_MAX 2

struct connection *connection_new(int fd) {
    struct connection *connection = calloc(1, sizeof *connection);
    uint8_t *data = malloc(FIRST_CAPACITY);
    if (!connection || !data) {
        free(connection);
        free(data);
        return NULL;
    }
    connection->fd = fd;
    connection->opened_ns = clock_ns();
    connection->data = data;
    connection->capacity = FIRST_CAPACITY;
    return connection;
}

void connection_free(struct connection *connection) {
    close(connection->fd);
    free(connection->data);
    free(connection->state_of_role);
    free(connection);
}

/* Room for the message that is arriving, whose size is checked before. */
static bool make_room(struct connection *connection) {
    struct gd_header header;
    size_t wanted = FIRST_CAPACITY;
    if (connection->size >= sizeof header) {
        memcpy(&header, connection->data, sizeof header);
        if (header.body_bytes <= GD_MAX_BODY && sizeof header + header.body_bytes > wanted)
            wanted = sizeof header + header.body_bytes;
    }
    if (wanted == connection->capacity || connection->size > wanted) return true;
    uint8_t *data = realloc(connection->data, wanted);
    if (!data) return wanted < connection->capacity;
    connection->data = data;
    connection->capacity = wanted;
    return true;
}

bool connection_receive(struct connection *connection) {
    if (!make_room(connection)) return false;
    size_t room = connection->capacity - connection->size;
    if (room == 0) return true;
    ssize_t got = recv(connection->fd, connection->data + connection->size, room, MSG_DONTWAIT);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    connection->size += (size_t)got;
    return got > 0;
}

bool connection_next(struct connection *connection, struct message *message) {
    struct gd_header header;
    if (connection->state == CLOSING || connection->paused || connection->size < sizeof header) return false;
    memcpy(&header, connection->data, sizeof header);
    uint32_t largest = connection->state == OPEN ? GD_MAX_BODY : GD_MAX_OPENING_BODY;
    if (header.body_bytes > largest || header.zero != 0) {
        connection_fail(connection, header.request, GD_ERROR_MALFORMED, 0, "not a message of this protocol");
        connection->state = CLOSING;
        return false;
    }
    if (connection->size < sizeof header + header.body_bytes) return false;
    *message = (struct message){header.message, header.request, connection->data + sizeof header, header.body_bytes};
    return true;
}

void connection_taken(struct connection *connection, const struct message *message) {
    size_t taken = sizeof(struct gd_header) + message->size;
    connection->size -= taken;
    memmove(connection->data, connection->data + taken, connection->size);
    if (connection->size == 0) make_room(connection);
}

void connection_send(struct connection *connection, uint16_t code, uint64_t request, const void *fields,
                     size_t fields_size, struct tail tail) {
    struct gd_header header = {(uint32_t)(fields_size + tail.size), code, 0, request};
    struct iovec parts[3] = {
        {&header, sizeof header}, {(void *)fields, fields_size}, {(void *)tail.data, tail.size}};
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(FDS_MAX * sizeof(int))];
    } control = {.room = {0}};
    struct msghdr whole = {.msg_iov = parts, .msg_iovlen = 3};
    if (connection->state == CLOSING) return;
    if (tail.fd_count) {
        size_t size = (size_t)tail.fd_count * sizeof(int);
        whole.msg_control = control.room;
        whole.msg_controllen = CMSG_SPACE(size);
        struct cmsghdr *part = CMSG_FIRSTHDR(&whole);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(part), tail.fds, size);
    }
    ssize_t wanted = (ssize_t)(sizeof header + fields_size + tail.size);
    if (sendmsg(connection->fd, &whole, MSG_DONTWAIT | MSG_NOSIGNAL) != wanted) connection->state = CLOSING;
}

void connection_fail(struct connection *connection, uint64_t request, enum gd_error error, uint32_t chars_typed,
                     const char *text) {
    struct gd_FAILED failed = {.error = error, .chars_typed = chars_typed};
    struct tail tail = {.data = text, .size = strlen(text)};
    connection_send(connection, GD_MESSAGE_FAILED, request, &failed, sizeof failed, tail);
}

bool message_fields(const struct message *message, void *fields, size_t size, bool has_tail) {
    if (has_tail ? message->size < size : message->size != size) return false;
    memcpy(fields, message->body, size);
    return true;
}
