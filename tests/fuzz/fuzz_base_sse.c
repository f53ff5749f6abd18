/*
 * tests/fuzz/fuzz_base_sse.c - a stream of events gives the same events in one piece and in pieces
 * of any size, and never more than it may hold.
 */
#include "base/sse.h"
#include "tests/fuzz/fuzz.h"

struct seen {
    size_t count;
    uint64_t hash; /* over kinds, ids and data in their order */
};

static void mix(struct seen *seen, const char *data, size_t len)
{
    for (size_t i = 0; i <= len; i++)
        seen->hash = (seen->hash ^ (unsigned char)data[i]) * UINT64_C(1099511628211);
}

static bool on_event(void *arg, const struct sse_event *event)
{
    struct seen *seen = arg;
    must(event->kind[0] != '\0' && strlen(event->kind) < SSE_KIND_MAX);
    must(strlen(event->id) < SSE_ID_MAX && event->data_len <= SSE_DATA_MAX);
    must(event->data[event->data_len] == '\0');
    mix(seen, event->kind, strlen(event->kind));
    mix(seen, event->id, strlen(event->id));
    mix(seen, event->data, event->data_len);
    seen->count++;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen whole = {.count = 0}, pieces = {.count = 0};
    struct sse sse;
    if (size == 0)
        return 0;
    size_t step = data[0] % 7 + 1u;
    const char *text = (const char *)data + 1;
    size_t len = size - 1;
    sse_init(&sse, on_event, &whole);
    bool whole_ok = sse_feed(&sse, text, len);
    must(sse.retry_ms >= -1 && sse.retry_ms <= SSE_RETRY_MAX);
    sse_release(&sse);
    sse_init(&sse, on_event, &pieces);
    bool pieces_ok = true;
    for (size_t at = 0; at < len && pieces_ok; at += step)
        pieces_ok = sse_feed(&sse, text + at, len - at < step ? len - at : step);
    must(pieces_ok == whole_ok && (whole_ok || sse.why != NULL));
    sse_release(&sse);
    must(whole.count == pieces.count && whole.hash == pieces.hash);
    return 0;
}
