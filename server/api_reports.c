/*
 * server/api_reports.c - what nodes said: inventory, state, receipts, as they are in the store.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api.h"
#include "server/page.h"
#include "server/pipeline.h"

enum report_part {
    REPORT_INVENTORY,
    REPORT_STATE,
};

struct report {
    struct request *request;
    enum report_part part;
    char node[NAME_SIZE];
    char *text; /* owned copy */
    int64_t received_us;
    bool no_memory;
};

static bool on_node(void *arg, const struct db_node *row)
{
    struct report *report = arg;
    const char *body = report->part == REPORT_STATE ? row->state : row->inventory;
    if (strcmp(row->name, report->node) == 0 && body != NULL) {
        report->text = strdup(body);
        report->received_us = row->state_us;
        report->no_memory = report->text == NULL;
    }
    return false;
}

static enum err_code read_report(struct db_ro *ro, void *arg, struct err *err)
{
    struct report *report = arg;
    char before[PAGE_KEY_SIZE];
    key_before(report->node, before);
    enum err_code code = node_list(ro, before, 1, on_node, report, err);
    return code == ERR_OK && report->no_memory ? err_nomem(err) : code;
}

static const char *why_missing(const struct report *report)
{
    struct app *app = request_app(report->request);
    if (!status_has(app->status, report->node))
        return "there is no such node";
    if (report->part == REPORT_INVENTORY)
        return "the node has not reported what it is made of yet: is its agent running?";
    return "the node has told no state yet: its agent tells it at the next of its checks, about "
           "one a minute, once the node follows a plan and every receipt is told: is its agent "
           "running?";
}

/* Beside what the node said: when, and whether it is of the plan that the node has now. */
static json_t *state_document(const struct report *report)
{
    struct app *app = request_app(report->request);
    json_t *document = json_loads(report->text, 0, NULL);
    const json_t *of = json_object_get(document, "of");
    api_set_time(document, "received", report->received_us);
    if (of == NULL)
        return document;
    int64_t revision = 0;
    OWN(json)
    json_t *node =
        status_get(app->status, report->node, app->clock->wall_us(app->clock), &revision);
    const json_t *now = json_object_get(node, "released");
    if (now == NULL)
        now = json_object_get(node, "digest");
    api_set_time(document, "observed", json_integer_value(json_object_get(of, "time_us")));
    json_object_set_new(document, "current",
                        json_boolean(json_equal(now, json_object_get(of, "digest"))));
    return document;
}

static void done(void *arg, enum err_code code, const struct err *err)
{
    struct report *report = arg;
    if (code != ERR_OK)
        request_reply_err(report->request, err);
    else if (report->text == NULL)
        request_reply_problem(report->request, 404, "not-found", NULL, NULL, "%s",
                              why_missing(report));
    else if (report->part == REPORT_STATE)
        request_reply_json(report->request, 200, state_document(report), NULL, NULL);
    else
        request_reply_text(report->request, 200, "application/json", report->text,
                           strlen(report->text));
    free(report->text);
    free(report);
}

static void start(struct request *request, enum report_part part)
{
    struct app *app = request_app(request);
    struct err err = ERR_INIT;
    if (!api_check_name(request, request_param(request, 0), "node"))
        return;
    struct report *report = api_alloc(request, sizeof(*report));
    if (report == NULL)
        return;
    report->request = request;
    report->part = part;
    snprintf(report->node, sizeof(report->node), "%s", request_param(request, 0));
    enum err_code code = db_read(app->db, read_report, done, report, &err);
    if (code != ERR_OK)
        done(report, code, &err);
}

void api_node_state(struct request *request)
{
    start(request, REPORT_STATE);
}

void api_node_inventory(struct request *request)
{
    start(request, REPORT_INVENTORY);
}

static bool on_receipt(void *arg, const struct db_receipt *row)
{
    struct page *page = arg;
    json_t *item =
        json_pack("{sI, so}", "id", (json_int_t)row->id, "receipt", json_loads(row->body, 0, NULL));
    if (item != NULL)
        api_set_time(item, "received", row->received_us);
    return page_add(page, item, "%lld", (long long)row->id);
}

static enum err_code read_receipts(struct db_ro *ro, struct page *page, struct err *err)
{
    return receipt_list(ro, page->subject, page->after_number, page_limit(page), on_receipt, page,
                        err);
}

void api_node_receipts(struct request *request)
{
    const char *node = request_param(request, 0);
    if (!api_check_node(request, node))
        return;
    struct page *page = page_new(request, read_receipts);
    if (page == NULL)
        return;
    snprintf(page->subject, sizeof(page->subject), "%s", node);
    page_submit(page);
}
