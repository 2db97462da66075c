#include "title.h"

#include <string.h>
#include <sys/prctl.h>

static char *area;
static size_t area_size;

void title_begin(int argc, char **argv) {
    area = argv[0];
    area_size = argc > 0 ? (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) + 1 - area) : 0;
}

void title_set(const char *title) {
    size_t size = strlen(title);
    prctl(PR_SET_NAME, title);
    if (size + 1 > area_size) return;
    memset(area, 0, area_size);
    memcpy(area, title, size);
}
