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

struct event_filter {
    char tenant[NAME_SIZE]; /* only what is below "tenant/T"; "" = all */
    int64_t since_us;       /* nothing older: it tells of another tenant that had the name before */
    size_t kind_count;
    char kinds[EVENT_KINDS_MAX][EVENT_KIND_SIZE]; /* "policy.changed", "node.*"; none = all */
    char subject[EVENT_SUBJECT_SIZE];             /* it and what is below it; "" = all */
};

/* Of ?kinds=, ?subject= and the caller's tenant; since_us stays 0. False: 400 is replied. */
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
