#pragma once
/*
 * base/json_scan.h - the words of a JSON text: blanks, strings, numbers, and where a fault is.
 *
 * Private to json_parse.c. The first fault is kept (scan->code); later ones change nothing.
 */

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/err.h"

struct json_scan {
    const char *text, *end; /* borrowed, not NUL-terminated */
    const char *p;          /* the next byte */
    int depth;              /* open objects and arrays */
    char *scratch;          /* unescaped strings; room for the whole text, made at first need */
    enum err_code code;     /* the first fault */
    struct err *err;        /* its text: "line L column C (byte B): what"; may be NULL */
};

/* Records a fault at `at`; columns count characters from 1, bytes count from 0. Returns false. */
bool json_scan_fail(struct json_scan *scan, enum err_code code, const char *at, const char *fmt,
                    ...) __attribute__((format(printf, 4, 5)));
/* The fault that something else stands where `wanted` must be. Returns false. */
bool json_scan_expected(struct json_scan *scan, const char *at, const char *wanted);
bool json_scan_nomem(struct json_scan *scan);

void json_scan_blanks(struct json_scan *scan);

/* scan->p stands on the opening quote. *out points into the text or into scratch (then it is valid
 * until the next string). */
bool json_scan_string(struct json_scan *scan, const char **out, size_t *out_len);

/* scan->p stands on '-' or a digit. NULL after a fault. */
json_t *json_scan_number(struct json_scan *scan);
