/* One connection of ours to ga-desktop, in one role. Does no input or output but map what it is given. */
#ifndef GG_LINK_H
#define GG_LINK_H

#include "../common/token.h"
#include "mapping.h"
#include "stream.h"

enum link_state { LINK_CHALLENGE, LINK_WELCOME, LINK_OPEN, LINK_LOST };

#define LINK_WORDS 300
#define LINK_FDS 4

struct link {
    int fd; /* -1: none, as in tests */
    enum link_state state;
    uint32_t role;
    struct stream stream;
    const struct token *token;
    uint8_t nonce[GD_NONCE_SIZE];
    uint64_t opened_ns;
    struct gd_WELCOME welcome;
    uint8_t words[LINK_WORDS]; /* the tail of WELCOME; when lost, why */
    uint32_t words_size;
    uint32_t error; /* when lost */
    struct mapping mapping;
    int fds[LINK_FDS]; /* received, not yet used */
    int fd_count;
};

/* Takes the connected socket over and says HELLO; NULL when there is no memory. */
struct link *link_new(int fd, uint32_t role, const struct token *token);
void link_free(struct link *link);
/* The next message of an open link; the messages of its opening are dealt with here. */
bool link_next(struct link *link, struct message *message);
/* Maps the new memory if this answer brought some; false when it makes no sense. */
bool link_take_frame(struct link *link, const struct gd_FRAME *frame);
void link_send(struct link *link, uint16_t code, uint64_t request, const void *fields, size_t fields_size,
               const void *tail, size_t tail_size);
/* It is of no use any more, and why. */
void link_fail(struct link *link, const char *words);

#endif
