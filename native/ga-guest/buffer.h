/* A queue of bytes that grows at its end and is consumed from its front. */
#ifndef GA_BUFFER_H
#define GA_BUFFER_H

#include <stddef.h>
#include <stdint.h>

struct buffer {
    uint8_t *data;
    size_t start;
    size_t size;
    size_t capacity;
};

void *allocate(size_t size); /* never NULL: without memory the program ends with a message */

uint8_t *buffer_front(const struct buffer *buffer);
uint8_t *buffer_reserve(struct buffer *buffer, size_t more); /* room for `more` bytes at the end */
void buffer_append(struct buffer *buffer, const void *data, size_t size);
void buffer_consume(struct buffer *buffer, size_t size); /* gives big memory back when it runs empty */
void buffer_free(struct buffer *buffer);

#endif
