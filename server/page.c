/*
 * server/page.c - see page.h.
 */
#include "server/page.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

static bool parse_size(const char *text, int *out)
{
    char *end;
    if (text[0] < '0' || text[0] > '9' || strlen(text) > 4)
        return false;
    long value = strtol(text, &end, 10);
    *out = (int)value;
    return *end == '\0' && value >= 1 && value <= DB_PAGE_MAX;
}

static bool parse_token(const char *text, char out[PAGE_KEY_SIZE])
{
    size_t len = strlen(text);
    if (len == 0 || len % 2 != 0 || len / 2 >= PAGE_KEY_SIZE)
        return false;
    for (size_t i = 0; i < len / 2; i++) {
        int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);
        if (high < 0 || low < 0 || (high == 0 && low == 0))
            return false;
        out[i] = (char)(high * 16 + low);
    }
    out[len / 2] = '\0';
    return true;
}

struct page *page_new(struct request *request,
                      enum err_code (*read)(struct db_ro *ro, struct page *page, struct err *err))
{
    const char *size = request_query(request, "page_size");
    const char *token = request_query(request, "page_token");
    struct page *page = calloc(1, sizeof(*page));
    struct err err = ERR_INIT;
    if (page == NULL || (page->items = json_array()) == NULL) {
        free(page);
        err_nomem(&err);
        request_reply_err(request, &err);
        return NULL;
    }
    page->app = request_app(request);
    page->request = request;
    page->read = read;
    page->size = PAGE_SIZE_DEFAULT;
    if (size != NULL && !parse_size(size, &page->size)) {
        request_reply_problem(request, 400, "invalid-parameter", NULL, NULL,
                              "page_size is a number from 1 to %d", DB_PAGE_MAX);
    } else if (token != NULL && !parse_token(token, page->after)) {
        request_reply_problem(request, 400, "invalid-parameter", NULL, NULL,
                              "page_token is none that this server gave; start the list anew");
    } else {
        page->after_number = strtoll(page->after, NULL, 10);
        return page;
    }
    page_free(page);
    return NULL;
}

void page_free(struct page *page)
{
    if (page == NULL)
        return;
    json_decref(page->items);
    json_decref(page->extra);
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

static void done(void *arg, enum err_code code, const struct err *err)
{
    struct page *page = arg;
    if (code != ERR_OK) {
        request_reply_err(page->request, err);
        page_free(page);
        return;
    }
    json_t *answer = page->extra != NULL ? GIVE(page->extra) : json_object();
    json_object_set_new(answer, "items", GIVE(page->items));
    if (page->more) {
        char token[2 * PAGE_KEY_SIZE];
        hex_encode(page->last, strlen(page->last), token);
        json_object_set_new(answer, "next_page_token", json_string(token));
    }
    request_reply_json(page->request, 200, answer, NULL, NULL);
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
