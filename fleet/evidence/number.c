/*
 * fleet/evidence/number.c - numbers as tools print them, exactly or not at all.
 */
#include <string.h>

#include "fleet/evidence/slice.h"

#define EXPONENT_MAX 30

struct digits { /* what is read so far */
    char text[NUMBER_TEXT_MAX];
    size_t len;
    size_t point; /* digits behind the point; (size_t)-1 = there is none */
    bool negative;
};
#define NO_POINT ((size_t)-1)

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t run_of_digits(struct slice s, size_t from)
{
    size_t n = 0;
    while (from + n < s.len && is_digit(s.at[from + n]))
        n++;
    return n;
}

static bool add_digits(struct digits *d, const char *at, size_t n)
{
    if (d->len + n > 40)
        return false;
    memcpy(d->text + d->len, at, n);
    d->len += n;
    return true;
}

/* "1,200,345": groups of three behind a first of one to three that is no lone 0. Their length, or
 * 0 when it is no such number. */
static size_t grouped(struct slice s, size_t first)
{
    size_t at = first;
    if (first == 0 || first > 3 || s.at[0] == '0')
        return 0;
    while (at < s.len && s.at[at] == ',' && run_of_digits(s, at + 1) == 3)
        at += 4;
    bool more = at < s.len && s.at[at] == ',' && run_of_digits(s, at + 1) > 0;
    return at > first && !more ? at : 0;
}

/* The whole and the fraction; the length, 0 = no number. */
static size_t read_plain(struct slice s, struct digits *d)
{
    size_t first = run_of_digits(s, 0), at = grouped(s, first);
    if (at > 0) {
        for (size_t i = 0; i < at; i++) {
            if (s.at[i] != ',' && !add_digits(d, s.at + i, 1))
                return 0;
        }
    } else {
        if (!add_digits(d, s.at, first))
            return 0;
        at = first;
    }
    bool comma = at == first && at < s.len && s.at[at] == ',';
    if (at >= s.len || (s.at[at] != '.' && !comma))
        return at;
    size_t fraction = run_of_digits(s, at + 1);
    if (fraction == 0 || (first == 0 && comma))
        return s.at[at] == '.' && first > 0 ? at + 1 : 0; /* "5." is what %#g prints */
    if (d->len == 0 && !add_digits(d, "0", 1))
        return 0;
    if (!add_digits(d, s.at + at + 1, fraction))
        return 0;
    d->point = fraction;
    return at + 1 + fraction;
}

/* "e+07" behind it: the point moves; its length, NO_POINT = too far. */
static size_t read_exponent(struct slice s, struct digits *d)
{
    if (s.len < 2 || (s.at[0] != 'e' && s.at[0] != 'E'))
        return 0;
    size_t at = 1;
    bool down = s.at[at] == '-';
    if (s.at[at] == '-' || s.at[at] == '+')
        at++;
    size_t n = run_of_digits(s, at);
    if (n == 0)
        return 0;
    int exponent = 0;
    for (size_t i = 0; i < n; i++) {
        exponent = exponent * 10 + (s.at[at + i] - '0');
        if (exponent > EXPONENT_MAX)
            return NO_POINT;
    }
    size_t fraction = d->point == NO_POINT ? 0 : d->point;
    for (int i = 0; i < exponent; i++) {
        if (down)
            fraction++;
        else if (fraction > 0)
            fraction--;
        else if (!add_digits(d, "0", 1))
            return NO_POINT;
    }
    while (fraction >= d->len) { /* a 0 before the point */
        if (d->len >= 40)
            return NO_POINT;
        memmove(d->text + 1, d->text, d->len++);
        d->text[0] = '0';
    }
    d->point = fraction > 0 ? fraction : NO_POINT;
    return at + n;
}

static struct number finish(const struct digits *d)
{
    struct number out = {.kind = d->point == NO_POINT ? NUMBER_INTEGER : NUMBER_DECIMAL};
    size_t whole = d->point == NO_POINT ? d->len : d->len - d->point, zeros = 0, at = 0;
    while (zeros + 1 < whole && d->text[zeros] == '0')
        zeros++;
    if (d->negative)
        out.text[at++] = '-';
    memcpy(out.text + at, d->text + zeros, whole - zeros);
    at += whole - zeros;
    if (d->point != NO_POINT) {
        out.text[at++] = '.';
        memcpy(out.text + at, d->text + whole, d->point);
        at += d->point;
    }
    out.text[at] = '\0';
    if (out.kind != NUMBER_INTEGER)
        return out;
    struct slice digits = {.at = d->text + zeros, .len = whole - zeros};
    bool fits = slice_uint(digits, &out.value);
    if (d->negative && fits && out.value == 0)
        memmove(out.text, "0", 2);
    else if (d->negative)
        fits = fits && out.value <= (uint64_t)1 << 63;
    if (!fits)
        return (struct number){.kind = NUMBER_NONE};
    out.is_unsigned = !d->negative || out.value == 0;
    return out;
}

static struct number read_hex(struct slice s, size_t *used)
{
    struct number out = {.kind = NUMBER_NONE};
    size_t n = 2;
    while (n < s.len && ((s.at[n] >= '0' && s.at[n] <= '9') || (s.at[n] >= 'a' && s.at[n] <= 'f') ||
                         (s.at[n] >= 'A' && s.at[n] <= 'F')))
        n++;
    if (!slice_hex((struct slice){.at = s.at, .len = n}, &out.value))
        return out;
    out.kind = NUMBER_INTEGER;
    out.is_unsigned = true;
    char digits[24];
    size_t at = sizeof(digits);
    uint64_t rest = out.value;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    memcpy(out.text, digits + at, sizeof(digits) - at);
    out.text[sizeof(digits) - at] = '\0';
    *used = n;
    return out;
}

/* The number at the front of s and its length. */
static struct number read_front(struct slice s, size_t *used)
{
    struct number none = {.kind = NUMBER_NONE};
    struct digits d = {.point = NO_POINT};
    if (s.len > 2 && s.at[0] == '0' && (s.at[1] == 'x' || s.at[1] == 'X'))
        return read_hex(s, used);
    size_t sign = s.len > 0 && (s.at[0] == '-' || s.at[0] == '+') ? 1 : 0;
    d.negative = sign > 0 && s.at[0] == '-';
    struct slice rest = {.at = s.at + sign, .len = s.len - sign};
    size_t plain = read_plain(rest, &d);
    if (plain == 0 || d.len == 0)
        return none;
    rest.at += plain;
    rest.len -= plain;
    size_t exponent = read_exponent(rest, &d);
    if (exponent == NO_POINT)
        return none;
    *used = sign + plain + exponent;
    return finish(&d);
}

struct number number_read(struct slice s)
{
    size_t used = 0;
    s = slice_trim(s);
    struct number out = read_front(s, &used);
    struct slice rest = slice_trim((struct slice){.at = s.at + used, .len = s.len - used});
    if (out.kind != NUMBER_NONE && rest.len > 0 && !slice_is(rest, "%"))
        return (struct number){.kind = NUMBER_NONE};
    return out;
}

struct number number_front(struct slice s, struct slice *rest)
{
    size_t used = 0;
    s = slice_trim(s);
    struct number out = read_front(s, &used);
    char next = used < s.len ? s.at[used] : '\0';
    /* "1.2.3" is a version, "1,2" a list: no number stands in front of them. */
    if (out.kind != NUMBER_NONE && (next == '.' || next == ',') && used + 1 < s.len &&
        is_digit(s.at[used + 1]))
        out.kind = NUMBER_NONE;
    *rest = slice_trim((struct slice){.at = s.at + used, .len = s.len - used});
    return out;
}
