#pragma once
/*
 * fleet/read.h - helpers shared by the readers of fleet/'s documents.
 */

#include "base/err.h"
#include "base/finding.h"
#include "base/json.h"
#include "fleet/name.h"
#include "fleet/policy.h"

/* ERR_OK, or ERR_INVALID with the first error of the list (and how many more), or ERR_NOMEM. */
ERR_MUST_CHECK enum err_code read_result(const struct finding_list *findings, struct err *err);

/* Copies a string member into a fixed buffer; "" when it is absent or wrong. */
bool read_text(struct json_reader *r, const char *key, bool required, size_t min_len, char *out,
               size_t size);

/* The same, of a name: see name.h. */
void read_name(struct json_reader *r, const char *key, bool required, char out[NAME_SIZE]);
/* The same, of a digest: see digest.h. */
void read_digest(struct json_reader *r, const char *key, bool required, char out[DIGEST_TEXT_MAX]);
/* The same, of an IPv4 or IPv6 address in numbers. */
void read_address(struct json_reader *r, const char *key, char *out, size_t size);

struct read_range { /* both ends belong to it */
    int64_t min, max;
};
/* "30s", "10m" as ns, when it is there. */
void read_duration(struct json_reader *r, const char *key, const struct read_range *range,
                   int64_t *out_ns);

/* An error finding of the reader's rule at member `key` (NULL = the object itself). */
void read_problem(const struct json_reader *r, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* JSON out: sets the member when it has something to say; false = no memory. `value` is taken. */
bool write_member(json_t *object, const char *key, json_t *value);
/* "" is left out. Texts may quote a kernel or a device: what no reader would take (control
 * characters, bad UTF-8) is written as an escape, so that a receipt is never lost over it. */
bool write_text(json_t *object, const char *key, const char *text);

bool write_duration(json_t *object, const char *key, int64_t time_ns);

/* Decimal text with up to six decimals ("0.05") as millionths, exactly: 0 to 999.999999. */
bool read_micro(struct json_reader *r, const char *key, bool required, int64_t *out);
/* Members "eta" and "beta". The caller ends the reader. */
void read_solar_cc(struct json_reader *r, struct solar_cc *out);
json_t *write_solar_cc(const struct solar_cc *solar);

/* "1MB", "64KiB", "1500B": the largest unit that divides the size. */
#define READ_SIZE_TEXT_MAX 32
void write_size(int64_t size_bytes, char out[READ_SIZE_TEXT_MAX]);
#define READ_MICRO_TEXT_MAX 32
void write_micro(int64_t micro, char out[READ_MICRO_TEXT_MAX]);
