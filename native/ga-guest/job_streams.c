#define _GNU_SOURCE
#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "connection.h"
#include "descriptors.h"
#include "job.h"
#include "server.h"

#define END_OF_FILE_KEY "\x04"
#define READS_A_TURN 4

/* --- standard input ------------------------------------------------------------------------------------------- */

static void give_stdin_credit(struct job *job, size_t consumed) {
    job->stdin_consumed += (uint32_t)consumed;
    if (!job->owner || job->stdin_consumed < GA_STDIN_WINDOW / 4) return;
    GA_SEND(&job->owner->tx, job->channel, CREDIT, .bytes = job->stdin_consumed);
    job->stdin_window += job->stdin_consumed;
    job->stdin_consumed = 0;
}

/* Nobody reads any more: what comes is taken and dropped, so the host is not stuck. */
static void drop_stdin(struct job *job) {
    size_t left = job->stdin_queue.size;
    fd_close(&job->stdin_fd);
    buffer_free(&job->stdin_queue);
    give_stdin_credit(job, left);
}

void job_write_stdin(struct job *job) {
    while (job->stdin_fd >= 0 && job->stdin_queue.size) {
        ssize_t written = write(job->stdin_fd, buffer_front(&job->stdin_queue), job->stdin_queue.size);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0 && errno == EAGAIN) return;
        if (written < 0) {
            drop_stdin(job);
            return;
        }
        buffer_consume(&job->stdin_queue, (size_t)written);
        give_stdin_credit(job, (size_t)written);
    }
    if (job->stdin_ended && !job->stdin_queue.size) fd_close(&job->stdin_fd);
}

void job_add_stdin(struct job *job, struct ga_slice data) {
    job->stdin_window -= data.size;
    buffer_append(&job->stdin_queue, data.data, data.size);
    if (job->stdin_fd < 0)
        drop_stdin(job);
    else
        job_write_stdin(job);
}

void job_end_stdin(struct job *job) {
    if (job->stdin_ended) return;
    job->stdin_ended = true;
    if (job->terminal_fd >= 0 && job->stdin_fd >= 0) buffer_append(&job->stdin_queue, END_OF_FILE_KEY, 1);
    job_write_stdin(job);
}

void job_resize(struct job *job, uint16_t rows, uint16_t columns) {
    struct winsize size = {.ws_row = rows ? rows : 24, .ws_col = columns ? columns : 80};
    if (job->terminal_fd >= 0) ioctl(job->terminal_fd, TIOCSWINSZ, &size);
}

/* --- output ----------------------------------------------------------------------------------------------------- */

bool job_wants_output(const struct job *job, int stream) {
    const struct output_stream *from = &job->streams[stream];
    if (from->fd < 0 || job->finished || !job->owner) return false;
    return !output_stream_in_head(from) || (job->output_credit > 0 && job->owner->tx.size < TX_HIGH);
}

static ssize_t read_head(struct job *job, int stream) {
    struct output_stream *from = &job->streams[stream];
    struct buffer *tx = &job->owner->tx;
    size_t room = GA_MAX_CHUNK;
    if (room > from->head_left) room = (size_t)from->head_left;
    if (room > job->output_credit) room = (size_t)job->output_credit;
    size_t frame = ga_frame_begin(tx, job->channel, GA_MESSAGE_OUTPUT);
    ga_put_number(tx, (uint64_t)stream + 1, 1);
    ssize_t size = read(from->fd, buffer_reserve(tx, room), room);
    if (size <= 0) {
        tx->size = frame;
        return size;
    }
    tx->size += (size_t)size;
    ga_frame_end(tx, frame);
    from->head_left -= (uint64_t)size;
    from->total += (uint64_t)size;
    job->output_credit -= (uint64_t)size;
    return size;
}

/* False when there is nothing more to read now. */
static bool read_once(struct job *job, int stream) {
    static uint8_t scratch[GA_MAX_CHUNK];
    struct output_stream *from = &job->streams[stream];
    bool head = output_stream_in_head(from);
    ssize_t size = head ? read_head(job, stream) : read(from->fd, scratch, sizeof scratch);
    if (size < 0 && errno == EAGAIN) return false;
    if (size < 0 && errno == EINTR) return true;
    if (size <= 0) {
        fd_close(&from->fd);
        return false;
    }
    if (!head) output_stream_keep(from, scratch, (size_t)size);
    if (job->ended) job->drain_idle_ns = clock_ns() + DRAIN_IDLE_NS;
    return true;
}

void job_read_output(struct job *job, int stream) {
    for (int turn = 0; turn < READS_A_TURN && job_wants_output(job, stream); turn++)
        if (!read_once(job, stream)) return;
}
