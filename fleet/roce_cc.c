/*
 * fleet/roce_cc.c - see roce_cc.h. Names are those of the vendors' own documents, with the unit
 * where there is one; rates are bits per second.
 */
#include "fleet/roce_cc.h"

#include <string.h>

#include "base/own.h"
#include "base/units.h"
#include "fleet/read.h"

#define DSCP_MAX 63
#define U8_MAX   255
#define U16_MAX  65535
#define US_MAX   131071
#define U32_MAX  INT64_C(4294967295)

/* Ranges: NVIDIA's "DCQCN parameters"; bnxt_re's and irdma's by the width of their fields. */
const struct roce_cc_param roce_cc_params[ROCE_CC_IDS] = {
    [ROCE_CC_CC_ENABLE] = {"cc_enable", 0, 1},
    [ROCE_CC_CC_MODE] = {"cc_mode", 0, 1},
    [ROCE_CC_CLAMP_TGT_RATE] = {"clamp_tgt_rate", 0, 1},
    [ROCE_CC_CLAMP_TGT_RATE_AFTER_TIME_INC] = {"clamp_tgt_rate_after_time_inc", 0, 1},
    [ROCE_CC_CNP_DSCP] = {"cnp_dscp", 0, DSCP_MAX},
    [ROCE_CC_CNP_PRIORITY] = {"cnp_priority", 0, ROCE_CC_PRIORITIES - 1},
    [ROCE_CC_CNP_PRIORITY_MODE] = {"cnp_priority_mode", 0, 1},
    [ROCE_CC_DCE_TCP_G] = {"dce_tcp_g", 0, 1023},
    [ROCE_CC_DCE_TCP_RTT] = {"dce_tcp_rtt_us", 1, US_MAX},
    [ROCE_CC_DCQCN_ENABLE] = {"dcqcn_enable", 0, 1},
    [ROCE_CC_DCTCP_ENABLE] = {"dctcp_enable", 0, 1},
    [ROCE_CC_ECN_MARKING] = {"ecn_marking", 0, 3},
    [ROCE_CC_INACTIVITY_TH] = {"inactivity_th_us", 0, U16_MAX},
    [ROCE_CC_INIT_CR] = {"init_cr", 0, U16_MAX},
    [ROCE_CC_INIT_TR] = {"init_tr", 0, U16_MAX},
    [ROCE_CC_INITIAL_ALPHA_VALUE] = {"initial_alpha_value", 1, 1023},
    [ROCE_CC_MIN_TIME_BETWEEN_CNPS] = {"min_time_between_cnps_us", 0, 4095},
    [ROCE_CC_PHASES_PER_STATE] = {"phases_per_state", 0, U8_MAX},
    [ROCE_CC_RATE_REDUCE_MONITOR_PERIOD] = {"rate_reduce_monitor_period_us", 1, U32_MAX},
    [ROCE_CC_RATE_TO_SET_ON_FIRST_CNP] = {"rate_to_set_on_first_cnp_bps", 0, RATE_BPS_MAX},
    [ROCE_CC_ROCE_DSCP] = {"roce_dscp", 0, DSCP_MAX},
    [ROCE_CC_ROCE_PRIORITY] = {"roce_priority", 0, ROCE_CC_PRIORITIES - 1},
    [ROCE_CC_RPG_AI_RATE] = {"rpg_ai_rate_bps", 1, RATE_BPS_MAX},
    [ROCE_CC_RPG_BYTE_RESET] = {"rpg_byte_reset", 0, 32767},
    [ROCE_CC_RPG_GD] = {"rpg_gd", 0, 15},
    [ROCE_CC_RPG_HAI_RATE] = {"rpg_hai_rate_bps", 1, RATE_BPS_MAX},
    [ROCE_CC_RPG_MAX_RATE] = {"rpg_max_rate_bps", 0, RATE_BPS_MAX},
    [ROCE_CC_RPG_MIN_DEC_FAC] = {"rpg_min_dec_fac_percent", 0, 100},
    [ROCE_CC_RPG_MIN_RATE] = {"rpg_min_rate_bps", 1, RATE_BPS_MAX},
    [ROCE_CC_RPG_THRESHOLD] = {"rpg_threshold", 1, 31},
    [ROCE_CC_RPG_TIME_RESET] = {"rpg_time_reset_us", 1, US_MAX},
    [ROCE_CC_RTT] = {"rtt_us", 0, U16_MAX},
    [ROCE_CC_RUN_AVG_WEIGHT_G] = {"run_avg_weight_g", 0, U8_MAX},
    [ROCE_CC_TCP_CP] = {"tcp_cp", 0, U16_MAX},
    [ROCE_CC_TIMELY_ENABLE] = {"timely_enable", 0, 1},
};
_Static_assert(ROCE_CC_IDS <= 64, "present has a bit for each");

int roce_cc_param_get(const char *name)
{
    for (int i = 0; i < ROCE_CC_IDS; i++)
        if (strcmp(roce_cc_params[i].name, name) == 0)
            return i;
    return -1;
}

static bool read_priorities(struct json_reader *r, const char *key, uint8_t *out)
{
    const json_t *array;
    if (!json_reader_array(r, key, false, ROCE_CC_PRIORITIES, &array))
        return false;
    uint8_t mask = 0;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        json_int_t n = json_is_integer(item) ? json_integer_value(item) : -1;
        if (n < 0 || n >= ROCE_CC_PRIORITIES || (mask >> n & 1) != 0) {
            read_problem(r, key, "'%s' must be different priorities from 0 to %d", key,
                         ROCE_CC_PRIORITIES - 1);
            return false;
        }
        mask = (uint8_t)(mask | 1U << n);
    }
    *out = mask;
    return true;
}

static void read_parameters(struct json_reader *r, bool in_range, struct roce_cc *out)
{
    for (int i = 0; i < ROCE_CC_IDS; i++) {
        const struct roce_cc_param *param = &roce_cc_params[i];
        int64_t min = in_range ? param->min : 0, max = in_range ? param->max : INT64_MAX;
        if (json_reader_int(r, param->name, false, min, max, &out->values[i]))
            out->present |= roce_cc_bit((enum roce_cc_id)i);
    }
    json_reader_end(r);
}

void roce_cc_read(struct json_reader *r, bool in_range, struct roce_cc *out)
{
    struct json_reader parameters;
    *out = (struct roce_cc){.present = 0};
    out->has_notify = read_priorities(r, "notify", &out->notify);
    out->has_react = read_priorities(r, "react", &out->react);
    if (json_reader_object(r, "parameters", false, &parameters))
        read_parameters(&parameters, in_range, out);
}

enum err_code roce_cc_from_json(const json_t *json, struct roce_cc *out, struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    struct json_reader r;
    struct roce_cc value;
    finding_list_init(&findings);
    json_reader_init(&r, json, "", &findings);
    roce_cc_read(&r, false, &value);
    json_reader_end(&r);
    enum err_code code = read_result(&findings, err);
    if (code == ERR_OK)
        *out = value;
    return code;
}

static json_t *priorities_to_json(uint8_t mask)
{
    OWN(json) json_t *array = json_array();
    for (int i = 0; i < ROCE_CC_PRIORITIES; i++)
        if ((mask >> i & 1) != 0 && json_array_append_new(array, json_integer(i)) != 0)
            return NULL;
    return GIVE(array);
}

json_t *roce_cc_to_json(const struct roce_cc *cc)
{
    OWN(json) json_t *object = json_object();
    OWN(json) json_t *parameters = json_object();
    for (int i = 0; i < ROCE_CC_IDS; i++)
        if ((cc->present & roce_cc_bit((enum roce_cc_id)i)) != 0 &&
            !write_member(parameters, roce_cc_params[i].name, json_integer(cc->values[i])))
            return NULL;
    if (!write_member(object, "parameters", json_incref(parameters)) ||
        (cc->has_notify && !write_member(object, "notify", priorities_to_json(cc->notify))) ||
        (cc->has_react && !write_member(object, "react", priorities_to_json(cc->react))))
        return NULL;
    return GIVE(object);
}

bool roce_cc_covers(const struct roce_cc *is, const struct roce_cc *want)
{
    if ((want->present & ~is->present) != 0)
        return false;
    for (int i = 0; i < ROCE_CC_IDS; i++)
        if ((want->present & roce_cc_bit((enum roce_cc_id)i)) != 0 &&
            want->values[i] != is->values[i])
            return false;
    return (!want->has_notify || (is->has_notify && is->notify == want->notify)) &&
           (!want->has_react || (is->has_react && is->react == want->react));
}

bool roce_cc_is_empty(const struct roce_cc *cc)
{
    return cc->present == 0 && !cc->has_notify && !cc->has_react;
}
