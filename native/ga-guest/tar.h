/* The part of the tar format that both directions share (POSIX ustar with pax records). */
#ifndef GA_TAR_H
#define GA_TAR_H

#include <stdint.h>

#define TAR_BLOCK 512

struct tar_header {
    char name[100];
    char mode[8];
    char uid[8];
    char gid[8];
    char size[12];
    char mtime[12];
    char checksum[8];
    char type;
    char link[100];
    char magic[6];
    char version[2];
    char user[32];
    char group[32];
    char major[8];
    char minor[8];
    char prefix[155];
    char pad[12];
};

_Static_assert(sizeof(struct tar_header) == TAR_BLOCK, "a tar header is one block");

/* The sum of all bytes with the checksum field taken as spaces. */
static inline uint32_t tar_checksum(const struct tar_header *header) {
    const uint8_t *bytes = (const uint8_t *)header;
    uint32_t sum = 8 * ' ';
    for (unsigned i = 0; i < TAR_BLOCK; i++)
        if (i < 148 || i >= 156) sum += bytes[i];
    return sum;
}

#endif
