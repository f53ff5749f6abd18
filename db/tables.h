#pragma once
/*
 * db/tables.h - the tables, as functions. One .c file per group: documents.c, tenants.c, nodes.c,
 * placements.c, receipts.c, rollouts.c, users.c, tokens.c, certificates.c, audit.c, events.c,
 * idempotency.c.
 *
 * Strings in rows given to callbacks live until the callback returns. A callback returns false to
 * stop. Texts are UTF-8, times int64 microseconds since the epoch. All functions: ERR_IO with
 * SQLite's words, ERR_NOMEM, ERR_CONFLICT when a constraint of the schema is hurt (a placement of
 * no tenant, a token's hash twice). What is changed or deleted by name and is not there:
 * ERR_NOT_FOUND. Lists take `after` (exclusive key, NULL = from the start) and `limit`
 * (1..DB_PAGE_MAX).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "db/db.h"

#define DB_PAGE_MAX  1000
#define DB_LABEL_MAX 65533

/* Documents and revisions --------------------------------------------------------------------- */
/* doc: "fabric" or "tenant/T/policy". Revision numbers start at 1 and never repeat. */

struct db_revision {
    const char *doc;
    int64_t number;
    const char *body;    /* canonical JSON */
    const char *digest;  /* of body */
    const char *author;  /* principal */
    const char *message; /* may be "" */
    const char *origin;  /* "upload", "rollback:N", "import", ... */
    int64_t created_us;
};
typedef bool db_revision_fn(void *arg, const struct db_revision *revision);

/* Current revision number; 0 = none or deleted. */
ERR_MUST_CHECK enum err_code document_current(struct db_ro *ro, const char *doc, int64_t *out,
                                              struct err *err);
/* Number is last + 1 (also after a deletion), becomes current; *out_number. created_us = now. */
ERR_MUST_CHECK enum err_code document_put(struct db_tx *tx, const struct db_revision *revision,
                                          int64_t *out_number, struct err *err);
/* current = 0; revisions stay. ERR_NOT_FOUND when there is no current one. */
ERR_MUST_CHECK enum err_code document_delete(struct db_tx *tx, const char *doc, struct err *err);
/* ERR_NOT_FOUND. */
ERR_MUST_CHECK enum err_code revision_get(struct db_ro *ro, const char *doc, int64_t number,
                                          db_revision_fn *fn, void *arg, struct err *err);
/* Newest first, numbers below `before` (0 = from the newest); bodies are NULL. */
ERR_MUST_CHECK enum err_code revision_list(struct db_ro *ro, const char *doc, int64_t before,
                                           int limit, db_revision_fn *fn, void *arg,
                                           struct err *err);
/* Every document's current revision with its body: start-up. */
ERR_MUST_CHECK enum err_code document_each(struct db_ro *ro, db_revision_fn *fn, void *arg,
                                           struct err *err);

/* Tenants -------------------------------------------------------------------------------------- */

struct db_tenant {
    const char *name;
    int64_t revision; /* etag: +1 a change; after a deletion it goes on, see below */
    const char *body; /* canonical JSON of schemas/tenant.json */
    int64_t created_us, updated_us;
};
typedef bool db_tenant_fn(void *arg, const struct db_tenant *tenant);
/* Revisions of a tenant, a placement or a node never repeat under one name: one that is made anew
 * begins above every revision that a deleted row of these tables had. */
ERR_MUST_CHECK enum err_code tenant_put(struct db_tx *tx, const char *name, const char *body,
                                        int64_t *out_revision, struct err *err);
/* The current policy, the placements (their labels stay), the users and the tokens of the tenant go
 * with it; ERR_NOT_FOUND. */
ERR_MUST_CHECK enum err_code tenant_delete(struct db_tx *tx, const char *name, struct err *err);
/* When it was made; INT64_MAX = there is none. */
ERR_MUST_CHECK enum err_code tenant_created(struct db_ro *ro, const char *name, int64_t *out_us,
                                            struct err *err);
/* ERR_NOT_FOUND. */
ERR_MUST_CHECK enum err_code tenant_get(struct db_ro *ro, const char *name, db_tenant_fn *fn,
                                        void *arg, struct err *err);
ERR_MUST_CHECK enum err_code tenant_list(struct db_ro *ro, const char *after, int limit,
                                         db_tenant_fn *fn, void *arg, struct err *err);

/* Placements and labels ----------------------------------------------------------------------- */

struct db_placement {
    const char *tenant, *job;
    uint32_t label;
    int64_t revision;
    const char *body; /* canonical JSON of schemas/placement.json */
    int64_t updated_us;
    int64_t taken_us; /* since when the label is not another job's any more; 0 = it never was */
};
typedef bool db_placement_fn(void *arg, const struct db_placement *placement);
/*
 * A job keeps its label for ever, also over deletion and re-creation of its placement; labels are
 * allotted from 1 upwards, never given to another job while unused ones are left (max 65533, then
 * the longest-deleted label is reused, then ERR_LIMIT).
 */
ERR_MUST_CHECK enum err_code label_get(struct db_tx *tx, const char *tenant, const char *job,
                                       uint32_t *out, struct err *err);
/* Gives the job this label, as an archive says; placed = false: for when it comes back.
 * ERR_CONFLICT when the job has another one, or another job has this one. */
ERR_MUST_CHECK enum err_code label_claim(struct db_tx *tx, const char *tenant, const char *job,
                                         uint32_t label, bool placed, struct err *err);
typedef bool db_label_fn(void *arg, const char *tenant, const char *job, uint32_t label);
/* Labels of jobs that are not placed, by number, those above `after`. */
ERR_MUST_CHECK enum err_code label_list_freed(struct db_ro *ro, uint32_t after, int limit,
                                              db_label_fn *fn, void *arg, struct err *err);
/* ERR_CONFLICT when label is not what label_get() gave for this job. */
ERR_MUST_CHECK enum err_code placement_put(struct db_tx *tx, const char *tenant, const char *job,
                                           uint32_t label, const char *body, int64_t *out_revision,
                                           struct err *err);
ERR_MUST_CHECK enum err_code placement_delete(struct db_tx *tx, const char *tenant, const char *job,
                                              struct err *err);
/* ERR_NOT_FOUND. */
ERR_MUST_CHECK enum err_code placement_get(struct db_ro *ro, const char *tenant, const char *job,
                                           db_placement_fn *fn, void *arg, struct err *err);
/* By tenant, then job. tenant NULL = all; after_tenant/after_job exclusive. */
ERR_MUST_CHECK enum err_code placement_list(struct db_ro *ro, const char *tenant,
                                            const char *after_tenant, const char *after_job,
                                            int limit, db_placement_fn *fn, void *arg,
                                            struct err *err);

/* Nodes ---------------------------------------------------------------------------------------- */

struct db_node {
    const char *name;
    int64_t revision;
    const char *body;       /* canonical JSON of schemas/node.json: labels, description */
    const char *token_hash; /* of the agent's token; never leaves the server */
    const char *inventory;  /* NULL = never reported */
    const char *state;      /* last state report, NULL = none */
    const char *receipt;    /* last receipt, NULL = none */
    int64_t created_us, updated_us;
    int64_t inventory_us, state_us, receipt_us; /* 0 = never */
    int64_t attempt;                            /* node_attempt_next()'s last; 0 = none */
    const char *approved;                       /* and that one's; "" = nothing */
};
typedef bool db_node_fn(void *arg, const struct db_node *node);
/* token_hash NULL keeps the old one. */
ERR_MUST_CHECK enum err_code node_put(struct db_tx *tx, const char *name, const char *body,
                                      const char *token_hash, int64_t *out_revision,
                                      struct err *err);
ERR_MUST_CHECK enum err_code node_delete(struct db_tx *tx, const char *name, struct err *err);
ERR_MUST_CHECK enum err_code node_list(struct db_ro *ro, const char *after, int limit,
                                       db_node_fn *fn, void *arg, struct err *err);
ERR_MUST_CHECK enum err_code node_inventory_put(struct db_tx *tx, const char *name,
                                                const char *inventory, struct err *err);
ERR_MUST_CHECK enum err_code node_state_put(struct db_tx *tx, const char *name, const char *state,
                                            struct err *err);
/* The same, but one that differs from the stored one at most by when it was seen (/of/time_us)
 * writes nothing: the older times stay. */
ERR_MUST_CHECK enum err_code node_state_keep(struct db_tx *tx, const char *name, const char *state,
                                             struct err *err);

/* Orders to the node, which is there, to try again: the number of this one, from 1. approved: the
 * digest of what a reboot is approved for; "" = of nothing, and what was is no more. */
ERR_MUST_CHECK enum err_code node_attempt_next(struct db_tx *tx, const char *name,
                                               const char *approved, int64_t *out, struct err *err);

/* The marking chains of a node, which is there: canonical JSON, as chain_report_from_json() reads
 * it. */
struct db_chains {
    const char *node, *body;
    int64_t received_us;
};
typedef bool db_chains_fn(void *arg, const struct db_chains *chains);
ERR_MUST_CHECK enum err_code node_chains_put(struct db_tx *tx, const char *name, const char *chains,
                                             struct err *err);
/* At most one call; none when the node told none. */
ERR_MUST_CHECK enum err_code node_chains_get(struct db_ro *ro, const char *name, db_chains_fn *fn,
                                             void *arg, struct err *err);

#define RECEIPTS_KEPT 100 /* a node; older ones are dropped when a new one comes */

struct db_receipt {
    int64_t id;
    const char *node;
    int64_t generation;
    const char *digest, *observed, *result;
    const char *rollout; /* that the plan was on trial for; "" = none */
    const char *body;    /* canonical JSON of schemas/receipt.json */
    int64_t received_us;
};
typedef bool db_receipt_fn(void *arg, const struct db_receipt *receipt);
/* id and received_us are filled in; the node's last receipt becomes this one. ERR_NOT_FOUND. */
ERR_MUST_CHECK enum err_code receipt_put(struct db_tx *tx, const struct db_receipt *receipt,
                                         int64_t *out_id, struct err *err);
/* Newest first; before 0 = from the newest. */
ERR_MUST_CHECK enum err_code receipt_list(struct db_ro *ro, const char *node, int64_t before,
                                          int limit, db_receipt_fn *fn, void *arg, struct err *err);
/* Of each node behind `after`, by name, the oldest receipt kept that answers to `generation` or a
 * later one. */
ERR_MUST_CHECK enum err_code receipts_since(struct db_ro *ro, int64_t generation, const char *after,
                                            int limit, db_receipt_fn *fn, void *arg,
                                            struct err *err);

/* Generations ---------------------------------------------------------------------------------- */

/* The fleet's desired state counts up by one with each accepted change of it. */
ERR_MUST_CHECK enum err_code generation_next(struct db_tx *tx, const char *cause, int64_t *out,
                                             struct err *err);
ERR_MUST_CHECK enum err_code generation_current(struct db_ro *ro, int64_t *out, struct err *err);

/* Rollouts: rollouts.c ------------------------------------------------------------------------- */

#define ROLLOUTS_KEPT 1000 /* that are over; older ones are dropped */

typedef bool db_plan_fn(void *arg, const char *body, int64_t knobs);
/* A plan's text by its digest; twice is once. */
ERR_MUST_CHECK enum err_code plan_put(struct db_tx *tx, const char *digest, const char *body,
                                      int64_t knobs, struct err *err);
/* fn is called once; ERR_NOT_FOUND. */
ERR_MUST_CHECK enum err_code plan_get(struct db_ro *ro, const char *digest, db_plan_fn *fn,
                                      void *arg, struct err *err);
/* Up to `limit` of those that no release, no active rollout and none that can be rolled back
 * names. *out_any (may be NULL): there were some, so there may be more. */
#define DB_NO_LIMIT (-1)
ERR_MUST_CHECK enum err_code plans_drop_unused(struct db_tx *tx, int64_t limit, bool *out_any,
                                               struct err *err);

/* What a node was given while changes are staged. */
struct db_release {
    const char *node;
    const char *digest, *good; /* of plans that are stored */
    int64_t rollout;           /* to be confirmed in it; 0 = final */
    int64_t timeout_s;
    int64_t given_by;    /* rollout; 0 = none */
    const char *refused; /* digest that a rollout took back; "" = none */
    int64_t knobs;       /* of digest; filled in by release_each() */
};
typedef bool db_release_fn(void *arg, const struct db_release *release);
/* Also replaces the node's. ERR_CONFLICT: no such node, or no such plan. */
ERR_MUST_CHECK enum err_code release_put(struct db_tx *tx, const struct db_release *release,
                                         struct err *err);
ERR_MUST_CHECK enum err_code release_each(struct db_ro *ro, db_release_fn *fn, void *arg,
                                          struct err *err);
ERR_MUST_CHECK enum err_code releases_drop(struct db_tx *tx, struct err *err); /* all */

struct db_rollout {
    int64_t number;
    const char *state;
    bool active;
    int64_t revision;
    const char *head; /* JSON: rollout_head_to_json() */
    int64_t created_us, updated_us;
};
typedef bool db_rollout_fn(void *arg, const struct db_rollout *rollout);
/* The next number; numbers never repeat. */
ERR_MUST_CHECK enum err_code rollout_next(struct db_tx *tx, int64_t *out, struct err *err);
/* Makes it or replaces it; created_us of the first time stays. Drops the oldest that are over. */
ERR_MUST_CHECK enum err_code rollout_put(struct db_tx *tx, const struct db_rollout *rollout,
                                         struct err *err);
/* fn is called once; ERR_NOT_FOUND. */
ERR_MUST_CHECK enum err_code rollout_get(struct db_ro *ro, int64_t number, db_rollout_fn *fn,
                                         void *arg, struct err *err);
/* Newest first, numbers below `before` (0 = from the newest); active_only: start-up. */
ERR_MUST_CHECK enum err_code rollout_list(struct db_ro *ro, int64_t before, bool active_only,
                                          int limit, db_rollout_fn *fn, void *arg, struct err *err);

struct db_rollout_node {
    const char *node;
    int64_t wave;
    const char *state, *target, *before;
    const char *body; /* JSON: rollout_node_to_json() */
};
typedef bool db_rollout_node_fn(void *arg, const struct db_rollout_node *node);
ERR_MUST_CHECK enum err_code rollout_node_put(struct db_tx *tx, int64_t number,
                                              const struct db_rollout_node *node, struct err *err);
ERR_MUST_CHECK enum err_code rollout_node_delete(struct db_tx *tx, int64_t number, const char *node,
                                                 struct err *err);
ERR_MUST_CHECK enum err_code rollout_node_list(struct db_ro *ro, int64_t number, const char *after,
                                               int limit, db_rollout_node_fn *fn, void *arg,
                                               struct err *err);

/* Tokens --------------------------------------------------------------------------------------- */

struct db_token {
    const char *id;     /* public part */
    const char *hash;   /* "sha256:..." of the whole token */
    const char *role;   /* "admin", "operator", "auditor", "tenant-admin", "tenant-user" */
    const char *tenant; /* "" = none */
    const char *description;
    int64_t created_us, expires_us; /* 0 = never */
    const char *owner;              /* user whose token it is; "" = none */
    int64_t scopes;                 /* bits: 1 read, 2 write */
    const char *sources;            /* address prefixes, commas between; "" = from anywhere */
    const char *created_by;         /* principal */
    int64_t used_us;                /* as of the last token_used(); 0 = never */
};
typedef bool db_token_fn(void *arg, const struct db_token *token);
/* Also replaces the one with that id; created_us 0 = now; used_us is not written. */
ERR_MUST_CHECK enum err_code token_put(struct db_tx *tx, const struct db_token *token,
                                       struct err *err);
ERR_MUST_CHECK enum err_code token_delete(struct db_tx *tx, const char *id, struct err *err);
/* By id, those behind `after` ("" = all), until fn has had enough. */
ERR_MUST_CHECK enum err_code token_each(struct db_ro *ro, const char *after, db_token_fn *fn,
                                        void *arg, struct err *err);
/* Those of the tenant's roles; those of a user. */
ERR_MUST_CHECK enum err_code token_each_of_tenant(struct db_ro *ro, const char *tenant,
                                                  const char *after, db_token_fn *fn, void *arg,
                                                  struct err *err);
ERR_MUST_CHECK enum err_code token_each_of_owner(struct db_ro *ro, const char *owner,
                                                 const char *after, db_token_fn *fn, void *arg,
                                                 struct err *err);
/* fn is not called when there is none. */
ERR_MUST_CHECK enum err_code token_get(struct db_ro *ro, const char *id, db_token_fn *fn, void *arg,
                                       struct err *err);
ERR_MUST_CHECK enum err_code tokens_delete_of(struct db_tx *tx, const char *owner, struct err *err);
/* An earlier time than the one that is stored, or an unknown id, changes nothing. */
ERR_MUST_CHECK enum err_code token_used(struct db_tx *tx, const char *id, int64_t used_us,
                                        struct err *err);

/* Users and sessions --------------------------------------------------------------------------- */

struct db_user {
    const char *name;   /* "NAME", or "NAME@TENANT" */
    const char *tenant; /* "" = staff */
    const char *role;
    const char *description;
    const char *password_hash; /* base/password.h; never leaves the server */
    bool disabled;
    int64_t revision; /* etag, as of tenants */
    int64_t created_us, updated_us, password_us;
};
typedef bool db_user_fn(void *arg, const struct db_user *user);
/* Makes or replaces; name and tenant stay. Times are filled in; password_us is now when the hash is
 * another one. */
ERR_MUST_CHECK enum err_code user_put(struct db_tx *tx, const struct db_user *user,
                                      int64_t *out_revision, struct err *err);
/* fn is not called when there is none. */
ERR_MUST_CHECK enum err_code user_get(struct db_ro *ro, const char *name, db_user_fn *fn, void *arg,
                                      struct err *err);
/* By name; tenant NULL = all. */
ERR_MUST_CHECK enum err_code user_list(struct db_ro *ro, const char *tenant, const char *after,
                                       int limit, db_user_fn *fn, void *arg, struct err *err);
/* Its sessions and tokens go with it. */
ERR_MUST_CHECK enum err_code user_delete(struct db_tx *tx, const char *name, struct err *err);
/* Of one tenant; "" = staff. */
ERR_MUST_CHECK enum err_code users_count(struct db_ro *ro, const char *tenant, int64_t *out,
                                         struct err *err);
/* Ways in that stay: enabled admins, and admins' tokens of no user that never expire, with every
 * scope, from anywhere. */
ERR_MUST_CHECK enum err_code admins_count(struct db_ro *ro, int64_t *out, struct err *err);

struct db_session {
    const char *id;    /* public part */
    const char *hash;  /* "sha256:..." of the cookie's value */
    const char *owner; /* user */
    int64_t created_us, seen_us, expires_us;
};
typedef bool db_session_fn(void *arg, const struct db_session *session);
/* created_us and seen_us are now. */
ERR_MUST_CHECK enum err_code session_put(struct db_tx *tx, const struct db_session *session,
                                         struct err *err);
/* None with this id: nothing. */
ERR_MUST_CHECK enum err_code session_delete(struct db_tx *tx, const char *id, struct err *err);
ERR_MUST_CHECK enum err_code sessions_delete_of(struct db_tx *tx, const char *owner,
                                                struct err *err);
/* Those that are over, and those last seen before the time. */
ERR_MUST_CHECK enum err_code sessions_expire(struct db_tx *tx, int64_t seen_before_us,
                                             struct err *err);
ERR_MUST_CHECK enum err_code session_seen(struct db_tx *tx, const char *id, int64_t seen_us,
                                          struct err *err);
/* Of a user, newest first; owner NULL = all. */
ERR_MUST_CHECK enum err_code session_each(struct db_ro *ro, const char *owner, db_session_fn *fn,
                                          void *arg, struct err *err);

/* Enrolment of agents -------------------------------------------------------------------------- */

struct db_join {
    const char *node;
    const char *hash; /* "sha256:..." of the whole join token */
    const char *key;  /* SHA-256 of the public key that used it; "" = unused */
    int64_t created_us, expires_us;
};
typedef bool db_join_fn(void *arg, const struct db_join *join);
/* Takes the place of the node's older one; unused, created now. ERR_CONFLICT: no such node. */
ERR_MUST_CHECK enum err_code join_put(struct db_tx *tx, const char *node, const char *hash,
                                      int64_t expires_us, struct err *err);
/* fn is called once; ERR_NOT_FOUND. */
ERR_MUST_CHECK enum err_code join_get(struct db_ro *ro, const char *hash, db_join_fn *fn, void *arg,
                                      struct err *err);
ERR_MUST_CHECK enum err_code join_use(struct db_tx *tx, const char *node, const char *key,
                                      struct err *err);
/* The node's join token ends, if there is one. */
ERR_MUST_CHECK enum err_code join_end(struct db_tx *tx, const char *node, struct err *err);

struct db_certificate {
    const char *fingerprint; /* 64 hex digits */
    const char *node;
    const char *serial;
    const char *origin; /* "join" or "renewal" */
    int64_t created_us, expires_us;
};
typedef bool db_certificate_fn(void *arg, const struct db_certificate *certificate);
/* created_us = now. ERR_CONFLICT: no such node, or the fingerprint twice. */
ERR_MUST_CHECK enum err_code
certificate_put(struct db_tx *tx, const struct db_certificate *certificate, struct err *err);
/* All of the node's but `keep` (NULL = all); *out_count of them. */
ERR_MUST_CHECK enum err_code certificates_end(struct db_tx *tx, const char *node, const char *keep,
                                              int64_t *out_count, struct err *err);
/* By node, then oldest first. node NULL = all. */
ERR_MUST_CHECK enum err_code certificate_each(struct db_ro *ro, const char *node,
                                              db_certificate_fn *fn, void *arg, struct err *err);

/* Audit: hash-chained -------------------------------------------------------------------------- */

struct db_audit {
    int64_t id;
    int64_t time_us;
    /* "" = none. actor: a principal, or "PRINCIPAL PERSON" for what a person did by it. */
    const char *actor, *action, *subject, *request_id, *reason;
    const char *before, *after;   /* JSON texts or plain words; "" = none */
    int64_t generation;           /* that the change became; 0 = none */
    const char *prev_hash, *hash; /* "sha256:..." */
};
typedef bool db_audit_fn(void *arg, const struct db_audit *row);
/* id, time and hashes are filled in; hash = sha256 over prev_hash and every other column, length-
 * prefixed. */
ERR_MUST_CHECK enum err_code audit_add(struct db_tx *tx, const struct db_audit *row,
                                       struct err *err);

/* Which rows; NULL or 0 = all. */
struct audit_filter {
    const char *tenant;  /* rows whose subject is "tenant/T" or below; "" = none */
    const char *actor;   /* the principal or the person */
    bool principal_only; /* not the person behind another principal */
    const char *action, *request_id;
    const char *subject;        /* it or what is below it */
    int64_t since_us, until_us; /* since <= time < until */
};
/* Newest first, ids below `before` (0 = from the newest). */
ERR_MUST_CHECK enum err_code audit_list(struct db_ro *ro, const struct audit_filter *filter,
                                        int64_t before, int limit, db_audit_fn *fn, void *arg,
                                        struct err *err);
/* ERR_NOT_FOUND. */
ERR_MUST_CHECK enum err_code audit_get(struct db_ro *ro, int64_t id, db_audit_fn *fn, void *arg,
                                       struct err *err);

struct audit_check {
    int64_t rows;                 /* that fit */
    char head[DIGEST_TEXT_MAX];   /* hash of the last row that fits; "" = none */
    int64_t bad_id;               /* the first row that does not fit or is not there; 0 = all fit */
    char problem[64];             /* what is wrong with it */
    int64_t anchor_id;            /* in: a row that must be there; 0 = none asked for */
    char anchor[DIGEST_TEXT_MAX]; /* in: its hash */
    bool anchored;                /* it is there, with that hash, and fits */
};
/* Walks the whole chain in chunks of a transaction each: never in the way of the writer. Finding a
 * fault is no error. */
ERR_MUST_CHECK enum err_code audit_verify(struct db_ro *ro, struct audit_check *check,
                                          struct err *err);

/* Events --------------------------------------------------------------------------------------- */

#define EVENTS_KEPT 100000

struct db_event {
    int64_t id;
    int64_t time_us;
    const char *kind;       /* "policy.changed", "node.drift", ... */
    const char *subject;    /* "tenant/a/policy", "node/n1" */
    const char *request_id; /* of the request that caused it; NULL or "" = none */
    const char *body;       /* JSON object */
};
typedef bool db_event_fn(void *arg, const struct db_event *event);
/* id and time are filled in. Ids have no gaps. */
ERR_MUST_CHECK enum err_code event_add(struct db_tx *tx, const struct db_event *event,
                                       int64_t *out_id, struct err *err);
/* Oldest first, ids > after. */
ERR_MUST_CHECK enum err_code event_list(struct db_ro *ro, int64_t after, int limit, db_event_fn *fn,
                                        void *arg, struct err *err);
/* Ids of the oldest event kept and of the newest; both 0 = there was none yet. */
ERR_MUST_CHECK enum err_code event_bounds(struct db_ro *ro, int64_t *out_oldest,
                                          int64_t *out_newest, struct err *err);

/* Keys of this store --------------------------------------------------------------------------- */

#define STORE_KEY_SIZE 32
/* The key of that name; made at its first use, then the same for ever. */
ERR_MUST_CHECK enum err_code store_key_get(struct db_tx *tx, const char *name,
                                           unsigned char out[STORE_KEY_SIZE], struct err *err);
/* No secret: which store this is. A restored one is another from then on. */
#define STORE_KEY_ID "store"

/* Idempotency keys ----------------------------------------------------------------------------- */

#define IDEMPOTENCY_KEPT_US INT64_C(86400000000)

struct db_idempotency {
    const char *key;     /* principal + "\n" + Idempotency-Key */
    const char *request; /* digest of method, path and body */
    int status;
    const char *body;
};
typedef bool db_idempotency_fn(void *arg, const struct db_idempotency *row);
/* ERR_NOT_FOUND when there is none younger than IDEMPOTENCY_KEPT_US. */
ERR_MUST_CHECK enum err_code idempotency_get(struct db_ro *ro, const char *key,
                                             db_idempotency_fn *fn, void *arg, struct err *err);
/* Also drops a few expired rows. ERR_CONFLICT when the key has a younger row. */
ERR_MUST_CHECK enum err_code idempotency_put(struct db_tx *tx, const struct db_idempotency *row,
                                             struct err *err);
