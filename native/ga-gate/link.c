#define _GNU_SOURCE
#include "link.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "../common/sha256.h"
#include "../ga-desktop/clock.h"

#define OUT_LIMIT (GD_MAX_BODY + 4096)

static void prove(const struct link *link, const uint8_t *service_nonce, const char *label, uint8_t *proof) {
    struct hmac_sha256 mac;
    uint32_t facts[2] = {GD_VERSION, link->role};
    hmac_sha256_begin(&mac, link->token->data, link->token->size);
    hmac_sha256_update(&mac, label, strlen(label));
    hmac_sha256_update(&mac, link->nonce, GD_NONCE_SIZE);
    hmac_sha256_update(&mac, service_nonce, GD_NONCE_SIZE);
    hmac_sha256_update(&mac, facts, sizeof facts);
    hmac_sha256_end(&mac, proof);
}

struct link *link_new(int fd, uint32_t role, const struct token *token) {
    struct link *link = calloc(1, sizeof *link);
    struct gd_HELLO hello = {GD_MAGIC, GD_VERSION, role, {0}};
    if (!link || !stream_open(&link->stream, OUT_LIMIT)) {
        free(link);
        return NULL;
    }
    link->fd = fd;
    link->role = role;
    link->token = token;
    link->opened_ns = clock_ns();
    if (getrandom(link->nonce, GD_NONCE_SIZE, 0) != GD_NONCE_SIZE) {
        link->fd = -1;
        link_free(link);
        return NULL;
    }
    memcpy(hello.nonce, link->nonce, GD_NONCE_SIZE);
    link_send(link, GD_MESSAGE_HELLO, 0, &hello, sizeof hello, NULL, 0);
    return link;
}

static void close_fds(struct link *link) {
    while (link->fd_count) close(link->fds[--link->fd_count]);
}

void link_free(struct link *link) {
    if (!link) return;
    close_fds(link);
    if (link->fd >= 0) close(link->fd);
    mapping_close(&link->mapping);
    stream_close(&link->stream);
    free(link);
}

static void lose(struct link *link, uint32_t error, const void *words, size_t size) {
    if (link->state == LINK_LOST) return;
    link->state = LINK_LOST;
    link->error = error;
    link->words_size = (uint32_t)(size < LINK_WORDS ? size : LINK_WORDS);
    memcpy(link->words, words, link->words_size);
}

void link_fail(struct link *link, const char *words) {
    lose(link, GD_ERROR_WORLD_LOST, words, strlen(words));
}

void link_send(struct link *link, uint16_t code, uint64_t request, const void *fields, size_t fields_size,
               const void *tail, size_t tail_size) {
    if (!stream_put(&link->stream, code, request, fields, fields_size, tail, tail_size))
        link_fail(link, "ga-desktop does not read what it is sent");
}

static void take_challenge(struct link *link, const struct message *message) {
    struct gd_CHALLENGE challenge;
    struct gd_PROOF proof;
    if (message->code != GD_MESSAGE_CHALLENGE || !FIELDS(message, &challenge) || challenge.version != GD_VERSION) {
        link_fail(link, "ga-desktop's answer to HELLO makes no sense");
        return;
    }
    prove(link, challenge.nonce, "ga-desktop service", proof.proof);
    if (!equal_in_constant_time(proof.proof, challenge.proof, GD_PROOF_SIZE)) {
        link_fail(link, "ga-desktop does not know the token that we were given for it");
        return;
    }
    prove(link, challenge.nonce, "ga-desktop client", proof.proof);
    link_send(link, GD_MESSAGE_PROOF, 0, &proof, sizeof proof, NULL, 0);
    if (link->state != LINK_LOST) link->state = LINK_WELCOME;
}

static void take_welcome(struct link *link, const struct message *message) {
    uint32_t tail = message->size - (uint32_t)sizeof link->welcome;
    if (message->code != GD_MESSAGE_WELCOME || !FIELDS_AND_TAIL(message, &link->welcome) || tail > LINK_WORDS) {
        link_fail(link, "ga-desktop's answer to PROOF makes no sense");
        return;
    }
    memcpy(link->words, message->body + sizeof link->welcome, tail);
    link->words_size = tail;
    link->state = LINK_OPEN;
}

static void take_failure(struct link *link, const struct message *message) {
    struct gd_FAILED failed;
    if (FIELDS_AND_TAIL(message, &failed))
        lose(link, failed.error, message->body + sizeof failed, message->size - sizeof failed);
    else
        link_fail(link, "ga-desktop sent what is no message");
}

/* Of a message that is not for whoever uses the link. */
static void take_own(struct link *link, const struct message *message) {
    if (message->code == GD_MESSAGE_FAILED)
        take_failure(link, message);
    else if (link->state == LINK_CHALLENGE)
        take_challenge(link, message);
    else
        take_welcome(link, message);
}

bool link_next(struct link *link, struct message *message) {
    while (link->state != LINK_LOST) {
        enum stream_next next = stream_next(&link->stream, GD_MAX_BODY, message);
        if (next == STREAM_MALFORMED) link_fail(link, "ga-desktop sent what is no message");
        if (next != STREAM_MESSAGE) return false;
        bool whole_link = message->code == GD_MESSAGE_FAILED && message->request == 0;
        if (link->state == LINK_OPEN && !whole_link) return true;
        take_own(link, message);
        stream_taken(&link->stream, message);
    }
    return false;
}

bool link_take_frame(struct link *link, const struct gd_FRAME *frame) {
    bool good = true;
    if (frame->flags & GD_FRAME_NEW_MAPPING) {
        mapping_close(&link->mapping);
        good = link->fd_count > 0 && mapping_open(&link->mapping, link->fds[0]);
    }
    close_fds(link); /* the lease page too: what we are granted until our next request is enough */
    return good;
}
