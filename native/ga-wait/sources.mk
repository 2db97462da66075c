# What ga-wait is made of. Static, so that it maps one file instead of six.
ga-wait_SOURCES := ga-wait/main.c
ga-wait_LDFLAGS := -static
