/*
 * server/api_operations.c - long work: what runs, what came of it, and stopping it.
 */
#include <stdlib.h>
#include <string.h>

#include "server/api.h"
#include "server/operations.h"
#include "server/page.h"

static bool on_operation(void *arg, const struct db_operation *row)
{
    struct page *page = arg;
    return page_add(page, operations_to_json(page->app->operations, row), "%s", row->id);
}

static enum err_code read_operations(struct db_ro *ro, struct page *page, struct err *err)
{
    return operation_list(ro, page->after, page_limit(page), on_operation, page, err);
}

void api_operations_list(struct request *request)
{
    struct page *page = page_new(request, read_operations);
    if (page != NULL)
        page_submit(page);
}

struct one {
    struct request *request;
    struct app *app;
    json_t *answer; /* owned */
    enum operations_cancel cancel;
    bool cancels;
};

static bool on_one(void *arg, const struct db_operation *row)
{
    struct one *one = arg;
    one->answer = operations_to_json(one->app->operations, row);
    return false;
}

static enum err_code read_one(struct db_ro *ro, void *arg, struct err *err)
{
    struct one *one = arg;
    enum err_code code = operation_get(ro, request_param(one->request, 0), on_one, one, err);
    return code == ERR_OK && one->answer == NULL ? err_nomem(err) : code;
}

static void done(void *arg, enum err_code code, const struct err *err)
{
    struct one *one = arg;
    if (code == ERR_NOT_FOUND)
        request_reply_problem(one->request, 404, "not-found", NULL, NULL,
                              "there is no such operation");
    else if (code != ERR_OK)
        request_reply_err(one->request, err);
    else if (one->cancels && one->cancel == OPERATIONS_TOO_LATE)
        request_reply_problem(one->request, 409, "too-late", NULL, NULL,
                              "the operation is being stored; it cannot be cancelled any more");
    else if (one->cancels && one->cancel == OPERATIONS_NOT_HERE)
        request_reply_problem(one->request, 409, "operation-finished", NULL, NULL,
                              "the operation has ended; there is nothing to cancel");
    else
        request_reply_json(one->request, one->cancels ? 202 : 200, GIVE(one->answer), NULL, NULL);
    json_decref(one->answer);
    free(one);
}

static void start(struct request *request, bool cancels)
{
    struct err err = ERR_INIT;
    struct one *one = api_alloc(request, sizeof(*one));
    if (one == NULL)
        return;
    one->request = request;
    one->app = request_app(request);
    one->cancels = cancels;
    if (cancels)
        one->cancel = operations_cancel(one->app->operations, request_param(request, 0));
    if (db_read(one->app->db, read_one, done, one, &err) != ERR_OK)
        done(one, err.code, &err);
}

void api_operation_get(struct request *request)
{
    start(request, false);
}

void api_operation_cancel(struct request *request)
{
    start(request, true);
}
