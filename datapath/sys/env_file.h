#pragma once
/*
 * datapath/sys/env_file.h - files of environment variables that jobs `source`, below one folder and
 * never elsewhere. Ours begin with a mark; others are told and left alone. `root` is a prefix of
 * every path ("" outside tests).
 *
 * A value is {"NCCL_IB_TC":"106"}. A file of ours that somebody edited so that it says more, or
 * says it differently, is {"text":"..."}: whole, so that it can be given back as it was.
 */

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/err.h"

#define ENV_FOLDER        "/etc/stellar/env"
#define ENV_FILES_MAX     64 /* files of the folder that are looked at */
#define ENV_FILE_MAX      16384
#define ENV_NAME_MAX      64   /* of a file */
#define ENV_VARIABLES_MAX 64   /* in a file */
#define ENV_KEY_MAX       63   /* bytes of a variable's name */
#define ENV_VALUE_MAX     2047 /* bytes of a variable's value */
#define ENV_PREFIX        "NCCL_"

/* ERR_INVALID: no file's name, or one outside the folder. */
ERR_MUST_CHECK enum err_code env_name_check(const char *name, struct err *err);
/* Names begin with ENV_PREFIX; values hold nothing that a shell takes for more than text. */
ERR_MUST_CHECK enum err_code env_value_check(const json_t *value, struct err *err);

/* The file's bytes of a value that was checked; malloc'ed, NULL = no memory. Pure. */
char *env_format(const json_t *value);
/* The value of a file's bytes, owned; NULL = no memory. Any bytes will do. Pure. */
json_t *env_parse(const char *text, size_t len);
bool env_is_ours(const char *text, size_t len);

struct env_file {
    bool present;
    bool ours;
    json_t *value; /* owned; NULL unless present */
};
void env_file_release(struct env_file *file);
#define OWN_ENV_FILE __attribute__((cleanup(env_file_release)))

/* A file that is not there is no error. One that is no plain text file is not ours. */
ERR_MUST_CHECK enum err_code env_file_get(const char *root, const char *name, struct env_file *out,
                                          struct err *err);
/* Atomic and durable; readable for everybody. */
ERR_MUST_CHECK enum err_code env_file_set(const char *root, const char *name, const json_t *value,
                                          struct err *err);
ERR_MUST_CHECK enum err_code env_file_remove(const char *root, const char *name, struct err *err);
