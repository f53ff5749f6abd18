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
#include "base/mac.h"
#include "db/db.h"
#include "db/tables.h"
#include "fleet/compat.h"
#include "server/auth.h"
#include "server/backoff.h"
#include "server/certs.h"
#include "server/counters.h"
#include "server/effects.h"
#include "server/event_hub.h"
#include "server/http.h"
#include "server/operations.h"
#include "server/passwords.h"
#include "server/publish.h"
#include "server/status.h"
#include "server/tls_ca.h"
#include "server/tls_identity.h"
#include "server/tls_names.h"
#include "server/waiters.h"
#include "server/world.h"

struct assets;
struct backups;
struct series;
struct denials;
struct health_desk;
struct images;
struct health_reports;
struct inspector;
struct rollout_ticker;

struct app {
    struct clock *clock;
    struct db *db;
    int64_t trim_ns;                         /* of the writer thread: not before, see on_quiet() */
    _Atomic(struct http_server *) http;      /* NULL until it listens; requests may come before */
    struct world *world;                     /* writer thread */
    struct effects effects;                  /* writer thread: what the next commit publishes */
    struct publish *publish;                 /* any thread */
    struct auth *auth;                       /* any thread */
    struct status *status;                   /* any thread */
    struct waiters *waiters;                 /* any thread */
    _Atomic(struct rollout_ticker *) ticker; /* any thread; NULL until the store is open */
    bool rollouts_queued;       /* writer thread: a write of server/rollouts is on its way */
    bool campaigns_queued;      /* writer thread: the same of server/campaigns */
    bool verifications_queued;  /* writer thread: the same of server/verifications */
    struct counters counters;   /* any thread */
    struct event_hub *events;   /* any thread */
    struct images *images;      /* any thread */
    struct backups *backups;    /* any thread */
    struct series *series;      /* any thread: telemetry, in DATA/telemetry */
    struct health_desk *health; /* any thread: what the rules make of it */
    _Atomic bool health_poked;  /* any thread: the server knows something new of nodes */
    struct compat *compat;      /* immutable: the hardware rules */
    struct backoff *joins;      /* any thread: who guesses join tokens */
    struct certs *certs;        /* any thread */
    struct tls_ca *ca;          /* any thread */
    struct tls *tls;            /* any thread; NULL = plain HTTP */
    struct tls_names names;     /* of our own certificate */

    struct denials *denials;        /* any thread: refused calls on their way to the audit */
    struct backoff *backoff;        /* any thread: who guesses passwords */
    struct passwords *passwords;    /* any thread */
    struct inspector *inspector;    /* any thread */
    struct health_reports *reports; /* any thread */

    struct operations *operations; /* any thread */

    struct assets *assets; /* any thread */
    struct blob *openapi;
    json_t *contract;                       /* the same as a value; never changed */
    unsigned char page_key[STORE_KEY_SIZE]; /* of page tokens; never changed after the start */
    char store_id[2 * STORE_KEY_SIZE + 1];  /* which store this is; the same */
    unsigned char
        solar_secret[MAC_KEY_SIZE]; /* server/solar_keys.h; never changed after the start */
    int64_t start_us;
};

struct app_config {
    const char *data_dir;
    const char *address;
    uint16_t port;
    bool tls;
    const char *cert_file, *key_file; /* the operator's certificate; NULL = our own */
    const char *const *names;         /* of our own certificate, ended by NULL; NULL = none given */
    int listen_fd;                    /* a listening socket that is taken over; 0 = none */
    uint32_t rate_token, rate_tenant; /* calls a second (server/auth.h); 0 = no limit */
};

/* Opens DATA/stellar.db and the authority in DATA/ca.key and ca.crt, makes DATA/admin.token and
 * DATA/solar.key at first start, listens, writes DATA/url. */
ERR_MUST_CHECK enum err_code app_new(const struct app_config *config, struct app **out,
                                     struct err *err);
/* SIGHUP: takes a new server certificate now. */
void app_tls_reload(struct app *app);
/* Once a minute: takes one when it is time, or when the operator's files have changed. */
void app_tls_tick(struct app *app);
/* Answers what waits, ends the HTTP threads, then the store. */
void app_free(struct app *app);
OWN_DEFINE(app, struct app *, app_free)
