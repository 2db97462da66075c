/* The gate between a client and ga-desktop: what is asked is answered, a cut loses nothing and repeats nothing. */
#define _GNU_SOURCE
#include "fake_desktop.h"

static const uint8_t move[] = {GD_OP_MOVE, 1, 0, 0, 0, 2, 0, 0, 0};
static const uint8_t hold[] = {GD_OP_BUTTON, GD_BUTTON_LEFT, 1};

static void send_batch(struct client *client, uint64_t batch, const void *op, size_t size) {
    uint8_t body[64];
    struct gg_INPUT fields = {batch, 1};
    memcpy(body, &fields, sizeof fields);
    memcpy(body + sizeof fields, op, size);
    say(client, GG_MESSAGE_INPUT, 100 + batch, body, sizeof fields + size);
}

static void ask_frame(struct client *client, uint32_t flags) {
    struct gg_FRAME_REQUEST request = {flags | GG_FRAME_FRESH, GG_ENCODING_LZ4, 0};
    say(client, GG_MESSAGE_FRAME_REQUEST, 7, &request, sizeof request);
    desktop_works();
}

static struct gg_FRAME hear_frame(struct client *client, int *rects) {
    struct gg_FRAME frame;
    struct gg_FRAME_END end;
    uint16_t code;
    *rects = 0;
    CHECK(hear(client, &frame, sizeof frame) == GG_MESSAGE_FRAME);
    if (frame.flags & GG_FRAME_UNCHANGED) return frame;
    while ((code = hear(client, &end, sizeof end)) == GG_MESSAGE_RECT) ++*rects;
    CHECK(code == GG_MESSAGE_FRAME_END && end.picture == frame.picture && end.rect_count == (uint32_t)*rects);
    return frame;
}

static uint32_t hear_failure(struct client *client) {
    struct gg_FAILED failed;
    CHECK(hear(client, &failed, sizeof failed) == GG_MESSAGE_FAILED);
    return failed.error;
}

static void test_a_wrong_token_a_wrong_version_and_a_wrong_magic_are_refused(void) {
    struct gg_HELLO hello = hello_of(GG_ROLE_INPUT, NULL);
    struct gg_PROOF proof = {.proof = {1}};
    struct client *client = arrive();
    say(client, GG_MESSAGE_HELLO, 1, &hello, sizeof hello);
    CHECK(hear(client, NULL, 0) == GG_MESSAGE_CHALLENGE);
    say(client, GG_MESSAGE_PROOF, 2, &proof, sizeof proof);
    CHECK(hear_failure(client) == GD_ERROR_UNAUTHORIZED && client->state == CLIENT_CLOSING);
    client = arrive();
    hello.version = 9;
    say(client, GG_MESSAGE_HELLO, 1, &hello, sizeof hello);
    CHECK(hear_failure(client) == GD_ERROR_VERSION);
    client = arrive();
    hello.magic = GD_MAGIC;
    say(client, GG_MESSAGE_HELLO, 1, &hello, sizeof hello);
    CHECK(hear_failure(client) == GD_ERROR_MALFORMED);
    gate_sweep(&gate, clock_ns());
    CHECK(gate.client_count == 0);
}

static void test_a_proof_made_for_another_hello_is_worth_nothing(void) {
    struct gg_HELLO hello = hello_of(GG_ROLE_INPUT, NULL), other = hello;
    struct gg_CHALLENGE challenge;
    struct gg_PROOF proof;
    struct client *client = arrive();
    say(client, GG_MESSAGE_HELLO, 1, &hello, sizeof hello);
    CHECK(hear(client, &challenge, sizeof challenge) == GG_MESSAGE_CHALLENGE);
    other.acknowledged = 1;
    prove_token(&other, &challenge, &proof);
    say(client, GG_MESSAGE_PROOF, 2, &proof, sizeof proof);
    CHECK(hear_failure(client) == GD_ERROR_UNAUTHORIZED);
    hang_up(client);
}

static void test_only_what_changed_is_sent(void) {
    struct gg_HELLO hello = hello_of(GG_ROLE_FRAMES, NULL);
    struct gg_WELCOME welcome;
    int rects;
    struct client *client = enter(&hello, &welcome);
    ask_frame(client, 0);
    struct gg_FRAME first = hear_frame(client, &rects);
    CHECK(first.flags == GG_FRAME_WHOLE && rects == TILE_ROWS && first.picture == 1);
    ask_frame(client, 0);
    CHECK(hear_frame(client, &rects).flags == GG_FRAME_UNCHANGED);
    desktop_draw(1, 1, 9);
    ask_frame(client, 0);
    struct gg_FRAME second = hear_frame(client, &rects);
    CHECK(second.flags == 0 && rects == 1 && second.picture == 2 && second.seq == 3);
    ask_frame(client, GG_FRAME_WHOLE);
    CHECK(hear_frame(client, &rects).flags == GG_FRAME_WHOLE && rects == TILE_ROWS);
    hang_up(client);
}

static void test_what_was_sent_with_loss_is_sent_again_when_exact_pixels_are_asked_for(void) {
    struct gg_HELLO hello = hello_of(GG_ROLE_FRAMES, NULL);
    struct gg_FRAME_REQUEST lossy = {GG_FRAME_FRESH, GG_ENCODING_JPEG, 50};
    struct gg_WELCOME welcome;
    int rects;
    struct client *client = enter(&hello, &welcome);
    say(client, GG_MESSAGE_FRAME_REQUEST, 7, &lossy, sizeof lossy);
    desktop_works();
    CHECK(hear_frame(client, &rects).flags == GG_FRAME_WHOLE && rects == TILE_ROWS);
    ask_frame(client, 0);
    struct gg_FRAME exact = hear_frame(client, &rects);
    CHECK(exact.flags == 0 && exact.picture == 2 && rects == TILE_ROWS);
    say(client, GG_MESSAGE_FRAME_REQUEST, 7, &lossy, sizeof lossy);
    desktop_works();
    CHECK(hear_frame(client, &rects).flags == GG_FRAME_UNCHANGED);
    hang_up(client);
}

static void test_a_picture_is_built_on_after_a_cut_if_the_client_has_it(void) {
    struct gg_HELLO hello = hello_of(GG_ROLE_FRAMES, NULL);
    struct gg_WELCOME welcome;
    int rects;
    struct client *client = enter(&hello, &welcome);
    ask_frame(client, 0);
    hear_frame(client, &rects);
    hang_up(client);
    hello = hello_of(GG_ROLE_FRAMES, &welcome);
    hello.picture = 1;
    client = enter(&hello, &welcome);
    CHECK(welcome.flags == GG_WELCOME_RESUMED && welcome.picture == 1);
    ask_frame(client, 0);
    CHECK(hear_frame(client, &rects).flags == GG_FRAME_UNCHANGED);
    hello.picture = 0; /* it had been cut before the end */
    struct client *next = enter(&hello, &welcome); /* while the gate believes that it is there */
    CHECK(welcome.picture == 0 && client->state == CLIENT_GONE);
    gate_sweep(&gate, clock_ns());
    ask_frame(next, 0);
    CHECK(hear_frame(next, &rects).flags == GG_FRAME_WHOLE && rects == TILE_ROWS);
    hang_up(next);
}

static void test_nothing_is_built_on_a_picture_that_was_cut_in_the_middle(void) {
    struct gg_HELLO hello = hello_of(GG_ROLE_FRAMES, NULL);
    struct gg_WELCOME welcome;
    struct gg_FRAME frame;
    int rects;
    struct client *client = enter(&hello, &welcome);
    ask_frame(client, 0);
    hear_frame(client, &rects);
    for (int i = 0; i < SCREEN_BYTES; i++) screen()[i] = (uint8_t)rand(); /* more than is put at once */
    desktop_draw(1, 1, 77);
    ask_frame(client, 0);
    CHECK(hear(client, &frame, sizeof frame) == GG_MESSAGE_FRAME && frame.picture == 2);
    CHECK(client->session->frames.turn.state == FRAME_SENDING && client->session->frames.turn.rect_count > 0);
    hang_up(client);
    memset(screen(), 0, SCREEN_BYTES);
    hello = hello_of(GG_ROLE_FRAMES, &welcome);
    hello.picture = 1;
    client = enter(&hello, &welcome);
    CHECK(welcome.picture == 0);
    hang_up(client);
}

static void test_a_batch_is_done_once_however_often_it_is_sent(void) {
    struct gg_HELLO hello = hello_of(GG_ROLE_INPUT, NULL);
    struct gg_WELCOME welcome;
    struct gg_INPUT_ACK ack;
    struct client *client = enter(&hello, &welcome);
    int before = desktop.pointer;
    send_batch(client, 1, move, sizeof move);
    desktop_works();
    hang_up(client); /* before it read the answer */
    hello = hello_of(GG_ROLE_INPUT, &welcome);
    client = enter(&hello, &welcome);
    CHECK(welcome.batch == 1 && welcome.flags == GG_WELCOME_RESUMED);
    for (int i = 0; i < 3; i++) {
        send_batch(client, 1, move, sizeof move);
        desktop_works();
        CHECK(hear(client, &ack, sizeof ack) == GG_MESSAGE_INPUT_ACK);
        CHECK(ack.batch == 1 && ack.flags == GG_ACK_REPEATED && ack.x == before + 1);
    }
    send_batch(client, 5, move, sizeof move);
    desktop_works();
    CHECK(hear(client, &ack, sizeof ack) == GG_MESSAGE_INPUT_ACK && ack.batch == 5 && ack.flags == 0);
    CHECK(desktop.pointer == before + 2);
    send_batch(client, 4, move, sizeof move);
    CHECK(hear_failure(client) == GD_ERROR_MALFORMED && desktop.pointer == before + 2);
    hang_up(client);
}

static void test_a_batch_under_way_at_a_cut_is_answered_when_it_is_done(void) {
    struct gg_HELLO hello = hello_of(GG_ROLE_INPUT, NULL);
    struct gg_WELCOME welcome;
    struct gg_INPUT_ACK ack;
    struct client *client = enter(&hello, &welcome);
    int before = desktop.pointer;
    desktop.silent = true;
    send_batch(client, 1, move, sizeof move);
    desktop_works();
    hang_up(client);
    hello = hello_of(GG_ROLE_INPUT, &welcome);
    client = enter(&hello, &welcome);
    send_batch(client, 1, move, sizeof move);
    send_batch(client, 2, move, sizeof move); /* waits its turn */
    desktop_works();
    CHECK(hear(client, NULL, 0) == 0);
    desktop.silent = false;
    desktop_acknowledges(client->session->link, desktop.owed);
    gate_serve_link(&gate, client->session);
    desktop_works();
    CHECK(hear(client, &ack, sizeof ack) == GG_MESSAGE_INPUT_ACK && ack.batch == 1);
    CHECK(hear(client, &ack, sizeof ack) == GG_MESSAGE_INPUT_ACK && ack.batch == 2);
    CHECK(desktop.pointer == before + 2);
    hang_up(client);
}

static void test_a_batch_that_is_sent_twice_at_once_is_done_once_and_answered_twice(void) {
    struct gg_HELLO hello = hello_of(GG_ROLE_INPUT, NULL);
    struct gg_WELCOME welcome;
    struct gg_INPUT_ACK ack;
    struct client *client = enter(&hello, &welcome);
    int before = desktop.pointer;
    send_batch(client, 1, move, sizeof move);
    send_batch(client, 1, move, sizeof move);
    desktop_works();
    CHECK(hear(client, &ack, sizeof ack) == GG_MESSAGE_INPUT_ACK && ack.flags == 0);
    CHECK(hear(client, &ack, sizeof ack) == GG_MESSAGE_INPUT_ACK && ack.flags == GG_ACK_REPEATED);
    CHECK(desktop.pointer == before + 1 && ack.x == before + 1);
    hang_up(client);
}

static void test_a_batch_that_the_desktop_dies_in_is_unknown_ever_after(void) {
    struct gg_HELLO hello = hello_of(GG_ROLE_INPUT, NULL);
    struct gg_WELCOME welcome;
    struct client *client = enter(&hello, &welcome);
    desktop.silent = true;
    send_batch(client, 1, move, sizeof move);
    desktop_works();
    desktop.silent = false;
    link_fail(client->session->link, "gone");
    gate_serve_link(&gate, client->session);
    CHECK(hear_failure(client) == GD_ERROR_DELIVERY_UNKNOWN);
    CHECK(hear_failure(client) == GD_ERROR_WORLD_LOST && client->state == CLIENT_CLOSING);
    gate_sweep(&gate, clock_ns());
    hello = hello_of(GG_ROLE_INPUT, &welcome);
    client = enter(&hello, &welcome);
    send_batch(client, 1, move, sizeof move);
    desktop_works();
    CHECK(hear_failure(client) == GD_ERROR_DELIVERY_UNKNOWN);
    hang_up(client);
}

static void test_bye_ends_a_session_even_within_a_batch(void) {
    struct gg_HELLO hello = hello_of(GG_ROLE_INPUT, NULL);
    struct gg_WELCOME welcome;
    struct gg_FAILED failed;
    struct client *client = enter(&hello, &welcome);
    desktop.silent = true;
    send_batch(client, 1, move, sizeof move);
    desktop_works();
    desktop.silent = false;
    say(client, GG_MESSAGE_BYE, 9, NULL, 0);
    CHECK(hear(client, NULL, 0) == GG_MESSAGE_BYE && client->state == CLIENT_CLOSING);
    gate_sweep(&gate, clock_ns());
    hello = hello_of(GG_ROLE_INPUT, &welcome);
    client = arrive();
    CHECK(try_enter(client, &hello, &failed, sizeof failed) == GG_MESSAGE_FAILED);
    CHECK(failed.error == GG_ERROR_SESSION_LOST);
    hang_up(client);
}

static void test_a_client_is_told_once_that_what_it_held_was_released(void) {
    struct gg_HELLO hello = hello_of(GG_ROLE_INPUT, NULL);
    struct gg_WELCOME welcome;
    struct client *client = enter(&hello, &welcome);
    send_batch(client, 1, hold, sizeof hold);
    desktop_works();
    CHECK(hear(client, NULL, 0) == GG_MESSAGE_INPUT_ACK);
    hang_up(client);
    gate_sweep(&gate, clock_ns() + (GG_HOLD_MS + 1) * MS_NS);
    hello = hello_of(GG_ROLE_INPUT, &welcome);
    client = enter(&hello, &welcome);
    hang_up(client); /* it may not have read that */
    client = enter(&hello, &welcome);
    CHECK(welcome.flags == (GG_WELCOME_RESUMED | GG_WELCOME_RELEASED) && welcome.batch == 1);
    say(client, GG_MESSAGE_POINTER_REQUEST, 1, NULL, 0);
    hang_up(client);
    client = enter(&hello, &welcome);
    CHECK(welcome.flags == GG_WELCOME_RESUMED);
    hang_up(client);
}

static void test_a_batch_that_was_refused_holds_nothing_and_stays_refused(void) {
    struct gg_HELLO hello = hello_of(GG_ROLE_INPUT, NULL);
    struct gg_WELCOME welcome;
    struct client *client = enter(&hello, &welcome);
    desktop.finds_invalid = true;
    send_batch(client, 1, hold, sizeof hold);
    desktop_works();
    desktop.finds_invalid = false;
    CHECK(hear_failure(client) == GD_ERROR_INVALID_INPUT);
    send_batch(client, 1, hold, sizeof hold);
    desktop_works();
    CHECK(hear_failure(client) == GD_ERROR_INVALID_INPUT);
    hang_up(client);
    gate_sweep(&gate, clock_ns() + (GG_HOLD_MS + 1) * MS_NS);
    hello = hello_of(GG_ROLE_INPUT, &welcome);
    client = enter(&hello, &welcome);
    CHECK(welcome.flags == GG_WELCOME_RESUMED && welcome.batch == 1);
    hang_up(client);
}

static void test_a_session_is_lost_after_its_lease_and_when_the_client_knows_more_than_the_gate(void) {
    struct gg_HELLO hello = hello_of(GG_ROLE_INPUT, NULL);
    struct gg_WELCOME welcome;
    struct gg_FAILED failed;
    struct client *client = enter(&hello, &welcome);
    hang_up(client);
    hello = hello_of(GG_ROLE_INPUT, &welcome);
    hello.acknowledged = 1;
    client = arrive();
    CHECK(try_enter(client, &hello, &failed, sizeof failed) == GG_MESSAGE_FAILED);
    CHECK(failed.error == GG_ERROR_SESSION_LOST);
    hang_up(client);
    gate_sweep(&gate, clock_ns() + (GG_LEASE_MS + 1) * MS_NS);
    hello.acknowledged = 0;
    client = arrive();
    CHECK(try_enter(client, &hello, &failed, sizeof failed) == GG_MESSAGE_FAILED);
    CHECK(failed.error == GG_ERROR_SESSION_LOST);
    hang_up(client);
}

static void test_those_who_never_open_make_way_and_are_dropped_in_time(void) {
    arrive()->hello.picture = 77; /* a mark */
    for (int i = 0; i < 3 * GG_MAX_OPENINGS; i++) arrive();
    CHECK(gate.client_count == GG_MAX_OPENINGS);
    for (int i = 0; i < gate.client_count; i++) CHECK(gate.clients[i]->hello.picture != 77);
    gate_sweep(&gate, clock_ns() + (GG_OPENING_TIMEOUT_MS + 1) * MS_NS);
    CHECK(gate.client_count == 0);
}

static void test_a_stuck_client_is_cut_in_time(void) {
    struct gg_HELLO hello = hello_of(GG_ROLE_FRAMES, NULL);
    struct gg_WELCOME welcome;
    struct client *client = enter(&hello, &welcome);
    client->stuck_ns = clock_ns();
    gate_sweep(&gate, client->stuck_ns + GG_STALL_MS * MS_NS - 1);
    CHECK(gate.client_count == 1);
    gate_sweep(&gate, client->stuck_ns + GG_STALL_MS * MS_NS);
    CHECK(gate.client_count == 0);
}

static void test_settle_pointer_and_release_are_passed_through(void) {
    struct gg_HELLO hello = hello_of(GG_ROLE_FRAMES, NULL);
    struct gg_WELCOME welcome;
    struct gg_SETTLE settle = {.quiet_ms = 1, .max_ms = 2};
    struct gg_SETTLED settled;
    struct gg_POINTER pointer;
    struct client *client = enter(&hello, &welcome);
    say(client, GG_MESSAGE_SETTLE, 3, &settle, sizeof settle);
    say(client, GG_MESSAGE_SETTLE, 4, &settle, sizeof settle);
    CHECK(hear_failure(client) == GD_ERROR_BUSY);
    desktop_works();
    CHECK(hear(client, &settled, sizeof settled) == GG_MESSAGE_SETTLED && settled.settled == 1 && settled.waited_us == 5);
    hang_up(client);
    hello = hello_of(GG_ROLE_INPUT, NULL);
    client = enter(&hello, &welcome);
    say(client, GG_MESSAGE_POINTER_REQUEST, 5, NULL, 0);
    say(client, GG_MESSAGE_RELEASE, 6, NULL, 0);
    desktop_works();
    CHECK(hear(client, &pointer, sizeof pointer) == GG_MESSAGE_POINTER && pointer.x == desktop.pointer);
    desktop_works();
    CHECK(hear(client, NULL, 0) == GG_MESSAGE_RELEASED);
    hang_up(client);
}

int main(void) {
    gate_begin();
    test_a_wrong_token_a_wrong_version_and_a_wrong_magic_are_refused();
    test_a_proof_made_for_another_hello_is_worth_nothing();
    test_only_what_changed_is_sent();
    test_what_was_sent_with_loss_is_sent_again_when_exact_pixels_are_asked_for();
    test_a_picture_is_built_on_after_a_cut_if_the_client_has_it();
    test_nothing_is_built_on_a_picture_that_was_cut_in_the_middle();
    test_a_batch_is_done_once_however_often_it_is_sent();
    test_a_batch_under_way_at_a_cut_is_answered_when_it_is_done();
    test_a_batch_that_is_sent_twice_at_once_is_done_once_and_answered_twice();
    test_a_batch_that_the_desktop_dies_in_is_unknown_ever_after();
    test_bye_ends_a_session_even_within_a_batch();
    test_a_client_is_told_once_that_what_it_held_was_released();
    test_a_batch_that_was_refused_holds_nothing_and_stays_refused();
    test_a_session_is_lost_after_its_lease_and_when_the_client_knows_more_than_the_gate();
    test_those_who_never_open_make_way_and_are_dropped_in_time();
    test_a_stuck_client_is_cut_in_time();
    test_settle_pointer_and_release_are_passed_through();
    gate_finish();
    printf("ok\n");
    return 0;
}
