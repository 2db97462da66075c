/* ga-wait PID: wait for a child that is already there, and end as it ended.
 *
 * The launcher of a sandbox turns into this when its work is done. It stands between the supervisor and the world's init
 * as long as the world lives, so it should weigh nothing: no output, no allocation, no signal handling. When it is killed
 * the kernel kills the init, which asked for that. */
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    pid_t pid = (pid_t)strtol(argv[1], NULL, 10);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return 3; /* no such child */
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
