/*
 * server/api_events.c - what happened: pages of the log as JSON, or a stream that goes on. A
 * tenant's caller sees the events of its own tenant only.
 */
#include <stdio.h>
#include <string.h>

#include "server/api.h"
#include "server/event.h"
#include "server/page.h"

#define EVENT_SCANS_MAX 10 /* pages of DB_PAGE_MAX looked through for one answer */

struct event_scan {
    struct page *page;
    struct event_filter filter;
    int64_t last; /* id looked at */
    int rows;     /* of this page of the store */
    bool full;
};

static bool on_event(void *arg, const struct db_event *row)
{
    struct event_scan *scan = arg;
    struct page *page = scan->page;
    scan->rows++;
    if (event_filter_takes(&scan->filter, row)) {
        if (json_array_size(page->items) == (size_t)page->size) {
            scan->full = page->more = true;
            return false;
        }
        page_add(page, event_to_json(row), "%lld", (long long)row->id);
    }
    scan->last = row->id;
    return true;
}

static enum err_code read_events(struct db_ro *ro, struct page *page, struct err *err)
{
    struct event_scan scan = {.page = page, .last = page->after_number};
    event_filter_read(page->request, &scan.filter); /* the handler has seen that it can be read */
    enum err_code code = api_own_since(ro, page->request, &scan.filter.since_us, err);
    for (int i = 0; i < EVENT_SCANS_MAX && code == ERR_OK && !scan.full; i++) {
        scan.rows = 0;
        /* Without a filter the page's own size is enough. */
        int limit = event_filter_is_set(&scan.filter) ? DB_PAGE_MAX : page_limit(page);
        code = event_list(ro, scan.last, limit, on_event, &scan, err);
        if (scan.rows < limit || json_array_size(page->items) == (size_t)page->size)
            break;
    }
    page->extra = json_pack("{sI}", "last", (json_int_t)scan.last);
    return page->extra == NULL && code == ERR_OK ? err_nomem(err) : code;
}

/* Accept names streams; ranges with a star stay with JSON. */
static bool wants_stream(const struct request *request)
{
    static const char type[] = "text/event-stream";
    const char *accept = request_header(request, "Accept");
    const char *at = accept == NULL ? NULL : strcasestr(accept, type);
    return at != NULL && strchr(" \t,;", at[sizeof(type) - 1]) != NULL;
}

void api_events_list(struct request *request)
{
    struct app *app = request_app(request);
    struct event_filter filter;
    bool stream = wants_stream(request);
    const char *after = request_query(request, "after");
    const char *last = stream ? request_header(request, "Last-Event-ID") : NULL;
    int64_t id = -1;
    if (last != NULL) /* of a client that comes again to the same address */
        after = last;
    if (after != NULL && !event_id_parse(after, &id)) {
        request_reply_problem(request, 400, "invalid-parameter", NULL, NULL,
                              "%s is the number of an event",
                              last != NULL ? "Last-Event-ID" : "after");
        return;
    }
    if (!event_filter_read(request, &filter))
        return;
    if (stream) {
        event_hub_open(app->events, app->db, request, &filter, id);
        return;
    }
    struct page *page = page_new(request, read_events);
    if (page == NULL)
        return;
    if (after != NULL && page->after[0] == '\0') /* else the token goes on from where it was */
        page->after_number = id;
    page_submit(page);
}
