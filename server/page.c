/*
 * server/page.c - see page.h.
 */
#include "server/page.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/own.h"
#include "server/api.h"
#include "server/contract.h"
#include "server/route.h"

static bool parse_size(const char *text, int *out)
{
    char *end;
    if (text[0] < '0' || text[0] > '9' || strlen(text) > 4)
        return false;
    long value = strtol(text, &end, 10);
    *out = (int)value;
    return *end == '\0' && value >= 1 && value <= DB_PAGE_MAX;
}

/* Everything that decides which items the list has, and nothing that decides how they are shown. */
static char *bound_of(struct request *request)
{
    static const char *const unbound[] = {"page_size", "page_token", "fields"};
    const struct route *route = request_route(request);
    const char *tenant = api_own_tenant(request);
    OWN(json)
    json_t *list = json_pack("[s, s, s]", route->operation_id, request_path(request),
                             tenant == NULL ? "" : tenant);
    for (const char *const *name = route->queries; name != NULL && *name != NULL; name++) {
        const char *value = request_query(request, *name);
        bool counts = value != NULL;
        for (size_t i = 0; i < sizeof(unbound) / sizeof(unbound[0]); i++)
            counts = counts && strcmp(*name, unbound[i]) != 0;
        if (counts && json_array_append_new(list, json_pack("[s, s]", *name, value)) != 0)
            return NULL;
    }
    return list == NULL ? NULL : json_canonical(list, NULL);
}

static enum err_code read_shape(struct page *page, struct err *err)
{
    static const char *const types[] = {"application/json", "text/csv", NULL};
    const char *fields = request_query(page->request, "fields");
    const json_t *contract = page->app->contract;
    page->as_csv = request_accept(page->request, types) == 1;
    if (fields == NULL && !page->as_csv)
        return ERR_OK;
    const json_t *item = contract_item(contract, request_route(page->request)->operation_id);
    page->members = contract_members(contract, item);
    return fields == NULL ? ERR_OK : page_fields_parse(fields, contract, item, &page->fields, err);
}

static enum err_code read_parameters(struct page *page, struct err *err)
{
    const char *size = request_query(page->request, "page_size");
    const char *token = request_query(page->request, "page_token");
    page->bound = bound_of(page->request);
    if (page->bound == NULL)
        return err_nomem(err);
    if (size != NULL && !parse_size(size, &page->size))
        return err_set(err, ERR_INVALID, "page_size is a number from 1 to %d", DB_PAGE_MAX);
    if (token != NULL && !page_token_open(page->app->page_key, page->bound, token, page->after))
        return err_set(err, ERR_CONFLICT,
                       "page_token is none that this server gave for this list with these "
                       "parameters; start the list anew");
    page->after_number = strtoll(page->after, NULL, 10);
    return read_shape(page, err);
}

static void refuse(struct request *request, const struct err *err)
{
    if (err->code == ERR_NOMEM)
        request_reply_err(request, err);
    else
        request_reply_problem(request, 400,
                              err->code == ERR_CONFLICT ? "page-token" : "invalid-parameter", NULL,
                              NULL, "%s", err->text);
}

struct page *page_new(struct request *request,
                      enum err_code (*read)(struct db_ro *ro, struct page *page, struct err *err))
{
    struct page *page = calloc(1, sizeof(*page));
    struct err err = ERR_INIT;
    enum err_code code = ERR_OK;
    if (page == NULL || (page->items = json_array()) == NULL) {
        code = err_nomem(&err);
    } else {
        page->app = request_app(request);
        page->request = request;
        page->read = read;
        page->size = PAGE_SIZE_DEFAULT;
        code = read_parameters(page, &err);
    }
    if (code == ERR_OK)
        return page;
    refuse(request, &err);
    page_free(page);
    return NULL;
}

void page_free(struct page *page)
{
    if (page == NULL)
        return;
    json_decref(page->items);
    json_decref(page->extra);
    free(page->bound);
    free(page);
}

int page_limit(const struct page *page)
{
    return page->size < DB_PAGE_MAX ? page->size + 1 : DB_PAGE_MAX;
}

bool page_add(struct page *page, json_t *item, const char *key_fmt, ...)
{
    if (json_array_size(page->items) == (size_t)page->size) {
        page->more = true;
        json_decref(item);
        return false;
    }
    va_list args;
    va_start(args, key_fmt);
    vsnprintf(page->last, sizeof(page->last), key_fmt, args);
    va_end(args);
    page->no_memory |= json_array_append_new(page->items, item) != 0;
    return !page->no_memory;
}

static enum err_code read_page(struct db_ro *ro, void *arg, struct err *err)
{
    struct page *page = arg;
    enum err_code code = page->read(ro, page, err);
    /* Of the largest page one more row could not be asked for; the next page may be empty. */
    if (page->size == DB_PAGE_MAX && json_array_size(page->items) == DB_PAGE_MAX)
        page->more = true;
    return code == ERR_OK && page->no_memory ? err_nomem(err) : code;
}

static bool pick_fields(struct page *page)
{
    size_t i;
    json_t *item;
    if (page->fields.count == 0)
        return true;
    json_array_foreach(page->items, i, item)
    {
        if (json_array_set_new(page->items, i, page_fields_pick(&page->fields, item)) != 0)
            return false;
    }
    return true;
}

static bool reply_csv(struct page *page, const char *token)
{
    OWN(str) char *text = page_csv(&page->fields, page->members, page->items);
    if (text == NULL)
        return false;
    if (token != NULL)
        request_set_header(page->request, "X-Next-Page-Token", token);
    request_reply_text(page->request, 200, CSV_TYPE, text, strlen(text));
    return true;
}

static bool reply_json(struct page *page, const char *token)
{
    json_t *answer = page->extra != NULL ? GIVE(page->extra) : json_object();
    bool ok = json_object_set_new(answer, "items", GIVE(page->items)) == 0;
    if (token != NULL)
        ok = ok && json_object_set_new(answer, "next_page_token", json_string(token)) == 0;
    if (ok)
        request_reply_json(page->request, 200, GIVE(answer), NULL, NULL);
    json_decref(answer);
    return ok;
}

void page_reply(struct page *page)
{
    char sealed[PAGE_TOKEN_SIZE];
    const char *token = page->more ? sealed : NULL;
    if (page->more)
        page_token_seal(page->app->page_key, page->bound, page->last, sealed);
    if (!pick_fields(page) || !(page->as_csv ? reply_csv(page, token) : reply_json(page, token))) {
        struct err err = ERR_INIT;
        err_nomem(&err);
        request_reply_err(page->request, &err);
    }
    page_free(page);
}

static void done(void *arg, enum err_code code, const struct err *err)
{
    struct page *page = arg;
    if (code == ERR_OK) {
        page_reply(page);
        return;
    }
    request_reply_err(page->request, err);
    page_free(page);
}

void page_submit(struct page *page)
{
    struct err err = ERR_INIT;
    if (db_read(page->app->db, read_page, done, page, &err) != ERR_OK) {
        request_reply_err(page->request, &err);
        page_free(page);
    }
}

void key_before(const char *name, char out[PAGE_KEY_SIZE])
{
    size_t len = strlen(name);
    snprintf(out, PAGE_KEY_SIZE, "%s", name);
    out[len - 1]--;
    memset(out + len, '~', NAME_SIZE);
    out[len + NAME_SIZE] = '\0';
}
