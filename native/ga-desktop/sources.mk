# What ga-desktop is made of. It is static, so that it runs on the host and in any world of the same architecture.
ga-desktop_SOURCES := $(wildcard ga-desktop/*.c) common/sha256.c common/token.c
ga-desktop_CFLAGS := -ffunction-sections -fdata-sections
# The linker warns of getaddrinfo: only display names with a host would need it, and static programs have no use for those.
ga-desktop_LDFLAGS := -static -s -Wl,--gc-sections
ga-desktop_LIBS := -lxcb-xkb -lxcb-xtest -lxcb-damage -lxcb-xfixes -lxcb-shm -lxcb-res -lxcb -lXau -lXdmcp -lbsd -lmd \
                   -lm -lpthread
ga-desktop_TESTS := ga-desktop/tests/test_pixels.c ga-desktop/tests/test_keysym.c ga-desktop/tests/test_messages.c \
                    ga-desktop/tests/test_blinks.c
