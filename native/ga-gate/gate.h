/* Everything between the clients and ga-desktop, but for input and output: messages in, messages out. */
#ifndef GG_GATE_H
#define GG_GATE_H

#include "client.h"
#include "encoder.h"
#include "session.h"

#define CLIENTS_MAX (GG_MAX_SESSIONS + GG_MAX_OPENINGS)

struct gate {
    struct token token, desktop_token;
    uint8_t channel[CHANNEL_SIZE];
    size_t channel_size; /* 0: no TLS */
    struct sessions sessions;
    struct client *clients[CLIENTS_MAX];
    int client_count;
    struct encoder encoder;
    /* Another connection to ga-desktop; NULL when it takes none. */
    struct link *(*connect)(struct gate *gate, uint32_t role);
    const char *desktop_path;
};

/* A new client; one that is opening makes way when there are too many. */
void gate_add(struct gate *gate, struct client *client);
/* Handles what has arrived whole. */
void gate_serve_client(struct gate *gate, struct client *client);
void gate_serve_link(struct gate *gate, struct session *session);
/* Puts more of the frame that the client is being sent. */
void gate_fill(struct gate *gate, struct client *client);
/* Drops whoever is through, late or stuck. Returns when to look again. */
uint64_t gate_sweep(struct gate *gate, uint64_t now);
/* Tells every client that it is over. */
void gate_end(struct gate *gate, const char *text);
/* Frees everything. */
void gate_close(struct gate *gate);

/* One message of a client that is not open yet. */
void opening_message(struct gate *gate, struct client *client, const struct message *message);
/* Its session has its connection to ga-desktop. */
void opening_welcome(struct client *client);
/* A session's connection to ga-desktop, if it has none; false when there is none to be had. */
bool gate_link(struct gate *gate, struct session *session);

/* Of the role FRAMES. False: not yet, try again after the next answer. */
bool frames_message(struct client *client, const struct message *message);
void frames_answer(struct session *session, const struct message *message);

/* Of the role INPUT. */
bool input_message(struct client *client, const struct message *message);
void input_answer(struct session *session, const struct message *message);
/* A batch that ga-desktop had begun gets no answer any more. */
void input_lost(struct session *session, const char *text);

#endif
