#pragma once
/*
 * base/json.h - JSON from outside, strictly; JSON to outside, canonically.
 *
 * json_parse() accepts RFC 8259 texts in UTF-8 without BOM whose root is an object, and refuses
 * what other readers let pass: duplicate keys, depth over JSON_DEPTH_MAX, NUL (raw or \u0000)
 * anywhere, lone surrogates, numbers that overflow int64 or double, non-zero numbers that
 * underflow to 0 or to a denormal, trailing text. Errors say line and column (from 1, in
 * characters) and byte (from 0).
 *
 * struct json_reader is sticky: it asks for each member with type and range, remembers every
 * problem as a finding with its JSON Pointer, and json_reader_end() makes members that nobody
 * asked for into problems too.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/finding.h"
#include "base/units.h"

#define JSON_DEPTH_MAX 32
#define JSON_TEXT_MAX  (1024 * 1024) /* bytes; the general limit of a body */

/* ERR_INVALID (text with line/column/byte), ERR_LIMIT (too long, too deep), ERR_NOMEM. */
ERR_MUST_CHECK enum err_code json_parse(const char *text, size_t len, json_t **out,
                                        struct err *err);
/* As json_parse with its own size limit, and any root type when any_root. */
ERR_MUST_CHECK enum err_code json_parse_limit(const char *text, size_t len, size_t max_len,
                                              bool any_root, json_t **out, struct err *err);

/*
 * Canonical form: members sorted by the bytes of their keys, no blanks, shortest escapes, integers
 * as digits, reals in the shortest form that reads back the same and always as a real: the integer
 * 1 is "1", the real 1 is "1.0"; they are different values here. Same value, same bytes. The
 * result is malloc'ed and NUL-terminated; *out_len (may be NULL) without the NUL. NULL = no
 * memory (or nested more than 256 deep, which the parser never lets in).
 */
char *json_canonical(const json_t *value, size_t *out_len);

/* SHA-256 of the canonical form as "sha256:" + 64 hex digits. */
#define DIGEST_TEXT_MAX 72
ERR_MUST_CHECK enum err_code json_digest(const json_t *value, char out[DIGEST_TEXT_MAX],
                                         struct err *err);
/* The same over bytes. */
void bytes_digest(const void *data, size_t len, char out[DIGEST_TEXT_MAX]);
bool digest_is_valid(const char *text); /* it has the form of one */

/* Equal, or both not there (NULL). */
bool json_same(const json_t *a, const json_t *b);

/* "an object", "an integer", "true", ...: for messages. */
const char *json_type_name(const json_t *value);

/* Appends "/" + token with ~ and / escaped (RFC 6901) to a pointer buffer; cuts at size. */
void json_pointer_push(char *pointer, size_t size, const char *token);

/* Reader -------------------------------------------------------------------------------------- */

#define JSON_READER_MEMBERS_MAX 64 /* different members that one reader asks for; more: assert */

struct json_reader {
    const json_t *object; /* borrowed; NULL if the value was no object (a finding says so) */
    char pointer[ERR_POINTER_MAX];              /* of the object */
    struct finding_list *findings;              /* borrowed */
    size_t seen;                                /* members asked for and present */
    const char *rule;                           /* rule id of the findings, "schema" by default */
    const char *asked[JSON_READER_MEMBERS_MAX]; /* borrowed keys: string literals */
    size_t asked_count;
};

/* Starts on `value` at `pointer` ("" = root). A value that is no object is a finding. */
void json_reader_init(struct json_reader *r, const json_t *value, const char *pointer,
                      struct finding_list *findings);

/*
 * Each getter returns true when the member is there and right. A missing member is a finding only
 * when required. On false *out is untouched. Borrowed strings live as long as the document.
 */
bool json_reader_int(struct json_reader *r, const char *key, bool required, int64_t min,
                     int64_t max, int64_t *out);
bool json_reader_bool(struct json_reader *r, const char *key, bool required, bool *out);
/* min_len/max_len in bytes. Control and invisible characters are refused (base/text.h). */
bool json_reader_string(struct json_reader *r, const char *key, bool required, size_t min_len,
                        size_t max_len, const char **out);
/* `names` is NULL-terminated; *out = index. */
bool json_reader_enum(struct json_reader *r, const char *key, bool required,
                      const char *const *names, int *out);
bool json_reader_bandwidth(struct json_reader *r, const char *key, bool required,
                           struct bandwidth *out);
bool json_reader_array(struct json_reader *r, const char *key, bool required, size_t max_items,
                       const json_t **out);
/* Any value. */
bool json_reader_any(struct json_reader *r, const char *key, bool required, const json_t **out);
/* Starts `sub` on the member object; false when missing or no object. */
bool json_reader_object(struct json_reader *r, const char *key, bool required,
                        struct json_reader *sub);
/* Starts `sub` on the value of a member that is at hand: of objects whose keys are names. A value
 * that is no object is a finding, as in json_reader_init(). */
void json_reader_child(const struct json_reader *r, const char *key, const json_t *value,
                       struct json_reader *sub);
/* Starts `sub` on element `index` of an array that stands at key. */
void json_reader_element(const struct json_reader *r, const char *key, size_t index,
                         const json_t *element, struct json_reader *sub);

/* The pointer of a member, in a static-size buffer of the caller. */
void json_reader_pointer(const struct json_reader *r, const char *key, char out[ERR_POINTER_MAX]);

/* Every member that was not asked for is a finding ("unknown member"). */
void json_reader_end(struct json_reader *r);
