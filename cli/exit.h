#pragma once
/*
 * cli/exit.h - exit codes of stellarctl. They are public: scripts branch on them.
 */

#include "base/err.h"

enum exit_code {
    EXIT_DONE = 0,
    EXIT_REFUSED = 1,     /* the server refused the request (other 4xx), or a check said no */
    EXIT_USAGE = 2,       /* a wrong command line, file or configuration */
    EXIT_MISSING = 3,     /* 404 */
    EXIT_AUTH = 4,        /* 401, 403 */
    EXIT_CONFLICT = 5,    /* 409, 412, 428 */
    EXIT_UNREACHABLE = 6, /* no answer, or 5xx, or 429: may work later */
    EXIT_PARTIAL = 7,     /* some of several failed */
};

enum exit_code exit_of_status(long status); /* of an HTTP status; 2xx is EXIT_DONE */
enum exit_code exit_of_err(enum err_code code);
/* Of several: none failed, all failed with the same, or EXIT_PARTIAL. */
struct exit_sum {
    int done, failed;
    enum exit_code first;
    bool mixed;
};
void exit_sum_add(struct exit_sum *sum, enum exit_code code);
enum exit_code exit_sum_code(const struct exit_sum *sum);
