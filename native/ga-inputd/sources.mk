# What ga-inputd is made of. Static, since it runs in any Linux machine. uses.txt says what it takes from ga-desktop.
ga-inputd_SOURCES := $(wildcard ga-inputd/*.c) common/sha256.c common/token.c \
                     $(addprefix ga-desktop/,clock.c connection.c loop.c op_reader.c opening.c)
ga-inputd_CFLAGS := -ffunction-sections -fdata-sections
ga-inputd_LDFLAGS := -static -s -Wl,--gc-sections
ga-inputd_LIBS := -lpthread
ga-inputd_TESTS := ga-inputd/tests/test_layout.c
