/*
 * fleet/coalesce.c - see coalesce.h.
 */
#include "fleet/coalesce.h"

#include <string.h>

#include "fleet/read.h"

const struct coalesce_param coalesce_params[COALESCE_IDS] = {
    [COALESCE_ADAPTIVE_RX] = {"adaptive_rx", 1},
    [COALESCE_ADAPTIVE_TX] = {"adaptive_tx", 1},
    [COALESCE_RX_FRAMES] = {"rx_frames", COALESCE_FRAMES_MAX},
    [COALESCE_RX_USECS] = {"rx_usecs", COALESCE_USECS_MAX},
    [COALESCE_TX_FRAMES] = {"tx_frames", COALESCE_FRAMES_MAX},
    [COALESCE_TX_USECS] = {"tx_usecs", COALESCE_USECS_MAX},
};

int coalesce_param_get(const char *name)
{
    for (int i = 0; i < COALESCE_IDS; i++)
        if (strcmp(coalesce_params[i].name, name) == 0)
            return i;
    return -1;
}

static bool read_one(struct json_reader *r, const struct coalesce_param *param, bool in_range,
                     uint32_t *out)
{
    int64_t number = 0;
    bool on = false;
    if (param->max == 1) {
        if (!json_reader_bool(r, param->name, false, &on))
            return false;
        *out = on;
        return true;
    }
    if (!json_reader_int(r, param->name, false, 0, in_range ? param->max : UINT32_MAX, &number))
        return false;
    *out = (uint32_t)number;
    return true;
}

void coalesce_read(struct json_reader *r, bool in_range, struct coalesce *out)
{
    *out = (struct coalesce){.present = 0};
    for (int i = 0; i < COALESCE_IDS; i++)
        if (read_one(r, &coalesce_params[i], in_range, &out->values[i]))
            out->present |= coalesce_bit(i);
}

enum err_code coalesce_from_json(const json_t *json, struct coalesce *out, struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    struct json_reader r;
    struct coalesce value;
    finding_list_init(&findings);
    json_reader_init(&r, json, "", &findings);
    coalesce_read(&r, false, &value);
    json_reader_end(&r);
    enum err_code code = read_result(&findings, err);
    if (code == ERR_OK)
        *out = value;
    return code;
}

json_t *coalesce_to_json(const struct coalesce *value)
{
    OWN(json) json_t *object = json_object();
    for (int i = 0; i < COALESCE_IDS; i++) {
        if ((value->present & coalesce_bit(i)) == 0)
            continue;
        json_t *member = coalesce_params[i].max == 1 ? json_boolean(value->values[i] != 0)
                                                     : json_integer(value->values[i]);
        if (!write_member(object, coalesce_params[i].name, member))
            return NULL;
    }
    return GIVE(object);
}

bool coalesce_covers(const struct coalesce *is, const struct coalesce *want)
{
    if ((want->present & ~is->present) != 0)
        return false;
    for (int i = 0; i < COALESCE_IDS; i++)
        if ((want->present & coalesce_bit(i)) != 0 && want->values[i] != is->values[i])
            return false;
    return true;
}
