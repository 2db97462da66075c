/* What outlives a cut of a client's connection: the picture it holds, or the batches it has sent. */
#ifndef GG_SESSION_H
#define GG_SESSION_H

#include "held.h"
#include "link.h"
#include "picture.h"
#include "protocol.h"

struct client;

/* A frame that a client has asked for. */
struct frame_turn {
    enum { FRAME_IDLE, FRAME_ASKED, FRAME_SENDING } state;
    uint64_t request;
    struct gg_FRAME_REQUEST wanted;
    struct view view;
    struct scan scan;
    uint64_t number; /* of the picture that is being sent */
    uint32_t rect_count;
};

struct frames_part {
    struct picture picture;
    uint64_t numbers;         /* the last number that a picture got */
    uint64_t seq;
    uint64_t desktop_picture; /* ga-desktop's number of what picture.number shows */
    struct frame_turn turn;
    bool settles;
    uint64_t settle_request;
};

#define ANSWER_WORDS 200

/* How a batch ended. */
struct batch_answer {
    bool acknowledged;
    struct gg_INPUT_ACK ack;
    struct gg_FAILED failed;
    uint8_t words[ANSWER_WORDS];
    uint32_t words_size;
};

enum asked { ASKED_NOTHING, ASKED_INPUT, ASKED_POINTER, ASKED_RELEASE };

struct input_part {
    uint64_t last_batch; /* the largest number that has begun */
    struct batch_answer answer;
    enum asked asked; /* of ga-desktop, not answered yet */
    uint64_t request; /* of the client that waits for it */
    bool orphaned;    /* that client was cut */
    struct held held, held_before; /* the last batch */
    bool released;    /* since the client was cut */
};

struct session {
    bool used;
    uint8_t id[GG_SESSION_SIZE];
    uint32_t role;
    struct client *client; /* NULL: cut */
    uint64_t cut_ns;
    struct link *link; /* NULL: closed meanwhile */
    struct frames_part frames;
    struct input_part input;
};

struct sessions {
    struct session items[GG_MAX_SESSIONS];
};

/* A new one of this role, in the place of the one that has been cut longest if need be; NULL when there is none to be had. */
struct session *sessions_begin(struct sessions *sessions, uint32_t role);
struct session *sessions_find(struct sessions *sessions, const uint8_t id[GG_SESSION_SIZE], uint32_t role);
/* Ends those whose lease is over and lets go of what was held too long. Returns when to look again. */
uint64_t sessions_expire(struct sessions *sessions, uint64_t now);

/* The connection of its client is gone. */
void session_cut(struct session *session, uint64_t now);
void session_end(struct session *session);

enum batch_verdict { BATCH_NEW, BATCH_AGAIN, BATCH_UNDER_WAY, BATCH_OLD };
enum batch_verdict session_judge_batch(const struct session *session, uint64_t batch);

#define NEVER UINT64_MAX

#endif
