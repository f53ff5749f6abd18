#pragma once
/*
 * server/event.h - an event as callers see it: which ones a caller wants and may see, its JSON, and
 * its text in a stream (text/event-stream, HTML Living Standard 9.2). Pure, but for the refusal of
 * a request's parameters.
 */

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "db/tables.h"
#include "fleet/name.h"
#include "server/http.h"

#define EVENT_KINDS_MAX    16
#define EVENT_KIND_SIZE    48
#define EVENT_SUBJECT_SIZE 192
#define EVENT_USER_SIZE    100

/*
 * Events of people ("user.changed", "token.changed", "session.changed") are for who manages them
 * and for the person: their subject is "user/NAME" or below it, or "token/ID" of nobody's token; of
 * a tenant's below "tenant/T/".
 */
struct event_filter {
    char tenant[NAME_SIZE];     /* only what is below "tenant/T"; "" = all */
    bool manages_people;        /* sees the events of all people that it sees at all */
    char user[EVENT_USER_SIZE]; /* whose own events it sees; "" = nobody's */
    int64_t since_us; /* nothing older: it tells of another tenant that had the name before */
    size_t kind_count;
    char kinds[EVENT_KINDS_MAX][EVENT_KIND_SIZE]; /* "policy.changed", "node.*"; none = all */
    char subject[EVENT_SUBJECT_SIZE];             /* it and what is below it; "" = all */
};

/* Of ?kinds=, ?subject=, the caller's tenant and who it is; since_us stays 0. False: 400 is
 * replied. */
bool event_filter_read(struct request *request, struct event_filter *out);
bool event_filter_takes(const struct event_filter *filter, const struct db_event *event);
/* Whether any filter but "all" is set. */
bool event_filter_is_set(const struct event_filter *filter);

/* {"body","id","kind","request_id"?,"subject","time"}; NULL = no memory. */
json_t *event_to_json(const struct db_event *event);
/* "id: N\ndata: JSON\n\n"; NULL = no memory. */
struct blob *event_to_blob(const struct db_event *event);
/* The number of an event in a header or parameter; false = it is none. */
bool event_id_parse(const char *text, int64_t *out);
