/*
 * server/api_log.c - who changed what (audit) and what happened (events). A tenant's caller sees
 * the rows of its own tenant only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api.h"
#include "server/page.h"

#define EVENT_SCANS_MAX 10 /* pages of DB_PAGE_MAX looked through for one answer */

static bool on_audit(void *arg, const struct db_audit *row)
{
    struct page *page = arg;
    if (row->time_us < page->since_us)
        return false;
    json_t *item = json_pack("{sI, ss, ss, ss}", "id", (json_int_t)row->id, "actor", row->actor,
                             "action", row->action, "subject", row->subject);
    if (item != NULL) {
        api_set_time(item, "time", row->time_us);
        api_set_text(item, "request_id", row->request_id);
        api_set_text(item, "reason", row->reason);
        api_set_text(item, "before", row->before);
        api_set_text(item, "after", row->after);
        api_set_text(item, "prev_hash", row->prev_hash);
        api_set_text(item, "hash", row->hash);
    }
    return page_add(page, item, "%lld", (long long)row->id);
}

static enum err_code read_audit(struct db_ro *ro, struct page *page, struct err *err)
{
    const struct audit_filter filter = {.tenant = page->subject[0] == '\0' ? NULL : page->subject};
    enum err_code code = api_own_since(ro, page->request, &page->since_us, err);
    if (code != ERR_OK)
        return code;
    return audit_list(ro, &filter, page->after_number, page_limit(page), on_audit, page, err);
}

static void own_only(struct page *page)
{
    const char *tenant = api_own_tenant(page->request);
    if (tenant != NULL)
        snprintf(page->subject, sizeof(page->subject), "%s", tenant);
}

void api_audit_list(struct request *request)
{
    struct page *page = page_new(request, read_audit);
    if (page == NULL)
        return;
    own_only(page);
    page_submit(page);
}

struct event_scan {
    struct page *page;
    int64_t last; /* id looked at */
    int rows;     /* of this page of the store */
    bool full;
};

static bool is_seen(const struct page *page, const char *subject)
{
    size_t len = strlen(page->subject);
    if (len == 0)
        return true;
    return strncmp(subject, "tenant/", 7) == 0 && strncmp(subject + 7, page->subject, len) == 0 &&
           (subject[7 + len] == '\0' || subject[7 + len] == '/');
}

static bool on_event(void *arg, const struct db_event *row)
{
    struct event_scan *scan = arg;
    struct page *page = scan->page;
    scan->rows++;
    if (row->time_us >= page->since_us && is_seen(page, row->subject)) {
        if (json_array_size(page->items) == (size_t)page->size) {
            scan->full = true;
            return false;
        }
        json_t *item = json_pack("{sI, ss, ss, so}", "id", (json_int_t)row->id, "kind", row->kind,
                                 "subject", row->subject, "body", json_loads(row->body, 0, NULL));
        if (item != NULL)
            api_set_time(item, "time", row->time_us);
        page_add(page, item, "%lld", (long long)row->id);
    }
    scan->last = row->id;
    return true;
}

static enum err_code read_events(struct db_ro *ro, struct page *page, struct err *err)
{
    struct event_scan scan = {.page = page, .last = page->after_number};
    enum err_code code = api_own_since(ro, page->request, &page->since_us, err);
    for (int i = 0; i < EVENT_SCANS_MAX && code == ERR_OK && !scan.full; i++) {
        scan.rows = 0;
        /* Without a filter the page's own size is enough. */
        int limit = page->subject[0] == '\0' ? page_limit(page) : DB_PAGE_MAX;
        code = event_list(ro, scan.last, limit, on_event, &scan, err);
        if (scan.rows < limit || json_array_size(page->items) == (size_t)page->size)
            break;
    }
    page->extra = json_pack("{sI}", "last", (json_int_t)scan.last);
    return page->extra == NULL && code == ERR_OK ? err_nomem(err) : code;
}

void api_events_list(struct request *request)
{
    const char *after = request_query(request, "after");
    struct page *page = page_new(request, read_events);
    if (page == NULL)
        return;
    own_only(page);
    if (after != NULL) {
        char *end;
        page->after_number = strtoll(after, &end, 10);
        if (after[0] < '0' || after[0] > '9' || *end != '\0') {
            request_reply_problem(request, 400, "invalid-parameter", NULL, NULL,
                                  "after is the number of an event");
            page_free(page);
            return;
        }
    }
    page_submit(page);
}
