#pragma once
/*
 * datapath/solar/shaper.h - ternary-match rules with token buckets, as a TCAM has them: each rule
 * is a value and a mask over a key of 128 bits, a priority, and what to do. Pure: time is an
 * argument.
 *
 * The rule with the highest priority that matches decides; of equal ones the first in the table.
 * What no rule matches passes. The table has a finite capacity, as hardware has, and is replaced as
 * a whole: shaper_load() checks all rules before the first counts, and a rule that stays the same
 * keeps its bucket and its counters.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "datapath/solar/bucket.h"

#define SHAPER_RULES_MAX    64
#define SHAPER_PRIORITY_MAX 65535

/* 128 bits: label:32 qp:16 priority:8 tensor:8 | path:8 type:8 0:16 message_kib:32. */
struct shaper_key {
    uint64_t high, low;
};

struct shaper_fields {
    uint32_t label;
    uint16_t qp;
    uint8_t priority, tensor, path, type;
    uint32_t message_kib; /* size of the message, rounded down */
};

struct shaper_key shaper_key_of(const struct shaper_fields *fields);

enum shaper_action {
    SHAPER_PASS,
    SHAPER_LIMIT, /* pass while the bucket has something, wait otherwise */
    SHAPER_DROP,
};

struct shaper_rule {
    uint32_t id;                   /* the owner's, unique in the table */
    struct shaper_key value, mask; /* value has no bit outside mask */
    int priority;                  /* 0 to SHAPER_PRIORITY_MAX */
    enum shaper_action action;
    int64_t rate_bps, burst_bytes; /* with SHAPER_LIMIT; bucket.h's ranges; else 0 */
};

struct shaper_slot {
    struct shaper_rule rule;
    struct bucket bucket;
    uint64_t packets, bytes; /* that the rule decided on and let pass */
    uint64_t refused;        /* times it said wait or drop */
};

struct shaper {
    size_t count;
    struct shaper_slot slots[SHAPER_RULES_MAX]; /* by priority, highest first */
};

/* ERR_LIMIT = over capacity; ERR_INVALID, ERR_CONFLICT (an id twice, or two rules of one priority
 * with the same value and mask): says which rule (pointer "/INDEX"); the old table stays then. */
ERR_MUST_CHECK enum err_code shaper_load(struct shaper *shaper, const struct shaper_rule *rules,
                                         size_t count, int64_t now_ns, struct err *err);

/* What becomes of `bytes` with this key now: PASS (and they are taken), LIMIT = not before
 * *out_ready_ns, DROP. */
enum shaper_action shaper_pass(struct shaper *shaper, struct shaper_key key, int64_t bytes,
                               int64_t now_ns, int64_t *out_ready_ns);

/* NULL = no such rule. */
const struct shaper_slot *shaper_find(const struct shaper *shaper, uint32_t id);
