#define _GNU_SOURCE
#include "sudo.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "descriptors.h"
#include "protocol.h"
#include "sudo_options.h"
#include "sudo_request.h"
#include "sudo_terminal.h"

#define CHANNEL 1
#define LOOK_AGAIN_MS 100

/* One running sudo. */
struct session {
    int socket;
    int signals;
    struct sudo_terminal terminal;
    struct buffer received;
    const char *command;
    int exit_status; /* -1 while the command runs */
};

static int complain(const char *what, const char *why) {
    fprintf(stderr, "sudo: %s: %s\n", what, why);
    return 1;
}

static int connect_service(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("GA_SUDO_SOCKET");
    if (!path || !*path) path = SUDO_DEFAULT_SOCKET;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (strlen(path) < sizeof address.sun_path) strcpy(address.sun_path, path);
    if (fd < 0 || !address.sun_path[0] || connect(fd, (struct sockaddr *)&address, sizeof address)) {
        fprintf(stderr, "sudo: cannot reach the root service of this world at %s: %s\n", path, strerror(errno));
        fd_close(&fd);
    }
    return fd;
}

static struct ga_texts encode_texts(struct buffer *out, char **words) {
    uint32_t count = 0;
    for (; words[count]; count++) ga_put_bytes(out, ga_slice_of(words[count]));
    return (struct ga_texts){buffer_front(out), (uint32_t)out->size, count};
}

static bool send_with_descriptors(int fd, const uint8_t *data, size_t size, const int fds[3]) {
    union {
        char bytes[CMSG_SPACE(3 * sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct iovec part = {(void *)data, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes};
    message.msg_controllen = sizeof control.bytes;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(3 * sizeof(int))};
    memcpy(CMSG_DATA(header), fds, 3 * sizeof(int));
    ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
    return sent >= 0 && fd_write_all(fd, data + sent, size - (size_t)sent);
}

static bool send_request(int fd, const struct sudo_request *request, const int fds[3]) {
    struct buffer argv = {0}, env = {0}, frame = {0};
    struct ga_texts argv_texts = encode_texts(&argv, request->argv), env_texts = encode_texts(&env, request->env);
    GA_SEND(&frame, CHANNEL, EXEC, .flags = GA_EXEC_EXACT_ENV, .user = ga_slice_of(request->user),
            .cwd = ga_slice_of(request->folder), .argv = argv_texts, .env = env_texts);
    bool sent = send_with_descriptors(fd, buffer_front(&frame), frame.size, fds);
    buffer_free(&argv);
    buffer_free(&env);
    buffer_free(&frame);
    return sent;
}

static void take_failure(struct session *session, struct ga_slice payload) {
    struct ga_FAILED failed;
    session->exit_status = 1;
    if (!ga_decode_FAILED(payload, &failed))
        complain("the root service", "an answer that cannot be read");
    else if (failed.error == GA_ERROR_START && failed.os_error == ENOENT && failed.message.size > 12 &&
             !memcmp(failed.message.data, "cannot start", 12))
        complain(session->command, "command not found");
    else
        fprintf(stderr, "sudo: %.*s\n", (int)failed.message.size, (const char *)failed.message.data);
}

static void take_end(struct session *session, struct ga_slice payload) {
    struct ga_EXITED ended;
    if (!ga_decode_EXITED(payload, &ended)) {
        session->exit_status = 1;
        return;
    }
    session->exit_status = ended.signal ? 128 + ended.signal : ended.status;
}

static void take_frames(struct session *session) {
    struct buffer *in = &session->received;
    struct ga_header header;
    while (session->exit_status < 0 && in->size >= GA_HEADER_SIZE) {
        ga_decode_header(buffer_front(in), &header);
        if (in->size < GA_HEADER_SIZE + (size_t)header.size) return;
        struct ga_slice payload = {buffer_front(in) + GA_HEADER_SIZE, header.size};
        if (header.message == GA_MESSAGE_FAILED) take_failure(session, payload);
        if (header.message == GA_MESSAGE_EXITED) take_end(session, payload);
        buffer_consume(in, GA_HEADER_SIZE + (size_t)header.size);
    }
}

static void read_service(struct session *session) {
    ssize_t size = read(session->socket, buffer_reserve(&session->received, 4096), 4096);
    if (size > 0) {
        session->received.size += (size_t)size;
        take_frames(session);
    } else if (size == 0 || errno != EINTR) {
        session->exit_status = complain("the root service of this world", "it closed the connection");
    }
}

static void pass_signal(struct session *session) {
    struct signalfd_siginfo info;
    struct buffer frame = {0};
    if (read(session->signals, &info, sizeof info) != (ssize_t)sizeof info) return;
    if (info.ssi_signo == SIGWINCH) {
        sudo_terminal_resize(&session->terminal);
        return;
    }
    GA_SEND(&frame, CHANNEL, SIGNAL, .signal = (int32_t)info.ssi_signo);
    fd_write_all(session->socket, buffer_front(&frame), frame.size);
    buffer_free(&frame);
}

static int open_signals(void) {
    static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaddset(&set, numbers[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTTOU, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

static int follow(struct session *session) {
    struct pollfd fds[4];
    while (session->exit_status < 0) {
        fds[0] = (struct pollfd){session->socket, POLLIN, 0};
        fds[1] = (struct pollfd){session->signals, POLLIN, 0};
        int count = sudo_terminal_watch(&session->terminal, fds + 2);
        /* Neither coming back to the foreground nor a terminal opened again makes an event: look now and then. */
        bool look = session->terminal.unused || (session->terminal.input >= 0 && count < 2);
        int wait_ms = look ? LOOK_AGAIN_MS : -1;
        if (poll(fds, 2 + (nfds_t)count, wait_ms) < 0) continue;
        sudo_terminal_pass(&session->terminal, fds + 2, count);
        if (fds[1].revents) pass_signal(session);
        if (fds[0].revents) read_service(session);
    }
    return session->exit_status;
}

static int run(const struct sudo_options *options) {
    struct sudo_request request = {0};
    struct session session = {.exit_status = -1};
    int fds[3] = {0, 1, 2};
    if (!sudo_request_make(&request, options)) return 1;
    if ((session.socket = connect_service()) < 0) return 1;
    if (options->background && fork() != 0) return 0;
    session.command = request.argv[0];
    session.signals = open_signals();
    if (!sudo_terminal_open(&session.terminal, fds)) return complain("cannot make a terminal", strerror(errno));
    /* A service that hangs up meanwhile has said why: that is read below. */
    (void)!send_request(session.socket, &request, fds);
    for (int i = 0; i < 3; i++)
        if (fds[i] > 2) close(fds[i]);
    int status = follow(&session);
    sudo_terminal_close(&session.terminal);
    return status;
}

/* For -v and -l: a command that does nothing is run, so the answer is the service's own. */
static int check_allowed(struct sudo_options *options, bool list) {
    static char *nothing[] = {"true", NULL};
    *options = (struct sudo_options){.mode = SUDO_RUN, .user = options->user, .command = nothing, .command_count = 1};
    int status = run(options);
    if (!status && list) puts("You may run any command as any user in this world:\n    (ALL : ALL) NOPASSWD: ALL");
    return status;
}

int sudo_main(int argc, char **argv) {
    struct sudo_options options;
    if (!sudo_options_parse(&options, argc, argv)) return 1;
    switch (options.mode) {
    case SUDO_HELP: sudo_print_usage(); return 0;
    case SUDO_VERSION: return printf("Sudo version 1.9 (the sudo of ga-guest)\n") < 0;
    case SUDO_NOTHING: return 0;
    case SUDO_VALIDATE: return check_allowed(&options, false);
    case SUDO_LIST: return check_allowed(&options, true);
    default: return run(&options);
    }
}
