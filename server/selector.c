/*
 * server/selector.c - see selector.h.
 */
#include "server/selector.h"

#include <string.h>

static bool copy(const char *from, size_t len, char out[NAME_SIZE])
{
    if (len >= NAME_SIZE)
        return false;
    memcpy(out, from, len);
    out[len] = '\0';
    return true;
}

/* One term without its comma. A value may be empty, as a label's may. */
static enum err_code term_parse(const char *text, size_t len, struct selector_term *out,
                                struct err *err)
{
    const char *equals = memchr(text, '=', len);
    size_t key_len = equals == NULL ? len : (size_t)(equals - text), skip = 0;
    out->has_value = equals != NULL;
    if (equals == NULL && len > 0 && text[0] == '!') {
        out->negated = true;
        skip = 1;
    } else if (equals != NULL && key_len > 0 && text[key_len - 1] == '!') {
        out->negated = true;
        key_len--;
    }
    bool fits = copy(text + skip, key_len - skip, out->key);
    if (fits && equals != NULL)
        fits = copy(equals + 1, len - (size_t)(equals + 1 - text), out->value);
    if (!fits || name_check(out->key, "label", NULL) != ERR_OK ||
        (out->value[0] != '\0' && name_check(out->value, "value", NULL) != ERR_OK))
        return err_set(err, ERR_INVALID,
                       "selector: '%.*s' is none of key=value, key!=value, key, !key",
                       (int)(len < 64 ? len : 64), text);
    return ERR_OK;
}

enum err_code selector_parse(const char *text, struct selector *out, struct err *err)
{
    struct selector made = {.count = 0};
    for (;;) {
        size_t len = strcspn(text, ",");
        if (made.count == SELECTOR_TERMS_MAX)
            return err_set(err, ERR_LIMIT, "selector: more than %d terms", SELECTOR_TERMS_MAX);
        enum err_code code = term_parse(text, len, &made.terms[made.count++], err);
        if (code != ERR_OK)
            return code;
        if (text[len] == '\0')
            break;
        text += len + 1;
    }
    *out = made;
    return ERR_OK;
}

bool selector_matches(const struct selector *selector, const json_t *labels)
{
    for (size_t i = 0; i < selector->count; i++) {
        const struct selector_term *term = &selector->terms[i];
        const char *value = json_string_value(json_object_get(labels, term->key));
        bool holds = value != NULL && (!term->has_value || strcmp(value, term->value) == 0);
        if (holds == term->negated)
            return false;
    }
    return true;
}
