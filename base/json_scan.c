/*
 * base/json_scan.c - see json_scan.h.
 */
#include "base/json_scan.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"

#define QUOTE_MAX    64
#define NUMBER_SHORT 64 /* longer literals are copied to the heap for strtod */

/* Fills err with what is wrong at `at`; lines and columns (in characters) are counted only now. */
bool json_scan_fail(struct json_scan *scan, enum err_code code, const char *at, const char *fmt,
                    ...)
{
    if (scan->code != ERR_OK)
        return false;
    scan->code = code;
    if (scan->err == NULL)
        return false;
    const char *line_start = scan->text;
    size_t line = 1;
    for (const char *c = scan->text; c < at; c++) {
        if (*c == '\n') {
            line++;
            line_start = c + 1;
        }
    }
    char what[ERR_TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    err_set(scan->err, code, "line %zu column %zu (byte %zu): %s", line,
            utf8_count(line_start, (size_t)(at - line_start)) + 1, (size_t)(at - scan->text), what);
    return false;
}

bool json_scan_nomem(struct json_scan *scan)
{
    if (scan->code == ERR_OK)
        scan->code = err_nomem(scan->err);
    return false;
}

/* Says what stands at `at` instead of what the grammar wants. */
bool json_scan_expected(struct json_scan *scan, const char *at, const char *wanted)
{
    char seen[QUOTE_MAX];
    if (at >= scan->end)
        return json_scan_fail(scan, ERR_INVALID, at, "the text ends here, but %s must follow",
                              wanted);
    size_t n = utf8_decode(at, (size_t)(scan->end - at), NULL);
    text_quote(at, n == 0 ? 1 : n, seen, sizeof(seen));
    return json_scan_fail(scan, ERR_INVALID, at, "'%s' stands where %s must be", seen, wanted);
}

void json_scan_blanks(struct json_scan *scan)
{
    const char *p = scan->p;
    while (p < scan->end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
        p++;
    scan->p = p;
}

/* The four digits after "\u" at p; -1 when they are not there. */
static long read_hex4(const struct json_scan *scan, const char *p)
{
    if (scan->end - p < 4)
        return -1;
    long value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_value(p[i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

static char *put_utf8(char *out, uint32_t cp)
{
    if (cp < 0x80) {
        *out++ = (char)cp;
    } else if (cp < 0x800) {
        *out++ = (char)(0xc0 | cp >> 6);
        *out++ = (char)(0x80 | (cp & 0x3f));
    } else if (cp < 0x10000) {
        *out++ = (char)(0xe0 | cp >> 12);
        *out++ = (char)(0x80 | (cp >> 6 & 0x3f));
        *out++ = (char)(0x80 | (cp & 0x3f));
    } else {
        *out++ = (char)(0xf0 | cp >> 18);
        *out++ = (char)(0x80 | (cp >> 12 & 0x3f));
        *out++ = (char)(0x80 | (cp >> 6 & 0x3f));
        *out++ = (char)(0x80 | (cp & 0x3f));
    }
    return out;
}

/* scan->p stands behind "\u"; moves it behind the escape (both halves of a surrogate pair). */
static bool parse_unicode_escape(struct json_scan *scan, char **out)
{
    const char *at = scan->p - 2;
    long first = read_hex4(scan, scan->p);
    if (first < 0)
        return json_scan_fail(scan, ERR_INVALID, at,
                              "\\u must be followed by four hexadecimal digits");
    scan->p += 4;
    uint32_t cp = (uint32_t)first;
    if (cp == 0)
        return json_scan_fail(scan, ERR_INVALID, at, "\\u0000 (NUL) is not allowed in a string");
    if (cp >= 0xdc00 && cp <= 0xdfff)
        return json_scan_fail(scan, ERR_INVALID, at,
                              "\\u%04lx is the second half of a surrogate pair without "
                              "the first; write the character itself in UTF-8",
                              first);
    if (cp >= 0xd800 && cp <= 0xdbff) {
        long second = -1;
        if (scan->end - scan->p >= 6 && scan->p[0] == '\\' && scan->p[1] == 'u')
            second = read_hex4(scan, scan->p + 2);
        if (second < 0xdc00 || second > 0xdfff)
            return json_scan_fail(scan, ERR_INVALID, at,
                                  "\\u%04lx is the first half of a surrogate pair "
                                  "without the second; write the character itself in "
                                  "UTF-8",
                                  first);
        scan->p += 6;
        cp = 0x10000 + ((cp - 0xd800) << 10) + ((uint32_t)second - 0xdc00);
    }
    *out = put_utf8(*out, cp);
    return true;
}

static bool parse_escape(struct json_scan *scan, char **out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *at = scan->p++;
    if (scan->p >= scan->end)
        return json_scan_fail(scan, ERR_INVALID, at, "the text ends inside a string");
    char c = *scan->p++;
    if (c == 'u')
        return parse_unicode_escape(scan, out);
    const char *name = c == '\0' ? NULL : strchr(names, c);
    if (name == NULL)
        return json_scan_fail(scan, ERR_INVALID, at,
                              "a backslash must be followed by one of \" \\ / b f n r t "
                              "u; write \\\\ for the backslash itself");
    *(*out)++ = values[name - names];
    return true;
}

/* Moves over plain characters to the next quote or backslash. */
static bool scan_plain(struct json_scan *scan)
{
    const char *p = scan->p;
    for (; p < scan->end; p++) {
        unsigned char c = (unsigned char)*p;
        if (c >= 0x80) {
            size_t n = utf8_decode(p, (size_t)(scan->end - p), NULL);
            if (n == 0)
                return json_scan_fail(scan, ERR_INVALID, p,
                                      "the byte 0x%02x is no valid UTF-8 here; the text "
                                      "must be UTF-8",
                                      c);
            p += n - 1;
        } else if (c == '"' || c == '\\') {
            scan->p = p;
            return true;
        } else if (c < 0x20) {
            return json_scan_fail(scan, ERR_INVALID, p,
                                  "the control character \\u%04x must be escaped in a "
                                  "string",
                                  c);
        }
    }
    return json_scan_fail(scan, ERR_INVALID, scan->end, "the text ends inside a string");
}

bool json_scan_string(struct json_scan *scan, const char **out, size_t *out_len)
{
    const char *start = ++scan->p;
    if (!scan_plain(scan))
        return false;
    if (*scan->p == '"') {
        *out = start;
        *out_len = (size_t)(scan->p++ - start);
        return true;
    }
    if (scan->scratch == NULL)
        scan->scratch = malloc((size_t)(scan->end - scan->text));
    if (scan->scratch == NULL)
        return json_scan_nomem(scan);
    char *to = scan->scratch;
    for (;;) {
        size_t n = (size_t)(scan->p - start);
        memcpy(to, start, n);
        to += n;
        if (*scan->p == '"')
            break;
        if (!parse_escape(scan, &to))
            return false;
        start = scan->p;
        if (!scan_plain(scan))
            return false;
    }
    scan->p++;
    *out = scan->scratch;
    *out_len = (size_t)(to - scan->scratch);
    return true;
}

static locale_t c_locale;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* strtod() that always takes '.', whatever locale the program runs in. */
static double read_double(const char *literal)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_c_locale);
    return c_locale != (locale_t)0 ? strtod_l(literal, NULL, c_locale) : strtod(literal, NULL);
}

static json_t *make_real(struct json_scan *scan, const char *start, size_t len, bool is_zero)
{
    char small[NUMBER_SHORT];
    OWN(str) char *big = NULL;
    char *literal = small;
    if (len >= sizeof(small)) {
        literal = big = malloc(len + 1);
        if (big == NULL) {
            json_scan_nomem(scan);
            return NULL;
        }
    }
    memcpy(literal, start, len);
    literal[len] = '\0';
    double value = read_double(literal);
    char quoted[QUOTE_MAX];
    bool lost = !is_zero && !isnormal(value); /* zero, or so small that digits were dropped */
    if (isinf(value) || lost)
        text_quote(start, len, quoted, sizeof(quoted));
    if (isinf(value)) {
        json_scan_fail(scan, ERR_INVALID, start, "the number %s is too large for a double", quoted);
        return NULL;
    }
    if (lost) {
        json_scan_fail(scan, ERR_INVALID, start,
                       "the number %s is too small for a double: it would become 0 or lose digits",
                       quoted);
        return NULL;
    }
    json_t *real = json_real(value);
    if (real == NULL)
        json_scan_nomem(scan);
    return real;
}

static json_t *make_integer(struct json_scan *scan, const char *start, const char *end)
{
    bool negative = *start == '-';
    uint64_t limit = (uint64_t)INT64_MAX + negative, value = 0;
    for (const char *p = start + negative; p < end; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (value > (limit - digit) / 10) {
            char quoted[QUOTE_MAX];
            text_quote(start, (size_t)(end - start), quoted, sizeof(quoted));
            json_scan_fail(scan, ERR_INVALID, start,
                           "the integer %s does not fit 64 bits (%lld to %lld)", quoted,
                           (long long)INT64_MIN, (long long)INT64_MAX);
            return NULL;
        }
        value = value * 10 + digit;
    }
    json_t *integer = json_integer((json_int_t)(negative ? 0 - value : value));
    if (integer == NULL)
        json_scan_nomem(scan);
    return integer;
}

/* At least one digit; notes whether any of them is not 0. */
static bool scan_digits(struct json_scan *scan, bool *nonzero)
{
    const char *start = scan->p;
    for (; scan->p < scan->end && *scan->p >= '0' && *scan->p <= '9'; scan->p++)
        *nonzero |= *scan->p != '0';
    return scan->p > start || json_scan_expected(scan, scan->p, "a digit");
}

json_t *json_scan_number(struct json_scan *scan)
{
    const char *start = scan->p;
    bool nonzero = false, real = false, ignored = false;
    if (*scan->p == '-')
        scan->p++;
    const char *digits = scan->p;
    if (!scan_digits(scan, &nonzero))
        return NULL;
    if (*digits == '0' && scan->p - digits > 1) {
        json_scan_fail(scan, ERR_INVALID, digits,
                       "a number must not begin with 0; leave the zero out");
        return NULL;
    }
    if (scan->p < scan->end && *scan->p == '.') {
        real = true;
        scan->p++;
        if (!scan_digits(scan, &nonzero))
            return NULL;
    }
    if (scan->p < scan->end && (*scan->p == 'e' || *scan->p == 'E')) {
        real = true;
        scan->p++;
        if (scan->p < scan->end && (*scan->p == '+' || *scan->p == '-'))
            scan->p++;
        if (!scan_digits(scan, &ignored))
            return NULL;
    }
    if (real)
        return make_real(scan, start, (size_t)(scan->p - start), !nonzero);
    return make_integer(scan, start, scan->p);
}
