/* Messages survive the trip, and every shortened or lengthened one is refused. */
#include <string.h>

#include "../ga-guest/protocol.h"
#include "check.h"

static struct buffer example(void) {
    struct buffer texts = {0}, frame = {0};
    ga_put_bytes(&texts, ga_slice_of("sh"));
    ga_put_bytes(&texts, ga_slice_of("-c"));
    ga_put_bytes(&texts, ga_slice_of(""));
    struct ga_texts argv = {buffer_front(&texts), (uint32_t)texts.size, 3};
    GA_SEND(&frame, 7, EXEC, .flags = 5, .deadline_ms = 1234567890123ULL, .max_output = 9, .user = ga_slice_of("ga"),
            .argv = argv);
    buffer_free(&texts);
    return frame;
}

static void test_a_message_survives(void) {
    struct buffer frame = example();
    struct ga_header header;
    struct ga_EXEC message;
    CHECK(ga_decode_header(buffer_front(&frame), &header));
    CHECK(header.channel == 7 && header.message == GA_MESSAGE_EXEC && header.size + GA_HEADER_SIZE == frame.size);
    CHECK(ga_decode_EXEC((struct ga_slice){buffer_front(&frame) + GA_HEADER_SIZE, header.size}, &message));
    CHECK(message.flags == 5 && message.deadline_ms == 1234567890123ULL && message.argv.count == 3);
    char **argv = ga_vector_of(message.argv);
    CHECK(!strcmp(argv[0], "sh") && !strcmp(argv[1], "-c") && !*argv[2] && !argv[3]);
    for (int i = 0; i < 3; i++) free(argv[i]);
    free(argv);
    buffer_free(&frame);
}

static void test_every_shortened_message_is_refused(void) {
    struct buffer frame = example();
    struct ga_EXEC message;
    for (uint32_t size = 0; size < frame.size - GA_HEADER_SIZE; size++) {
        uint8_t *copy = allocate(size); /* exact, so that the sanitizer sees a read beyond it */
        memcpy(copy, buffer_front(&frame) + GA_HEADER_SIZE, size);
        CHECK(!ga_decode_EXEC((struct ga_slice){copy, size}, &message));
        free(copy);
    }
    buffer_append(&frame, "x", 1);
    struct ga_slice longer = {buffer_front(&frame) + GA_HEADER_SIZE, (uint32_t)(frame.size - GA_HEADER_SIZE)};
    CHECK(!ga_decode_EXEC(longer, &message));
    buffer_free(&frame);
}

static void test_lying_lengths_and_nul_bytes_are_refused(void) {
    const uint8_t huge[] = {0xff, 0xff, 0xff, 0xff, 'a'}, nul[] = {1, 0, 0, 0, 0}, count[] = {0xff, 0xff, 0xff, 0xff};
    struct ga_slice text;
    struct ga_texts texts;
    struct ga_reader reader = {huge, huge + sizeof huge, false};
    ga_take_text(&reader, &text);
    CHECK(reader.bad && text.size == 0);
    reader = (struct ga_reader){nul, nul + sizeof nul, false};
    ga_take_text(&reader, &text);
    CHECK(reader.bad);
    reader = (struct ga_reader){count, count + sizeof count, false};
    ga_take_texts(&reader, &texts);
    CHECK(reader.bad && texts.count == 0);
}

static void test_the_reserved_field_must_be_zero(void) {
    uint8_t header[GA_HEADER_SIZE] = {0};
    struct ga_header out;
    CHECK(ga_decode_header(header, &out));
    header[GA_HEADER_SIZE - 1] = 1;
    CHECK(!ga_decode_header(header, &out));
}

static void test_a_buffer_keeps_order_while_it_moves(void) {
    struct buffer buffer = {0};
    uint8_t next_in = 0, next_out = 0;
    for (unsigned turn = 0; turn < 5000; turn++) {
        for (unsigned i = 0; i < turn % 97; i++, next_in++) buffer_append(&buffer, &next_in, 1);
        for (unsigned i = 0; i < turn % 89 && buffer.size; i++, next_out++) {
            CHECK(*buffer_front(&buffer) == next_out);
            buffer_consume(&buffer, 1);
        }
    }
    CHECK((uint8_t)(next_in - next_out) == (uint8_t)buffer.size);
    buffer_free(&buffer);
}

#define DECODE_ANY(name, code, direction) \
    case code: { \
        struct ga_##name message_; \
        decoded += ga_decode_##name(payload, &message_); \
        break; \
    }

/* Any bytes as any message: the sanitizer build sees every read outside of them. */
static void test_any_bytes_decode_or_are_refused(void) {
    unsigned decoded = 0;
    srand(1);
    for (unsigned turn = 0; turn < 2000000; turn++) {
        uint32_t size = (uint32_t)rand() % 48;
        uint8_t *data = allocate(size);
        for (uint32_t i = 0; i < size; i++) data[i] = rand() % 3 ? (uint8_t)(rand() % 3) : (uint8_t)rand();
        struct ga_slice payload = {data, size};
        switch (rand() % 64) {
            GA_MESSAGES(DECODE_ANY)
        }
        free(data);
    }
    CHECK(decoded > 1000);
}

int main(void) {
    test_any_bytes_decode_or_are_refused();
    test_a_message_survives();
    test_every_shortened_message_is_refused();
    test_lying_lengths_and_nul_bytes_are_refused();
    test_the_reserved_field_must_be_zero();
    test_a_buffer_keeps_order_while_it_moves();
    return 0;
}
