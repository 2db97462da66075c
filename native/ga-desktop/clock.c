#include "clock.h"

#include <time.h>

uint64_t clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

void clock_wait_ns(uint64_t ns) {
    struct timespec span = {(time_t)(ns / 1000000000ull), (long)(ns % 1000000000ull)};
    nanosleep(&span, NULL);
}
