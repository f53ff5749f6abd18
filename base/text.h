#pragma once
/*
 * base/text.h - UTF-8 as bytes from strangers: checking, counting, and quoting it for messages.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the code point at s (1..4), or 0 if it is no valid UTF-8 (overlong forms, surrogates
 * and values over U+10FFFF are invalid). *out is set on success; may be NULL. */
size_t utf8_decode(const char *s, size_t len, uint32_t *out);

/* Code points in a valid UTF-8 text. */
size_t utf8_count(const char *s, size_t len);

/*
 * Characters that a name or a value must not hold because a reader cannot see them: C0 and C1
 * controls, DEL, zero-width and direction marks, fillers, line separators, variation selectors,
 * tag characters, noncharacters.
 */
bool text_is_hidden(uint32_t code_point);

/* True when the text holds such a character or is no UTF-8 (then *out = 0xFFFFFFFF). */
bool text_find_hidden(const char *text, size_t len, uint32_t *out);

/* Replaces every byte that is no valid UTF-8 by '?', in place. */
void text_sanitize(char *text);
/* The same, and every hidden character that is none of `kept` (ASCII) becomes one '?': what a
 * device or a file says, so that a document can hold it. */
void text_clean(char *text, const char *kept);

/* Copies text for a message: hidden characters as \uXXXX, bad bytes as \xXX; what is too long is
 * cut on a character and ends with "...". size >= 16. */
void text_quote(const char *text, size_t len, char *out, size_t size);

/* Copies what fits of text, with its NUL; what is too long is cut on a character, because JSON
 * takes whole ones only. Cheaper than snprintf("%s"), which shows where a thousand objects are
 * read. */
void text_copy(char *out, size_t size, const char *text);

/* For texts that are built piece by piece in room that suffices: both write at `at`, with a NUL,
 * and return where it stands. */
char *text_put(char *at, const char *text);
#define TEXT_NUMBER_MAX 21 /* "-9223372036854775808" and its NUL */
char *text_put_number(char *at, int64_t number);

/* FNV-1a, for tables whose keys are names that we checked: strangers could choose colliding ones.
 */
uint64_t text_hash(const char *text);

/* Of a hexadecimal digit, either case; -1 = it is none. */
int hex_value(char c);
/* Exactly 2 * n hex digits into n bytes; false (out is garbage) for any other text. */
bool hex_decode(const char *text, void *out, size_t n);

/*
 * The one of `names` that a misspelt word most likely meant: at most one edit for each three
 * letters (inserted, deleted, replaced or two swapped). NULL when none is close.
 */
const char *text_closest(const char *word, const char *const *names, size_t count);
