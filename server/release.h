#pragma once
/*
 * server/release.h - giving plans to nodes while changes are staged: text from the store, published
 * with the commit, the node woken. On the writer thread, inside a write.
 *
 * Prepared in a list first (SQL and memory, may fail), then settled into the world (cannot fail).
 */

#include "db/db.h"
#include "server/app.h"

struct release_item {
    char node[NAME_SIZE];
    struct node_release value;
};

struct releases {
    struct effects effects;
    struct release_item *items; /* owned */
    size_t count, room;
};
void releases_release(struct releases *releases); /* drops what was not settled */
#define OWN_RELEASES __attribute__((cleanup(releases_release)))

/* The text of a compiled plan into the store; its digest and number of knobs. */
ERR_MUST_CHECK enum err_code release_keep_plan(struct db_tx *tx, const struct plan *plan,
                                               struct err *err);
/* The node is given plan next->digest, which is stored: final (rollout 0), or to be confirmed.
 * next->knobs is filled in. A node that is not there (any more) is left out. */
ERR_MUST_CHECK enum err_code release_give(struct releases *releases, struct app *app,
                                          struct db_tx *tx, const char *node,
                                          const struct node_release *next, struct err *err);
/* As release_give, but the node keeps the plan it was given. */
ERR_MUST_CHECK enum err_code release_note(struct releases *releases, struct app *app,
                                          struct db_tx *tx, const char *node,
                                          const struct node_release *next, struct err *err);
void releases_settle(struct releases *releases, struct app *app);

/* Start-up: the rows into world, and published as they were given. */
ERR_MUST_CHECK enum err_code releases_load(struct app *app, struct world *world, struct db_ro *ro,
                                           bool publish, struct err *err);
/* When changes begin to be staged: what each node has now, as it is published, becomes its last
 * good plan in the store. */
ERR_MUST_CHECK enum err_code releases_begin(struct releases *releases, struct app *app,
                                            struct db_tx *tx, struct err *err);

/* What an assignment is known by. */
struct plan_head {
    const char *node, *digest;
    const char *rollout; /* "" = final */
    int64_t attempt;     /* plan.h; 0 = none */
    /* Digest of what a reboot is approved for: the order of this attempt; "" = none is. */
    const char *approved;
};
/* A published plan: its canonical text (with the attempt and approval of this head, whatever it
 * had), and the tag that agents know it by. Takes text, also on failure. */
ERR_MUST_CHECK enum err_code plan_entry_new(const struct plan_head *head, char *text,
                                            struct publish_entry **out, struct err *err);
/* The text without approval and attempt, which sort before all else; borrowed from it, from its
 * second byte on: behind the "{". */
const char *plan_text_rest(const char *text);
