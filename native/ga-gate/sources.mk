# What ga-gate is made of. Static, as ga-desktop, since it stands beside it in the world. uses.txt says what it takes from there.
ga-gate_SOURCES := $(wildcard ga-gate/*.c) common/sha256.c common/token.c ga-desktop/clock.c ga-desktop/op_reader.c
ga-gate_CFLAGS := -ffunction-sections -fdata-sections
# The linker warns of dlopen and getaddrinfo in OpenSSL: we load no modules and resolve no names.
ga-gate_LDFLAGS := -static -s -Wl,--gc-sections
# Debian 13's OpenSSL names zlib and zstd, for a compression of TLS that we turn off; Debian 12's does not.
ga-gate_LIBS := -lssl -lcrypto -lz -lzstd -llz4 -lturbojpeg -lpthread
ga-gate_TESTS := $(wildcard ga-gate/tests/test_*.c)
