# What ga-guest is made of. It is static, so that it runs in any world of the same architecture.
ga-guest_SOURCES := $(wildcard ga-guest/*.c) common/sha256.c
ga-guest_LDFLAGS := -static
ga-guest_TESTS := tests/test_sha256.c tests/test_wire.c tests/test_output_stream.c tests/test_account.c tests/test_environment.c tests/test_identity.c tests/test_process_tree.c
