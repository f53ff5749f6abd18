#pragma once
/*
 * fleet/rules.h - the rules of DESIGN section 4 as a table: one file a rule under fleet/rules/.
 *
 * A rule looks at the whole view after a change and at what was changed. It reports findings whose
 * pointers go into the changed document where the fault lies there, and whose subjects name tenants
 * only when the caller may see them: findings about other tenants' shares say "other tenants",
 * never their names (a tenant must not learn that another exists).
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/finding.h"
#include "fleet/view.h"

enum change_kind {
    CHANGE_POLICY,
    CHANGE_FABRIC,
    CHANGE_PLACEMENT,
    CHANGE_INVENTORY, /* findings are only reported, nothing is refused */
    CHANGE_TENANT,    /* quota */
};

/* What the change touches; the view already holds the new value. */
struct change {
    enum change_kind kind;
    const char *tenant;             /* policy, placement, tenant; else NULL */
    const char *job;                /* placement */
    const char *node;               /* inventory */
    const struct site_index *sites; /* private: rules_check() fills it for the rules */
};

struct rule {
    const char *id;     /* public, kebab-case, never reused */
    const char *text;   /* what it checks, one sentence */
    const char *reason; /* why */
    void (*check)(const struct view *view, const struct change *change,
                  struct finding_list *findings);
};

extern const struct rule *const rules[]; /* NULL-terminated, in the order of DESIGN section 4 */

/* Runs every rule. The change is refused when finding_list_has_errors(findings). */
void rules_check(const struct view *view, const struct change *change,
                 struct finding_list *findings);

/* How a job is enforced on the placed nodes, worst of all ports. */
enum enforcement {
    ENFORCEMENT_NIC = 0,
    ENFORCEMENT_KERNEL,
    ENFORCEMENT_SOLAR,
    ENFORCEMENT_NONE,
};
const char *enforcement_name(enum enforcement enforcement);

/*
 * JSON object {"JOB":{"guarantee":"nic","limit":"kernel"},...} for the answer to an upload; members
 * only where a guarantee/limit is set; "unplaced" when the job has no placed node with inventory.
 */
json_t *enforcement_of_policy(const struct view *view, const char *tenant);
/* The same as canonical text, which the writer thread puts into its answer as it is: a tree of it
 * was an eighth of that thread's time. free() it; NULL = no memory. */
char *enforcement_text(const struct view *view, const char *tenant);
