#include "sudo.h"
#include <stdio.h>
int sudo_main(int argc, char **argv) {
    (void)argc;
    (void)argv;
    fputs("sudo: not built yet\n", stderr);
    return 1;
}
