#pragma once
/*
 * agent/link.h - the way to the server, as the agent sees it: what is to be delivered, plans
 * and flash tasks that come. link_http is the real one; tests have their own. Nothing here blocks.
 */

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/err.h"

#define LINK_URL_MAX 1024

struct link;

/* What it takes to fetch an image as this agent, on any thread; the texts are owned. */
struct link_image {
    char url[LINK_URL_MAX];
    char *token, *ca_file, *identity; /* NULL = none, as in http_request */
};
void link_image_release(struct link_image *image);

enum link_event {
    LINK_INVENTORY_DONE, /* the server has the inventory */
    LINK_STATE_DONE,
    LINK_CHAINS_DONE,
    LINK_RECEIPT_DONE,   /* the receipt was acknowledged, or can never be: give the next one */
    LINK_FLASH_DONE,     /* the last flash report was acknowledged, or can never be */
    LINK_VERIFY_DONE,    /* the same of the report of a test */
    LINK_TELEMETRY_DONE, /* the batch was acknowledged, or can never be: give the next one */
    LINK_WAITING,        /* a long poll for a plan was sent */
};

/* What the link tells, from the loop; LINK_WAITING also from inside start() and known(). */
struct link_events {
    void *arg;
    /* The body of an answer that brings a plan; hostile. False: it was no news, ask more slowly. */
    bool (*plan)(void *arg, const char *body, size_t len);
    /* The same with a flash task. */
    bool (*flash)(void *arg, const char *body, size_t len);
    /* The same with a test between nodes. */
    bool (*verify)(void *arg, const char *body, size_t len);
    void (*event)(void *arg, enum link_event event);
    /* Which store the server has, shorter than HTTP_STORE_MAX; with each answer that says it. NULL:
     * nobody asks. */
    void (*store)(void *arg, const char *id);
};

struct link_ops {
    /* Begins. events is copied. Plans are asked for once known() was called. */
    void (*start)(struct link *link, const struct link_events *events);
    /* Deliver this, and again until it is; a later one takes the place of an earlier one. */
    void (*inventory)(struct link *link, const json_t *document);
    void (*state)(struct link *link, const json_t *document);
    void (*receipt)(struct link *link, const json_t *document);
    void (*chains)(struct link *link, const json_t *document); /* NULL = nobody wants them */
    /* plan_tag() of the assignment that the agent last dealt with; "" = none. */
    void (*known)(struct link *link, const char *tag);
    /* flash_task_tag() of the task last dealt with; "" = none. Tasks are asked for from then on. */
    void (*flash_known)(struct link *link, const char *tag);
    /* Deliver this of a task, and again until it is; a later one takes its place. */
    void (*flash_report)(struct link *link, const char *task, const json_t *document);
    /* The same of tests between nodes: verify_task_tag(), and their reports. */
    void (*verify_known)(struct link *link, const char *tag);
    void (*verify_report)(struct link *link, const char *task, const json_t *document);
    /* Deliver this batch (fleet/telemetry.h), copied, and again until it is. NULL: no telemetry. */
    void (*telemetry)(struct link *link, const void *data, size_t len);
    /* Where the image of this id is to be had; asks nobody. The caller releases *out. */
    ERR_MUST_CHECK enum err_code (*image)(struct link *link, const char *id, struct link_image *out,
                                          struct err *err);
    void (*free)(struct link *link);
};

struct link {
    const struct link_ops *ops;
};
