#define _GNU_SOURCE
#include "sudo_request.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "environment.h"

/* What survives `env_reset`, as Debian's sudo has it, and where our own service is. */
static const char *const kept_names[] = {
    "COLORS",   "COLORTERM", "DISPLAY", "HOSTNAME", "KRB5CCNAME", "LANG", "LANGUAGE",   "LC_*",
    "LINGUAS",  "LS_COLORS", "PS1",     "PS2",      "TERM",       "TZ",   "XAUTHORITY", "XAUTHORIZATION",
    "XDG_CURRENT_DESKTOP", "GA_SUDO_SOCKET"};

static bool is_kept(const struct sudo_options *options, const char *entry) {
    char name[256];
    size_t length = strcspn(entry, "=");
    if (options->preserve_env) return true;
    if (length >= sizeof name) return false;
    memcpy(name, entry, length);
    name[length] = 0;
    for (size_t i = 0; i < sizeof kept_names / sizeof *kept_names; i++)
        if (!fnmatch(kept_names[i], name, 0)) return true;
    for (const char *at = options->preserve_list; at && *at;) {
        size_t size = strcspn(at, ",");
        if (size == length && !strncmp(at, name, size)) return true;
        at += size + (at[size] == ',');
    }
    return false;
}

static char *joined(char **words, int count) {
    struct buffer out = {0};
    for (int i = 0; i < count; i++) {
        if (i) buffer_append(&out, " ", 1);
        buffer_append(&out, words[i], strlen(words[i]));
    }
    buffer_append(&out, "", 1);
    return (char *)buffer_front(&out);
}

static char **set(char **env, const char *name, const char *value) {
    return environment_set(env, environment_entry(name, value));
}

static char **set_number(char **env, const char *name, unsigned value) {
    char text[16];
    snprintf(text, sizeof text, "%u", value);
    return set(env, name, text);
}

static char **set_caller(char **env, const struct sudo_options *options, char **argv) {
    struct account caller;
    char uid[16];
    snprintf(uid, sizeof uid, "%u", getuid());
    if (account_find(uid, &caller)) env = set(env, "SUDO_USER", caller.name);
    env = set_number(env, "SUDO_UID", getuid());
    env = set_number(env, "SUDO_GID", getgid());
    char *shell_only[] = {argv[0], NULL};
    char *command = options->command_count ? joined(options->command, options->command_count) : joined(shell_only, 1);
    return set(env, "SUDO_COMMAND", command);
}

/* The folder that sudo was found in, or NULL. */
static char *folder_of_sudo(void) {
    const char *slash = strrchr(program_invocation_name, '/');
    if (slash) return strndup(program_invocation_name, slash - program_invocation_name);
    const char *path = getenv("PATH");
    while (path && *path) {
        size_t length = strcspn(path, ":");
        char file[PATH_MAX];
        snprintf(file, sizeof file, "%.*s/%s", (int)length, path, program_invocation_name);
        if (length && !access(file, X_OK)) return strndup(path, length);
        path += length + (path[length] == ':');
    }
    return NULL;
}

/* Debian's secure path, and the folder that sudo itself lies in: a command run by sudo may call sudo again. */
static char **set_path(char **env) {
    char *folder = folder_of_sudo(), inner[PATH_MAX + 2], path[PATH_MAX + sizeof DEFAULT_PATH + 2];
    snprintf(inner, sizeof inner, ":%s:", folder ? folder : "");
    if (!folder || *folder != '/' || strstr(":" DEFAULT_PATH ":", inner)) return set(env, "PATH", DEFAULT_PATH);
    snprintf(path, sizeof path, "%s:%s", DEFAULT_PATH, folder);
    return set(env, "PATH", path);
}

static char **make_env(const struct sudo_options *options, const struct account *target, char **argv) {
    char **env = allocate(sizeof *env);
    char mail[300];
    env[0] = NULL;
    for (char **entry = environ; entry && *entry; entry++)
        if (is_kept(options, *entry)) env = environment_set(env, *entry);
    bool keeps_home = options->preserve_env && environment_get(env, "HOME") && !options->set_home && !options->login;
    if (!keeps_home) env = set(env, "HOME", target->home);
    env = set(env, "USER", target->name);
    env = set(env, "LOGNAME", target->name);
    if (!options->preserve_env || options->login) env = set(env, "SHELL", target->shell);
    snprintf(mail, sizeof mail, "/var/mail/%s", target->name);
    env = set(env, "MAIL", mail);
    env = set_path(env);
    if (!environment_get(env, "TERM")) env = set(env, "TERM", "unknown");
    env = set_caller(env, options, argv);
    for (int i = 0; i < options->assignment_count; i++) env = environment_set(env, options->assignments[i]);
    return env;
}

/* As sudo does for `-i command` and `-s command`: all but plain characters get a backslash, words are joined. */
static char *escaped(char **words, int count) {
    struct buffer out = {0};
    for (int i = 0; i < count; i++) {
        if (i) buffer_append(&out, " ", 1);
        for (const char *at = words[i]; *at; at++) {
            if (!isalnum((unsigned char)*at) && !strchr("_-$", *at)) buffer_append(&out, "\\", 1);
            buffer_append(&out, at, 1);
        }
    }
    buffer_append(&out, "", 1);
    return (char *)buffer_front(&out);
}

static char **make_argv(const struct sudo_options *options, const struct account *target) {
    if (!options->login && !options->shell) return options->command;
    const char *own = getenv("SHELL");
    char **argv = allocate(5 * sizeof *argv);
    int count = 0;
    argv[count++] = strdup(options->shell && own && *own ? own : target->shell);
    if (options->login) argv[count++] = "-l";
    if (options->command_count) {
        argv[count++] = "-c";
        argv[count++] = escaped(options->command, options->command_count);
    }
    argv[count] = NULL;
    return argv;
}

static bool find_target(struct sudo_request *request, const struct sudo_options *options) {
    char caller[16];
    gid_t gid;
    snprintf(caller, sizeof caller, "%u", getuid());
    const char *user = options->user ? options->user : options->group ? caller : "root";
    if (*user == '#') user++;
    if (!account_find(user, &request->target)) {
        fprintf(stderr, "sudo: unknown user %s\n", user);
        return false;
    }
    gid = request->target.gid;
    const char *group = options->group && *options->group == '#' ? options->group + 1 : options->group;
    if (group && !account_find_group(group, &gid)) {
        fprintf(stderr, "sudo: unknown group %s\n", group);
        return false;
    }
    snprintf(request->user, sizeof request->user, "%u:%u", request->target.uid, gid);
    return true;
}

bool sudo_request_make(struct sudo_request *request, const struct sudo_options *options) {
    char here[PATH_MAX];
    if (!find_target(request, options)) return false;
    if (options->folder)
        request->folder = strdup(options->folder);
    else
        request->folder = strdup(options->login ? request->target.home : getcwd(here, sizeof here) ? here : "/");
    request->argv = make_argv(options, &request->target);
    request->env = make_env(options, &request->target, request->argv);
    return true;
}
