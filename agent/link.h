#pragma once
/*
 * agent/link.h - the way to the server, as the agent sees it: three things to deliver, plans that
 * come. link_http is the real one; tests have their own. Nothing here blocks.
 */

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct link;

enum link_event {
    LINK_INVENTORY_DONE, /* the server has the inventory */
    LINK_STATE_DONE,
    LINK_RECEIPT_DONE, /* the receipt was acknowledged, or can never be: give the next one */
    LINK_WAITING,      /* a long poll for a plan was sent */
};

/* What the link tells, from the loop; LINK_WAITING also from inside start() and known(). */
struct link_events {
    void *arg;
    /* The body of an answer that brings a plan; hostile. False: it was no news, ask more slowly. */
    bool (*plan)(void *arg, const char *body, size_t len);
    void (*event)(void *arg, enum link_event event);
};

struct link_ops {
    /* Begins. events is copied. Plans are asked for once known() was called. */
    void (*start)(struct link *link, const struct link_events *events);
    /* Deliver this, and again until it is; a later one takes the place of an earlier one. */
    void (*inventory)(struct link *link, const json_t *document);
    void (*state)(struct link *link, const json_t *document);
    void (*receipt)(struct link *link, const json_t *document);
    /* plan_tag() of the assignment that the agent last dealt with; "" = none. */
    void (*known)(struct link *link, const char *tag);
    void (*free)(struct link *link);
};

struct link {
    const struct link_ops *ops;
};
