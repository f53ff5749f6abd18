/*
 * cli/print.c - text from outside on its way to a terminal: see context.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "cli/context.h"

/* In JSON's own form, so that escaped JSON is the same JSON. */
static void put_escaped(FILE *out, uint32_t point)
{
    if (point < 0x10000) {
        fprintf(out, "\\u%04x", (unsigned)point);
    } else {
        point -= 0x10000;
        fprintf(out, "\\u%04x\\u%04x", 0xd800u + (unsigned)(point >> 10),
                0xdc00u + (unsigned)(point & 0x3ff));
    }
}

static void put_visible(FILE *out, const char *text, size_t len, bool newlines)
{
    while (len > 0) {
        uint32_t point;
        size_t bytes = utf8_decode(text, len, &point);
        if (bytes == 0) {
            fprintf(out, "\\x%02x", (unsigned)(unsigned char)*text);
            bytes = 1;
        } else if (text_is_hidden(point) && !(newlines && point == '\n')) {
            put_escaped(out, point);
        } else {
            fwrite(text, 1, bytes, out);
        }
        text += bytes;
        len -= bytes;
    }
}

void print_text(FILE *out, const char *text)
{
    put_visible(out, text, strlen(text), false);
}

void print_visible(FILE *out, const char *text, size_t len)
{
    put_visible(out, text, len, true);
}

enum err_code print_json(FILE *out, const json_t *value, int indent, struct err *err)
{
    size_t flags = JSON_ENCODE_ANY | JSON_SORT_KEYS;
    flags |= indent > 0 ? JSON_INDENT((size_t)indent) : JSON_COMPACT;
    OWN(str) char *text = json_dumps(value, flags);
    if (text == NULL)
        return err_nomem(err);
    put_visible(out, text, strlen(text), true);
    fputc('\n', out);
    return ERR_OK;
}
