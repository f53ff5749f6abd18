/*
 * cli/split.c - see split.h.
 */
#include "cli/split.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool split_next(struct split *split, const char **out, size_t *out_len)
{
    const char *text = split->text;
    size_t at = split->at, depth = 0;
    bool string = false;
    while (at < split->len && is_blank(text[at]))
        at++;
    size_t start = at;
    for (; at < split->len; at++) {
        char c = text[at];
        if (string) {
            if (c == '\\' && at + 1 < split->len)
                at++;
            else if (c == '"')
                string = false;
            continue;
        }
        string = c == '"';
        if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && (depth == 0 || --depth == 0)) {
            at++;
            break;
        }
    }
    split->at = at;
    if (start == at)
        return false;
    split->count++;
    *out = text + start;
    *out_len = at - start;
    return true;
}

bool split_is_several(const char *text, size_t len)
{
    struct split split = {text, len, 0, 0};
    const char *part;
    size_t part_len;
    return split_next(&split, &part, &part_len) && split_next(&split, &part, &part_len);
}
