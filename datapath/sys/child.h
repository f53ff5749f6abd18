#pragma once
/*
 * datapath/sys/child.h - a tool as a child process: argument list, no shell, no input, bounded
 * output, a deadline.
 */

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

#define CHILD_OUTPUT_MAX (64 * 1024) /* of both outputs; what comes after is read and dropped */

struct starter;

struct child {
    const char *const *argv; /* argv[0] is looked up in the PATH; NULL-terminated */
    int deadline_ms;
    struct starter *starter; /* who starts it (starter.h); NULL = this process does */
    /* Parts of the output as they come; NULL = not asked. */
    void (*output)(void *arg, const char *data, size_t len);
    void *arg;
};

/*
 * Blocking. *out_text: malloc'ed, NUL-terminated output. *out_status: its exit status, 128 + N when
 * signal N ended it. ERR_NOT_FOUND: there is no such program. ERR_UNAVAILABLE: the deadline passed;
 * it was killed, what it did is unknown. ERR_DENIED: the starter does not start this.
 */
ERR_MUST_CHECK enum err_code child_run(const struct child *child, int *out_status, char **out_text,
                                       size_t *out_len, struct err *err);

/* The parts, for starter.h. Starts it with both outputs to output_fd; an errno value. */
int child_spawn(const char *const *argv, int output_fd, pid_t *out);
/* Blocking. Its exit status, 128 + N when signal N ended it; -1: not known, it is no child. */
int child_wait(pid_t pid);
