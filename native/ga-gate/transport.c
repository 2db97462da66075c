#define _GNU_SOURCE
#include "transport.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../common/sha256.h"

/* A client whose machine is gone is noticed in IDLE + COUNT * BETWEEN seconds. */
#define KEEPALIVE_IDLE_S 10
#define KEEPALIVE_BETWEEN_S 5
#define KEEPALIVE_COUNT 3
#define LEFTOVERS_MAX 16

SSL_CTX *tls_open(const char *certificate, const char *key) {
    /* The machine's own settings could name modules that a static program cannot load. */
    OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
    SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
    bool good = tls && SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
    good = good && SSL_CTX_use_certificate_chain_file(tls, certificate) == 1;
    good = good && SSL_CTX_use_PrivateKey_file(tls, key, SSL_FILETYPE_PEM) == 1 && SSL_CTX_check_private_key(tls) == 1;
    if (!good) {
        char words[256];
        ERR_error_string_n(ERR_peek_last_error(), words, sizeof words);
        fprintf(stderr, "ga-gate: the certificate and key for TLS cannot be used: %s\n", words);
        tls_close(tls);
        return NULL;
    }
    SSL_CTX_set_options(tls, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(tls, 0);
    SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    return tls;
}

void tls_close(SSL_CTX *tls) {
    SSL_CTX_free(tls);
}

bool tls_channel(SSL_CTX *tls, uint8_t channel[CHANNEL_SIZE]) {
    X509 *certificate = SSL_CTX_get0_certificate(tls);
    unsigned char *der = NULL;
    int size = certificate ? i2d_X509(certificate, &der) : -1;
    if (size < 0) return false;
    struct sha256 hash;
    sha256_begin(&hash);
    sha256_update(&hash, der, (size_t)size);
    sha256_end(&hash, channel);
    OPENSSL_free(der);
    return true;
}

/* A Unix socket has none of these, and needs none. */
static void set_tcp(int fd, int level, int option, int value) {
    (void)setsockopt(fd, level, option, &value, sizeof value);
}

bool transport_open(struct transport *transport, int fd, SSL_CTX *tls) {
    *transport = (struct transport){.fd = fd};
    set_tcp(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_tcp(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_tcp(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
    set_tcp(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_BETWEEN_S);
    set_tcp(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT);
    set_tcp(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, GG_STALL_MS);
    if (!tls) return true;
    transport->ssl = SSL_new(tls);
    if (transport->ssl && SSL_set_fd(transport->ssl, fd) == 1) {
        SSL_set_accept_state(transport->ssl);
        return true;
    }
    transport_close(transport);
    return false;
}

/* What a client has sent and nobody read would make the kernel take our last words back, which it has not read either. */
static void take_leftovers(int fd) {
    char scratch[4096];
    for (int i = 0; i < LEFTOVERS_MAX && recv(fd, scratch, sizeof scratch, MSG_DONTWAIT) > 0; i++) continue;
}

void transport_close(struct transport *transport) {
    if (transport->ssl) SSL_free(transport->ssl);
    if (transport->fd >= 0) {
        take_leftovers(transport->fd);
        close(transport->fd);
    }
    *transport = (struct transport){.fd = -1};
}

/* To a client whose first bytes were not TLS, which OpenSSL leaves without a word: an alert, "protocol version". */
static void say_that_this_is_tls(struct transport *transport) {
    static const uint8_t alert[] = {21, 3, 1, 0, 2, 2, 70};
    BIO *bytes = SSL_get_rbio(transport->ssl);
    if (BIO_number_read(bytes) == 0 || BIO_number_written(bytes) > 0) return;
    (void)send(transport->fd, alert, sizeof alert, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* What an SSL call that did nothing means. */
static long tls_verdict(struct transport *transport, int result) {
    switch (SSL_get_error(transport->ssl, result)) {
    case SSL_ERROR_WANT_READ: transport->wants = POLLIN; return 0;
    case SSL_ERROR_WANT_WRITE: transport->wants = POLLOUT; return 0;
    }
    ERR_clear_error();
    say_that_this_is_tls(transport);
    return -1;
}

static long socket_verdict(ssize_t result) {
    if (result > 0) return result;
    return result < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

long transport_read(struct transport *transport, void *data, size_t size) {
    if (!transport->ssl) return socket_verdict(recv(transport->fd, data, size, MSG_DONTWAIT));
    size_t got;
    transport->wants = 0;
    ERR_clear_error();
    int result = SSL_read_ex(transport->ssl, data, size, &got);
    return result == 1 ? (long)got : tls_verdict(transport, result);
}

long transport_write(struct transport *transport, const void *data, size_t size) {
    if (!transport->ssl) return socket_verdict(send(transport->fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL));
    size_t sent;
    transport->wants = 0;
    ERR_clear_error();
    int result = SSL_write_ex(transport->ssl, data, size, &sent);
    return result == 1 ? (long)sent : tls_verdict(transport, result);
}

bool transport_has_more(const struct transport *transport) {
    return transport->ssl && SSL_pending(transport->ssl) > 0;
}
