/* ga-memory.so: memory of a machine that is a private copy of a file, though QEMU believes that it is shared.
 *
 * QEMU leaves shared memory out of what it saves (x-ignore-shared), and nothing else: so a copy of a saved machine would
 * have to be saved whole, page by page. With this in LD_PRELOAD it is told share=on and gets a copy on write all the same;
 * what it has changed is read from outside, by the one who saves it.
 *
 * Behind the file may stand another one, after "//": what of it is different. It has the same places, holes elsewhere,
 * and behind all of them the list of what it holds, as pairs of 64-bit numbers (place, size), ended by a size of 0. Those
 * parts are mapped over the file, just as privately.
 *
 * Only paths that begin with PREFIX are touched, and none does by itself: the folder can not exist. Without this library
 * QEMU therefore ends with "can't open backing store" instead of writing into everybody's file, and with it the file is
 * open for reading alone. Uses nothing of the C library but errno, so it fits every QEMU that is linked dynamically. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define PREFIX "/proc/self/gym-anything-copy-of"
#define PAGE 4096
#define LONGEST_PATH 4096

struct part {
    uint64_t place;
    uint64_t size;
};

/* The file that was opened last to be copied, and the one with what is different; -1 without. */
static int whole_fd = -1, changes_fd = -1;

int open64(const char *path, int flags, ...);
void *mmap64(void *address, size_t size, int protection, int flags, int fd, off_t offset);

static long kernel(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long result __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(result) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
#else
#error "the kernel's calling convention of this processor is not written down here"
#endif
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

static const char *behind_prefix(const char *path) {
    const char *prefix = PREFIX;
    while (*prefix && *prefix == *path) prefix++, path++;
    return *prefix ? NULL : path;
}

static int open_to_read(const char *path) {
    return (int)kernel(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
}

/* Opens "whole" or "whole//changes"; returns the descriptor of the former. */
static int open_copied(const char *path) {
    char whole[LONGEST_PATH];
    size_t length = 0;
    while (path[length] && !(path[length] == '/' && path[length + 1] == '/')) {
        if (length == sizeof whole - 1) {
            errno = ENAMETOOLONG;
            return -1;
        }
        whole[length] = path[length];
        length++;
    }
    whole[length] = 0;
    if (changes_fd >= 0) kernel(SYS_close, changes_fd, 0, 0, 0, 0, 0);
    whole_fd = changes_fd = -1;
    if (path[length]) {
        changes_fd = open_to_read(path + length + 1);
        if (changes_fd < 0) return -1;
    }
    return whole_fd = open_to_read(whole);
}

int open64(const char *path, int flags, ...) {
    int mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list rest;
        va_start(rest, flags);
        mode = va_arg(rest, int);
        va_end(rest);
    }
    const char *copied = behind_prefix(path);
    if (copied) return open_copied(copied);
    return (int)kernel(SYS_openat, AT_FDCWD, (long)path, flags, mode, 0, 0);
}

static long failed(int number) {
    errno = number;
    return -1;
}

/* Maps what is different over a mapping of the whole file from `offset` on. Returns -1 with errno when it cannot. */
static long map_parts(const struct part *list, size_t count, char *start, uint64_t size, int prot, uint64_t offset) {
    for (size_t i = 0; i < count && list[i].size; i++) {
        uint64_t from = list[i].place, to = from + list[i].size;
        if (from % PAGE || to % PAGE || to < from) return failed(EINVAL);
        if (from < offset) from = offset;
        if (to > offset + size) to = offset + size;
        if (from >= to) continue;
        long at = (long)(start + (from - offset)), flags = MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED;
        if (kernel(SYS_mmap, at, (long)(to - from), prot, flags, changes_fd, (long)from) == -1) return -1;
    }
    return 0;
}

static long map_changes(char *start, uint64_t size, int protection, uint64_t offset) {
    long list_at = kernel(SYS_lseek, whole_fd, 0, SEEK_END, 0, 0, 0);
    long end = kernel(SYS_lseek, changes_fd, 0, SEEK_END, 0, 0, 0);
    if (list_at < 0 || end < 0) return -1;
    if (list_at % PAGE || end < list_at + (long)sizeof(struct part)) return failed(EINVAL);
    long bytes = end - list_at;
    long list = kernel(SYS_mmap, 0, bytes, PROT_READ, MAP_PRIVATE, changes_fd, list_at);
    if (list == -1) return -1;
    size_t count = (size_t)bytes / sizeof(struct part);
    long done = map_parts((const struct part *)list, count, start, size, protection, offset);
    kernel(SYS_munmap, list, bytes, 0, 0, 0, 0);
    return done;
}

/* The kernel refuses to share a file for writing that is open for reading alone. Nobody asks for it but on our files. */
void *mmap64(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
    int shared = flags & MAP_TYPE;
    if (fd >= 0 && (shared == MAP_SHARED || shared == MAP_SHARED_VALIDATE) && (protection & PROT_WRITE)) {
        long status = kernel(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0);
        if (status >= 0 && (status & O_ACCMODE) == O_RDONLY)
            flags = (flags & ~(MAP_TYPE | MAP_SYNC)) | MAP_PRIVATE | MAP_NORESERVE;
    }
    long mapped = kernel(SYS_mmap, (long)address, (long)size, protection, flags, fd, offset);
    bool changed = mapped != -1 && changes_fd >= 0 && fd == whole_fd;
    if (changed && map_changes((char *)mapped, size, protection, (uint64_t)offset)) {
        kernel(SYS_munmap, mapped, (long)size, 0, 0, 0, 0);
        return MAP_FAILED;
    }
    return (void *)mapped;
}

/* A copy lives from little memory, and QEMU asks for large pages wherever it may need much one day: clearing those, of
 * which it then uses a part, is a seventh of what it takes to make a copy. */
int madvise(void *address, size_t size, int advice) {
    if (advice == MADV_HUGEPAGE) return 0;
    return (int)kernel(SYS_madvise, (long)address, (long)size, advice, 0, 0, 0);
}

/* Where a file's size is 64 bits wide anyway, both names mean the same. */
int open(const char *path, int flags, ...) __attribute__((alias("open64")));
void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset) __attribute__((alias("mmap64")));
