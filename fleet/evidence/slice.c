/*
 * fleet/evidence/slice.c - pieces of lines. Numbers stand in number.c.
 */
#include "fleet/evidence/slice.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

struct slice slice_of(const char *text)
{
    return (struct slice){.at = text, .len = strlen(text)};
}

struct slice slice_trim(struct slice s)
{
    if (s.at == NULL) /* {.len = 0} is an empty one too */
        s = (struct slice){.at = "", .len = 0};
    while (s.len > 0 && is_blank(s.at[0])) {
        s.at++;
        s.len--;
    }
    while (s.len > 0 && is_blank(s.at[s.len - 1]))
        s.len--;
    return s;
}

bool slice_is(struct slice s, const char *text)
{
    return s.len == strlen(text) && (s.len == 0 || memcmp(s.at, text, s.len) == 0);
}

bool slice_is_nocase(struct slice s, const char *text)
{
    return s.len == strlen(text) && (s.len == 0 || strncasecmp(s.at, text, s.len) == 0);
}

bool slice_starts(struct slice s, const char *prefix)
{
    size_t len = strlen(prefix);
    return s.len >= len && memcmp(s.at, prefix, len) == 0;
}

bool slice_ends(struct slice s, const char *suffix)
{
    size_t len = strlen(suffix);
    return s.len >= len && memcmp(s.at + s.len - len, suffix, len) == 0;
}

const char *slice_find(struct slice s, const char *text)
{
    return s.len > 0 ? memmem(s.at, s.len, text, strlen(text)) : NULL;
}

bool slice_has(struct slice s, const char *text)
{
    return slice_find(s, text) != NULL;
}

bool slice_after(struct slice s, const char *text, struct slice *out)
{
    const char *found = slice_find(s, text);
    if (found == NULL)
        return false;
    const char *from = found + strlen(text);
    *out = slice_trim((struct slice){.at = from, .len = (size_t)(s.at + s.len - from)});
    return true;
}

bool slice_split(struct slice s, char c, struct slice *before, struct slice *after)
{
    const char *found = s.len > 0 ? memchr(s.at, c, s.len) : NULL;
    if (found == NULL)
        return false;
    *before = (struct slice){.at = s.at, .len = (size_t)(found - s.at)};
    *after = (struct slice){.at = found + 1, .len = s.len - before->len - 1};
    return true;
}

bool slice_skip(struct slice *s, const char *prefix)
{
    if (!slice_starts(*s, prefix))
        return false;
    s->at += strlen(prefix);
    s->len -= strlen(prefix);
    return true;
}

struct slice slice_word(struct slice *s)
{
    *s = slice_trim(*s);
    struct slice word = {.at = s->at, .len = 0};
    while (word.len < s->len && !is_blank(s->at[word.len]))
        word.len++;
    s->at += word.len;
    s->len -= word.len;
    *s = slice_trim(*s);
    return word;
}

size_t slice_words(struct slice s, struct slice *out, size_t max)
{
    size_t count = 0;
    for (;;) {
        struct slice word = slice_word(&s);
        if (word.len == 0)
            return count;
        if (count < max)
            out[count] = word;
        count++;
    }
}

static bool is_gap(struct slice s, size_t i)
{
    return s.at[i] == '\t' || (s.at[i] == ' ' && i + 1 < s.len && is_blank(s.at[i + 1]));
}

size_t slice_columns(struct slice s, struct slice *out, size_t max)
{
    size_t count = 0;
    for (s = slice_trim(s); s.len > 0; s = slice_trim(s)) {
        struct slice field = {.at = s.at, .len = 0};
        while (field.len < s.len && !is_gap(s, field.len))
            field.len++;
        if (count < max)
            out[count] = field;
        count++;
        s.at += field.len;
        s.len -= field.len;
    }
    return count;
}

void slice_copy(struct slice s, char *out, size_t size)
{
    size_t len = s.len < size ? s.len : size - 1;
    while (len > 0 && len < s.len && ((unsigned char)s.at[len] & 0xC0) == 0x80)
        len--;
    if (len > 0)
        memcpy(out, s.at, len);
    out[len] = '\0';
}

bool slice_uint(struct slice s, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.at[i] < '0' || s.at[i] > '9' || __builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (unsigned)(s.at[i] - '0'), &value))
            return false;
    }
    if (s.len == 0)
        return false;
    *out = value;
    return true;
}

bool slice_hex(struct slice s, uint64_t *out)
{
    uint64_t value = 0;
    if (!slice_skip(&s, "0x"))
        (void)slice_skip(&s, "0X");
    for (size_t i = 0; i < s.len; i++) {
        int digit = hex_value(s.at[i]);
        if (digit < 0 || value >> 60 != 0)
            return false;
        value = value << 4 | (unsigned)digit;
    }
    if (s.len == 0)
        return false;
    *out = value;
    return true;
}

bool slice_is_unknown(struct slice s)
{
    static const char *const words[] = {
        "",
        "n/a",
        "na",
        "-",
        "--",
        "---",
        "?",
        "??",
        "???",
        "????",
        "unknown",
        "[n/a]",
        "[unknown]",
        "(unknown)",
        "<unknown>",
        "not available",
        "not supported",
        "[not supported]",
        "unavailable",
        "none reported",
        "unknown!",
        "undefined",
    };
    s = slice_trim(s);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (slice_is_nocase(s, words[i]))
            return true;
    }
    return false;
}
