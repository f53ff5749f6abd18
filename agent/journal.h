#pragma once
/*
 * agent/journal.h - what is about to be changed, on disk before the first change
 * (STATE_DIR/journal.json): with it a node whose agent died in the middle can be taken back.
 *
 *   {"version":1,"node","generation","digest","boot","steps":[{"op","kind","subject",...,"from",
 *    "to"}]}
 *
 * Steps are idempotent, so their starts and ends are not recorded: whatever stands at `to` or in
 * between is taken back to `from`.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "fleet/plan.h"

#define JOURNAL_FILE "journal.json"
#define BOOT_ID_SIZE 64

struct journal {
    char node[NAME_SIZE];
    int64_t generation;           /* of the plan that was being applied */
    char digest[DIGEST_TEXT_MAX]; /* of the plan */
    char boot[BOOT_ID_SIZE];      /* which boot of the node; "" = unknown */
    struct plan_steps steps;      /* owned */
};

void journal_release(struct journal *journal);
#define OWN_JOURNAL __attribute__((cleanup(journal_release)))

/* steps is borrowed. Durable when it returns ERR_OK. */
ERR_MUST_CHECK enum err_code journal_write(const char *state_dir, const struct plan *plan,
                                           const char *boot, const struct plan_steps *steps,
                                           struct err *err);

/* ERR_NOT_FOUND: no journal, the usual case. A journal that does not read back, or is of another
 * node (a copied folder), is set aside and ERR_NOT_FOUND too. */
ERR_MUST_CHECK enum err_code journal_read(const char *state_dir, const char *node,
                                          struct clock *clock, struct journal *out,
                                          struct err *err);

/* The outcome is settled. None is fine. */
ERR_MUST_CHECK enum err_code journal_remove(const char *state_dir, struct err *err);
