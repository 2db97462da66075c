/* Sessions: how many, how long, whose turn; and which batch is new. */
#include <string.h>

#include "../../ga-desktop/clock.h"
#include "../../tests/check.h"
#include "../session.h"

static struct client *const somebody = (struct client *)(void *)&(char){0};
static struct sessions sessions;

static struct session *begin(uint32_t role) {
    struct session *session = sessions_begin(&sessions, role);
    if (session) session->client = somebody;
    return session;
}

static void end_all(void) {
    for (int i = 0; i < GG_MAX_SESSIONS; i++)
        if (sessions.items[i].used) session_end(&sessions.items[i]);
}

static void test_there_are_so_many_and_the_one_cut_longest_makes_way(void) {
    struct session *frames[GG_MAX_FRAMES_SESSIONS];
    for (int i = 0; i < GG_MAX_FRAMES_SESSIONS; i++) CHECK((frames[i] = begin(GG_ROLE_FRAMES)));
    CHECK(!begin(GG_ROLE_FRAMES));
    session_cut(frames[2], 100);
    session_cut(frames[1], 200);
    uint8_t id[GG_SESSION_SIZE];
    memcpy(id, frames[2]->id, sizeof id);
    CHECK(begin(GG_ROLE_FRAMES) == frames[2]);
    CHECK(!sessions_find(&sessions, id, GG_ROLE_FRAMES));
    for (int i = GG_MAX_FRAMES_SESSIONS; i < GG_MAX_SESSIONS; i++) CHECK(begin(GG_ROLE_INPUT));
    CHECK(begin(GG_ROLE_INPUT) == frames[1]); /* of another role, but cut */
    CHECK(!begin(GG_ROLE_INPUT));
    end_all();
}

static void test_a_session_is_found_by_name_and_role_only(void) {
    struct session *one = begin(GG_ROLE_INPUT), *two = begin(GG_ROLE_INPUT);
    CHECK(sessions_find(&sessions, one->id, GG_ROLE_INPUT) == one);
    CHECK(sessions_find(&sessions, two->id, GG_ROLE_INPUT) == two);
    CHECK(!sessions_find(&sessions, one->id, GG_ROLE_FRAMES));
    session_end(one);
    CHECK(!sessions_find(&sessions, (uint8_t[GG_SESSION_SIZE]){0}, GG_ROLE_INPUT)); /* what is unused has no name */
    end_all();
}

static void test_a_lease_runs_from_the_cut(void) {
    struct session *session = begin(GG_ROLE_INPUT);
    uint64_t at = 1000 * MS_NS, lease = at + GG_LEASE_MS * MS_NS;
    CHECK(sessions_expire(&sessions, lease * 2) == NEVER && session->used); /* while it has its client */
    session_cut(session, at);
    CHECK(sessions_expire(&sessions, lease - 1) == lease && session->used);
    CHECK(sessions_expire(&sessions, lease) == NEVER && !session->used);
}

static void test_what_is_held_is_let_go_after_a_while_but_not_within_a_batch(void) {
    struct token token = {.size = 0};
    struct session *session = begin(GG_ROLE_INPUT);
    uint64_t at = 1000 * MS_NS, hold = at + GG_HOLD_MS * MS_NS, lease = at + GG_LEASE_MS * MS_NS;
    session->link = link_new(-1, GD_ROLE_INPUT, &token);
    session->input.held.buttons = 2;
    session_cut(session, at);
    CHECK(sessions_expire(&sessions, hold - 1) == hold && session->link && !session->input.released);
    session->input.asked = ASKED_INPUT;
    CHECK(sessions_expire(&sessions, hold) == lease && session->link);
    session->input.asked = ASKED_NOTHING;
    CHECK(sessions_expire(&sessions, hold) == lease && !session->link && session->input.released);
    end_all();
    session = begin(GG_ROLE_INPUT);
    session->link = link_new(-1, GD_ROLE_INPUT, &token);
    session_cut(session, at);
    sessions_expire(&sessions, hold);
    CHECK(!session->link && !session->input.released); /* it held nothing */
    end_all();
}

static void test_a_batch_is_new_once(void) {
    struct session *session = begin(GG_ROLE_INPUT);
    CHECK(session_judge_batch(session, 1) == BATCH_NEW);
    session->input.last_batch = 7;
    session->input.asked = ASKED_INPUT;
    CHECK(session_judge_batch(session, 7) == BATCH_UNDER_WAY);
    session->input.asked = ASKED_POINTER;
    CHECK(session_judge_batch(session, 7) == BATCH_AGAIN);
    CHECK(session_judge_batch(session, 6) == BATCH_OLD && session_judge_batch(session, 8) == BATCH_NEW);
    end_all();
}

static void test_held_follows_the_ops(void) {
    struct held held = {0};
    struct op down = {.code = GD_OP_KEYS_DOWN, .keysyms = {0x61, 0xffe1}, .key_count = 2};
    struct op up = {.code = GD_OP_KEYS_UP, .keysyms = {0x61}, .key_count = 1};
    struct op button = {.code = GD_OP_BUTTON, .button = {GD_BUTTON_LEFT, 1}};
    held_note(&held, &down);
    held_note(&held, &down);
    held_note(&held, &up);
    CHECK(held_any(&held));
    up.keysyms[0] = 0xffe1;
    held_note(&held, &up);
    CHECK(!held_any(&held));
    held_note(&held, &button);
    CHECK(held_any(&held));
    button.button.down = 0;
    held_note(&held, &button);
    CHECK(!held_any(&held));
    for (uint32_t i = 0; i < 3 * HELD_KEYS; i++) {
        down.keysyms[0] = i + 1;
        held_note(&held, &down);
    }
    CHECK(held.key_count == HELD_KEYS);
}

int main(void) {
    test_there_are_so_many_and_the_one_cut_longest_makes_way();
    test_a_session_is_found_by_name_and_role_only();
    test_a_lease_runs_from_the_cut();
    test_what_is_held_is_let_go_after_a_while_but_not_within_a_batch();
    test_a_batch_is_new_once();
    test_held_follows_the_ops();
    printf("ok\n");
    return 0;
}
