/* The whole of a test framework: CHECK says where a condition did not hold and ends the program. */
#ifndef GA_CHECK_H
#define GA_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

#endif
