#pragma once
/*
 * datapath/solar/sim/heap.h - events of a simulation in the order of their time; of one time, in
 * the order they were made, so that a run is the same each time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define HEAP_EVENTS_MAX (16 * 1024 * 1024)

struct heap_event {
    int64_t at_ps;
    uint64_t order;
    uint32_t what, which;
};

struct heap {
    struct heap_event *events;
    size_t count, room;
    uint64_t order;
    bool failed; /* an event was not taken: no memory, or HEAP_EVENTS_MAX. Sticky. */
};

/* A heap of zeros is empty. */
void heap_release(struct heap *heap);
void heap_push(struct heap *heap, int64_t at_ps, uint32_t what, uint32_t which);
/* False = empty. */
bool heap_pop(struct heap *heap, struct heap_event *out);
