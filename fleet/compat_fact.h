#pragma once
/*
 * fleet/compat_fact.h - what hardware rules may ask of a subject: a table of names and where the
 * value lies. Private to fleet/compat*.c.
 */

#include "fleet/compat.h"

enum fact_kind {
    FACT_TEXT,
    FACT_VERSION, /* text */
    FACT_NUMBER,
    FACT_FLAG,
};

enum fact_verdict {
    FACT_MET,
    FACT_FAILED,
    FACT_UNKNOWN,
};

struct fact_value {
    bool known;
    const char *text; /* TEXT, VERSION */
    int64_t number;   /* NUMBER; FLAG 0 or 1 */
};

struct compat_fact {
    enum compat_subject subject;
    const char *name; /* as the rules say it */
    enum fact_kind kind;
    const char *label; /* for messages */
    bool is_rate;      /* a number of bits per second */
    void (*get)(const void *item, struct fact_value *out);
};

/* NULL = there is no such fact. */
const struct compat_fact *compat_fact_get(enum compat_subject subject, const char *name);

enum fact_verdict compat_condition_check(const struct compat_condition *condition,
                                         const void *item);

#define FACT_TEXT_MAX 160
/* What was seen ("unknown" when it is) and what would pass, for people. */
void compat_condition_observed(const struct compat_condition *condition, const void *item,
                               char out[FACT_TEXT_MAX]);
void compat_condition_wanted(const struct compat_condition *condition, char out[FACT_TEXT_MAX]);
