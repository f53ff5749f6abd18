/*
 * server/api_audit.c - who changed what. A tenant's caller sees the rows of its own tenant only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api.h"
#include "server/page.h"

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
