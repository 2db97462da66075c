/* SHA-256 and HMAC-SHA-256 (FIPS 180-4, RFC 2104). */
#ifndef GA_SHA256_H
#define GA_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32

struct sha256 {
    uint32_t state[8];
    uint64_t length;
    uint8_t block[64];
};

void sha256_begin(struct sha256 *hash);
void sha256_update(struct sha256 *hash, const void *data, size_t size);
void sha256_end(struct sha256 *hash, uint8_t digest[SHA256_SIZE]);

struct hmac_sha256 {
    struct sha256 inner;
    uint8_t outer_key[64];
};

void hmac_sha256_begin(struct hmac_sha256 *mac, const void *key, size_t key_size);
void hmac_sha256_update(struct hmac_sha256 *mac, const void *data, size_t size);
void hmac_sha256_end(struct hmac_sha256 *mac, uint8_t digest[SHA256_SIZE]);

/* Takes the same time wherever the first difference lies. */
bool equal_in_constant_time(const void *a, const void *b, size_t size);

#endif
