/*
 * server/event_client.c - see event_client.h.
 *
 *   open --> read a page --> reply --> [page | ring | sleep] --> closed
 *                 ^                        |
 *                 +---- behind the ring ---+
 */
#include "server/event_client.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct event_page { /* one read of the store; the reader's thread alone looks at it meanwhile */
    struct event_client *client;
    struct event_filter filter;
    int64_t cursor;
    bool is_first, from_now, resync, no_memory;
    size_t events, bytes;
    struct event_piece *first, *last;
};

static void pieces_free(struct event_piece *piece)
{
    while (piece != NULL) {
        struct event_piece *next = piece->next;
        blob_unref(piece->blob);
        free(piece);
        piece = next;
    }
}

/* Pages of the store -------------------------------------------------------------------------- */

static bool on_event(void *arg, const struct db_event *event)
{
    struct event_page *page = arg;
    if (event_filter_takes(&page->filter, event)) {
        struct event_piece *piece = calloc(1, sizeof(*piece));
        struct blob *blob = piece == NULL ? NULL : event_to_blob(event);
        if (blob == NULL) {
            free(piece);
            page->no_memory = true;
            return false;
        }
        piece->blob = blob;
        if (page->last != NULL)
            page->last->next = piece;
        else
            page->first = piece;
        page->last = piece;
        page->events++;
        page->bytes += blob->len;
    }
    page->cursor = event->id + 1;
    return page->events < EVENT_PAGE_EVENTS && page->bytes < EVENT_PAGE_BYTES_MAX;
}

static enum err_code read_page(struct db_ro *ro, void *arg, struct err *err)
{
    struct event_page *page = arg;
    int64_t oldest, newest;
    enum err_code code = event_bounds(ro, &oldest, &newest, err);
    if (code == ERR_OK && page->is_first && page->filter.tenant[0] != '\0')
        code = tenant_created(ro, page->filter.tenant, &page->filter.since_us, err);
    if (code != ERR_OK)
        return code;
    page->resync = !page->from_now && (page->cursor < oldest || page->cursor > newest + 1);
    if (page->from_now || page->resync)
        page->cursor = newest + 1;
    if (page->cursor <= newest)
        code = event_list(ro, page->cursor - 1, DB_PAGE_MAX, on_event, page, err);
    return code == ERR_OK && page->no_memory ? err_nomem(err) : code;
}

static void note_add(struct event_client *client, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void note_add(struct event_client *client, const char *fmt, ...)
{
    va_list ap;
    size_t room = sizeof(client->note) - client->note_len;
    va_start(ap, fmt);
    int n = vsnprintf(client->note + client->note_len, room, fmt, ap);
    va_end(ap);
    assert(n > 0 && (size_t)n < room); /* EVENT_NOTE_MAX holds one of each kind */
    client->note_len += (size_t)n;
}

static void take_page(struct event_client *client, struct event_page *page)
{
    /* The id that a caller comes again with, should it hear nothing of the page. */
    int64_t start = page->from_now || page->resync ? page->cursor - 1 : client->cursor - 1;
    client->cursor = page->cursor;
    client->filter.since_us = page->filter.since_us;
    client->first = page->first;
    client->last = page->last;
    page->first = NULL;
    if (page->is_first)
        note_add(client, "retry: %d\nid: %lld\n\n", EVENT_RETRY_MS, (long long)start);
    if (page->resync) {
        client->hub->resyncs++;
        note_add(client, "event: resync\nid: %lld\ndata: {\"last\":%lld}\n\n", (long long)start,
                 (long long)start);
    }
}

static void on_page(void *arg, enum err_code code, const struct err *err);

/* With the lock. The client counts one reference more until on_page(). */
static enum err_code page_read(struct event_client *client, struct err *err)
{
    struct event_page *page = calloc(1, sizeof(*page));
    if (page == NULL)
        return err_nomem(err);
    page->client = client;
    page->filter = client->filter;
    page->cursor = client->cursor;
    page->is_first = !client->opened;
    page->from_now = client->from_now;
    client->reading = true;
    client->refs++;
    enum err_code code = db_read(client->db, read_page, on_page, page, err);
    if (code != ERR_OK) {
        client->reading = false;
        client->refs--;
        free(page);
    }
    return code;
}

/* Taking --------------------------------------------------------------------------------------- */

/* The next piece becomes `part`; false = nothing now. */
static bool next_part(struct event_client *client)
{
    struct event_ring *ring = &client->hub->ring;
    struct err err = ERR_INIT;
    if (client->part != NULL)
        return true;
    client->part_at = 0;
    if (client->first != NULL) {
        struct event_piece *piece = client->first;
        client->first = piece->next;
        client->last = client->first == NULL ? NULL : client->last;
        client->part = piece->blob;
        free(piece);
        return true;
    }
    if (client->reading)
        return false;
    if (client->cursor < ring->first && client->cursor <= ring->last) {
        /* A store that takes no more reads is no reason to keep a client that lags: it comes again.
         */
        if (page_read(client, &err) != ERR_OK)
            event_client_end(client);
        return false;
    }
    for (; client->cursor <= ring->last && client->part == NULL; client->cursor++) {
        const struct event_entry *entry = event_ring_get(ring, client->cursor);
        if (event_filter_takes(&client->filter, &entry->event))
            client->part = blob_ref(entry->blob);
    }
    return client->part != NULL;
}

static size_t take_note(struct event_client *client, char *out, size_t max)
{
    size_t n = client->note_len < max ? client->note_len : max;
    memcpy(out, client->note, n);
    client->note_len -= n;
    memmove(client->note, client->note + n, client->note_len);
    return n;
}

static size_t take_part(struct event_client *client, char *out, size_t max)
{
    size_t left = client->part->len - client->part_at, n = left < max ? left : max;
    memcpy(out, client->part->data + client->part_at, n);
    client->part_at += n;
    if (n == left) {
        blob_unref(client->part);
        client->part = NULL;
    }
    return n;
}

static ssize_t fill(void *arg, char *out, size_t max)
{
    struct event_client *client = arg;
    struct event_hub *hub = client->hub;
    size_t len = 0;
    pthread_mutex_lock(&hub->lock);
    /* A note stands between events: a part that was begun goes first. */
    if (client->part != NULL && !client->ended)
        len += take_part(client, out, max);
    while (len < max && !client->ended) {
        if (client->part == NULL && client->note_len > 0)
            len += take_note(client, out + len, max - len);
        else if (next_part(client))
            len += take_part(client, out + len, max - len);
        else
            break;
    }
    bool ended = client->ended;
    client->waiting = !ended && len == 0;
    if (len > 0)
        client->sent_ns = event_hub_now_ns(hub);
    pthread_mutex_unlock(&hub->lock);
    return ended ? -1 : (ssize_t)len;
}

static void closed(void *arg)
{
    struct event_client *client = arg;
    struct event_hub *hub = client->hub;
    pthread_mutex_lock(&hub->lock);
    client->ended = true;
    client->waiting = false;
    event_client_unref(client);
    pthread_mutex_unlock(&hub->lock);
}

bool event_client_has_work(struct event_client *client)
{
    return client->ended || client->note_len > 0 || next_part(client);
}

void event_client_end(struct event_client *client)
{
    client->ended = true;
}

void event_client_beat(struct event_client *client)
{
    /* The id moves with the fleet, so that a caller that sees little is not behind when it comes
     * again. */
    note_add(client, ":\nid: %lld\n\n", (long long)client->cursor - 1);
}

/* Opening -------------------------------------------------------------------------------------- */

/* With the lock: the first page has come. */
static enum err_code open_stream(struct event_client *client, struct err *err)
{
    const struct stream_config config = {.content_type = "text/event-stream",
                                         .farewell = '\n',
                                         .fill = fill,
                                         .closed = closed,
                                         .arg = client};
    client->opened = true;
    client->from_now = false;
    client->sent_ns = event_hub_now_ns(client->hub);
    if (request_is_answered(client->request)) /* too late: its server may have gone */
        return err_set(err, ERR_UNAVAILABLE, "the answer came too late");
    enum err_code code = stream_new(client->request, &config, &client->stream, err);
    if (code != ERR_OK)
        return code;
    client->refs++; /* until closed() */
    return ERR_OK;
}

static void on_page(void *arg, enum err_code code, const struct err *err)
{
    struct event_page *page = arg;
    struct event_client *client = page->client;
    struct event_hub *hub = client->hub;
    struct request *request = client->request;
    struct err own = *err;
    pthread_mutex_lock(&hub->lock);
    client->reading = false;
    if (code == ERR_OK)
        take_page(client, page);
    else
        event_client_end(client);
    if (page->is_first && code == ERR_OK)
        code = open_stream(client, &own);
    client->request = NULL;
    struct stream *stream = client->stream;
    pthread_mutex_unlock(&hub->lock);
    if (!page->is_first)
        stream_wake(stream);
    else if (code != ERR_OK)
        request_reply_err(request, &own);
    else
        request_reply_stream(request, stream);
    pthread_mutex_lock(&hub->lock);
    event_client_unref(client);
    pthread_mutex_unlock(&hub->lock);
    pieces_free(page->first);
    free(page);
}

void event_client_open(struct event_client *client)
{
    struct event_hub *hub = client->hub;
    struct request *request = client->request;
    struct err err = ERR_INIT;
    pthread_mutex_lock(&hub->lock);
    enum err_code code = page_read(client, &err);
    event_client_unref(client);
    pthread_mutex_unlock(&hub->lock);
    if (code != ERR_OK)
        request_reply_err(request, &err);
}

void event_client_unref(struct event_client *client)
{
    if (--client->refs > 0)
        return;
    event_hub_remove(client);
    pieces_free(client->first);
    blob_unref(client->part);
    stream_unref(client->stream);
    free(client);
}
