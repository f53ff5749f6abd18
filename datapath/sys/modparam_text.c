/*
 * datapath/sys/modparam_text.c - the pure part of modparam.h.
 */
#include "datapath/sys/modparam_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datapath/sys/modparam.h"

static bool same_module(const char *a, size_t len, const char *b)
{
    if (strlen(b) != len)
        return false;
    for (size_t i = 0; i < len; i++)
        if ((a[i] == '-' ? '_' : a[i]) != (b[i] == '-' ? '_' : b[i]))
            return false;
    return true;
}

/* Lines are "kernel/drivers/net/foo-bar.ko.xz: needs...". */
bool modparam_listed(const char *list, const char *module)
{
    for (const char *line = list; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        size_t path = strcspn(line, ":\n");
        const char *base = line;
        for (size_t i = 0; i < path; i++)
            if (line[i] == '/')
                base = line + i + 1;
        size_t name = strcspn(base, ".:\n");
        if (same_module(base, name, module))
            return true;
        line += len + (line[len] == '\n');
    }
    return false;
}

/* The next word of a line; false at its end. */
static bool next_word(const char **at, const char *end, const char **word, size_t *len)
{
    while (*at < end && (**at == ' ' || **at == '\t'))
        (*at)++;
    *word = *at;
    bool quoted = false;
    while (*at < end && (quoted || (**at != ' ' && **at != '\t'))) {
        quoted ^= **at == '"';
        (*at)++;
    }
    *len = (size_t)(*at - *word);
    return *len > 0;
}

/* Steps over `keyword MODULE` at the start of a line. */
static bool line_starts(const char **at, const char *end, const char *keyword, const char *module)
{
    const char *word;
    size_t len;
    for (const char *k = keyword; *k != '\0';) {
        size_t k_len = strcspn(k, " ");
        if (!next_word(at, end, &word, &len) || len != k_len || memcmp(word, k, len) != 0)
            return false;
        k += k_len + (k[k_len] == ' ');
    }
    return next_word(at, end, &word, &len) && same_module(word, len, module);
}

static bool word_is(const char *word, size_t len, const char *param)
{
    size_t p_len = strlen(param);
    return len > p_len && memcmp(word, param, p_len) == 0 && word[p_len] == '=';
}

bool modparam_find(const char *text, const char *keyword, const struct modparam_name *name,
                   char *out, size_t size)
{
    bool found = false;
    for (const char *line = text; *line != '\0';) {
        size_t line_len = strcspn(line, "\n");
        const char *at = line, *end = line + line_len, *word;
        size_t len;
        if (line_starts(&at, end, keyword, name->module)) {
            while (next_word(&at, end, &word, &len)) {
                if (!word_is(word, len, name->param))
                    continue;
                size_t skip = strlen(name->param) + 1;
                snprintf(out, size, "%.*s", (int)(len - skip), word + skip);
                found = true;
            }
        }
        line += line_len + (line[line_len] == '\n');
    }
    return found;
}

/* Ours: "options MODULE PARAM=..." or "# was MODULE PARAM=..." with nothing else on the line. */
static bool line_is_ours(const char *line, const char *end, const char *keyword,
                         const struct modparam_name *name)
{
    const char *at = line, *word, *rest;
    size_t len, rest_len;
    return line_starts(&at, end, keyword, name->module) && next_word(&at, end, &word, &len) &&
           word_is(word, len, name->param) && !next_word(&at, end, &rest, &rest_len);
}

char *modparam_edit(const char *text, const struct modparam_name *name, const char *value,
                    const char *note)
{
    size_t size = strlen(text) + 2 * (SYS_NAME_MAX * 2 + MODPARAM_VALUE_SIZE + 16);
    char *out = malloc(size);
    if (out == NULL)
        return NULL;
    size_t used = 0;
    for (const char *line = text; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        if (!line_is_ours(line, line + len, "options", name) &&
            !line_is_ours(line, line + len, "# was", name)) {
            memcpy(out + used, line, len);
            used += len;
            out[used++] = '\n';
        }
        line += len + (line[len] == '\n');
    }
    out[used] = '\0';
    if (value != NULL && note != NULL)
        used += (size_t)snprintf(out + used, size - used, "# was %s %s=%s\n", name->module,
                                 name->param, note);
    if (value != NULL)
        snprintf(out + used, size - used, "options %s %s=%s\n", name->module, name->param, value);
    return out;
}
