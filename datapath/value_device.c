/*
 * datapath/value_device.c - values of the kinds of devices and their drivers; see value.h.
 */
#include "datapath/value.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"

/* RoCE and dcb -------------------------------------------------------------------------------- */

enum err_code roce_tos_value_from_json(const json_t *json, struct roce_tos *out, struct err *err)
{
    struct value_reader r;
    value_reader_init(&r, json, "roce.tos", err);
    const char *mode = value_reader_text(&r, "mode", true);
    int64_t tos = value_reader_int(&r, "tos", 0, UINT8_MAX);
    if (mode != NULL && (mode[0] == '\0' || strlen(mode) >= ROCE_TOS_MODE_SIZE))
        value_reader_fail(&r, "mode", "a RoCE version");
    if (value_reader_end(&r))
        return r.code;
    out->tos = (uint8_t)tos;
    snprintf(out->mode, sizeof(out->mode), "%s", mode);
    return ERR_OK;
}

json_t *roce_tos_value_to_json(const struct roce_tos *value)
{
    return json_pack("{s:s,s:i}", "mode", value->mode, "tos", (int)value->tos);
}

static bool read_flag(struct value_reader *r, const char *key)
{
    const json_t *member = value_reader_get(r, key, true);
    if (member != NULL && !json_is_boolean(member))
        value_reader_fail(r, key, "a boolean");
    return json_is_true(member);
}

enum err_code pause_value_from_json(const json_t *json, struct pause_value *out, struct err *err)
{
    struct value_reader r;
    value_reader_init(&r, json, "link.pause", err);
    struct pause_value value = {.rx = read_flag(&r, "rx"), .tx = read_flag(&r, "tx")};
    if (value_reader_end(&r) == ERR_OK)
        *out = value;
    return r.code;
}

json_t *pause_value_to_json(const struct pause_value *value)
{
    return json_pack("{s:b,s:b}", "rx", value->rx, "tx", value->tx);
}

/* include/uapi/linux/dcbnl.h, DCB_CAP_DCBX_*. Sorted by name, as the value is. */
static const struct {
    uint8_t bit;
    const char *name;
} dcbx_modes[] = {
    {DCBX_CEE, "cee"},   {DCBX_FIRMWARE, "firmware"}, {DCBX_HOST, "host"},
    {DCBX_IEEE, "ieee"}, {DCBX_STATIC, "static"},
};
#define DCBX_MODES (sizeof(dcbx_modes) / sizeof(dcbx_modes[0]))

enum err_code dcbx_value_from_json(const json_t *json, struct dcbx_value *out, struct err *err)
{
    struct value_reader r;
    struct dcbx_value value = {.mode = 0};
    value_reader_init(&r, json, "dcb.dcbx", err);
    const char *agent = value_reader_text(&r, "agent", true);
    const json_t *array = value_reader_get(&r, "mode", true);
    if (agent != NULL && (agent[0] == '\0' || strlen(agent) >= sizeof(value.agent)))
        value_reader_fail(&r, "agent", "\"none\" or who else manages dcb");
    if (array != NULL && (!json_is_array(array) || json_array_size(array) > DCBX_MODES))
        value_reader_fail(&r, "mode", "an array of modes");
    for (size_t i = 0; r.code == ERR_OK && i < json_array_size(array); i++) {
        const char *name = json_string_value(json_array_get(array, i));
        size_t k = 0;
        while (name != NULL && k < DCBX_MODES && strcmp(name, dcbx_modes[k].name) != 0)
            k++;
        if (name == NULL || k == DCBX_MODES)
            value_reader_fail(&r, "mode", "an array of cee, firmware, host, ieee, static");
        else
            value.mode |= dcbx_modes[k].bit;
    }
    if (value_reader_end(&r))
        return r.code;
    snprintf(value.agent, sizeof(value.agent), "%s", agent);
    *out = value;
    return ERR_OK;
}

json_t *dcbx_value_to_json(const struct dcbx_value *value)
{
    json_t *mode = json_array();
    for (size_t i = 0; i < DCBX_MODES; i++)
        if ((value->mode & dcbx_modes[i].bit) != 0)
            json_array_append_new(mode, json_string(dcbx_modes[i].name));
    return json_pack("{s:s,s:o}", "agent", value->agent, "mode", mode);
}

/* devlink ------------------------------------------------------------------------------------- */

#define LEAF_PREFIX "leaf/"
#define NODE_PREFIX "node/"

/* Letters, digits and what separates them; no "/". */
static bool is_rate_name(const char *name)
{
    size_t len = strlen(name);
    return len > 0 && len < RATE_NODE_NAME_SIZE &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") == len;
}

enum err_code rate_id_parse(const char *id, bool *out_node, const char **out_name, struct err *err)
{
    bool node = strncmp(id, NODE_PREFIX, strlen(NODE_PREFIX)) == 0;
    const char *name = id + strlen(LEAF_PREFIX);
    if ((!node && strncmp(id, LEAF_PREFIX, strlen(LEAF_PREFIX)) != 0) || !is_rate_name(name))
        return err_set(err, ERR_INVALID, "the id \"%.64s\" is neither leaf/PORT nor node/NAME", id);
    if (node && !rate_node_is_ours(name))
        return err_set(err, ERR_INVALID, "the node \"%.64s\" does not begin with " RATE_OUR_NODE,
                       name);
    *out_node = node;
    *out_name = name;
    return ERR_OK;
}

void rate_id_format(bool node, const char *name, char *out, size_t size)
{
    snprintf(out, size, "%s%s", node ? NODE_PREFIX : LEAF_PREFIX, name);
}

bool rate_node_is_ours(const char *name)
{
    return strncmp(name, RATE_OUR_NODE, strlen(RATE_OUR_NODE)) == 0;
}

static int64_t read_rate(struct value_reader *r, const char *key)
{
    const json_t *member = value_reader_get(r, key, true);
    if (member == NULL || json_is_null(member))
        return RATE_NONE;
    json_int_t n = json_integer_value(member);
    if (!json_is_integer(member) || n < 1)
        value_reader_fail(r, key, "a rate in bit/s, or null");
    return n;
}

enum err_code rate_value_from_json(const json_t *json, struct rate_value *out, struct err *err)
{
    struct value_reader r;
    struct rate_value value = {.parent = ""};
    value_reader_init(&r, json, "devlink.rate", err);
    const char *parent = value_reader_text(&r, "parent", false);
    value.tx_max_bps = read_rate(&r, "tx_max_bps");
    value.tx_share_bps = read_rate(&r, "tx_share_bps");
    if (parent != NULL && !is_rate_name(parent))
        value_reader_fail(&r, "parent", "the name of a node");
    if (value_reader_end(&r))
        return r.code;
    snprintf(value.parent, sizeof(value.parent), "%s", parent == NULL ? "" : parent);
    *out = value;
    return ERR_OK;
}

static json_t *rate_to_json(int64_t rate_bps)
{
    return rate_bps == RATE_NONE ? json_null() : json_integer(rate_bps);
}

json_t *rate_value_to_json(const struct rate_value *value)
{
    OWN(json)
    json_t *object = json_pack("{s:o,s:o}", "tx_max_bps", rate_to_json(value->tx_max_bps),
                               "tx_share_bps", rate_to_json(value->tx_share_bps));
    if (object == NULL || (value->parent[0] != '\0' &&
                           json_object_set_new(object, "parent", json_string(value->parent)) != 0))
        return NULL;
    return GIVE(object);
}

/* A scalar of a parameter. */
static bool is_param_scalar(const json_t *value)
{
    json_int_t n = json_integer_value(value);
    return json_is_boolean(value) || (json_is_integer(value) && n >= 0 && n <= UINT32_MAX) ||
           (json_is_string(value) && json_string_length(value) > 0 &&
            json_string_length(value) < PARAM_TEXT_SIZE &&
            strlen(json_string_value(value)) == json_string_length(value));
}

enum err_code param_value_check(const json_t *json, struct err *err)
{
    const char *key;
    json_t *value;
    if (!json_is_object(json) || json_object_size(json) == 0)
        return err_set(err, ERR_INVALID,
                       "the value of devlink.param is no object of runtime, driverinit, permanent");
    json_object_foreach((json_t *)(uintptr_t)json, key, value)
    {
        size_t i = 0;
        while (param_cmodes[i] != NULL && strcmp(param_cmodes[i], key) != 0)
            i++;
        if (param_cmodes[i] == NULL)
            return err_set(err, ERR_INVALID,
                           "devlink.param: \"%.32s\" is not runtime, driverinit or permanent", key);
        if (!is_param_scalar(value))
            return err_set(
                err, ERR_INVALID,
                "devlink.param: the %s value is no boolean, number of 32 bits or text of "
                "1 to %d bytes",
                key, PARAM_TEXT_SIZE - 1);
    }
    return ERR_OK;
}

const char *const param_cmodes[] = {"runtime", "driverinit", "permanent", NULL};
