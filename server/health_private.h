#pragma once
/*
 * server/health_private.h - what the files of server/health share.
 */

#include <pthread.h>

#include "fleet/health_known.h"
#include "server/app.h"
#include "server/health.h"

struct health_node {
    char name[NAME_SIZE];
    struct health *health;
    int64_t batch_us; /* when the last batch came, by our clock; 0 = none since the start */
    int64_t ahead_ms; /* its clock before ours */
    bool is_seen;     /* at this tick */
    bool is_promised; /* it was told what jobs were promised on it */
};

/* For the store; node alone with rule NULL = it is gone. */
struct health_change {
    char node[NAME_SIZE];
    char port[PORT_ID_SIZE];
    struct health_status status;
};

struct health_exclusion {
    int64_t id, expires_us;
    char *rule, *subject; /* owned */
};

/* A state of the world, for who looks again at what changed since. */
struct health_mark {
    uint64_t serial, changes;
};

struct health_desk {
    struct app *app;
    struct health_book *book;
    pthread_t thread;
    pthread_cond_t changed;
    bool has_thread;

    pthread_mutex_t lock; /* of all that follows */
    bool ended, writing, sweeping;
    int64_t swept_ns;           /* when the last sweep ended; 0 = never */
    int64_t sweep_ns;           /* how long it took */
    struct health_node **nodes; /* owned; sorted by name */
    size_t node_count, node_room;
    struct health_change *pending; /* owned */
    size_t pending_count, pending_room;
    struct health_exclusion *exclusions; /* owned */
    size_t exclusion_count;
    struct health_peers *peers; /* owned; of the last sweep; NULL = none yet */
    char promised[NAME_SIZE];   /* of the jobs' walk: the last node; "" = none yet */
    /* Writer thread: what the world was when the last walk over all began; and this one. */
    struct health_mark walked, walking;
    uint64_t lost, refused;
};

/* Under the lock. NULL = there is none, or (get) no memory. */
struct health_node *health_node_find(struct health_desk *desk, const char *name);
struct health_node *health_node_get(struct health_desk *desk, const char *name);
/* Under the lock: a look, whose changes wait for the store. */
void health_node_look(struct health_desk *desk, struct health_node *node, enum health_source source,
                      int64_t now_us);
void health_pend(struct health_desk *desk, const struct health_change *change);
/* Under the lock. */
int64_t health_exclusion_of(const struct health_desk *desk, const char *rule, const char *subject,
                            int64_t now_us);

/* health_sweep.c: begins to read what the store knows of nodes, when it is time. Under the lock. */
void health_sweep(struct health_desk *desk);

/* health_jobs.c: begins to tell nodes what jobs were promised on them; `sweeping` until it ended.
 * Any thread. */
void health_jobs_begin(struct health_desk *desk);

/* health_store.c: a write of changes, in order; on the writer thread. */
ERR_MUST_CHECK enum err_code health_store(struct health_desk *desk, struct db_tx *tx,
                                          const struct health_change *changes, size_t count,
                                          struct err *err);
