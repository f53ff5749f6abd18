/*
 * fleet/read.c - see read.h.
 */
#include "fleet/read.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const struct finding *first_error(const struct finding_list *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].severity >= FINDING_ERROR)
            return &findings->items[i];
    return NULL;
}

enum err_code read_result(const struct finding_list *findings, struct err *err)
{
    if (findings->nomem)
        return err_nomem(err);
    if (findings->worst < FINDING_ERROR)
        return ERR_OK;
    const struct finding *first = first_error(findings);
    if (first == NULL)
        return err_set(err, ERR_INVALID, "the document is wrong in more places than are listed");
    return err_set_at(err, ERR_INVALID, first->pointer == NULL ? "" : first->pointer, "%s",
                      first->message == NULL ? "wrong" : first->message);
}

bool read_text(struct json_reader *r, const char *key, bool required, size_t min_len, char *out,
               size_t size)
{
    const char *text;
    out[0] = '\0';
    if (!json_reader_string(r, key, required, min_len, size - 1, &text))
        return false;
    snprintf(out, size, "%s", text);
    return true;
}

void read_problem(const struct json_reader *r, const char *key, const char *fmt, ...)
{
    char pointer[ERR_POINTER_MAX], text[ERR_TEXT_MAX];
    snprintf(pointer, sizeof(pointer), "%s", r->pointer);
    if (key != NULL)
        json_reader_pointer(r, key, pointer);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    finding_addf(r->findings, r->rule, FINDING_ERROR, pointer, "%s", text);
}

bool write_member(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new_nocheck(object, key, value) == 0;
}

bool write_text(json_t *object, const char *key, const char *text)
{
    if (text[0] == '\0')
        return true;
    uint32_t hidden;
    if (!text_find_hidden(text, strlen(text), &hidden))
        return write_member(object, key, json_string(text));
    char quoted[ERR_TEXT_MAX];
    text_quote(text, strlen(text), quoted, sizeof(quoted));
    return write_member(object, key, json_string(quoted));
}
