#define _GNU_SOURCE
#include "sudo_options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum { OPTION_PRESERVE_LIST = 256 };

static const struct option long_options[] = {
    {"askpass", no_argument, NULL, 'A'},
    {"background", no_argument, NULL, 'b'},
    {"chdir", required_argument, NULL, 'D'},
    {"group", required_argument, NULL, 'g'},
    {"help", no_argument, NULL, 'h'},
    {"list", no_argument, NULL, 'l'},
    {"login", no_argument, NULL, 'i'},
    {"non-interactive", no_argument, NULL, 'n'},
    {"preserve-env", optional_argument, NULL, OPTION_PRESERVE_LIST},
    {"preserve-groups", no_argument, NULL, 'P'},
    {"prompt", required_argument, NULL, 'p'},
    {"remove-timestamp", no_argument, NULL, 'K'},
    {"reset-timestamp", no_argument, NULL, 'k'},
    {"set-home", no_argument, NULL, 'H'},
    {"shell", no_argument, NULL, 's'},
    {"stdin", no_argument, NULL, 'S'},
    {"user", required_argument, NULL, 'u'},
    {"validate", no_argument, NULL, 'v'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

void sudo_print_usage(void) {
    fputs("usage: sudo [-AbEHknPS] [-D folder] [-g group] [-p prompt] [-u user] [-i | -s] [VAR=value] [--] [command]\n"
          "       sudo -h | -K | -k | -l | -V | -v\n"
          "This sudo asks the root exec service of its world; no password is needed.\n",
          stderr);
}

static bool complain(int code, const char *word) {
    if (code == ':')
        fprintf(stderr, "sudo: option '%s' needs a value\n", word);
    else
        fprintf(stderr, "sudo: option '%s' is not known to the sudo of this world\n", word);
    sudo_print_usage();
    return false;
}

/* True for options that change nothing here: there is no password to ask for or to remember. */
static bool means_nothing(int code) {
    return code == 'A' || code == 'n' || code == 'S' || code == 'p' || code == 'P';
}

static bool take_option(struct sudo_options *options, int code, const char *value) {
    switch (code) {
    case 'b': options->background = true; break;
    case 'D': options->folder = value; break;
    case 'E': options->preserve_env = true; break;
    case 'g': options->group = value; break;
    case 'H': options->set_home = true; break;
    case 'h': options->mode = SUDO_HELP; break;
    case 'i': options->login = true; break;
    case 'K': options->mode = SUDO_NOTHING; break;
    case 'k': options->mode = options->mode == SUDO_RUN ? SUDO_NOTHING : options->mode; break;
    case 'l': options->mode = SUDO_LIST; break;
    case 's': options->shell = true; break;
    case 'u': options->user = value; break;
    case 'v': options->mode = SUDO_VALIDATE; break;
    case 'V': options->mode = SUDO_VERSION; break;
    case OPTION_PRESERVE_LIST:
        if (value)
            options->preserve_list = value;
        else
            options->preserve_env = true;
        break;
    default: return means_nothing(code);
    }
    return true;
}

static bool is_assignment(const char *word) {
    const char *equals = strchr(word, '=');
    return equals && equals != word && word[0] != '/' && word[0] != '.';
}

/* `-k command` runs the command; `-k` alone does nothing. */
static bool check(struct sudo_options *options) {
    bool names_command = options->command_count || options->login || options->shell;
    if (options->mode == SUDO_NOTHING && options->command_count) options->mode = SUDO_RUN;
    if (options->login && options->shell) {
        fputs("sudo: you may not specify both the -i and -s options\n", stderr);
        return false;
    }
    if (options->mode == SUDO_RUN && !names_command) {
        sudo_print_usage();
        return false;
    }
    return true;
}

bool sudo_options_parse(struct sudo_options *options, int argc, char **argv) {
    *options = (struct sudo_options){.mode = SUDO_RUN};
    int code;
    opterr = 0;
    optind = 1;
    while ((code = getopt_long(argc, argv, "+:AbD:Eg:HhiKklnPp:Ssu:Vv", long_options, NULL)) != -1) {
        if (code == '?' || code == ':') {
            char letter[3] = {'-', (char)optopt, 0};
            const char *word = argv[optind - 1];
            return complain(code, optopt && optopt < OPTION_PRESERVE_LIST && strncmp(word, "--", 2) ? letter : word);
        }
        if (!take_option(options, code, optarg)) return complain('?', argv[optind - 1]);
    }
    options->assignments = argv + optind;
    while (optind < argc && is_assignment(argv[optind])) optind++;
    options->assignment_count = (int)(argv + optind - options->assignments);
    options->command = argv + optind;
    options->command_count = argc - optind;
    return check(options);
}
