/* A tree is gone when all of it is dead, also what became somebody else's child while it was dying. */
#include "../ga-guest/process_tree.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define HEAVY_BYTES ((size_t)128 << 20)
#define KILL_LIMIT_MS 20000

/* Starts what stays until it is killed and says its number; memory that it has to give back makes its death a slow one. */
static void stay(int say, size_t bytes) {
    char *memory = bytes ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : NULL;
    CHECK(memory != MAP_FAILED);
    if (memory) memset(memory, 1, bytes);
    pid_t pid = getpid();
    CHECK(write(say, &pid, sizeof pid) == sizeof pid);
    for (;;) pause();
}

static bool is_dead(pid_t pid) {
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (!file) return true;
    int read = fscanf(file, "%*d (%*[^)]) %c", &state);
    fclose(file);
    return read != 1 || state == 'Z' || state == 'X';
}

int main(void) {
    int said[2];
    pid_t there[2];
    CHECK(pipe(said) == 0);
    pid_t root = fork();
    CHECK(root >= 0);
    if (!root) {
        if (!fork()) stay(said[1], HEAVY_BYTES);
        stay(said[1], 0);
    }
    for (int i = 0; i < 2; i++) CHECK(read(said[0], &there[i], sizeof there[i]) == sizeof there[i]);
    CHECK(process_tree_kill(root, true, KILL_LIMIT_MS, NULL));
    for (int i = 0; i < 2; i++) CHECK(is_dead(there[i]));
    CHECK(process_tree_kill(root, true, 0, NULL)); /* what is gone already */
    return 0;
}
