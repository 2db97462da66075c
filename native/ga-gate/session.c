#define _GNU_SOURCE
#include "session.h"

#include <string.h>
#include <sys/random.h>

#include "../ga-desktop/clock.h"

static int count_role(const struct sessions *sessions, uint32_t role) {
    int count = 0;
    for (int i = 0; i < GG_MAX_SESSIONS; i++)
        count += sessions->items[i].used && sessions->items[i].role == role;
    return count;
}

static struct session *unused(struct sessions *sessions) {
    for (int i = 0; i < GG_MAX_SESSIONS; i++)
        if (!sessions->items[i].used) return &sessions->items[i];
    return NULL;
}

/* Cut longest; role 0: of any. */
static struct session *longest_cut(struct sessions *sessions, uint32_t role) {
    struct session *oldest = NULL;
    for (int i = 0; i < GG_MAX_SESSIONS; i++) {
        struct session *session = &sessions->items[i];
        if (!session->used || session->client || (role && session->role != role)) continue;
        if (!oldest || session->cut_ns < oldest->cut_ns) oldest = session;
    }
    return oldest;
}

struct session *sessions_begin(struct sessions *sessions, uint32_t role) {
    bool crowded = role == GG_ROLE_FRAMES && count_role(sessions, role) >= GG_MAX_FRAMES_SESSIONS;
    struct session *session = crowded ? NULL : unused(sessions);
    if (!session) {
        session = longest_cut(sessions, crowded ? role : 0);
        if (!session) return NULL;
        session_end(session);
    }
    *session = (struct session){.used = true, .role = role};
    if (getrandom(session->id, sizeof session->id, 0) == (ssize_t)sizeof session->id) return session;
    session->used = false;
    return NULL;
}

struct session *sessions_find(struct sessions *sessions, const uint8_t id[GG_SESSION_SIZE], uint32_t role) {
    for (int i = 0; i < GG_MAX_SESSIONS; i++) {
        struct session *session = &sessions->items[i];
        if (session->used && session->role == role && memcmp(session->id, id, GG_SESSION_SIZE) == 0) return session;
    }
    return NULL;
}

static void close_link(struct session *session) {
    link_free(session->link);
    session->link = NULL;
}

static void cut_frames(struct frames_part *frames) {
    if (frames->turn.state == FRAME_SENDING) picture_distrust(&frames->picture);
    frames->turn = (struct frame_turn){0};
    frames->settles = false;
}

void session_cut(struct session *session, uint64_t now) {
    session->client = NULL;
    session->cut_ns = now;
    session->input.orphaned = true;
    if (session->role != GG_ROLE_FRAMES) return;
    cut_frames(&session->frames);
    close_link(session); /* gives the slot back */
}

void session_end(struct session *session) {
    close_link(session);
    picture_free(&session->frames.picture);
    *session = (struct session){0};
}

/* Through the end of the connection, which ga-desktop answers by letting go. */
static void let_go(struct session *session) {
    close_link(session);
    session->input.released = session->input.released || held_any(&session->input.held);
    session->input.held = (struct held){0};
}

static uint64_t expire(struct session *session, uint64_t now) {
    uint64_t hold = session->cut_ns + GG_HOLD_MS * MS_NS, lease = session->cut_ns + GG_LEASE_MS * MS_NS;
    if (!session->used || session->client) return NEVER;
    if (now >= lease) {
        session_end(session);
        return NEVER;
    }
    if (!session->link || session->input.asked != ASKED_NOTHING) return lease;
    if (now < hold) return hold;
    let_go(session);
    return lease;
}

uint64_t sessions_expire(struct sessions *sessions, uint64_t now) {
    uint64_t due = NEVER;
    for (int i = 0; i < GG_MAX_SESSIONS; i++) {
        uint64_t again = expire(&sessions->items[i], now);
        if (again < due) due = again;
    }
    return due;
}

enum batch_verdict session_judge_batch(const struct session *session, uint64_t batch) {
    const struct input_part *input = &session->input;
    if (batch > input->last_batch) return BATCH_NEW;
    if (batch < input->last_batch) return BATCH_OLD;
    return input->asked == ASKED_INPUT ? BATCH_UNDER_WAY : BATCH_AGAIN;
}
