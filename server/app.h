#pragma once
/*
 * server/app.h - what one stellard owns, and which thread may touch it.
 *
 * world and effects belong to the database's writer thread. publish, auth, status and waiters are
 * read by HTTP threads and have locks of their own; the writer thread changes them only after the
 * commit that made the change durable.
 */

#include <stdint.h>

#include "base/clock.h"
#include "db/db.h"
#include "fleet/compat.h"
#include "server/auth.h"
#include "server/effects.h"
#include "server/event_hub.h"
#include "server/http.h"
#include "server/publish.h"
#include "server/status.h"
#include "server/waiters.h"
#include "server/world.h"

struct rollout_ticker;

struct app {
    struct clock *clock;
    struct db *db;
    _Atomic(struct http_server *) http;      /* NULL until it listens; requests may come before */
    struct world *world;                     /* writer thread */
    struct effects effects;                  /* writer thread: what the next commit publishes */
    struct publish *publish;                 /* any thread */
    struct auth *auth;                       /* any thread */
    struct status *status;                   /* any thread */
    struct waiters *waiters;                 /* any thread */
    _Atomic(struct rollout_ticker *) ticker; /* any thread; NULL until the store is open */
    bool rollouts_queued;     /* writer thread: a write of server/rollouts is on its way */
    struct event_hub *events; /* any thread */
    struct compat *compat;    /* immutable: the hardware rules */
    struct blob *openapi;
    int64_t start_us;
};

struct app_config {
    const char *data_dir;
    const char *address;
    uint16_t port;
};

/* Opens DATA/stellar.db, makes DATA/admin.token at first start, listens, writes DATA/url. */
ERR_MUST_CHECK enum err_code app_new(const struct app_config *config, struct app **out,
                                     struct err *err);
/* Answers what waits, ends the HTTP threads, then the store. */
void app_free(struct app *app);
OWN_DEFINE(app, struct app *, app_free)
