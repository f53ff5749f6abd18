/*
 * server/event.c - see event.h.
 */
#include "server/event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "server/api.h"

#define EVENT_ID_DIGITS_MAX 18
#define EVENT_FRAME_MAX     (128 + CLOCK_TEXT_MAX + 2 * TEXT_NUMBER_MAX) /* without the texts */

/* "tenant/a" holds itself and "tenant/a/policy", not "tenant/ab". */
static bool is_below(const char *subject, const char *top, size_t top_len)
{
    return strncmp(subject, top, top_len) == 0 &&
           (subject[top_len] == '\0' || subject[top_len] == '/');
}

static bool kind_fits(const char *wanted, const char *kind)
{
    size_t len = strlen(wanted);
    if (len >= 2 && strcmp(wanted + len - 2, ".*") == 0)
        return strncmp(kind, wanted, len - 1) == 0;
    return strcmp(kind, wanted) == 0;
}

/* "user/NAME" or below it, behind "tenant/T/" too. */
static bool is_of_user(const char *subject, const char *user)
{
    if (strncmp(subject, "tenant/", 7) == 0) {
        subject = strchr(subject + 7, '/');
        if (subject++ == NULL)
            return false;
    }
    return user[0] != '\0' && strncmp(subject, "user/", 5) == 0 &&
           is_below(subject + 5, user, strlen(user));
}

static bool is_of_people(const char *kind)
{
    static const char *const kinds[] = {"user.", "token.", "session."};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strncmp(kind, kinds[i], strlen(kinds[i])) == 0)
            return true;
    return false;
}

bool event_filter_takes(const struct event_filter *filter, const struct db_event *event)
{
    static const char top[] = "tenant/";
    if (event->time_us < filter->since_us)
        return false;
    if (filter->tenant[0] != '\0' &&
        (strncmp(event->subject, top, sizeof(top) - 1) != 0 ||
         !is_below(event->subject + sizeof(top) - 1, filter->tenant, strlen(filter->tenant))))
        return false;
    if (!filter->manages_people && is_of_people(event->kind) &&
        !is_of_user(event->subject, filter->user))
        return false;
    if (filter->subject[0] != '\0' &&
        !is_below(event->subject, filter->subject, strlen(filter->subject)))
        return false;
    size_t i = 0;
    while (i < filter->kind_count && !kind_fits(filter->kinds[i], event->kind))
        i++;
    return filter->kind_count == 0 || i < filter->kind_count;
}

bool event_filter_is_set(const struct event_filter *filter)
{
    return filter->tenant[0] != '\0' || filter->subject[0] != '\0' || filter->kind_count > 0 ||
           !filter->manages_people;
}

/* Letters, digits, '.', '-' and a last ".*". */
static bool is_kind(const char *text, size_t len)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";
    if (len >= 2 && memcmp(text + len - 2, ".*", 2) == 0)
        len -= 2;
    return len > 0 && strspn(text, letters) >= len;
}

static bool kinds_read(struct request *request, const char *text, struct event_filter *out)
{
    for (const char *p = text; *p != '\0';) {
        size_t len = strcspn(p, ",");
        if (out->kind_count == EVENT_KINDS_MAX || len >= EVENT_KIND_SIZE || !is_kind(p, len)) {
            request_reply_problem(request, 400, "invalid-parameter", NULL, NULL,
                                  "kinds takes at most %d kinds of events, with commas: "
                                  "policy.changed,node.*",
                                  EVENT_KINDS_MAX);
            return false;
        }
        memcpy(out->kinds[out->kind_count], p, len);
        out->kinds[out->kind_count++][len] = '\0';
        p += len;
        p += *p == ',' ? 1 : 0;
    }
    return true;
}

bool event_filter_read(struct request *request, struct event_filter *out)
{
    const char *kinds = request_query(request, "kinds"), *tenant = api_own_tenant(request);
    const char *subject = request_query(request, "subject");
    const struct principal *who = request_principal(request);
    memset(out, 0, sizeof(*out));
    out->manages_people = who->role == ROLE_ADMIN || who->role == ROLE_TENANT_ADMIN;
    snprintf(out->user, sizeof(out->user), "%s", who->user);
    if (tenant != NULL)
        snprintf(out->tenant, sizeof(out->tenant), "%s", tenant);
    if (subject != NULL && (subject[0] == '\0' || strlen(subject) >= sizeof(out->subject) ||
                            subject[strlen(subject) - 1] == '/')) {
        request_reply_problem(request, 400, "invalid-parameter", NULL, NULL,
                              "subject takes what an event is about, such as tenant/a or node/n1");
        return false;
    }
    if (subject != NULL)
        memcpy(out->subject, subject, strlen(subject) + 1);
    return kinds == NULL || kinds_read(request, kinds, out);
}

json_t *event_to_json(const struct db_event *event)
{
    json_t *item = json_pack("{sI, ss, ss, so}", "id", (json_int_t)event->id, "kind", event->kind,
                             "subject", event->subject, "body", json_loads(event->body, 0, NULL));
    if (item != NULL) {
        api_set_time(item, "time", event->time_us);
        api_set_text(item, "request_id", event->request_id);
    }
    return item;
}

/* ,"KEY":"VALUE"; our kinds, subjects, request ids and times need no escapes. */
static char *put_member(char *at, const char *key, const char *value)
{
    if (value[0] == '\0')
        return at;
    at = text_put(text_put(text_put(at, ",\""), key), "\":\"");
    return text_put(text_put(at, value), "\"");
}

/* What json_canonical(event_to_json()) would give, without the tree: the writer thread makes one of
 * each change, also when nobody listens, for those who come back. The body is canonical already. */
struct blob *event_to_blob(const struct db_event *event)
{
    char time[CLOCK_TEXT_MAX] = "";
    size_t room = EVENT_FRAME_MAX + strlen(event->body) + strlen(event->kind) +
                  strlen(event->subject) + strlen(event->request_id);
    char *text = malloc(room), *at;
    if (text == NULL)
        return NULL;
    if (event->time_us != 0)
        clock_format(event->time_us, time);
    at = text_put(text_put_number(text_put(text, "id: "), event->id), "\ndata: {\"body\":");
    at = text_put_number(text_put(text_put(at, event->body), ",\"id\":"), event->id);
    at = put_member(at, "kind", event->kind);
    at = put_member(at, "request_id", event->request_id);
    at = put_member(at, "subject", event->subject);
    at = text_put(put_member(at, "time", time), "}\n\n");
    return blob_new(text, (size_t)(at - text), "", "text/event-stream");
}

bool event_id_parse(const char *text, int64_t *out)
{
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > EVENT_ID_DIGITS_MAX || text[digits] != '\0')
        return false;
    *out = strtoll(text, NULL, 10);
    return true;
}
