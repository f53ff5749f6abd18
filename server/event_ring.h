#pragma once
/*
 * server/event_ring.h - the newest events in memory, encoded once for all their readers. Ids follow
 * each other without a gap; what falls out at the old end is still in the store.
 *
 * No lock: the hub has one.
 */

#include <stddef.h>
#include <stdint.h>

#include "db/tables.h"
#include "server/http.h"

#define EVENT_RING_EVENTS    8192
#define EVENT_RING_BYTES_MAX (16 * 1024 * 1024)

struct event_entry {
    struct db_event event; /* id, time, kind and subject only */
    char *text;            /* owned; kind and subject */
    struct blob *blob;     /* owned; as streams carry it */
};

struct event_ring {
    int64_t first, last; /* ids; empty: first = last + 1 */
    size_t bytes;
    struct event_entry entries[EVENT_RING_EVENTS]; /* of id N at N % EVENT_RING_EVENTS */
};

/* Empty, after the event `last`. */
void event_ring_init(struct event_ring *ring, int64_t last);
void event_ring_release(struct event_ring *ring);
/* Encodes an event, with its text; false = no memory. */
bool event_entry_make(const struct db_event *event, struct event_entry *out);
void event_entry_release(struct event_entry *entry);
/* Takes entry over. One that does not follow the last empties the ring first. */
void event_ring_add(struct event_ring *ring, struct event_entry *entry);
/* NULL: not in it. */
const struct event_entry *event_ring_get(const struct event_ring *ring, int64_t id);
