/* Bytes to and from a client, as they are or through TLS; never waits. */
#ifndef GG_TRANSPORT_H
#define GG_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"

typedef struct ssl_st SSL;
typedef struct ssl_ctx_st SSL_CTX;

struct transport {
    int fd;      /* -1: none, as in tests */
    SSL *ssl;    /* NULL: no TLS */
    short wants; /* POLLIN, POLLOUT: what the last call of TLS that did nothing waits for; 0: nothing */
};

#define CHANNEL_SIZE 32

/* A PEM file with the certificate and its chain, and one with the key (they may be the same). NULL after saying why on stderr. */
SSL_CTX *tls_open(const char *certificate, const char *key);
/* The SHA-256 of the certificate, as the proof wants it. */
bool tls_channel(SSL_CTX *tls, uint8_t channel[CHANNEL_SIZE]);
void tls_close(SSL_CTX *tls);

/* Takes an accepted socket over; tls: NULL for none. False when there is no memory, and the socket is closed then. */
bool transport_open(struct transport *transport, int fd, SSL_CTX *tls);
void transport_close(struct transport *transport);

/* How many bytes; 0: none now; -1: the end. */
long transport_read(struct transport *transport, void *data, size_t size);
long transport_write(struct transport *transport, const void *data, size_t size);
/* Bytes have been read from the socket and wait in TLS. */
bool transport_has_more(const struct transport *transport);

#endif
