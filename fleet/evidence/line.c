/*
 * fleet/evidence/line.c - a file cut into lines that readers can trust.
 */
#include "fleet/evidence/line.h"

#include <string.h>

#include "base/text.h"

#define TAB_WIDTH 8

/* Bytes of the escape sequence at s (ESC first): CSI, OSC, or two bytes. */
static size_t escape_length(const char *s, size_t len)
{
    size_t at = 2;
    if (len < 2)
        return 1;
    if (s[1] == '[') {
        while (at < len && !(s[at] >= 0x40 && s[at] <= 0x7e) && s[at] != '\n')
            at++;
        return at < len && s[at] != '\n' ? at + 1 : at;
    }
    if (s[1] == ']') {
        while (at < len && s[at] != '\a' && s[at] != '\x1b' && s[at] != '\n')
            at++;
        return at < len && s[at] == '\a' ? at + 1 : at;
    }
    return s[1] == '\n' ? 1 : 2;
}

/* Copies one line without what no reader should see; how many bytes. */
static size_t clean(const char *from, size_t len, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < len;) {
        unsigned char c = (unsigned char)from[i];
        uint32_t code = 0;
        size_t bytes = utf8_decode(from + i, len - i, &code);
        if (c == 0x1b) {
            i += escape_length(from + i, len - i);
        } else if (c == '\b') { /* overstrike, as man pages and progress bars write */
            while (n > 0 && ((unsigned char)out[--n] & 0xC0) == 0x80) {
            }
            i++;
        } else if (c == '\t' || (c >= 0x20 && c < 0x7f)) {
            out[n++] = (char)c;
            i++;
        } else if (bytes > 1 && code == 0xFEFF) { /* byte order mark */
            i += bytes;
        } else if (bytes > 1 && code == 0xA0) { /* no-break space, of web pages */
            out[n++] = ' ';
            i += bytes;
        } else if (bytes > 1 && !text_is_hidden(code)) {
            memcpy(out + n, from + i, bytes);
            n += bytes;
            i += bytes;
        } else {
            out[n++] = '?';
            i += bytes > 0 ? bytes : 1;
        }
    }
    return n;
}

static void set_line(struct evidence_line *line, char *text, size_t n)
{
    uint32_t indent = 0;
    size_t skip = 0;
    while (skip < n && (text[skip] == ' ' || text[skip] == '\t')) {
        indent = text[skip] == '\t' ? (indent / TAB_WIDTH + 1) * TAB_WIDTH : indent + 1;
        skip++;
    }
    while (n > skip && (text[n - 1] == ' ' || text[n - 1] == '\t'))
        n--;
    text[n] = '\0';
    line->indent = indent;
    line->text = (struct slice){.at = text + skip, .len = n - skip};
}

/* What a terminal would show of a line with returns in it: the last text, as progress bars write.
 */
static const char *last_shown(const char *from, size_t *len)
{
    while (*len > 0 && from[*len - 1] == '\r')
        (*len)--;
    const char *r = *len > 0 ? memrchr(from, '\r', *len) : NULL;
    if (r == NULL)
        return from;
    *len -= (size_t)(r + 1 - from);
    return r + 1;
}

static size_t count_lines(const char *bytes, size_t len)
{
    size_t count = 0;
    for (size_t i = 0; i < len; i++)
        count += bytes[i] == '\n' ? 1 : 0;
    return count + (len > 0 && bytes[len - 1] != '\n' ? 1 : 0);
}

/* A document on one line, as tools print JSON without -p: json_part reads it where it stands. */
static bool is_document(const char *text, size_t len)
{
    size_t i = 0;
    while (i < len && (text[i] == ' ' || text[i] == '\t'))
        i++;
    if (i >= len || (text[i] != '{' && text[i] != '['))
        return false;
    for (i++; i < len && (text[i] == ' ' || text[i] == '\t'); i++)
        ;
    return i < len && strchr("{[\"", text[i]) != NULL;
}

/* The front of such a line, so that it is known; its end must not look like an open member. */
static size_t front(const char *text, char *out)
{
    size_t n = clean(text, EVIDENCE_LINE_MAX, out);
    while (n > 0 && strchr("{[,: \t", out[n - 1]) != NULL)
        n--;
    return n;
}

enum err_code lines_cut(const char *bytes, size_t len, struct lines *out, struct err *err)
{
    struct lines lines = {.count = count_lines(bytes, len)};
    if (lines.count > EVIDENCE_LINES_MAX) {
        lines.count = EVIDENCE_LINES_MAX;
        lines.truncated = true;
    }
    lines.text = malloc(len + lines.count + 1);
    lines.items = calloc(lines.count + 1, sizeof(*lines.items));
    if (lines.text == NULL || lines.items == NULL) {
        lines_release(&lines);
        return err_nomem(err);
    }
    size_t at = 0, used = 0;
    for (size_t i = 0; i < lines.count; i++) {
        const char *end = memchr(bytes + at, '\n', len - at);
        size_t n = end != NULL ? (size_t)(end - bytes) - at : len - at;
        size_t shown = n;
        const char *from = last_shown(bytes + at, &shown);
        bool fits = shown <= EVIDENCE_LINE_MAX;
        bool document = !fits && is_document(from, shown);
        lines.truncated = lines.truncated || (!fits && !document);
        size_t kept = fits ? clean(from, shown, lines.text + used) : 0;
        if (document)
            kept = front(from, lines.text + used);
        set_line(&lines.items[i], lines.text + used, kept);
        lines.items[i].offset = at;
        used += kept + 1;
        at += n + 1;
    }
    *out = lines;
    return ERR_OK;
}

void lines_release(struct lines *lines)
{
    free(lines->text);
    free(lines->items);
    *lines = (struct lines){.count = 0};
}
