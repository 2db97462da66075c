#include "client.h"

#include <stdlib.h>
#include <string.h>

#include "../ga-desktop/clock.h"

/* While more answers than this wait no more requests are read. */
#define UNREAD_MAX 4096
#define SMALL_MESSAGES 16384
#define FRAMES_BODY_MAX 512

_Static_assert(FRAMES_BODY_MAX >= sizeof(struct gg_SETTLE) + GD_MAX_BOXES * sizeof(struct gd_BOX), "SETTLE fits");

struct client *client_new(struct transport transport) {
    struct client *client = calloc(1, sizeof *client);
    if (!client || !stream_open(&client->stream, SMALL_MESSAGES + FLUSH_BYTES + RECT_ROOM)) {
        free(client);
        transport_close(&transport);
        return NULL;
    }
    client->transport = transport;
    client->opened_ns = clock_ns();
    return client;
}

void client_free(struct client *client) {
    transport_close(&client->transport);
    stream_close(&client->stream);
    free(client);
}

uint32_t client_largest(const struct client *client) {
    if (client->state != CLIENT_OPEN) return GG_MAX_OPENING_BODY;
    return client->hello.role == GG_ROLE_INPUT ? GG_MAX_BODY : FRAMES_BODY_MAX;
}

bool client_is_heard(const struct client *client) {
    return !client->waits && client->state < CLIENT_CLOSING && stream_waiting(&client->stream) <= UNREAD_MAX;
}

void client_send(struct client *client, uint16_t code, uint64_t request, const void *fields, size_t fields_size,
                 const void *tail, size_t tail_size) {
    if (client->state >= CLIENT_CLOSING) return;
    if (!stream_put(&client->stream, code, request, fields, fields_size, tail, tail_size)) client->state = CLIENT_GONE;
}

void client_fail_with(struct client *client, uint64_t request, struct gg_FAILED failed, const void *words,
                      size_t size) {
    client_send(client, GG_MESSAGE_FAILED, request, &failed, sizeof failed, words, size);
}

void client_fail(struct client *client, uint64_t request, uint32_t error, const char *text) {
    client_fail_with(client, request, (struct gg_FAILED){.error = error}, text, strlen(text));
}

void client_close(struct client *client) {
    if (client->state >= CLIENT_CLOSING) return;
    client->state = CLIENT_CLOSING;
    client->closing_ns = clock_ns();
}
