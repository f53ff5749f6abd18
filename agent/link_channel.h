#pragma once
/*
 * agent/link_channel.h - what the link over HTTP(S) is made of: ten channels, each with its own
 * timer and its own back-off. Only link_http.c and link_channel.c include it. All on the loop.
 */

#include "agent/backoff.h"
#include "agent/link_http.h"
#include "fleet/plan.h"

/* What is sent, by urgency, one request at a time: a second one would only be a second connection
 * (with TLS some 25 KiB of the server's memory) and compete with the first. The polls wait beside.
 */
enum channel_id {
    CHANNEL_RECEIPT,
    CHANNEL_FLASH_REPORT,
    CHANNEL_VERIFY_REPORT,
    CHANNEL_INVENTORY,
    CHANNEL_STATE,
    CHANNEL_CHAINS,
    CHANNEL_TELEMETRY,
    CHANNEL_PLAN,
    CHANNEL_FLASH,
    CHANNEL_VERIFY,
    CHANNEL_COUNT,
};

struct channel_kind {
    const char *method, *path;
    const char *below; /* what follows /v1/nodes/NODE where path is NULL */
    const char *what;  /* for people */
    enum link_event done;
    bool poll;     /* a long poll: asks with `known` */
    bool optional; /* a server that has no such route is no error: 404 */
};

extern const struct channel_kind channel_kinds[CHANNEL_COUNT];

#define REQUEST_ID_SIZE 24

struct link_http;

struct channel {
    const struct channel_kind *kind;
    struct link_http *link;
    char *body; /* to be delivered; NULL = nothing */
    size_t len;
    bool running;
    bool waiting; /* the timer is armed */
    bool newer;   /* body changed while its request was running */
    bool refused; /* the last answer was a refusal */
    uint64_t request;
    int64_t start_ns;                 /* of the last one */
    char request_id[REQUEST_ID_SIZE]; /* of the last one, as the server's log and audit have it */
    struct loop_timer *timer;
    struct backoff backoff;
    char task[NAME_SIZE]; /* that the body reports of; "" = it is no report of a task */
    /* of long polls */
    bool has_known;
    char known[PLAN_TAG_SIZE + 2]; /* as it stands in the query */
};

struct link_http {
    struct link base;
    struct http_client *client;
    char server[LINK_URL_MAX / 2];
    char node[NAME_SIZE];
    char *token, *ca_file, *identity; /* NULL = none */
    int64_t denied_retry_ns;
    struct link_events events;
    bool started;
    bool away;       /* said so */
    int64_t away_ns; /* when; an answer to what was asked before says nothing of now */
    struct channel channels[CHANNEL_COUNT];
};

/* Asks the server, when the channel has something to ask and its turn is now; else later, when what
 * is in its way has ended. */
void channel_send(struct channel *channel);
void channel_send_all(struct link_http *link);
/* The channel's timer. */
void channel_on_timer(void *channel);
