#define _GNU_SOURCE
#include "loop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../ga-desktop/clock.h"
#include "link_io.h"

enum { WATCH_AT, LISTEN_AT, LINKS_AT, CLIENTS_AT = LINKS_AT + GG_MAX_SESSIONS, POLLED = CLIENTS_AT + CLIENTS_MAX };

#define REACH_NS (10000 * MS_NS)
#define TURN_BYTES 65536

struct link *loop_connect(struct gate *gate, uint32_t role) {
    int fd = link_io_connect(gate->desktop_path);
    return fd < 0 ? NULL : link_new(fd, role, &gate->desktop_token);
}

/* Its opening is all that it ever says; anything else is its end. */
static void move_watch(struct link *watch) {
    struct message message;
    link_io_send(watch);
    link_io_receive(watch);
    if (link_next(watch, &message)) link_fail(watch, "ga-desktop sent what nobody asked for");
    link_io_send(watch);
}

bool loop_reach_desktop(struct loop *loop) {
    struct link *watch = loop->watch = loop_connect(loop->gate, GD_ROLE_FRAMES);
    uint64_t until = clock_ns() + REACH_NS;
    if (!watch) {
        fprintf(stderr, "ga-gate: ga-desktop cannot be reached at %s: %s\n", loop->gate->desktop_path, strerror(errno));
        return false;
    }
    move_watch(watch);
    while (watch->state != LINK_OPEN && watch->state != LINK_LOST && clock_ns() < until) {
        struct pollfd polled = {.fd = watch->fd, .events = POLLIN};
        if (poll(&polled, 1, (int)((until - clock_ns()) / MS_NS) + 1) > 0) move_watch(watch);
    }
    if (watch->state == LINK_OPEN) return true;
    if (watch->state != LINK_LOST) link_fail(watch, "it does not answer");
    fprintf(stderr, "ga-gate: ga-desktop refuses us: %.*s\n", (int)watch->words_size, watch->words);
    return false;
}

static void receive(struct gate *gate, struct client *client) {
    do {
        uint8_t *at;
        size_t room = stream_room(&client->stream, client_largest(client), &at);
        long got = room ? transport_read(&client->transport, at, room) : 0;
        if (got < 0) client->state = CLIENT_GONE;
        if (got <= 0) return;
        stream_arrived(&client->stream, (size_t)got);
        gate_serve_client(gate, client);
    } while (client_is_heard(client) && transport_has_more(&client->transport));
}

/* How much went; 0: nothing waits, or the client does not take it. */
static long send_some(struct client *client) {
    struct stream *stream = &client->stream;
    if (client->state == CLIENT_GONE || stream_waiting(stream) == 0) return 0;
    long sent = transport_write(&client->transport, stream->out + stream->out_start, stream_waiting(stream));
    if (sent < 0) client->state = CLIENT_GONE;
    if (sent > 0) {
        stream_sent(stream, (size_t)sent);
        client->stuck_ns = 0;
        return sent;
    }
    if (!client->stuck_ns) client->stuck_ns = clock_ns();
    return 0;
}

/* As much as the client takes, but others get their turn too. */
static void flush(struct gate *gate, struct client *client) {
    long sent, all = 0;
    do {
        gate_fill(gate, client);
        sent = send_some(client);
        all += sent;
    } while (sent > 0 && all < TURN_BYTES);
}

static bool is_sending(const struct client *client) {
    bool frame = client->state == CLIENT_OPEN && client->session->frames.turn.state == FRAME_SENDING;
    return frame || stream_waiting(&client->stream) > 0;
}

/* What was received already can be taken now. */
static bool has_work(const struct client *client) {
    struct message message;
    if (!client_is_heard(client)) return false;
    if (transport_has_more(&client->transport)) return true;
    return stream_next(&client->stream, client_largest(client), &message) != STREAM_NOTHING;
}

static short link_events(const struct link *link) {
    return stream_waiting(&link->stream) ? POLLIN | POLLOUT : POLLIN;
}

/* Whom to wait for; false when there is something to do at once. */
static bool list_polled(const struct loop *loop, struct pollfd polled[POLLED]) {
    const struct gate *gate = loop->gate;
    bool idle = true;
    for (int i = 0; i < POLLED; i++) polled[i] = (struct pollfd){.fd = -1};
    bool watched = loop->watch->state != LINK_LOST;
    polled[WATCH_AT] = (struct pollfd){.fd = watched ? loop->watch->fd : -1, .events = POLLIN};
    polled[LISTEN_AT] = (struct pollfd){.fd = loop->listen_fd, .events = POLLIN};
    for (int i = 0; i < GG_MAX_SESSIONS; i++) {
        const struct link *link = gate->sessions.items[i].link;
        if (link) polled[LINKS_AT + i] = (struct pollfd){.fd = link->fd, .events = link_events(link)};
        if (link && link->state == LINK_LOST) idle = false;
    }
    for (int i = 0; i < gate->client_count; i++) {
        const struct client *client = gate->clients[i];
        short events = client->transport.wants & POLLOUT;
        if (client_is_heard(client)) events |= POLLIN;
        if (is_sending(client) && client->transport.wants != POLLIN) events |= POLLOUT;
        polled[CLIENTS_AT + i] = (struct pollfd){.fd = client->transport.fd, .events = events};
        if (has_work(client)) idle = false;
    }
    return idle;
}

static bool wait_for_events(struct pollfd polled[POLLED], bool idle, uint64_t due, const sigset_t *signals) {
    uint64_t now = clock_ns(), left = !idle || due <= now ? 0 : due - now;
    struct timespec span = {(time_t)(left / 1000000000ull), (long)(left % 1000000000ull)};
    if (ppoll(polled, POLLED, idle && due == NEVER ? NULL : &span, signals) >= 0) return true;
    for (int i = 0; i < POLLED; i++) polled[i].revents = 0;
    return errno != EINTR;
}

static void accept_client(struct loop *loop) {
    struct transport transport;
    int fd = accept4(loop->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 || !transport_open(&transport, fd, loop->tls)) return;
    struct client *client = client_new(transport);
    if (client) gate_add(loop->gate, client);
}

static void move_clients(struct loop *loop, const struct pollfd polled[POLLED], struct client *const then[], int count) {
    struct gate *gate = loop->gate;
    for (int i = 0; i < count; i++) {
        short events = polled[CLIENTS_AT + i].revents;
        bool ended = events & (POLLHUP | POLLERR);
        if (then[i]->state == CLIENT_GONE) continue;
        if (ended && !client_is_heard(then[i])) then[i]->state = CLIENT_GONE;
        if (client_is_heard(then[i]) && (events || has_work(then[i]))) receive(gate, then[i]);
    }
    for (int i = 0; i < gate->client_count; i++) {
        gate_serve_client(gate, gate->clients[i]);
        flush(gate, gate->clients[i]);
    }
}

static void move_links(struct gate *gate, const struct pollfd polled[POLLED]) {
    for (int i = 0; i < GG_MAX_SESSIONS; i++) {
        struct session *session = &gate->sessions.items[i];
        if (!session->link) continue;
        if (polled[LINKS_AT + i].revents & ~POLLOUT) link_io_receive(session->link);
        gate_serve_link(gate, session);
    }
}

static void send_links(struct gate *gate) {
    for (int i = 0; i < GG_MAX_SESSIONS; i++)
        if (gate->sessions.items[i].link) link_io_send(gate->sessions.items[i].link);
}

static void one_turn(struct loop *loop, uint64_t due, const sigset_t *signals) {
    struct gate *gate = loop->gate;
    struct pollfd polled[POLLED];
    struct client *then[CLIENTS_MAX];
    int count = gate->client_count;
    memcpy(then, gate->clients, sizeof then);
    bool idle = list_polled(loop, polled);
    if (!wait_for_events(polled, idle, due, signals)) return;
    if (polled[WATCH_AT].revents) move_watch(loop->watch);
    move_links(gate, polled);
    move_clients(loop, polled, then, count);
    send_links(gate);
    if (polled[LISTEN_AT].revents) accept_client(loop);
}

bool loop_run(struct loop *loop, const sigset_t *signals) {
    struct gate *gate = loop->gate;
    char words[LINK_WORDS + 1] = "ga-gate was told to stop";
    while (!loop->stop && loop->watch->state != LINK_LOST) one_turn(loop, gate_sweep(gate, clock_ns()), signals);
    bool stopped = loop->watch->state != LINK_LOST;
    if (!stopped) snprintf(words, sizeof words, "%.*s", (int)loop->watch->words_size, loop->watch->words);
    if (!stopped) fprintf(stderr, "ga-gate: %s\n", words);
    gate_end(gate, words);
    loop->listen_fd = -1;
    for (uint64_t due = gate_sweep(gate, clock_ns()); gate->client_count; due = gate_sweep(gate, clock_ns()))
        one_turn(loop, due, signals);
    return stopped;
}
