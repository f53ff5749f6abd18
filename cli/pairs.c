/*
 * cli/pairs.c - see pairs.h.
 */
#include "cli/pairs.h"

#include <stdlib.h>
#include <string.h>

void pairs_release(struct pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++)
        free(pairs->names[i]);
    pairs->count = 0;
}

static enum err_code add(struct pairs *pairs, struct call *call, enum option option,
                         const char *text, struct err *err)
{
    static const enum operation_in places[OPTION_COUNT] = {
        [OPTION_PARAM] = OPERATION_PATH,
        [OPTION_QUERY] = OPERATION_QUERY,
        [OPTION_HEADER] = OPERATION_HEADER,
    };
    const char *sign = strchr(text, '=');
    if (sign == NULL || sign == text)
        return err_set(err, ERR_INVALID, "--%s '%s': NAME=VALUE is wanted",
                       option_rows[option].name, text);
    if (pairs->count == CALL_VALUES_MAX)
        return err_set(err, ERR_LIMIT, "more than %d parameters were given", CALL_VALUES_MAX);
    char *name = strndup(text, (size_t)(sign - text));
    if (name == NULL)
        return err_nomem(err);
    pairs->names[pairs->count++] = name;
    call_add(call, places[option], name, sign + 1);
    return ERR_OK;
}

enum err_code pairs_add(struct pairs *pairs, struct call *call, const struct arguments *arguments,
                        struct err *err)
{
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < arguments->given_count && code == ERR_OK; i++) {
        enum option option = arguments->given[i].option;
        if (option == OPTION_PARAM || option == OPTION_QUERY || option == OPTION_HEADER)
            code = add(pairs, call, option, arguments->given[i].value, err);
    }
    return code;
}
