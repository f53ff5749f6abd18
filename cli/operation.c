/*
 * cli/operation.c - see operation.h.
 */
#include "cli/operation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"

#define SERVER_MAX 1024 /* bytes of a server's URL */

static const char *const in_names[] = {
    [OPERATION_PATH] = "path parameter",
    [OPERATION_QUERY] = "query parameter",
    [OPERATION_HEADER] = "header",
};

const struct operation *operation_find(const char *id)
{
    for (size_t i = 0; i < operation_count; i++)
        if (strcmp(operations[i].id, id) == 0)
            return &operations[i];
    return NULL;
}

const struct operation *operation_at(const char *method, const char *path)
{
    for (size_t i = 0; i < operation_count; i++)
        if (strcmp(operations[i].method, method) == 0 && strcmp(operations[i].path, path) == 0)
            return &operations[i];
    return NULL;
}

const char *operation_suggest(const char *id)
{
    OWN(mem) void *room = calloc(operation_count, sizeof(char *));
    const char **ids = room;
    if (ids == NULL)
        return NULL;
    for (size_t i = 0; i < operation_count; i++)
        ids[i] = operations[i].id;
    return text_closest(id, ids, operation_count);
}

const struct operation_param *operation_param(const struct operation *operation,
                                              enum operation_in in, const char *name)
{
    for (size_t i = 0; i < operation->param_count; i++)
        if (operation->params[i].in == in && strcmp(operation->params[i].name, name) == 0)
            return &operation->params[i];
    return NULL;
}

void call_init(struct call *call, const struct operation *operation)
{
    memset(call, 0, sizeof(*call));
    call->operation = operation;
}

void call_add(struct call *call, enum operation_in in, const char *name, const char *value)
{
    if (value == NULL)
        return;
    if (call->count == CALL_VALUES_MAX)
        call->overflow = true;
    else
        call->values[call->count++] = (struct call_value){in, name, value};
}

bool call_add_known(struct call *call, enum operation_in in, const char *name, const char *value)
{
    if (operation_param(call->operation, in, name) == NULL)
        return false;
    call_add(call, in, name, value);
    return true;
}

static const char *value_of(const struct call *call, enum operation_in in, const char *name)
{
    for (size_t i = 0; i < call->count; i++)
        if (call->values[i].in == in && strcmp(call->values[i].name, name) == 0)
            return call->values[i].value;
    return NULL;
}

/* "a, b and c" would be prettier; a list is enough to choose from. */
static void list_params(const struct operation *operation, enum operation_in in, char *out,
                        size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < operation->param_count && used < size; i++)
        if (operation->params[i].in == in)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "",
                                     operation->params[i].name);
    if (out[0] == '\0')
        snprintf(out, size, "none");
}

static enum err_code check_value(const struct call *call, const struct call_value *value,
                                 struct err *err)
{
    char known[ERR_TEXT_MAX / 2], name[64];
    const struct operation *operation = call->operation;
    text_quote(value->name, strlen(value->name), name, sizeof(name));
    /* Any header may be sent, such as X-Request-Id. */
    if (value->in != OPERATION_HEADER &&
        operation_param(operation, value->in, value->name) == NULL) {
        list_params(operation, value->in, known, sizeof(known));
        return err_set(err, ERR_INVALID, "%s has no %s '%s'; it has: %s", operation->id,
                       in_names[value->in], name, known);
    }
    if (value->in == OPERATION_PATH &&
        (value->value[0] == '\0' || !strcmp(value->value, ".") || !strcmp(value->value, "..")))
        return err_set(err, ERR_INVALID, "%s: '%s' is no %s", operation->id, value->value, name);
    return ERR_OK;
}

enum err_code call_check(const struct call *call, struct err *err)
{
    const struct operation *operation = call->operation;
    if (call->overflow)
        return err_set(err, ERR_LIMIT, "%s: more than %d parameters were given", operation->id,
                       CALL_VALUES_MAX);
    for (size_t i = 0; i < call->count; i++)
        if (check_value(call, &call->values[i], err) != ERR_OK)
            return ERR_INVALID;
    for (size_t i = 0; i < operation->param_count; i++) {
        const struct operation_param *param = &operation->params[i];
        if (param->required && value_of(call, param->in, param->name) == NULL)
            return err_set(err, ERR_INVALID, "%s needs the %s '%s'", operation->id,
                           in_names[param->in], param->name);
    }
    bool body = call->body != NULL || call->body_path != NULL;
    if (body && operation->bodies[0] == NULL)
        return err_set(err, ERR_INVALID, "%s takes no body", operation->id);
    if (!body && operation->body_required)
        return err_set(err, ERR_INVALID, "%s needs a body of type %s", operation->id,
                       operation->bodies[0]);
    return ERR_OK;
}

/* Everything but RFC 3986's unreserved characters. */
static void put_encoded(FILE *out, const char *text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (; *text != '\0'; text++) {
        if (strchr(plain, *text) != NULL)
            fputc(*text, out);
        else
            fprintf(out, "%%%02X", (unsigned)(unsigned char)*text);
    }
}

static void put_path(FILE *out, const struct call *call)
{
    for (const char *p = call->operation->path; *p != '\0'; p++) {
        char name[64];
        size_t len = *p == '{' ? strcspn(p, "}") : 0;
        if (len == 0 || len > sizeof(name)) {
            fputc(*p, out);
            continue;
        }
        memcpy(name, p + 1, len - 1);
        name[len - 1] = '\0';
        const char *value = value_of(call, OPERATION_PATH, name);
        put_encoded(out, value != NULL ? value : "");
        p += len;
    }
}

enum err_code call_url(const struct call *call, const char *server, char **out, struct err *err)
{
    size_t len = strlen(server);
    while (len > 0 && server[len - 1] == '/')
        len--;
    if (len == 0 || len > SERVER_MAX)
        return err_set(err, ERR_INVALID, "the server's URL has 1 to %d bytes", SERVER_MAX);
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    if (file == NULL)
        return err_nomem(err);
    fwrite(server, 1, len, file);
    put_path(file, call);
    char sign = '?';
    for (size_t i = 0; i < call->count; i++) {
        if (call->values[i].in != OPERATION_QUERY)
            continue;
        fputc(sign, file);
        put_encoded(file, call->values[i].name);
        fputc('=', file);
        put_encoded(file, call->values[i].value);
        sign = '&';
    }
    if (fclose(file) != 0) {
        free(text);
        return err_nomem(err);
    }
    *out = text;
    return ERR_OK;
}
