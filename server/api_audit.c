/*
 * server/api_audit.c - who changed what, whether the log is whole, and which nodes have answered to
 * a change. A tenant's caller sees the rows of its own tenant only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "server/api.h"
#include "server/event.h"
#include "server/page.h"

/* What a row says of a state: an object, or a word. */
static void set_state(json_t *item, const char *key, const char *text)
{
    json_t *value = text[0] == '{' ? json_loads(text, 0, NULL) : NULL;
    if (value != NULL)
        json_object_set_new(item, key, value);
    else
        api_set_text(item, key, text);
}

/* "token:ID user:NAME": who of the staff it was is not for a tenant (`own`; NULL = staff asks). */
static void set_user(json_t *item, const char *actor, const char *own)
{
    const char *user = strstr(actor, " user:");
    const char *at = user == NULL ? NULL : strrchr(user, '@');
    if (user == NULL)
        user = strncmp(actor, "user:", 5) == 0 ? actor - 1 : NULL;
    else if (own != NULL && (at == NULL || strcmp(at + 1, own) != 0))
        user = NULL;
    if (user != NULL)
        api_set_text(item, "user", user + strlen(" user:"));
}

static json_t *row_to_json(const struct db_audit *row, const char *own)
{
    json_t *item =
        json_pack("{sI, ss%, ss, ss}", "id", (json_int_t)row->id, "actor", row->actor,
                  strcspn(row->actor, " "), "action", row->action, "subject", row->subject);
    if (item == NULL)
        return NULL;
    set_user(item, row->actor, own);
    api_set_time(item, "time", row->time_us);
    api_set_text(item, "request_id", row->request_id);
    api_set_text(item, "reason", row->reason);
    set_state(item, "before", row->before);
    set_state(item, "after", row->after);
    if (row->generation != 0)
        json_object_set_new(item, "generation", json_integer((json_int_t)row->generation));
    api_set_text(item, "prev_hash", row->prev_hash);
    api_set_text(item, "hash", row->hash);
    return item;
}

/* The list ------------------------------------------------------------------------------------- */

static bool on_audit(void *arg, const struct db_audit *row)
{
    struct page *page = arg;
    return page_add(page, row_to_json(row, api_own_tenant(page->request)), "%lld",
                    (long long)row->id);
}

static bool read_time(const struct request *request, const char *key, int64_t *out)
{
    const char *text = request_query(request, key);
    return text == NULL || clock_parse(text, out);
}

/* False: a time is none. */
static bool filter_read(const struct request *request, struct audit_filter *out)
{
    *out = (struct audit_filter){.tenant = api_own_tenant(request),
                                 .actor = request_query(request, "actor"),
                                 .action = request_query(request, "action"),
                                 .request_id = request_query(request, "request_id"),
                                 .subject = request_query(request, "subject")};
    /* Nor is what a person of the staff did by a token. */
    const char *at = out->actor == NULL ? NULL : strrchr(out->actor, '@');
    out->principal_only = out->tenant != NULL && (at == NULL || strcmp(at + 1, out->tenant) != 0);
    return read_time(request, "since", &out->since_us) &&
           read_time(request, "until", &out->until_us);
}

static enum err_code read_audit(struct db_ro *ro, struct page *page, struct err *err)
{
    struct audit_filter filter;
    int64_t own_us;
    filter_read(page->request, &filter); /* the handler has seen that it can be read */
    enum err_code code = api_own_since(ro, page->request, &own_us, err);
    if (code != ERR_OK)
        return code;
    filter.since_us = filter.since_us > own_us ? filter.since_us : own_us;
    return audit_list(ro, &filter, page->after_number, page_limit(page), on_audit, page, err);
}

void api_audit_list(struct request *request)
{
    struct audit_filter filter;
    if (!filter_read(request, &filter)) {
        request_reply_problem(request, 400, "invalid-parameter", NULL, NULL,
                              "since and until are times such as 2026-01-02T03:04:05Z");
        return;
    }
    struct page *page = page_new(request, read_audit);
    if (page != NULL)
        page_submit(page);
}

/* The chain ------------------------------------------------------------------------------------ */

struct verifying {
    struct request *request;
    struct audit_check check;
};

static enum err_code read_chain(struct db_ro *ro, void *arg, struct err *err)
{
    struct verifying *verifying = arg;
    return audit_verify(ro, &verifying->check, err);
}

static void on_verified(void *arg, enum err_code code, const struct err *err)
{
    struct verifying *verifying = arg;
    const struct audit_check *check = &verifying->check;
    bool whole = check->bad_id == 0 && (check->anchor_id == 0 || check->anchored);
    if (code != ERR_OK) {
        request_reply_err(verifying->request, err);
        return;
    }
    json_t *answer =
        json_pack("{sb, sI, s{sI, ss}}", "valid", whole, "rows", (json_int_t)check->rows, "head",
                  "id", (json_int_t)check->rows, "hash", check->head);
    if (answer != NULL && check->bad_id != 0)
        json_object_set_new(
            answer, "first_bad",
            json_pack("{sI, ss}", "id", (json_int_t)check->bad_id, "problem", check->problem));
    if (answer != NULL && check->anchor_id != 0)
        json_object_set_new(
            answer, "anchor",
            json_pack("{sI, sb}", "id", (json_int_t)check->anchor_id, "found", check->anchored));
    if (answer != NULL && check->rows > 0) {
        char text[sizeof(check->head) + 24];
        snprintf(text, sizeof(text), "%lld:%s", (long long)check->rows, check->head);
        json_object_set_new(answer, "anchor_next", json_string(text));
    }
    request_reply_json(verifying->request, 200, answer, NULL, NULL);
}

/* "ID:sha256:..." */
static bool anchor_read(const char *text, struct audit_check *out)
{
    static const char prefix[] = "sha256:";
    const char *colon = strchr(text, ':');
    char id[24];
    if (colon == NULL || (size_t)(colon - text) >= sizeof(id))
        return false;
    snprintf(id, sizeof(id), "%.*s", (int)(colon - text), text);
    const char *hash = colon + 1, *digits = hash + sizeof(prefix) - 1;
    if (strlen(hash) != DIGEST_TEXT_MAX - 1 || strncmp(hash, prefix, sizeof(prefix) - 1) != 0 ||
        digits[strspn(digits, "0123456789abcdef")] != '\0')
        return false;
    memcpy(out->anchor, hash, DIGEST_TEXT_MAX);
    return event_id_parse(id, &out->anchor_id) && out->anchor_id > 0;
}

void api_audit_verify(struct request *request)
{
    struct app *app = request_app(request);
    struct err err = ERR_INIT;
    const char *anchor = request_query(request, "anchor");
    struct verifying *verifying = api_alloc(request, sizeof(*verifying));
    if (verifying == NULL)
        return;
    request_own(request, verifying, free);
    verifying->request = request;
    if (anchor != NULL && !anchor_read(anchor, &verifying->check)) {
        request_reply_problem(request, 400, "invalid-parameter", NULL, NULL,
                              "anchor is the anchor_next of an earlier answer: ID:sha256:DIGITS");
        return;
    }
    if (db_read(app->db, read_chain, on_verified, verifying, &err) != ERR_OK)
        request_reply_err(request, &err);
}

/* Receipts ------------------------------------------------------------------------------------- */

struct change_look {
    json_t *row; /* owned */
    int64_t generation;
};

static bool take_row(void *arg, const struct db_audit *row)
{
    struct change_look *look = arg;
    look->row = json_pack("{so}", "audit", row_to_json(row, NULL));
    look->generation = row->generation;
    return false;
}

static bool on_receipt(void *arg, const struct db_receipt *row)
{
    struct page *page = arg;
    json_t *item = json_pack("{ss, sI, sI, ss, ss, ss, sb}", "node", row->node, "id",
                             (json_int_t)row->id, "generation", (json_int_t)row->generation,
                             "result", row->result, "digest", row->digest, "observed",
                             row->observed, "equal", strcmp(row->digest, row->observed) == 0);
    if (item != NULL)
        api_set_time(item, "received", row->received_us);
    return page_add(page, item, "%s", row->node);
}

static enum err_code read_receipts(struct db_ro *ro, struct page *page, struct err *err)
{
    int64_t id = 0;
    if (!event_id_parse(request_param(page->request, 0), &id))
        return err_set(err, ERR_NOT_FOUND, "there is no such audit row");
    struct change_look look = {.row = NULL};
    enum err_code code = audit_get(ro, id, take_row, &look, err);
    page->extra = look.row;
    if (code != ERR_OK || look.generation == 0)
        return code; /* no change of the desired state: no node has to answer */
    return receipts_since(ro, look.generation, page->after, page_limit(page), on_receipt, page,
                          err);
}

void api_audit_receipts(struct request *request)
{
    struct page *page = page_new(request, read_receipts);
    if (page != NULL)
        page_submit(page);
}
