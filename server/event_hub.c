/*
 * server/event_hub.c - see event_hub.h. Locks: the hub's, then a stream's.
 */
#include "server/event_hub.h"

#include <stdlib.h>
#include <string.h>

#include "base/cond.h"
#include "base/log.h"
#include "server/event_client.h"

#define TICK_NS (NS_PER_S / 2) /* between two looks at heartbeats and expiries */
#define BATCH   64             /* clients woken before others may have the lock */

void event_hub_remove(struct event_client *client)
{
    struct event_hub *hub = client->hub;
    struct event_client *last = hub->clients[--hub->count];
    hub->clients[client->index] = last;
    last->index = client->index;
}

static bool may_go_on(struct event_hub *hub, const struct event_client *client, bool changed)
{
    const struct event_hub_config *config = &hub->config;
    int64_t expires_us = client->who.expires_us;
    if (expires_us != 0 && expires_us <= config->clock->wall_us(config->clock))
        return false;
    return !changed || config->is_alive(config->app, &client->who);
}

/* Before its rights are looked at, or a session would be idle whose pages are open. A client that
 * has gone takes no heartbeats, so it does not count. */
static void touch(struct event_hub *hub, struct event_client *client, int64_t now_ns)
{
    if (!client->opened || client->ended || client->sent_ns <= client->touched_ns ||
        now_ns - client->touched_ns < EVENT_TOUCH_NS)
        return;
    client->touched_ns = now_ns;
    hub->config.touch(hub->config.app, &client->who);
}

static void look_at(struct event_hub *hub, struct event_client *client, int64_t now_ns,
                    bool changed)
{
    touch(hub, client, now_ns);
    if (!client->ended && !may_go_on(hub, client, changed))
        event_client_end(client);
    if (!client->waiting)
        return;
    if (!event_client_has_work(client)) {
        if (client->ended || now_ns - client->sent_ns < hub->config.heartbeat_ns)
            return;
        event_client_beat(client);
    }
    client->waiting = false;
    stream_wake(client->stream);
}

/* From the last to the first: one that goes meanwhile leaves its place to one that was looked at
 * already, and one that comes has looked itself. */
static void round_of_all(struct event_hub *hub)
{
    uint64_t version = hub->config.rights_version(hub->config.app);
    bool changed = version != hub->rights_version;
    int64_t now_ns = event_hub_now_ns(hub);
    hub->rights_version = version;
    size_t batch = 0;
    for (size_t i = hub->count; i-- > 0;) {
        if (i >= hub->count)
            continue;
        look_at(hub, hub->clients[i], now_ns, changed);
        if (++batch % BATCH != 0)
            continue;
        pthread_mutex_unlock(&hub->lock);
        pthread_mutex_lock(&hub->lock);
    }
}

static void *hub_main(void *arg)
{
    struct event_hub *hub = arg;
    pthread_mutex_lock(&hub->lock);
    while (!hub->is_stopping) {
        struct timespec until = cond_deadline(TICK_NS);
        if (!hub->is_poked)
            pthread_cond_timedwait(&hub->poked, &hub->lock, &until);
        hub->is_poked = false;
        round_of_all(hub);
    }
    pthread_mutex_unlock(&hub->lock);
    return NULL;
}

enum err_code event_hub_new(const struct event_hub_config *config, struct event_hub **out,
                            struct err *err)
{
    struct event_hub *hub = calloc(1, sizeof(*hub));
    if (hub == NULL)
        return err_nomem(err);
    hub->config = *config;
    if (hub->config.heartbeat_ns == 0)
        hub->config.heartbeat_ns = EVENT_HEARTBEAT_NS;
    event_ring_init(&hub->ring, 0);
    cond_init(&hub->poked);
    pthread_mutex_init(&hub->lock, NULL);
    int rc = pthread_create(&hub->thread, NULL, hub_main, hub);
    if (rc != 0) {
        pthread_cond_destroy(&hub->poked);
        pthread_mutex_destroy(&hub->lock);
        free(hub);
        return err_set_errno(err, ERR_IO, rc, "the thread of the event streams");
    }
    *out = hub;
    return ERR_OK;
}

void event_hub_start(struct event_hub *hub, int64_t newest)
{
    pthread_mutex_lock(&hub->lock);
    event_ring_release(&hub->ring);
    event_ring_init(&hub->ring, newest);
    pthread_mutex_unlock(&hub->lock);
}

void event_hub_free(struct event_hub *hub)
{
    if (hub == NULL)
        return;
    pthread_mutex_lock(&hub->lock);
    hub->is_stopping = true;
    pthread_cond_signal(&hub->poked);
    pthread_mutex_unlock(&hub->lock);
    pthread_join(hub->thread, NULL);
    event_ring_release(&hub->ring);
    pthread_cond_destroy(&hub->poked);
    pthread_mutex_destroy(&hub->lock);
    free(hub);
}

void event_hub_add(struct event_hub *hub, const struct db_event *event)
{
    struct event_entry entry;
    bool made = event_entry_make(event, &entry);
    if (!made)
        log_warning("events", "no memory to keep event %lld; it is read from the store",
                    (long long)event->id);
    pthread_mutex_lock(&hub->lock);
    if (made) {
        event_ring_add(&hub->ring, &entry);
    } else {
        event_ring_release(&hub->ring);
        event_ring_init(&hub->ring, event->id);
    }
    hub->is_poked = true;
    pthread_mutex_unlock(&hub->lock);
}

void event_hub_poke(struct event_hub *hub)
{
    pthread_mutex_lock(&hub->lock);
    if (hub->config.rights_version(hub->config.app) != hub->rights_version)
        hub->is_poked = true;
    if (hub->is_poked)
        pthread_cond_signal(&hub->poked);
    pthread_mutex_unlock(&hub->lock);
}

/* With the lock. Whose streams are counted together: the user's, else the credential's. */
static bool is_same_caller(const struct principal *a, const struct principal *b)
{
    return strcmp(a->name, b->name) == 0;
}

/* With the lock. */
static bool has_room(const struct event_hub *hub, const struct principal *who)
{
    size_t own = 0;
    if (hub->count >= EVENT_STREAMS_MAX)
        return false;
    for (size_t i = 0; i < hub->count; i++)
        own += is_same_caller(&hub->clients[i]->who, who);
    return own < EVENT_STREAMS_PRINCIPAL_MAX;
}

void event_hub_open(struct event_hub *hub, struct db *db, struct request *request,
                    const struct event_filter *filter, int64_t after)
{
    struct err err = ERR_INIT;
    struct event_client *client = calloc(1, sizeof(*client));
    if (client == NULL) {
        err_nomem(&err);
        request_reply_err(request, &err);
        return;
    }
    client->hub = hub;
    client->db = db;
    client->refs = 1;
    client->request = request;
    client->who = *request_principal(request);
    client->filter = *filter;
    client->from_now = after < 0;
    client->touched_ns = event_hub_now_ns(hub); /* the request itself was one */
    client->cursor = after + 1;
    pthread_mutex_lock(&hub->lock);
    bool fits = has_room(hub, &client->who);
    if (fits) {
        client->index = hub->count++;
        hub->clients[client->index] = client;
    } else {
        hub->refused++;
    }
    pthread_mutex_unlock(&hub->lock);
    if (fits) {
        event_client_open(client);
        return;
    }
    free(client);
    request_set_header(request, "Retry-After", "5");
    request_reply_problem(request, 429, "too-many-streams", NULL, NULL,
                          "at most %d event streams for one caller and %d in all; close some, or "
                          "read pages with Accept: application/json",
                          EVENT_STREAMS_PRINCIPAL_MAX, EVENT_STREAMS_MAX);
}

void event_hub_stats_get(struct event_hub *hub, struct event_hub_stats *out)
{
    pthread_mutex_lock(&hub->lock);
    *out = (struct event_hub_stats){
        .clients = hub->count, .resyncs = hub->resyncs, .refused = hub->refused};
    pthread_mutex_unlock(&hub->lock);
}
