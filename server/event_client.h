#pragma once
/*
 * server/event_client.h - one listener of the event hub: what it takes next. Shared by event_hub.c
 * and event_client.c only; everything is guarded by the hub's lock.
 */

#include <pthread.h>

#include "server/event_hub.h"
#include "server/event_ring.h"
#include "server/http_stream.h"

#define EVENT_NOTE_MAX 160 /* of the lines that are one client's own */

struct event_piece { /* of a page */
    struct event_piece *next;
    struct blob *blob;
};

struct event_client {
    struct event_hub *hub;
    struct db *db; /* until the server's end */
    size_t refs;   /* the stream's, and one while a page is read */
    size_t index;  /* in hub->clients */
    struct stream *stream;
    struct request *request; /* until the reply */
    struct principal who;
    struct event_filter filter;
    int64_t cursor; /* next id to look at */
    bool from_now;  /* the first page says where that is */
    bool opened;
    bool waiting; /* fill found nothing: wake it when there is something */
    bool reading; /* a page is being read */
    bool ended;
    int64_t sent_ns;    /* when it last took something */
    int64_t touched_ns; /* when its credential was last said to be in use */
    char note[EVENT_NOTE_MAX];
    size_t note_len;
    struct event_piece *first, *last; /* of the page */
    struct blob *part;                /* being sent, from part_at on */
    size_t part_at;
};

struct event_hub {
    struct event_hub_config config;
    pthread_mutex_t lock;
    pthread_cond_t poked;
    pthread_t thread;
    bool is_poked, is_stopping;
    uint64_t rights_version;
    size_t count;
    struct event_client *clients[EVENT_STREAMS_MAX];
    uint64_t resyncs, refused;
    struct event_ring ring;
};

static inline int64_t event_hub_now_ns(const struct event_hub *hub)
{
    return hub->config.clock->mono_ns(hub->config.clock);
}

/* With the lock. Whether there is something to send; moves the cursor over what is not wanted. */
bool event_client_has_work(struct event_client *client);
/* With the lock: the client is not to hear more. */
void event_client_end(struct event_client *client);
/* With the lock: the lines that keep the connection known to be alive. */
void event_client_beat(struct event_client *client);
/* Starts with a page of the store; then it replies. Takes the client. */
void event_client_open(struct event_client *client);
/* With the lock; frees at the last reference. */
void event_client_unref(struct event_client *client);
/* event_hub.c, with the lock. */
void event_hub_remove(struct event_client *client);
