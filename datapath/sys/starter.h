#pragma once
/*
 * datapath/sys/starter.h - a process of its own that starts tools for one that may not: forked
 * before the agent gives up root's rights (confine.h), asked over a socket pair, it starts nothing
 * but the command lines of its list. It ends when its owner does; a tool that runs then runs on.
 */

#include <sys/types.h>

#include "base/err.h"
#include "base/own.h"

#define STARTER_WORDS_MAX   8    /* of a command line */
#define STARTER_REQUEST_MAX 4096 /* bytes of a command line */

/* A command line that may be started, NULL-terminated; "*" is any word but an option ("-..."). */
struct starter_form {
    const char *words[STARTER_WORDS_MAX + 1];
};

struct starter;

/* Forks: to be called before any other thread is there. forms: ended by one without words;
 * borrowed for good. The process confines itself to CONFINE_TOOLS. */
ERR_MUST_CHECK enum err_code starter_new(const struct starter_form *forms, struct starter **out,
                                         struct err *err);
/* Closes the socket, at which the process ends. */
void starter_free(struct starter *starter);
OWN_DEFINE(starter, struct starter *, starter_free)
pid_t starter_pid(const struct starter *starter);

/*
 * Any thread. Starts argv with both outputs to output_fd (borrowed). *out_control is for
 * starter_kill() and starter_wait(), which closes it. ERR_DENIED: no such command line is in the
 * list; ERR_NOT_FOUND: there is no such program.
 */
ERR_MUST_CHECK enum err_code starter_start(struct starter *starter, const char *const *argv,
                                           int output_fd, int *out_control, struct err *err);
void starter_kill(int control);
/* Blocking until it has ended. Its exit status, 128 + N when signal N ended it; -1: unknown. */
int starter_wait(int control);
