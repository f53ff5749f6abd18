#pragma once
/*
 * cli/arguments.h - the options of all commands as one table, and a command line read by it. Help,
 * man page and completions come from the same table.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum option {
    OPTION_SERVER,
    OPTION_TOKEN_FILE,
    OPTION_CA_FILE,
    OPTION_PROFILE,
    OPTION_OUTPUT,
    OPTION_NO_HEADERS,
    OPTION_TIMEOUT,
    OPTION_PRINT_REQUEST,
    OPTION_HELP,
    OPTION_GLOBAL_COUNT, /* those above belong to every command */
    OPTION_FILE = OPTION_GLOBAL_COUNT,
    OPTION_TENANT,
    OPTION_NODE,
    OPTION_SELECTOR,
    OPTION_WATCH,
    OPTION_INTERVAL,
    OPTION_LIMIT,
    OPTION_AFTER,
    OPTION_DRY_RUN,
    OPTION_MESSAGE,
    OPTION_OVERRIDE,
    OPTION_REASON,
    OPTION_IF_MATCH,
    OPTION_FROM,
    OPTION_TO,
    OPTION_PARAM,
    OPTION_QUERY,
    OPTION_HEADER,
    OPTION_CONTENT_TYPE,
    OPTION_ACCEPT,
    OPTION_OUT,
    OPTION_ROLE,
    OPTION_SCOPE,
    OPTION_SOURCE,
    OPTION_LIFETIME,
    OPTION_DESCRIPTION,
    OPTION_USER,
    OPTION_PASSWORD_FILE,
    OPTION_MODE,
    OPTION_ANCHOR,
    OPTION_ALL,
    OPTION_PSID,
    OPTION_WINDOW,
    OPTION_LANGUAGE,
    OPTION_COUNT,
};

/* What a shell can offer as an option's value. */
enum completes {
    COMPLETES_NOTHING,
    COMPLETES_FILES,
    COMPLETES_OUTPUTS,
    COMPLETES_ROLES,
    COMPLETES_PROFILES,
};

struct option_row {
    const char *name;     /* without -- */
    char letter;          /* 0 = none */
    const char *argument; /* "FILE"; NULL = a flag */
    const char *text;
    bool repeats;
    enum completes completes;
};
extern const struct option_row option_rows[OPTION_COUNT];

#define ARGUMENTS_MAX 128

struct arguments {
    struct {
        enum option option;
        const char *value; /* "" for a flag */
    } given[ARGUMENTS_MAX];
    size_t given_count;
    const char *words[ARGUMENTS_MAX]; /* what is no option, in order */
    size_t word_count;
};

/*
 * Reads argv[0..argc): options may stand anywhere, "--" ends them, "--name=value" and "-ovalue"
 * work. ERR_INVALID: an unknown option (the text offers a close one), a value missing or given to a
 * flag, an option twice that does not repeat. ERR_LIMIT: more than ARGUMENTS_MAX.
 */
ERR_MUST_CHECK enum err_code arguments_parse(int argc, char **argv, struct arguments *out,
                                             struct err *err);
bool arguments_has(const struct arguments *arguments, enum option option);
const char *arguments_get(const struct arguments *arguments, enum option option); /* or NULL */
/* "30", "30s", "10m", "12h", "7d" (up to ten years) -> *out_s; left alone when not given. */
ERR_MUST_CHECK enum err_code arguments_seconds(const struct arguments *arguments,
                                               enum option option, int64_t *out_s, struct err *err);
/* A whole number from min to max; left alone when not given. */
ERR_MUST_CHECK enum err_code arguments_number(const struct arguments *arguments, enum option option,
                                              const int64_t range[2], int64_t *out,
                                              struct err *err);
