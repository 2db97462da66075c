# What ga-memory is made of: a library for LD_PRELOAD, bound to no C library in particular.
ga-memory_SOURCES := ga-memory/main.c
ga-memory_CFLAGS := -fPIC -fno-stack-protector -U_FORTIFY_SOURCE -D_GNU_SOURCE -fno-builtin
ga-memory_LIBS := -shared -nostdlib -fPIC
