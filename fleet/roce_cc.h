#pragma once
/*
 * fleet/roce_cc.h - congestion control of RoCE in the NIC (DCQCN and its relatives): the names,
 * units and ranges that profile, plan and inventory speak (doc/knobs.md lists them). Which of them
 * a NIC has, in which file and unit, is known to its back-end (datapath/sys/roce_cc.c). Pure.
 */

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/json.h"

#define ROCE_CC_PRIORITIES 8

enum roce_cc_id {
    ROCE_CC_CC_ENABLE = 0,
    ROCE_CC_CC_MODE,
    ROCE_CC_CLAMP_TGT_RATE,
    ROCE_CC_CLAMP_TGT_RATE_AFTER_TIME_INC,
    ROCE_CC_CNP_DSCP,
    ROCE_CC_CNP_PRIORITY,
    ROCE_CC_CNP_PRIORITY_MODE,
    ROCE_CC_DCE_TCP_G,
    ROCE_CC_DCE_TCP_RTT,
    ROCE_CC_DCQCN_ENABLE,
    ROCE_CC_DCTCP_ENABLE,
    ROCE_CC_ECN_MARKING,
    ROCE_CC_INACTIVITY_TH,
    ROCE_CC_INIT_CR,
    ROCE_CC_INIT_TR,
    ROCE_CC_INITIAL_ALPHA_VALUE,
    ROCE_CC_MIN_TIME_BETWEEN_CNPS,
    ROCE_CC_PHASES_PER_STATE,
    ROCE_CC_RATE_REDUCE_MONITOR_PERIOD,
    ROCE_CC_RATE_TO_SET_ON_FIRST_CNP,
    ROCE_CC_ROCE_DSCP,
    ROCE_CC_ROCE_PRIORITY,
    ROCE_CC_RPG_AI_RATE,
    ROCE_CC_RPG_BYTE_RESET,
    ROCE_CC_RPG_GD,
    ROCE_CC_RPG_HAI_RATE,
    ROCE_CC_RPG_MAX_RATE,
    ROCE_CC_RPG_MIN_DEC_FAC,
    ROCE_CC_RPG_MIN_RATE,
    ROCE_CC_RPG_THRESHOLD,
    ROCE_CC_RPG_TIME_RESET,
    ROCE_CC_RTT,
    ROCE_CC_RUN_AVG_WEIGHT_G,
    ROCE_CC_TCP_CP,
    ROCE_CC_TIMELY_ENABLE,
    ROCE_CC_IDS,
};

struct roce_cc_param {
    const char *name;
    int64_t min, max; /* that any NIC could take */
};
extern const struct roce_cc_param roce_cc_params[ROCE_CC_IDS];
int roce_cc_param_get(const char *name); /* enum roce_cc_id; -1 = unknown */

static inline uint64_t roce_cc_bit(enum roce_cc_id id)
{
    return UINT64_C(1) << id;
}

/*
 * {"notify":[3],"parameters":{"cnp_dscp":48},"react":[3]}: priorities whose receiver sends CNPs and
 * whose sender slows down on them (each may be absent: not spoken of), and parameters.
 */
struct roce_cc {
    bool has_notify, has_react;
    uint8_t notify, react; /* bit n = priority n */
    uint64_t present;      /* roce_cc_bit() of each value that is there */
    int64_t values[ROCE_CC_IDS];
};

/* Members of an open reader; the caller ends it. in_range: values must be in the table's ranges,
 * else only not negative (what a device shows is given back as it was). */
void roce_cc_read(struct json_reader *r, bool in_range, struct roce_cc *out);
/* A knob's value. ERR_INVALID names the member. */
ERR_MUST_CHECK enum err_code roce_cc_from_json(const json_t *json, struct roce_cc *out,
                                               struct err *err);
json_t *roce_cc_to_json(const struct roce_cc *cc); /* NULL = no memory */
/* Everything that `want` speaks of is so in `is`. */
bool roce_cc_covers(const struct roce_cc *is, const struct roce_cc *want);
bool roce_cc_is_empty(const struct roce_cc *cc);
