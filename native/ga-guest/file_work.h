/* File operations. Each runs in its own process, as root, and ends by one status record. */
#ifndef GA_FILE_WORK_H
#define GA_FILE_WORK_H

#include "job.h"

job_work file_work_stat, file_work_get, file_work_put, file_work_mkdir, file_work_remove; /* file_work.c, file_put.c */
job_work file_work_tar_get; /* tar_write.c */
job_work file_work_tar_put; /* tar_read.c */
job_work file_work_kill_tree;

struct account;

/* Makes the folder and what is missing above it, owned by `account` where made; 0 or an errno. */
int file_make_parents(const char *path, const struct account *account);
_Noreturn void file_done(int status_fd, uint64_t value);
_Noreturn void file_failed(int status_fd, int os_error, const char *what, const char *path);
/* The account of `owner`, root when empty; ends the process when there is none. */
void file_owner(struct ga_slice owner, int status_fd, struct account *account);

#endif
