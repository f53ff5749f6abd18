#pragma once
/*
 * db/verifications.h - tables of verifications and their tests. The manners are those of
 * db/tables.h.
 */

#include "db/tables.h"

#define VERIFICATIONS_KEPT 100 /* the newest; older ones that are over are dropped */

struct db_verification {
    int64_t number;
    const char *state;
    bool active; /* it is not over */
    const char *verdict;
    int64_t revision;
    const char *head;   /* canonical JSON */
    const char *counts; /* the same: how many tests are how, and "nodes": of how many */
    int64_t created_us, updated_us;
};
typedef bool db_verification_fn(void *arg, const struct db_verification *row);
/* A number that was never given. */
ERR_MUST_CHECK enum err_code verification_next(struct db_tx *tx, int64_t *out, struct err *err);
/* Makes or replaces; created_us stays. */
ERR_MUST_CHECK enum err_code verification_put(struct db_tx *tx, const struct db_verification *row,
                                              struct err *err);
/* ERR_NOT_FOUND. */
ERR_MUST_CHECK enum err_code verification_get(struct db_ro *ro, int64_t number,
                                              db_verification_fn *fn, void *arg, struct err *err);
/* Newest first, numbers below `before` (0 = from the newest). */
ERR_MUST_CHECK enum err_code verification_list(struct db_ro *ro, int64_t before, int limit,
                                               db_verification_fn *fn, void *arg, struct err *err);

struct db_verification_test {
    int64_t place;    /* from 1 */
    const char *same; /* verification_test_key() */
    int64_t value;    /* the graded figure; -1 = none */
    const char *body; /* canonical JSON */
};
typedef bool db_verification_test_fn(void *arg, const struct db_verification_test *row);
/* Makes or replaces. */
ERR_MUST_CHECK enum err_code verification_test_put(struct db_tx *tx, int64_t number,
                                                   const struct db_verification_test *row,
                                                   struct err *err);
/* By place, all of them. */
ERR_MUST_CHECK enum err_code verification_test_each(struct db_ro *ro, int64_t number,
                                                    db_verification_test_fn *fn, void *arg,
                                                    struct err *err);
/* The newest value of the same test before that verification; *out_number 0 = there is none. */
ERR_MUST_CHECK enum err_code verification_test_last(struct db_ro *ro, const char *same,
                                                    int64_t before, int64_t *out_number,
                                                    int64_t *out_value, struct err *err);
