#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server.h"

#define MAX_SUDO_CONNECTIONS 512
#define RETRY_NS 100000000ULL

static unsigned count_of(const struct server *server, enum connection_kind kind) {
    unsigned count = 0;
    for (const struct connection *at = server->connections; at; at = at->next) count += !at->dead && at->kind == kind;
    return count;
}

/* Who has not proved or asked anything yet makes room for a newcomer, the one that came first (the list is newest
 * first). */
static bool evict_oldest(struct server *server, enum connection_kind kind) {
    struct connection *oldest = NULL;
    for (struct connection *at = server->connections; at; at = at->next)
        if (!at->dead && at->kind == kind && at->opening_deadline_ns && at->state != CLOSING) oldest = at;
    if (oldest) connection_drop(oldest);
    return oldest != NULL;
}

static bool may_use_sudo(const struct options *options, uid_t uid) {
    if (uid == 0) return true;
    for (size_t i = 0; i < options->sudo_uid_count; i++)
        if (options->sudo_uids[i] == uid) return true;
    return false;
}

/* Small answers at once, and a peer that vanished without a word is noticed; other sockets than TCP refuse, harmlessly. */
static void tune(int fd) {
    static const int options[][2] = {{TCP_NODELAY, 1}, {TCP_KEEPIDLE, 30}, {TCP_KEEPINTVL, 10}, {TCP_KEEPCNT, 3}};
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        setsockopt(fd, IPPROTO_TCP, options[i][0], &options[i][1], sizeof options[i][1]);
}

static void turn_away(struct connection *connection, uint16_t error, const char *message) {
    if (connection->kind == CONNECTION_SUDO)
        connection_fail(connection, 0, error, 0, message);
    else
        GA_SEND(&connection->tx, 0, REFUSED, .error = error, .version = GA_VERSION, .message = ga_slice_of(message));
    connection_close_after_flush(connection);
}

void admit(struct server *server, int listen_fd, enum connection_kind kind) {
    unsigned limit = kind == CONNECTION_SUDO ? MAX_SUDO_CONNECTIONS : GA_MAX_CONNECTIONS;
    int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        /* Out of descriptors or memory: poll would come back at once for ever. */
        if (errno != EAGAIN && errno != EINTR) server->accept_retry_ns = clock_ns() + RETRY_NS;
        return;
    }
    bool room = count_of(server, kind) < limit || evict_oldest(server, kind);
    struct connection *connection = connection_open(server, fd, kind);
    if (kind == CONNECTION_HOST) tune(fd);
    if (!room)
        turn_away(connection, GA_ERROR_BUSY, "too many connections");
    else if (kind == CONNECTION_SUDO && !may_use_sudo(server->options, connection->peer_uid))
        turn_away(connection, GA_ERROR_UNAUTHORIZED, "this user may not run commands as another user here");
}
