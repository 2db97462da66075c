/* Known answers of FIPS 180-4 and RFC 4231. */
#include "sha256.h"

#include <string.h>

#include "check.h"

static void hex(const uint8_t *digest, char *out) {
    for (unsigned i = 0; i < SHA256_SIZE; i++) sprintf(out + 2 * i, "%02x", digest[i]);
}

static void check_hash(const char *text, size_t repeat, const char *expected) {
    struct sha256 hash;
    uint8_t digest[SHA256_SIZE];
    char shown[2 * SHA256_SIZE + 1];
    sha256_begin(&hash);
    for (size_t i = 0; i < repeat; i++) sha256_update(&hash, text, strlen(text));
    sha256_end(&hash, digest);
    hex(digest, shown);
    CHECK(!strcmp(shown, expected));
}

static void check_mac(const void *key, size_t key_size, const char *text, const char *expected) {
    struct hmac_sha256 mac;
    uint8_t digest[SHA256_SIZE];
    char shown[2 * SHA256_SIZE + 1];
    hmac_sha256_begin(&mac, key, key_size);
    hmac_sha256_update(&mac, text, strlen(text));
    hmac_sha256_end(&mac, digest);
    hex(digest, shown);
    CHECK(!strcmp(shown, expected));
}

int main(void) {
    uint8_t long_key[131];
    memset(long_key, 0xaa, sizeof long_key);
    check_hash("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_hash("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check_hash("aaaaaaaaaa", 100000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    check_mac("Jefe", 4, "what do ya want for nothing?",
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    check_mac(long_key, sizeof long_key, "Test Using Larger Than Block-Size Key - Hash Key First",
              "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    CHECK(equal_in_constant_time("abcd", "abcd", 4));
    CHECK(!equal_in_constant_time("abcd", "abce", 4));
    return 0;
}
