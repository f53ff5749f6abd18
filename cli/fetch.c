/*
 * cli/fetch.c - see fetch.h.
 */
#include "cli/fetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "cli/pairs.h"

#define PAGE_SIZE "1000"

static const char *parent_of(const struct kind *kind, const struct arguments *arguments)
{
    if (kind->parent == NULL)
        return NULL;
    enum option option = strcmp(kind->parent, "node") == 0 ? OPTION_NODE : OPTION_TENANT;
    return arguments_get(arguments, option);
}

enum err_code fetch_call(const struct kind *kind, const char *operation, const char *name,
                         const struct arguments *arguments, struct call *out, struct err *err)
{
    const struct operation *found = operation != NULL ? operation_find(operation) : NULL;
    if (found == NULL)
        return err_set(err, ERR_INVALID, "the API has no operation for this on %s", kind->name);
    call_init(out, found);
    if (name != NULL && kind->key != NULL)
        call_add_known(out, OPERATION_PATH, kind->key, name);
    const char *parent = parent_of(kind, arguments);
    if (kind->parent != NULL && operation_param(found, OPERATION_PATH, kind->parent) != NULL) {
        if (parent == NULL)
            return err_set(err, ERR_INVALID, "%s need --%s", kind->name, kind->parent);
        call_add(out, OPERATION_PATH, kind->parent, parent);
    }
    return ERR_OK;
}

static enum err_code add_filter(struct call *call, const char *query, const char *option,
                                const char *value, struct err *err)
{
    if (value == NULL || call_add_known(call, OPERATION_QUERY, query, value))
        return ERR_OK;
    return err_set(err, ERR_INVALID, "%s takes no --%s", call->operation->id, option);
}

static enum err_code add_filters(struct call *call, const struct kind *kind,
                                 const struct arguments *arguments, struct err *err)
{
    enum err_code code =
        add_filter(call, "selector", "selector", arguments_get(arguments, OPTION_SELECTOR), err);
    if (code == ERR_OK)
        code = add_filter(call, "after", "after", arguments_get(arguments, OPTION_AFTER), err);
    /* Of kinds that stand below a node, --node is a part of the path. */
    if (code == ERR_OK && (kind->parent == NULL || strcmp(kind->parent, "node") != 0))
        code = add_filter(call, "node", "node", arguments_get(arguments, OPTION_NODE), err);
    return code;
}

/* Adds one page's items; *out_token (owned) is the next page's or NULL. */
static enum exit_code fetch_page(struct context *context, struct call *call, json_t *items,
                                 char **out_token)
{
    OWN_REPLY struct reply reply = {.printed = false};
    enum exit_code code = context_call(context, call, &reply);
    *out_token = NULL;
    if (code != EXIT_DONE || reply.printed)
        return code;
    const json_t *page = json_object_get(reply.json, "items");
    context->unreported = json_is_false(json_object_get(reply.json, "reported"));
    if (!json_is_array(page)) {
        context_error(context, "%s: the answer holds no list", call->operation->id);
        return EXIT_UNREACHABLE;
    }
    const char *token = json_string_value(json_object_get(reply.json, "next_page_token"));
    if (json_array_extend(items, (json_t *)(uintptr_t)page) != 0 ||
        (token != NULL && (*out_token = strdup(token)) == NULL)) {
        context_error(context, "out of memory");
        return EXIT_UNREACHABLE;
    }
    return EXIT_DONE;
}

static enum exit_code fetch_pages(struct context *context, const struct call *base, int64_t limit,
                                  json_t *items)
{
    OWN(str) char *token = NULL;
    do {
        struct call call = *base;
        char *next;
        call_add_known(&call, OPERATION_QUERY, "page_size", PAGE_SIZE);
        call_add_known(&call, OPERATION_QUERY, "page_token", token);
        enum exit_code code = fetch_page(context, &call, items, &next);
        if (code != EXIT_DONE)
            return code;
        if (token != NULL && next != NULL && strcmp(token, next) == 0) {
            free(next);
            context_error(context, "%s: the server gives the same page again and again",
                          call.operation->id);
            return EXIT_UNREACHABLE;
        }
        free(token);
        token = next;
    } while (token != NULL && (int64_t)json_array_size(items) < limit);
    if (token != NULL && limit == FETCH_ITEMS_MAX)
        context_error(context, "there are more than %d; only those are shown", FETCH_ITEMS_MAX);
    while ((int64_t)json_array_size(items) > limit)
        json_array_remove(items, json_array_size(items) - 1);
    return EXIT_DONE;
}

json_t *fetch_row_name(const json_t *knob)
{
    const char *kind = json_string_value(json_object_get(knob, "kind"));
    const char *subject = json_string_value(json_object_get(knob, "subject"));
    const char *id = json_string_value(json_object_get(knob, "id"));
    return json_sprintf("%s %s%s%s", kind == NULL ? "" : kind, subject == NULL ? "" : subject,
                        id == NULL ? "" : " ", id == NULL ? "" : id);
}

/* Takes over the name. */
static enum err_code add_row(const struct kind *kind, const char *parent, json_t *name,
                             const json_t *value, json_t *out, struct err *err)
{
    OWN(json) json_t *owned = name;
    json_t *row = json_is_object(value) ? json_copy((json_t *)(uintptr_t)value) : json_object();
    if (row == NULL || json_array_append_new(out, row) != 0 ||
        json_object_set(row, kind->view.name, owned) != 0 ||
        json_object_set_new(row, kind->key, json_string(parent)) != 0)
        return err_nomem(err);
    return ERR_OK;
}

enum err_code fetch_rows(const struct kind *kind, const char *parent, const json_t *document,
                         json_t *out, struct err *err)
{
    const char *name;
    json_t *rows = json_object_get(document, kind->rows), *value;
    enum err_code code = ERR_OK;
    size_t i;
    json_object_foreach(rows, name, value)
    {
        if (code == ERR_OK)
            code = add_row(kind, parent, json_string(name), value, out, err);
    }
    json_array_foreach(rows, i, value)
    {
        if (code == ERR_OK)
            code = add_row(kind, parent, fetch_row_name(value), value, out, err);
    }
    return code;
}

/* One tenant's part of a list over all tenants. A tenant without any is no failure. */
static enum exit_code fetch_of_tenant(struct context *context, const struct kind *kind,
                                      const char *tenant, const json_t *items)
{
    OWN_REPLY struct reply reply = {.printed = false};
    struct err err = ERR_INIT;
    struct call call;
    call_init(&call, operation_find(kind->list != NULL ? kind->list : kind->get));
    call_add(&call, OPERATION_PATH, "tenant", tenant);
    if (kind->list != NULL)
        return fetch_pages(context, &call, FETCH_ITEMS_MAX, (json_t *)(uintptr_t)items);
    enum exit_code code = context_try(context, &call, &reply, &err);
    if (code == EXIT_MISSING && err.code == ERR_OK)
        return EXIT_DONE;
    if (code == EXIT_DONE)
        code = exit_of_err(fetch_rows(kind, tenant, reply.json, (json_t *)(uintptr_t)items, &err));
    if (code != EXIT_DONE)
        context_explain(context, &reply, &err);
    return code;
}

static enum exit_code fetch_walk(struct context *context, const struct kind *kind, json_t *items)
{
    OWN(json) json_t *tenants = json_array();
    struct call call;
    size_t i;
    json_t *tenant;
    call_init(&call, operation_find("tenants_list"));
    enum exit_code code = fetch_pages(context, &call, FETCH_ITEMS_MAX, tenants);
    json_array_foreach(tenants, i, tenant)
    {
        const char *name = json_string_value(json_object_get(tenant, "name"));
        if (code == EXIT_DONE && name != NULL)
            code = fetch_of_tenant(context, kind, name, items);
    }
    return code;
}

static enum exit_code fetch_plain(struct context *context, const struct kind *kind,
                                  const struct arguments *arguments, int64_t limit, json_t *items)
{
    struct pairs pairs = {.count = 0};
    struct err err = ERR_INIT;
    struct call call;
    bool alone = kind->list_alone != NULL && parent_of(kind, arguments) == NULL;
    const char *list = alone ? kind->list_alone : kind->list;
    enum err_code code = fetch_call(kind, list, NULL, arguments, &call, &err);
    if (code == ERR_OK)
        code = add_filters(&call, kind, arguments, &err);
    if (code == ERR_OK)
        code = pairs_add(&pairs, &call, arguments, &err);
    enum exit_code done =
        code == ERR_OK ? fetch_pages(context, &call, limit, items) : context_fail(context, &err);
    pairs_release(&pairs);
    return done;
}

enum exit_code fetch_list(struct context *context, const struct kind *kind,
                          const struct arguments *arguments, json_t **out)
{
    static const int64_t range[2] = {1, FETCH_ITEMS_MAX};
    OWN(json) json_t *items = json_array();
    struct err err = ERR_INIT;
    int64_t limit = FETCH_ITEMS_MAX;
    if (arguments_number(arguments, OPTION_LIMIT, range, &limit, &err) != ERR_OK)
        return context_fail(context, &err);
    const char *tenant = arguments_get(arguments, OPTION_TENANT);
    enum exit_code code;
    if (kind->walk && tenant != NULL && kind->list == NULL)
        code = fetch_of_tenant(context, kind, tenant, items);
    else if (kind->walk && tenant == NULL)
        code = fetch_walk(context, kind, items);
    else
        code = fetch_plain(context, kind, arguments, limit, items);
    while ((int64_t)json_array_size(items) > limit)
        json_array_remove(items, json_array_size(items) - 1);
    if (code == EXIT_DONE)
        *out = GIVE(items);
    return code;
}

enum exit_code fetch_list_below(struct context *context, const struct kind *kind, const char *param,
                                const struct arguments *arguments, json_t **out)
{
    struct arguments words = *arguments;
    OWN(str) char *pair = NULL;
    if (asprintf(&pair, "%s=%s", param, arguments->words[0]) < 0) {
        struct err err = ERR_INIT;
        pair = NULL;
        err_nomem(&err);
        return context_fail(context, &err);
    }
    if (words.given_count == ARGUMENTS_MAX)
        words.given_count--;
    words.given[words.given_count].option = OPTION_PARAM;
    words.given[words.given_count++].value = pair;
    return fetch_list(context, kind, &words, out);
}

enum exit_code fetch_one(struct context *context, const struct kind *kind, const char *name,
                         const struct arguments *arguments, struct reply *out)
{
    struct err err = ERR_INIT;
    struct call call;
    bool alone = kind->get_alone != NULL && parent_of(kind, arguments) == NULL;
    const char *get = alone ? kind->get_alone : kind->get;
    if (fetch_call(kind, get, name, arguments, &call, &err) != ERR_OK)
        return context_fail(context, &err);
    return context_call(context, &call, out);
}
