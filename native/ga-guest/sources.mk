# What ga-guest is made of. It is static, so that it runs in any world of the same architecture.
ga-guest_SOURCES := $(wildcard ga-guest/*.c) common/sha256.c
ga-guest_LDFLAGS := -static
