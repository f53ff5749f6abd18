#pragma once
/*
 * db/incidents.h - tables of incidents (what rules of health raised) and of exclusions. The manners
 * are those of db/tables.h.
 */

#include "db/tables.h"

#define INCIDENTS_KEPT     20000              /* the newest; older ones that are over are dropped */
#define INCIDENTS_OPEN_MAX 10000              /* more: ERR_LIMIT */
#define INCIDENT_REOPEN_US INT64_C(600000000) /* what comes again within this is the same one */
#define EXCLUSIONS_MAX     1000

struct db_incident {
    int64_t id;
    const char *rule, *subject;
    const char *node, *tenant, *job; /* "" = none */
    int64_t kind, number, label;     /* of the subject, as in fleet/health.h */
    const char *device;
    const char *port;     /* "" = unknown */
    const char *severity; /* "warning", "critical" */
    int64_t root;         /* the incident that explains it; 0 = none */
    const char *message, *observed, *limit, *hint;
    int64_t count; /* how often it came */
    int64_t opened_us, changed_us;
    int64_t cleared_us;      /* 0 = open */
    int64_t acknowledged_us; /* 0 = nobody did */
    const char *acknowledged_by, *acknowledged_why;
};
typedef bool db_incident_fn(void *arg, const struct db_incident *row);

enum incident_news {
    INCIDENT_SAME = 0, /* it was open and of this severity */
    INCIDENT_OPENED,   /* a new one, or one that had ended came again */
    INCIDENT_CHANGED,  /* its severity became another */
};
/* id, count and times are filled in; root of a new one is the row's. ERR_LIMIT over
 * INCIDENTS_OPEN_MAX. */
ERR_MUST_CHECK enum err_code incident_raise(struct db_tx *tx, const struct db_incident *row,
                                            int64_t *out_id, enum incident_news *out_news,
                                            struct err *err);
/* *out_id 0 = none was open. */
ERR_MUST_CHECK enum err_code incident_clear(struct db_tx *tx, const char *rule, const char *subject,
                                            int64_t *out_id, struct err *err);
/* Those of a node that does not exist any more; *out_count of them. */
ERR_MUST_CHECK enum err_code incidents_clear_node(struct db_tx *tx, const char *node,
                                                  int64_t *out_count, struct err *err);
/* Of it and of those whose root it is. */
ERR_MUST_CHECK enum err_code incident_set_root(struct db_tx *tx, int64_t id, int64_t root,
                                               struct err *err);
/* *out_again: somebody had, and it stays as it was. ERR_NOT_FOUND. */
ERR_MUST_CHECK enum err_code incident_acknowledge(struct db_tx *tx, int64_t id, const char *by,
                                                  const char *why, bool *out_again,
                                                  struct err *err);
/* ERR_NOT_FOUND. */
ERR_MUST_CHECK enum err_code incident_get(struct db_ro *ro, int64_t id, db_incident_fn *fn,
                                          void *arg, struct err *err);

/* Which rows; NULL or negative = all. */
struct incident_filter {
    const char *rule, *node, *tenant, *severity;
    int open;         /* 1, 0 */
    int acknowledged; /* 1, 0 */
    int64_t root;     /* 0 = those without */
    int64_t since_us; /* opened not before */
};
/* Newest first, ids below `before` (0 = from the newest). */
ERR_MUST_CHECK enum err_code incident_list(struct db_ro *ro, const struct incident_filter *filter,
                                           int64_t before, int limit, db_incident_fn *fn, void *arg,
                                           struct err *err);
/* Of the node, that are open or ended since then; oldest first. */
ERR_MUST_CHECK enum err_code incident_near(struct db_ro *ro, const char *node, int64_t since_us,
                                           db_incident_fn *fn, void *arg, struct err *err);
struct incident_place {
    const char *rule;
    const char *node; /* not this one */
    int64_t since_us; /* open, or ended since then */
};
/* The open ones first, of both the newest first, `limit` of them. */
ERR_MUST_CHECK enum err_code incident_elsewhere(struct db_ro *ro, const struct incident_place *from,
                                                int limit, db_incident_fn *fn, void *arg,
                                                struct err *err);

struct db_exclusion {
    int64_t id;
    const char *rule;    /* "" = every rule */
    const char *subject; /* it and what is below it */
    const char *reason, *created_by;
    int64_t created_us, expires_us;
};
typedef bool db_exclusion_fn(void *arg, const struct db_exclusion *row);
/* id and created_us are filled in; what has expired for a day is dropped. ERR_LIMIT over
 * EXCLUSIONS_MAX. */
ERR_MUST_CHECK enum err_code exclusion_add(struct db_tx *tx, const struct db_exclusion *row,
                                           int64_t *out_id, struct err *err);
/* ERR_NOT_FOUND. */
ERR_MUST_CHECK enum err_code exclusion_delete(struct db_tx *tx, int64_t id, struct err *err);
ERR_MUST_CHECK enum err_code exclusion_get(struct db_ro *ro, int64_t id, db_exclusion_fn *fn,
                                           void *arg, struct err *err);
/* By id, after `after`. */
ERR_MUST_CHECK enum err_code exclusion_list(struct db_ro *ro, int64_t after, int limit,
                                            db_exclusion_fn *fn, void *arg, struct err *err);
