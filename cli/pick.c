/*
 * cli/pick.c - see pick.h.
 */
#include "cli/pick.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/own.h"
#include "cli/input.h"

/* "k=v,k!=v" as the API's selectors are: text; a request's own form comes with -f. */
static json_t *chosen_nodes(const struct arguments *arguments)
{
    json_t *body = json_object(), *nodes = json_array();
    const char *selector = arguments_get(arguments, OPTION_SELECTOR);
    const char *message = arguments_get(arguments, OPTION_MESSAGE);
    for (size_t i = 0; i < arguments->given_count; i++)
        if (arguments->given[i].option == OPTION_NODE)
            json_array_append_new(nodes, json_string(arguments->given[i].value));
    if (json_array_size(nodes) > 0)
        json_object_set(body, "nodes", nodes);
    json_decref(nodes);
    if (arguments_has(arguments, OPTION_ALL))
        json_object_set_new(body, "all", json_true());
    if (message != NULL)
        json_object_set_new(body, "message", json_string(message));
    if (selector == NULL)
        return body;
    json_t *labels = json_object();
    for (const char *p = selector; *p != '\0';) {
        size_t len = strcspn(p, ","), key = strcspn(p, "=,");
        if (key < len)
            json_object_setn_new(labels, p, key, json_stringn(p + key + 1, len - key - 1));
        p += len + (p[len] == ',');
    }
    json_object_set_new(body, "selector", labels);
    return body;
}

enum err_code pick_body(struct context *context, const struct arguments *arguments, json_t **out,
                        struct err *err)
{
    const char *path = arguments_get(arguments, OPTION_FILE);
    OWN(str) char *text = NULL;
    size_t len;
    if (path == NULL) {
        *out = chosen_nodes(arguments);
        return *out != NULL ? ERR_OK : err_nomem(err);
    }
    FILE *file = strcmp(path, "-") == 0 ? context->in : fopen(path, "re");
    if (file == NULL)
        return err_set(err, ERR_IO, "cannot read %s", path);
    enum err_code code = input_read(file, &text, &len, err);
    if (file != context->in)
        fclose(file);
    return code == ERR_OK ? json_parse(text, len, out, err) : code;
}
