#pragma once
/*
 * fleet/evidence/slice.h - a piece of a line, and the words and numbers in it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slice { /* borrowed; no NUL at its end */
    const char *at;
    size_t len;
};

struct slice slice_of(const char *text);
struct slice slice_trim(struct slice s); /* blanks at both ends */
bool slice_is(struct slice s, const char *text);
bool slice_is_nocase(struct slice s, const char *text); /* ASCII */
bool slice_starts(struct slice s, const char *prefix);
bool slice_ends(struct slice s, const char *suffix);
/* Where `text` stands first in s; NULL = nowhere. */
const char *slice_find(struct slice s, const char *text);
bool slice_has(struct slice s, const char *text);
/* What follows `text` (its first place) up to the end, trimmed; false when it is not there. */
bool slice_after(struct slice s, const char *text, struct slice *out);
/* What stands before the first c / after it; false when there is no c. Not trimmed. */
bool slice_split(struct slice s, char c, struct slice *before, struct slice *after);
/* Takes "prefix" off; false when it does not start so. */
bool slice_skip(struct slice *s, const char *prefix);
/* Takes the next word (up to blanks) off the front; empty at the end. */
struct slice slice_word(struct slice *s);
/* Words of s, at most max; the number of all of them (which may be more than max). */
size_t slice_words(struct slice s, struct slice *out, size_t max);
/* Fields of a table whose columns are at least two blanks (or one tab) apart. */
size_t slice_columns(struct slice s, struct slice *out, size_t max);
/* Copies with a NUL, cut on a character. */
void slice_copy(struct slice s, char *out, size_t size);
/* Decimal digits only, no sign, no overflow. */
bool slice_uint(struct slice s, uint64_t *out);
/* "0x1f" or hexadecimal digits. */
bool slice_hex(struct slice s, uint64_t *out);

/* "N/A", "-", "--", "???", "unknown", "[N/A]", "not available", "n/a", "none reported", "". */
bool slice_is_unknown(struct slice s);

enum number_kind {
    NUMBER_NONE = 0, /* no number, or one that cannot be told exactly */
    NUMBER_INTEGER,
    NUMBER_DECIMAL,
};
#define NUMBER_TEXT_MAX 48 /* with the NUL; a longer number is NUMBER_NONE */
struct number {
    enum number_kind kind;
    char text[NUMBER_TEXT_MAX]; /* canonical: "1200", "-3", "92.40" */
    bool is_unsigned;           /* integer 0 to 2^64-1, in value */
    uint64_t value;
};

/*
 * Reads the whole of s as one number: sign, decimal digits with thousands separators ("1,200"),
 * decimal point or comma ("92,4": exactly one comma and no group of three behind it, or a leading
 * "0,"), "0x" hexadecimal, a trailing '%'. An exponent ("1.5e3") is taken only when the value is
 * exact. What can be read in two ways ("57,123" where decimals are usual) is for the caller:
 * a comma before three digits is a thousands separator here.
 */
struct number number_read(struct slice s);
/* A number at the front of s ("400 Gb/sec (4X NDR)", "7W"); *rest is what follows, trimmed. */
struct number number_front(struct slice s, struct slice *rest);
