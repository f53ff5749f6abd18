#pragma once
/*
 * agent/report.h - building receipts from plans, steps and errors.
 */

#include "base/clock.h"
#include "datapath/dp.h"
#include "fleet/receipt.h"

/* An empty receipt about a plan; result "unchanged". */
ERR_MUST_CHECK enum err_code report_new(const struct plan *plan, struct clock *clock,
                                        struct receipt **out, struct err *err);
/* About something that is no plan: digest must be of the right form. */
ERR_MUST_CHECK enum err_code report_refused(const char *node, int64_t generation,
                                            const char *digest, struct clock *clock,
                                            const struct err *why, struct receipt **out,
                                            struct err *err);

/*
 * Appends the steps, receipt step i for items[i]; over RECEIPT_STEPS_MAX the last one says how many
 * more there are. `drift`: text "drift KIND SUBJECT ID", before = what the plan wants, after
 * = what was found; else "OP KIND SUBJECT ID", before = from, after = to.
 */
ERR_MUST_CHECK enum err_code report_steps(struct receipt *receipt, const struct plan_steps *steps,
                                          bool drift, struct err *err);

/* Who made the drift of receipt steps first.., which are of `steps`. */
void report_writers(struct receipt *receipt, struct dp *dp, const struct plan_steps *steps,
                    size_t first);

/* Step i of those that fit, else NULL. */
struct receipt_step *report_step(struct receipt *receipt, size_t i);

/* Sets the problem where none is yet: the first failure is the one that is told. */
void report_problem(struct receipt *receipt, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Its plan's trial is over: the node is back on its last good plan, or as before. */
void report_expired(struct receipt *receipt, bool on_good);
