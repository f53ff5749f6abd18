#pragma once
/*
 * cli/operation.h - what the server can be asked: the operations of schemas/openapi.yaml as a table
 * (made by cli/operations.py when building), and a call of one of them with its values.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum operation_in {
    OPERATION_PATH,
    OPERATION_QUERY,
    OPERATION_HEADER,
};

struct operation_param {
    const char *name;
    enum operation_in in;
    bool required;
    const char *text; /* "" = nothing is said of it */
};

struct operation {
    const char *id, *method, *path, *summary;
    const struct operation_param *params;
    size_t param_count;
    const char *const *bodies;  /* content types that it takes, NULL-terminated */
    const char *const *answers; /* content types of a success, NULL-terminated */
    bool body_required;
};

extern const struct operation operations[];
extern const size_t operation_count;

const struct operation *operation_find(const char *id); /* NULL = there is none */
/* By method and path template, "/v1/rollouts/{rollout}:pause". */
const struct operation *operation_at(const char *method, const char *path);
/* The closest id to a misspelt one, or NULL. */
const char *operation_suggest(const char *id);
const struct operation_param *operation_param(const struct operation *operation,
                                              enum operation_in in, const char *name);

#define CALL_VALUES_MAX 32

struct call_value {
    enum operation_in in;
    const char *name, *value; /* borrowed */
};

/* One call. All pointers are borrowed. */
struct call {
    const struct operation *operation;
    struct call_value values[CALL_VALUES_MAX];
    size_t count;
    bool overflow; /* a value did not fit: call_check() refuses it */
    const void *body;
    size_t body_len;
    const char *body_path;    /* instead of body: a file that is sent as it is read */
    const char *content_type; /* NULL = the first that the operation takes */
    const char *accept;       /* NULL = anything */
};

void call_init(struct call *call, const struct operation *operation);
/* value NULL = nothing is added. */
void call_add(struct call *call, enum operation_in in, const char *name, const char *value);
/* Adds it only if the operation knows such a parameter; says whether. */
bool call_add_known(struct call *call, enum operation_in in, const char *name, const char *value);

/* ERR_INVALID with what is missing or unknown, and what there is; ERR_LIMIT: too many values. */
ERR_MUST_CHECK enum err_code call_check(const struct call *call, struct err *err);
/* server + path + query, everything percent-encoded; malloc'ed. The call was checked. */
ERR_MUST_CHECK enum err_code call_url(const struct call *call, const char *server, char **out,
                                      struct err *err);
