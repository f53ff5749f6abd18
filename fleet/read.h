#pragma once
/*
 * fleet/read.h - helpers shared by the readers of fleet/'s documents.
 */

#include "base/err.h"
#include "base/finding.h"
#include "base/json.h"

/* ERR_OK, or ERR_INVALID with the first error of the list (and how many more), or ERR_NOMEM. */
ERR_MUST_CHECK enum err_code read_result(const struct finding_list *findings, struct err *err);

/* Copies a string member into a fixed buffer; "" when it is absent or wrong. */
bool read_text(struct json_reader *r, const char *key, bool required, size_t min_len, char *out,
               size_t size);

/* An error finding of the reader's rule at member `key` (NULL = the object itself). */
void read_problem(const struct json_reader *r, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* JSON out: sets the member when it has something to say; false = no memory. `value` is taken. */
bool write_member(json_t *object, const char *key, json_t *value);
/* "" is left out. Texts may quote a kernel or a device: what no reader would take (control
 * characters, bad UTF-8) is written as an escape, so that a receipt is never lost over it. */
bool write_text(json_t *object, const char *key, const char *text);
