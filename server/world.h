#pragma once
/*
 * server/world.h - the fleet's desired state in memory, as the rules and the compiler see it, and
 * what the last receipts said. Owned by the database's writer thread: no locks. It is always what
 * the file holds plus the open group of writes; after a failed commit it is loaded anew.
 *
 * Changes are swaps: world_swap_*() exchanges a value of the world with the caller's, so that the
 * same call twice changes nothing. A trial (rules, dry run) swaps in, looks, and swaps out; a
 * stored write swaps in and frees what came out. Swaps cannot fail: world_reserve() comes before.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "db/db.h"
#include "fleet/campaign.h"
#include "fleet/receipt.h"
#include "fleet/rollout.h"
#include "fleet/verification.h"
#include "fleet/view.h"
#include "server/http.h"

#define ROLLOUTS_ACTIVE_MAX      64 /* at once */
#define CAMPAIGNS_ACTIVE_MAX     16
#define VERIFICATIONS_ACTIVE_MAX 16

struct world_tenant {
    char name[NAME_SIZE];
    int64_t revision;
    char digest[DIGEST_TEXT_MAX]; /* of the tenant's document */
    struct tenant_quota quota;
    struct policy *policy; /* owned, NULL = none */
    int64_t policy_revision;
    char policy_digest[DIGEST_TEXT_MAX];
};
void world_tenant_free(struct world_tenant *tenant);
OWN_DEFINE(world_tenant, struct world_tenant *, world_tenant_free)

struct world_placement {
    struct placement *value; /* owned */
    int64_t revision;
    char digest[DIGEST_TEXT_MAX];
};
void world_placement_free(struct world_placement *placement);
OWN_DEFINE(world_placement, struct world_placement *, world_placement_free)

enum node_sync {
    NODE_IDLE = 0,    /* nothing is wanted of it and it never applied anything */
    NODE_PLANNING,    /* its plan is being compiled */
    NODE_IN_SYNC,     /* last receipt: digest and observed are the plan's, and no drift since */
    NODE_PENDING,     /* also a node that never reported its ports, once there is a profile */
    NODE_FAILED,      /* rolled back, refused, stuck, or applied and found otherwise */
    NODE_HELD,        /* a newer plan is there and waits for a rollout */
    NODE_CONFIRMING,  /* it was given a plan that is not confirmed yet */
    NODE_QUARANTINED, /* failed too often: it tries nothing more by itself */
    NODE_SYNC_COUNT,
};
const char *node_sync_name(enum node_sync sync);

/* What is kept of a receipt. */
struct receipt_note {
    int64_t id; /* 0 = none yet */
    int64_t generation, time_us;
    char digest[DIGEST_TEXT_MAX];
    char observed[DIGEST_TEXT_MAX];
    char body_digest[DIGEST_TEXT_MAX]; /* to know a repeated one */
    int64_t rollout;                   /* the plan was on trial for it; 0 = it was final */
    bool probes_ok;                    /* no probe of its self-test failed */
    enum receipt_result result;
    enum receipt_gap gap;
    int64_t gap_ms;
    char problem[256];
};

struct node_document {         /* what PUT /v1/nodes/N gives */
    struct label_pair *labels; /* owned, sorted by key */
    size_t label_count;
    char *text; /* owned, canonical JSON */
};

/* What a node was given (node/N/plan); the plan that it should have is plan_digest. */
struct node_release {
    char digest[DIGEST_TEXT_MAX]; /* "" = nothing yet */
    char good[DIGEST_TEXT_MAX];   /* the last one that was final */
    int64_t rollout;              /* to be confirmed in it; 0 = final */
    int64_t timeout_s;            /* then the node's timer */
    int64_t given_by;             /* the rollout that gave it; 0 = none */
    size_t knobs;
    char refused[DIGEST_TEXT_MAX]; /* what a rollout took back: not again by itself */
};

struct world_node {
    char name[NAME_SIZE];
    int64_t revision;
    int64_t created_us; /* another node of the same name, made anew, has another */
    char digest[DIGEST_TEXT_MAX];
    struct node_document document;
    struct inventory *inventory; /* owned, NULL = never reported */
    char inventory_digest[DIGEST_TEXT_MAX];
    uint64_t changed; /* world.changes when its document or inventory was swapped last */
    bool dirty;       /* its plan must be compiled */
    bool touched;     /* its row in server/status is old */
    bool planned;     /* plan_* are set */
    char plan_digest[DIGEST_TEXT_MAX];
    size_t plan_knobs;
    char plan_problem[256]; /* "" or why it could not be compiled */
    struct node_release release;
    int64_t attempt; /* orders to try again so far; its plan is published with the number */
    char approved[DIGEST_TEXT_MAX]; /* what the last one approves a reboot for; "" = nothing */
    uint64_t heard;                 /* status_heard() when it was last looked at */
    bool drifted; /* a state report after the last receipt differs from the plan */
    char *state; /* after a load, until the first plan: the report that is newer than the receipt */
    struct receipt_note receipt;
    int64_t last_report_us; /* newest of inventory, state and receipt at load */
    enum node_sync sync;
};
void world_node_free(struct world_node *node);
OWN_DEFINE(world_node, struct world_node *, world_node_free)

struct world {
    struct view view; /* points into the arrays below */
    uint64_t serial;  /* of this world: no other one of the process has it */
    uint64_t changes; /* swaps so far */
    uint64_t changed; /* `changes` when something else than a node's was swapped last */
    struct fabric *fabric;
    int64_t fabric_revision;
    char fabric_digest[DIGEST_TEXT_MAX];
    struct world_tenant **tenants; /* sorted by name, as the views */
    struct view_tenant *view_tenants;
    size_t tenant_capacity;
    struct world_node **nodes;
    struct view_node *view_nodes;
    size_t node_capacity;
    struct world_placement **placements;
    const struct placement **view_placements;
    size_t placement_capacity;
    struct rollout_policy rollout_policy;
    int64_t rollout_policy_revision; /* 0 = never set */
    char rollout_policy_digest[DIGEST_TEXT_MAX];
    struct rollout *rollouts[ROLLOUTS_ACTIVE_MAX]; /* owned; those that are not over */
    size_t rollout_count;
    bool rollouts_due;                                /* server/rollouts has something to look at */
    struct campaign *campaigns[CAMPAIGNS_ACTIVE_MAX]; /* owned; those that are not over */
    size_t campaign_count;
    bool campaigns_due; /* server/campaigns has something to look at */
    struct verification *verifications[VERIFICATIONS_ACTIVE_MAX]; /* owned; not over */
    size_t verification_count;
    bool verifications_due; /* server/verifications has something to look at */
    bool plans_unused;      /* the store may hold plans that nothing names any more */
    int64_t generation;
    size_t dirty_count;
    bool any_touched;
    size_t sync_counts[NODE_SYNC_COUNT];
};

ERR_MUST_CHECK enum err_code world_new(struct world **out, struct err *err);
void world_free(struct world *world);
OWN_DEFINE(world, struct world *, world_free)

/* Room for one more of everything. */
ERR_MUST_CHECK enum err_code world_reserve(struct world *world, struct err *err);

struct world_tenant *world_tenant_get(const struct world *world, const char *name);
struct world_node *world_node_get(const struct world *world, const char *name);
/* The first of these names (an array of texts, or NULL) that no node has; borrowed, NULL = none. */
const char *world_missing_node(const struct world *world, const json_t *names);
struct world_placement *world_placement_get(const struct world *world, const char *tenant,
                                            const char *job);
/* Index of the tenant's first placement; *out_count of them follow each other. */
size_t world_placements_of(const struct world *world, const char *tenant, size_t *out_count);

void world_swap_fabric(struct world *world, struct fabric **fabric);
/* Whole entries: NULL in = removal, NULL out = there was none. The entry's name is `name`. */
void world_swap_tenant(struct world *world, const char *name, struct world_tenant **entry);
void world_swap_placement(struct world *world, const char *tenant, const char *job,
                          struct world_placement **entry);
void world_swap_node(struct world *world, const char *name, struct world_node **entry);
/* Parts of entries that are there. */
void world_swap_policy(struct world *world, const char *tenant, struct policy **policy);
void world_swap_quota(struct world *world, const char *tenant, struct tenant_quota *quota);
void world_swap_document(struct world *world, const char *node, struct node_document *document);
void world_swap_inventory(struct world *world, const char *node, struct inventory **inventory);

typedef void world_node_fn(void *arg, struct world_node *node);
void world_each_node(struct world *world, world_node_fn *fn, void *arg);
/* Nodes that the placement covers / that any placement of the tenant covers (may repeat). */
void world_each_placed(struct world *world, const struct placement *placement, world_node_fn *fn,
                       void *arg);
void world_each_of_tenant(struct world *world, const char *tenant, world_node_fn *fn, void *arg);

void world_mark_dirty(struct world *world, struct world_node *node);
void world_clear_dirty(struct world *world, struct world_node *node);
/* Call after a change of what node->sync depends on. */
void world_node_resync(struct world *world, struct world_node *node);

/* Whether changes are staged and the newest plan of the node is not what it was given. A node that
 * was given none yet gets the newest as soon as it has said what hardware it has: there is nothing
 * to protect. */
bool world_node_is_held(const struct world *world, const struct world_node *node);
bool world_node_is_untold(const struct world *world, const struct world_node *node);

/* JSON -> value ------------------------------------------------------------------------------- */

/* Any thread. A document that names another thing than `name` is refused (NULL = not looked at).
 * Findings of rule "schema"; ERR_INVALID when refused. */
ERR_MUST_CHECK enum err_code tenant_document_read(const json_t *document, const char *name,
                                                  struct tenant_quota *out_quota,
                                                  struct finding_list *findings, struct err *err);
ERR_MUST_CHECK enum err_code node_document_read(const json_t *document, const char *name,
                                                struct node_document *out,
                                                struct finding_list *findings, struct err *err);
void node_document_release(struct node_document *document);
void receipt_note_of(const struct receipt *receipt, const char *body_digest,
                     struct receipt_note *out);

/* What lists and readers see of a placement (openapi PlacementItem); malloc'ed, NULL = no memory.
 */
char *placement_item_text(const struct placement *placement, int64_t revision,
                          const json_t *document);
