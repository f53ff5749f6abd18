/*
 * base/text.c - see text.h.
 */
#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* Longer words are not compared: nobody misspells a 64-letter member by one letter. */
#define WORD_MAX 64

size_t utf8_decode(const char *s, size_t len, uint32_t *out)
{
    /* RFC 3629 section 4: the smallest value of each length refuses overlong forms. */
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *b = (const unsigned char *)s;
    if (len == 0)
        return 0;
    size_t n;
    uint32_t cp;
    if (b[0] < 0x80) {
        n = 1;
        cp = b[0];
    } else if (b[0] >= 0xc2 && b[0] <= 0xdf) {
        n = 2;
        cp = b[0] & 0x1fU;
    } else if (b[0] >= 0xe0 && b[0] <= 0xef) {
        n = 3;
        cp = b[0] & 0x0fU;
    } else if (b[0] >= 0xf0 && b[0] <= 0xf4) {
        n = 4;
        cp = b[0] & 0x07U;
    } else {
        return 0;
    }
    if (n > len)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((b[i] & 0xc0) != 0x80)
            return 0;
        cp = cp << 6 | (b[i] & 0x3fU);
    }
    if (cp < smallest[n] || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
        return 0;
    if (out != NULL)
        *out = cp;
    return n;
}

size_t utf8_count(const char *s, size_t len)
{
    size_t count = 0;
    for (size_t i = 0; i < len; i++)
        count += ((unsigned char)s[i] & 0xc0) != 0x80;
    return count;
}

bool text_is_hidden(uint32_t cp)
{
    /* Unicode 15 general category Cc, Cf, Zl, Zp and Default_Ignorable_Code_Point. */
    static const struct {
        uint32_t first, last;
    } hidden[] = {
        {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x034f, 0x034f},   {0x0600, 0x0605},
        {0x061c, 0x061c},   {0x06dd, 0x06dd},   {0x070f, 0x070f},   {0x0890, 0x0891},
        {0x08e2, 0x08e2},   {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},
        {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},   {0x3164, 0x3164},
        {0xfdd0, 0xfdef},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
        {0xfff0, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f},
        {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
    };
    if (cp < 0x7f)
        return cp < 0x20;
    if ((cp & 0xfffe) == 0xfffe)
        return true;
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]) && cp >= hidden[i].first; i++)
        if (cp <= hidden[i].last)
            return true;
    return false;
}

bool text_find_hidden(const char *text, size_t len, uint32_t *out)
{
    for (size_t i = 0; i < len;) {
        uint32_t cp = (unsigned char)text[i];
        if (cp >= 0x20 && cp < 0x7f) {
            i++;
            continue;
        }
        size_t n = utf8_decode(text + i, len - i, &cp);
        if (n == 0 || text_is_hidden(cp)) {
            if (out != NULL)
                *out = n == 0 ? UINT32_MAX : cp;
            return true;
        }
        i += n;
    }
    return false;
}

void text_sanitize(char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < len;) {
        size_t n = utf8_decode(text + i, len - i, NULL);
        if (n == 0)
            text[i] = '?';
        i += n == 0 ? 1 : n;
    }
}

void text_clean(char *text, const char *kept)
{
    size_t len = strlen(text), used = 0;
    for (size_t i = 0, n; i < len; i += n) {
        uint32_t cp;
        n = utf8_decode(text + i, len - i, &cp);
        bool keep = n > 0 && (!text_is_hidden(cp) || (n == 1 && strchr(kept, (int)cp) != NULL));
        n = n == 0 ? 1 : n;
        memmove(text + used, keep ? text + i : "?", keep ? n : 1);
        used += keep ? n : 1;
    }
    text[used] = '\0';
}

void text_quote(const char *text, size_t len, char *out, size_t size)
{
    size_t used = 0, cut = 0; /* cut: the last place that leaves room for "..." */
    for (size_t i = 0; i < len;) {
        char piece[16];
        uint32_t cp = 0;
        size_t n = utf8_decode(text + i, len - i, &cp);
        if (n == 0)
            snprintf(piece, sizeof(piece), "\\x%02x", (unsigned)(unsigned char)text[i]);
        else if (text_is_hidden(cp))
            snprintf(piece, sizeof(piece), "\\u%04x", (unsigned)cp);
        else
            snprintf(piece, sizeof(piece), "%.*s", (int)n, text + i);
        size_t piece_len = strlen(piece);
        i += n == 0 ? 1 : n;
        if (used + 4 <= size)
            cut = used;
        if (used + piece_len + 1 > size) {
            memcpy(out + cut, "...", 3);
            used = cut + 3;
            break;
        }
        memcpy(out + used, piece, piece_len);
        used += piece_len;
    }
    out[used] = '\0';
}

void text_copy(char *out, size_t size, const char *text)
{
    size_t len = strnlen(text, size);
    if (len == size)
        for (len = size - 1; len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80;)
            len--;
    memcpy(out, text, len);
    out[len] = '\0';
}

char *text_put(char *at, const char *text)
{
    size_t len = strlen(text);
    memcpy(at, text, len + 1);
    return at + len;
}

char *text_put_number(char *at, int64_t number)
{
    char digits[TEXT_NUMBER_MAX], *first = digits + sizeof(digits);
    uint64_t magnitude = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    *--first = '\0';
    do {
        *--first = (char)('0' + magnitude % 10);
        magnitude /= 10;
    } while (magnitude > 0);
    if (number < 0)
        *--first = '-';
    return text_put(at, first);
}

uint64_t text_hash(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash ^ (hash >> 32);
}

int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool hex_decode(const char *text, void *out, size_t n)
{
    unsigned char *bytes = out;
    if (strlen(text) != 2 * n)
        return false;
    for (size_t i = 0; i < n; i++) {
        int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i] = (unsigned char)(high * 16 + low);
    }
    return true;
}

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Optimal string alignment: edits between two words, a swap of neighbours counts as one. */
static size_t edits(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t rows[3][WORD_MAX + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_len; j++)
        last[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t replaced = last[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = min3(replaced, last[j] + 1, row[j - 1] + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        size_t *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[b_len];
}

const char *text_closest(const char *word, const char *const *names, size_t count)
{
    size_t len = strlen(word);
    if (len == 0 || len > WORD_MAX)
        return NULL;
    const char *closest = NULL;
    size_t fewest = len / 3 > 3 ? 4 : len / 3 + 1;
    for (size_t i = 0; i < count; i++) {
        size_t name_len = strlen(names[i]);
        if (name_len > WORD_MAX || name_len + fewest <= len || len + fewest <= name_len)
            continue;
        size_t n = edits(word, len, names[i], name_len);
        if (n < fewest) {
            fewest = n;
            closest = names[i];
        }
    }
    return closest;
}
