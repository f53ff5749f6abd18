#pragma once
/*
 * base/options.h - one table of a program's options: it reads the command line and the
 * configuration file and prints --help, so that the three never differ.
 *
 * The file is one JSON object whose members are the options' long names: {"listen":
 * "127.0.0.1:8440", "log-level": "debug"}. A text or a number is the option's argument, true stands
 * for an option without one (false: as if it were not there), an array of texts for one that may be
 * given more than once. Unknown members, and members twice, are refused. The command line wins.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#include "base/err.h"

#define OPTIONS_MAX      64           /* rows of a table */
#define OPTIONS_FILE_MAX (256 * 1024) /* bytes of a configuration file */

enum option_flags {
    OPTION_LINE_ONLY = 1 << 0, /* not in the file: --help, --config */
    OPTION_REPEATED = 1 << 1,  /* each is given to set() in turn; else the last one counts */
    OPTION_TEXT = 1 << 2,      /* no set(): the argument is stored as it is, see `at` */
};

struct option_row {
    const char *name; /* "log-level" */
    const char *arg;  /* "LEVEL"; NULL = takes none */
    const char *help; /* one line; a line end in it starts another one */
    unsigned flags;
    /* value is NULL for an option without argument, else it lives until options_release().
     * ERR_INVALID: the value is wrong, the text says what is wanted. Others stop the program. */
    enum err_code (*set)(void *target, const char *value, struct err *err);
    size_t at; /* of OPTION_TEXT: offset of a `const char *` in the target; else 0 */
};

/* set()s that every program has: base/log's level and format. */
enum err_code option_log_level(void *target, const char *value, struct err *err);
enum err_code option_log_format(void *target, const char *value, struct err *err);

struct options {
    const struct option_row *rows;
    size_t count;
    const char *file; /* configuration file that is read when it is there; NULL = none */
    json_t *document; /* owned: what values from a file point into */
};

/*
 * Reads the file first (--config FILE when given on the line, which then must be there; else
 * options->file), then the line. The table has a row "config" of its own, whose set() may be NULL.
 * ERR_INVALID with the option's name or the member's pointer; ERR_NOT_FOUND, ERR_IO, ERR_LIMIT of a
 * file. What is behind the options on the line starts at argv[*out_rest]; NULL = nothing may be
 * there.
 */
ERR_MUST_CHECK enum err_code options_read(struct options *options, int argc, char **argv,
                                          void *target, int *out_rest, struct err *err);
void options_release(struct options *options); /* values from the file are gone after it */

/* "  --listen ADDRESS:PORT  text", aligned. */
void options_help(const struct option_row *rows, size_t count, FILE *out);
