/* Random bytes on a connection: never read past their end, always an answer or the end of the connection. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../connection.h"
#include "../op_reader.h"
#include "../opening.h"
#include "../reader.h"

#define ROUNDS 500000

static void random_bytes(uint8_t *data, size_t size) {
    for (size_t i = 0; i < size; i++) data[i] = (uint8_t)(rand() % 4 ? rand() % 12 : rand());
}

/* Exactly as large as said, on the heap, so that the sanitizer sees a byte too far. */
static uint8_t *exact(size_t size) {
    uint8_t *data = malloc(size ? size : 1);
    random_bytes(data, size);
    return data;
}

static void fuzz_ops(void) {
    for (int round = 0; round < ROUNDS; round++) {
        size_t size = (size_t)rand() % 96;
        uint8_t *data = exact(size);
        struct op_reader reader = {data, data + size};
        struct op op;
        int ops = 0;
        for (memset(&op, 0, sizeof op); op_next(&reader, &op); memset(&op, 0, sizeof op)) {
            ops++;
            if (op.text_size > size || op.key_count > GD_MAX_KEYS) abort();
        }
        if (ops > (int)size) abort();
        free(data);
    }
}

static void fuzz_settles(void) {
    for (int round = 0; round < ROUNDS; round++) {
        size_t size = (size_t)rand() % 200;
        uint8_t *data = exact(size);
        struct message message = {GD_MESSAGE_SETTLE, 1, data, (uint32_t)size};
        struct settle_wait settle;
        if (settle_begin(&settle, 1, &message) && settle.ignored_count > GD_MAX_BOXES) abort();
        free(data);
    }
}

/* A header that is nearly right, then anything. */
static size_t nearly_a_message(uint8_t *data, size_t room) {
    struct gd_header header = {(uint32_t)(rand() % 90), (uint16_t)(rand() % 8), 0, (uint64_t)rand()};
    if (rand() % 8 == 0) header.body_bytes = (uint32_t)rand();
    if (rand() % 16 == 0) header.zero = 1;
    random_bytes(data, room);
    memcpy(data, &header, sizeof header);
    struct gd_HELLO hello = {GD_MAGIC, GD_VERSION, (uint32_t)(1 + rand() % 3), {0}};
    if (rand() % 2) memcpy(data + sizeof header, &hello, sizeof hello);
    size_t size = sizeof header + (header.body_bytes < 90 ? header.body_bytes : 90);
    return size < room ? size : room;
}

static void fuzz_openings(void) {
    struct opening opening = {.token = {"sixteen bytes ok", 16}, .vendor = "v", .note = "n"};
    for (int round = 0; round < ROUNDS / 40; round++) {
        int ends[2];
        uint8_t data[256];
        struct message message;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) < 0) abort();
        struct connection *connection = connection_new(ends[0]);
        for (int i = 0; i < 4; i++) {
            size_t size = nearly_a_message(data, sizeof data);
            if (write(ends[1], data, size) != (ssize_t)size) break;
            if (!connection_receive(connection)) break;
            while (connection_next(connection, &message)) {
                opening_message(&opening, connection, &message, 640, 480);
                connection_taken(connection, &message);
            }
            if (connection->state == OPEN) abort(); /* nobody guesses the proof */
        }
        connection_free(connection);
        close(ends[1]);
    }
}

int main(void) {
    srand(11);
    fuzz_ops();
    fuzz_settles();
    fuzz_openings();
    printf("ok\n");
    return 0;
}
