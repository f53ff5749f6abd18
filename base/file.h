#pragma once
/*
 * base/file.h - small files, whole and durable.
 */

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* Reads at most max bytes (ERR_LIMIT if the file has more); *out is malloc'ed, NUL-terminated. */
ERR_MUST_CHECK enum err_code file_read(const char *path, size_t max, char **out, size_t *out_len,
                                       struct err *err);

/* The same of a regular file alone: anything else is ERR_INVALID at once, where a pipe would be
 * waited for and a device might do something. */
ERR_MUST_CHECK enum err_code file_read_regular(const char *path, size_t max, char **out,
                                               size_t *out_len, struct err *err);

/* open() for reading of a regular file alone, which never waits: *out_fd, owned; ERR_NOT_FOUND,
 * ERR_DENIED, ERR_IO, or ERR_INVALID when it is something else. */
ERR_MUST_CHECK enum err_code file_open_regular(const char *path, int *out_fd, struct err *err);

/* Others than its owner have some right to it; false also when there is no file. */
bool file_is_open_to_others(const char *path);

/* Writes a temporary file beside path, fsync, rename, fsync of the folder: after success the new
 * content survives a crash, after failure or a crash the old one is whole. */
ERR_MUST_CHECK enum err_code file_write_atomic(const char *path, const void *data, size_t len,
                                               mode_t mode, struct err *err);

/* What root makes in the folder of a user is given to that user and its group, so that the programs
 * that run as that user can use it; without root, without the right, or in root's folders, nothing
 * is done. path may be a link, which is not followed. */
ERR_MUST_CHECK enum err_code file_give_to_folder(const char *path, struct err *err);

/* fsync of the folder that path stands in: only then is a rename in it durable. */
ERR_MUST_CHECK enum err_code file_sync_folder_of(const char *path, struct err *err);

/* Writes to an existing file such as a sysfs or procfs attribute: one write(2), no rename. */
ERR_MUST_CHECK enum err_code file_write_attr(const char *path, const char *text, struct err *err);

/* mkdir -p with mode for what it makes. */
ERR_MUST_CHECK enum err_code file_mkdirs(const char *path, mode_t mode, struct err *err);

/* Random bytes, hex text of 2*n+1. */
void random_bytes(void *out, size_t n);
void hex_encode(const void *data, size_t n, char *out);
