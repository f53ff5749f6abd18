#pragma once
/*
 * server/event_hub.h - events to the callers that listen: GET /v1/events as a stream.
 *
 * Each event is encoded once, after its commit, into a ring (event_ring.h). A client is a cursor in
 * it: what it takes is looked for when its connection can take more, so a thousand clients cost a
 * thousand wake-ups and no copies. A client that is behind the ring reads from the store, a page at
 * a time, until it has caught up; one that asks for what the store has dropped, or for what has not
 * happened, hears "event: resync" and goes on from now. So nothing is lost and nothing comes twice.
 *
 *   writer thread: event_hub_add() per event, event_hub_poke()  --> ring
 *   hub thread:    wakes clients for which there is something; beats; ends those without rights
 *   HTTP threads:  take from the ring, or from the page read for them
 *   reader threads: pages of the store
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/own.h"
#include "db/db.h"
#include "server/event.h"
#include "server/http.h"

#define EVENT_STREAMS_MAX           4096
#define EVENT_STREAMS_PRINCIPAL_MAX 64
#define EVENT_PAGE_EVENTS           256 /* read from the store at a time */
#define EVENT_PAGE_BYTES_MAX        (256 * 1024)
#define EVENT_HEARTBEAT_NS          (15 * NS_PER_S)
#define EVENT_TOUCH_NS              (60 * NS_PER_S) /* an open stream is use of its credential */
#define EVENT_RETRY_MS              2000 /* what clients are told to wait before they come again */

struct event_hub;

struct event_hub_config {
    struct clock *clock;
    void *app;
    /* A number that changes when rights may have ended; any thread. */
    uint64_t (*rights_version)(void *app);
    /* Whether the principal's credential still stands (expiry is the hub's); any thread. */
    bool (*is_alive)(void *app, const struct principal *who);
    /* Its stream is in use: it has taken something in the last EVENT_TOUCH_NS; any thread. */
    void (*touch)(void *app, const struct principal *who);
    int64_t heartbeat_ns; /* 0 = EVENT_HEARTBEAT_NS; for tests */
};

ERR_MUST_CHECK enum err_code event_hub_new(const struct event_hub_config *config,
                                           struct event_hub **out, struct err *err);
/* Before the first event: the newest one in the store. */
void event_hub_start(struct event_hub *hub, int64_t newest);
/* After the HTTP server and the store have ended. */
void event_hub_free(struct event_hub *hub);
OWN_DEFINE(event_hub, struct event_hub *, event_hub_free)

/* Writer thread, after the commit. Without memory for it, clients read it from the store. */
void event_hub_add(struct event_hub *hub, const struct db_event *event);
/* Any thread: after events were added, or rights may have ended, look at the clients. */
void event_hub_poke(struct event_hub *hub);

/* Answers the request with a stream, whose pages come from db, of what the filter takes, from the
 * event after `after` on (-1 = from now). 429 at the limits above. */
void event_hub_open(struct event_hub *hub, struct db *db, struct request *request,
                    const struct event_filter *filter, int64_t after);

struct event_hub_stats {
    size_t clients;
    uint64_t resyncs, refused;
};
void event_hub_stats_get(struct event_hub *hub, struct event_hub_stats *out);
