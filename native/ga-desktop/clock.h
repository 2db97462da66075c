/* Monotonic time. */
#ifndef GD_CLOCK_H
#define GD_CLOCK_H

#include <stdint.h>

#define MS_NS 1000000ull

uint64_t clock_ns(void);
/* Part of a loop that looks at a condition again afterwards. */
void clock_wait_ns(uint64_t ns);

#endif
