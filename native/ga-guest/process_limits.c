#include "process_limits.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MOST_FILES 65536
#define OOM_FILE "/proc/self/oom_score_adj"
#define OOM_PROTECTED "-900"

static struct rlimit given_files;
static bool files_raised;
static char given_oom[16];

static bool write_oom(const char *value) {
    int fd = open(OOM_FILE, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, value, strlen(value)) > 0;
    if (fd >= 0) close(fd);
    return written;
}

static bool read_oom(void) {
    int fd = open(OOM_FILE, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, given_oom, sizeof given_oom - 1) : -1;
    if (fd >= 0) close(fd);
    return size > 0;
}

void limits_raise(void) {
    if (!getrlimit(RLIMIT_NOFILE, &given_files)) {
        struct rlimit raised = given_files;
        raised.rlim_cur = raised.rlim_max < MOST_FILES ? raised.rlim_max : MOST_FILES;
        files_raised = raised.rlim_cur > given_files.rlim_cur && !setrlimit(RLIMIT_NOFILE, &raised);
    }
    /* Where we may not, as in a user namespace, nothing changes and nothing needs to be restored. */
    if (!read_oom() || !write_oom(OOM_PROTECTED)) given_oom[0] = 0;
}

void limits_restore(void) {
    if (files_raised) setrlimit(RLIMIT_NOFILE, &given_files);
    if (given_oom[0]) write_oom(given_oom);
}
