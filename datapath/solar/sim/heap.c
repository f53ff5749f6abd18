/*
 * datapath/solar/sim/heap.c - see heap.h.
 */
#include "datapath/solar/sim/heap.h"

#include <stdlib.h>

void heap_release(struct heap *heap)
{
    free(heap->events);
    *heap = (struct heap){0};
}

static bool before(const struct heap_event *a, const struct heap_event *b)
{
    return a->at_ps != b->at_ps ? a->at_ps < b->at_ps : a->order < b->order;
}

static bool grow(struct heap *heap)
{
    size_t room = heap->room > 0 ? heap->room * 2 : 1024;
    if (room > HEAP_EVENTS_MAX)
        return false;
    struct heap_event *events = realloc(heap->events, room * sizeof(*events));
    if (events == NULL)
        return false;
    heap->events = events;
    heap->room = room;
    return true;
}

void heap_push(struct heap *heap, int64_t at_ps, uint32_t what, uint32_t which)
{
    if (heap->failed || (heap->count == heap->room && !grow(heap))) {
        heap->failed = true;
        return;
    }
    struct heap_event event = {at_ps, heap->order++, what, which};
    size_t i = heap->count++;
    for (; i > 0 && before(&event, &heap->events[(i - 1) / 2]); i = (i - 1) / 2)
        heap->events[i] = heap->events[(i - 1) / 2];
    heap->events[i] = event;
}

bool heap_pop(struct heap *heap, struct heap_event *out)
{
    if (heap->count == 0)
        return false;
    *out = heap->events[0];
    struct heap_event last = heap->events[--heap->count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < heap->count; i = child) {
        if (child + 1 < heap->count && before(&heap->events[child + 1], &heap->events[child]))
            child++;
        if (!before(&heap->events[child], &last))
            break;
        heap->events[i] = heap->events[child];
    }
    heap->events[i] = last;
    return true;
}
