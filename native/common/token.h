/* A token that comes through a descriptor, so that it stands in no argument list and no file. */
#ifndef GA_TOKEN_H
#define GA_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOKEN_MIN 16
#define TOKEN_MAX 256

struct token {
    uint8_t data[TOKEN_MAX];
    size_t size; /* 0: none */
};

/* Reads the descriptor to its end and closes it; false when that is too short or too long. Every byte counts. */
bool token_read(struct token *token, int fd);

#endif
