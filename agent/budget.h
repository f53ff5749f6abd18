#pragma once
/*
 * agent/budget.h - how often a node tries what fails, and when it stops: quarantine instead of a
 * loop. On disk (STATE_DIR/budget.json) before each try, so that a try that ends the agent or the
 * node counts too.
 *
 *   {"version":1,"node","attempt","boot"?,"boots","tries":{"plan":{"digest","count","why"?,
 *    "quarantined_us"?},"standing":{...},"recovery":{...}},
 *    "subjects"?:{"digest","tries":[{"subject","count","why"?,"quarantined_us"?}]}}
 *
 * A try is a change of the node that began; it ends well (the count is 0 again) or not. After
 * BUDGET_TRIES in a row of one plan that did not, or more than BUDGET_BOOTS boots of the node in a
 * row after which what stands was not held for BUDGET_HOLD_NS, nothing more of it is tried. A try
 * to put back what stands that failed on one subject and was rolled back is that subject's: the
 * others go on to be put back when it has used up its own. It ends with another plan or an
 * operator's order (a plan whose `attempt` is a higher one).
 */

#include "agent/journal.h"
#include "agent/keep.h"
#include "fleet/plan.h"

#define BUDGET_FILE         "budget.json"
#define BUDGET_TRIES        5
#define BUDGET_BOOTS        5
#define BUDGET_HOLD_NS      (10 * 60 * NS_PER_S)
#define BUDGET_SUBJECTS_MAX 32 /* with a count of their own; others count for the plan */

enum budget_of {
    BUDGET_PLAN = 0, /* the latest plan */
    BUDGET_STANDING, /* what stands: put back at starts and checks */
    BUDGET_RECOVERY, /* a journal that a crash left */
    BUDGET_OF_COUNT,
};

struct budget_tries {
    char of[PORT_ID_SIZE];  /* digest of the plan, or the subject; "" = none failed */
    int count;              /* in a row */
    char why[256];          /* of the last one that is known */
    int64_t quarantined_us; /* since when; 0 = it is not */
};
_Static_assert(DIGEST_TEXT_MAX <= PORT_ID_SIZE, "a digest has to fit");

struct budget {
    const char *state_dir, *node; /* borrowed */
    struct clock *clock;          /* borrowed */
    int64_t attempt;              /* the last order that was followed */
    char boot[BOOT_ID_SIZE];
    int boots; /* in a row, this one included */
    struct budget_tries tries[BUDGET_OF_COUNT];
    char subjects_digest[DIGEST_TEXT_MAX];             /* of what stood when they failed */
    struct budget_tries subjects[BUDGET_SUBJECTS_MAX]; /* each at least 1 */
    size_t subject_count;
};

/* The borrowed members are set by the caller. No file is no tries; one that does not read back, or
 * is another node's, is set aside. */
ERR_MUST_CHECK enum err_code budget_load(struct budget *budget, struct err *err);

/* The agent starts: *out_new = in another boot than the last time it did. Counts the boot.
 * `standing`: digest of what stands, "" = nothing. */
ERR_MUST_CHECK enum err_code budget_boot(struct budget *budget, const char *boot,
                                         const char *standing, bool *out_new, struct err *err);
/* What stands was held for BUDGET_HOLD_NS: boots begin anew. Errors are logged. */
void budget_held(struct budget *budget);

/* Whether the plan may still be tried; if not, why[] says what happened. */
bool budget_allows(const struct budget *budget, enum budget_of of, const char *digest,
                   char why[ERR_TEXT_MAX]);
/* A try begins; durable when it returns ERR_OK. Not called when budget_allows() says no. */
ERR_MUST_CHECK enum err_code budget_begin(struct budget *budget, enum budget_of of,
                                          const char *digest, struct err *err);
/* It ended well. Errors are logged: at worst a try is counted that was good. */
void budget_good(struct budget *budget, enum budget_of of);
/* It did not. True: that was the last one. */
bool budget_failed(struct budget *budget, enum budget_of of, const char *why);

/* Whether the subject of what stands may still be put back; if not, why[] says what happened. */
bool budget_allows_subject(const struct budget *budget, const char *digest, const char *subject,
                           char why[ERR_TEXT_MAX]);
/* A try to put back what stands failed on the subject alone. *out_last: that was its last one.
 * False: BUDGET_SUBJECTS_MAX others failed, nothing was counted. */
bool budget_subject_failed(struct budget *budget, const char *digest, const char *subject,
                           const char *why, bool *out_last);
/* It was put back. In memory: budget_good() stores it. */
void budget_subject_good(struct budget *budget, const char *subject);

/* The server counts its orders from here now: another number is an order, nothing is released.
 * Errors are logged. */
void budget_follow(struct budget *budget, int64_t attempt);
/* An operator's order, or anything else that begins anew. Errors are logged. */
void budget_release(struct budget *budget, int64_t attempt);
