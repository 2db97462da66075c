/* The command line of sudo(8), the part that worlds use. */
#ifndef GA_SUDO_OPTIONS_H
#define GA_SUDO_OPTIONS_H

#include <stdbool.h>

enum sudo_mode { SUDO_RUN, SUDO_VALIDATE, SUDO_LIST, SUDO_VERSION, SUDO_HELP, SUDO_NOTHING };

struct sudo_options {
    enum sudo_mode mode;
    const char *user;
    const char *group;
    const char *folder;
    const char *preserve_list; /* names with commas */
    bool preserve_env;
    bool set_home;
    bool login;
    bool shell;
    bool background;
    char **assignments; /* NAME=VALUE before the command */
    int assignment_count;
    char **command; /* ends with NULL */
    int command_count;
};

/* Prints what is wrong and returns false. */
bool sudo_options_parse(struct sudo_options *options, int argc, char **argv);

void sudo_print_usage(void);

#endif
