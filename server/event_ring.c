/*
 * server/event_ring.c - see event_ring.h.
 */
#include "server/event_ring.h"

#include <stdlib.h>
#include <string.h>

#include "server/event.h"

static struct event_entry *slot(struct event_ring *ring, int64_t id)
{
    return &ring->entries[(size_t)id % EVENT_RING_EVENTS];
}

static void drop_first(struct event_ring *ring)
{
    struct event_entry *entry = slot(ring, ring->first++);
    ring->bytes -= entry->blob->len;
    event_entry_release(entry);
}

void event_ring_init(struct event_ring *ring, int64_t last)
{
    memset(ring, 0, sizeof(*ring));
    ring->last = last;
    ring->first = last + 1;
}

void event_ring_release(struct event_ring *ring)
{
    while (ring->first <= ring->last)
        drop_first(ring);
}

bool event_entry_make(const struct db_event *event, struct event_entry *out)
{
    size_t kind_size = strlen(event->kind) + 1, subject_size = strlen(event->subject) + 1;
    *out = (struct event_entry){.event = {.id = event->id, .time_us = event->time_us}};
    out->text = malloc(kind_size + subject_size);
    out->blob = event_to_blob(event);
    if (out->text == NULL || out->blob == NULL) {
        event_entry_release(out);
        return false;
    }
    out->event.kind = memcpy(out->text, event->kind, kind_size);
    out->event.subject = memcpy(out->text + kind_size, event->subject, subject_size);
    return true;
}

void event_entry_release(struct event_entry *entry)
{
    free(entry->text);
    blob_unref(entry->blob);
    *entry = (struct event_entry){.text = NULL};
}

void event_ring_add(struct event_ring *ring, struct event_entry *entry)
{
    if (entry->event.id != ring->last + 1) {
        event_ring_release(ring);
        event_ring_init(ring, entry->event.id - 1);
    }
    while (ring->first <= ring->last && (entry->event.id - ring->first >= EVENT_RING_EVENTS ||
                                         ring->bytes + entry->blob->len > EVENT_RING_BYTES_MAX))
        drop_first(ring);
    ring->bytes += entry->blob->len;
    *slot(ring, entry->event.id) = *entry;
    ring->last = entry->event.id;
}

const struct event_entry *event_ring_get(const struct event_ring *ring, int64_t id)
{
    if (id < ring->first || id > ring->last)
        return NULL;
    return &ring->entries[(size_t)id % EVENT_RING_EVENTS];
}
