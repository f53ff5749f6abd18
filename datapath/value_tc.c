/*
 * datapath/value_tc.c - values of the tc kinds; see value.h.
 */
#include "datapath/value.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/own.h"
#include "base/units.h"

/* Handles and ids ----------------------------------------------------------------------------- */

/* 1..4 lower-case hex digits without a leading zero; *text moves behind them. */
static bool hex16_parse(const char **text, uint32_t *out)
{
    uint32_t n = 0;
    size_t digits = 0;
    for (const char *p = *text;; p++, digits++) {
        unsigned digit = *p >= '0' && *p <= '9'   ? (unsigned)(*p - '0')
                         : *p >= 'a' && *p <= 'f' ? (unsigned)(*p - 'a') + 10
                                                  : 16;
        if (digit == 16)
            break;
        n = n << 4 | digit;
        if (digits == 4)
            return false;
    }
    if (digits == 0 || (**text == '0' && digits > 1))
        return false;
    *text += digits;
    *out = n;
    return true;
}

bool tc_handle_parse(const char *text, uint32_t *out)
{
    uint32_t major, minor = 0;
    if (!hex16_parse(&text, &major) || *text++ != ':')
        return false;
    if (*text != '\0' && (!hex16_parse(&text, &minor) || *text != '\0' || minor == 0))
        return false;
    *out = major << 16 | minor;
    return true;
}

void tc_handle_format(uint32_t handle, char out[TC_HANDLE_TEXT_MAX])
{
    if ((handle & 0xffff) == 0)
        snprintf(out, TC_HANDLE_TEXT_MAX, "%x:", handle >> 16);
    else
        snprintf(out, TC_HANDLE_TEXT_MAX, "%x:%x", handle >> 16, handle & 0xffff);
}

enum err_code flower_id_parse(const char *id, bool *out_egress, uint32_t *out_label,
                              struct err *err)
{
    bool egress = strncmp(id, "egress/", 7) == 0;
    const char *digits = egress ? id + 7 : strncmp(id, "ingress/", 8) == 0 ? id + 8 : "";
    uint64_t n = 0;
    size_t len = 0;
    while (len < 10 && digits[len] >= '0' && digits[len] <= '9')
        n = 10 * n + (uint64_t)(digits[len++] - '0');
    if (len == 0 || digits[len] != '\0' || digits[0] == '0' || n > UINT32_MAX)
        return err_set(err, ERR_INVALID,
                       "tc.flower: the id \"%s\" is not egress/LABEL or ingress/LABEL", id);
    *out_egress = egress;
    *out_label = (uint32_t)n;
    return ERR_OK;
}

void flower_id_format(bool egress, uint32_t label, char *out, size_t size)
{
    snprintf(out, size, "%s/%u", egress ? "egress" : "ingress", label);
}

bool flower_cookie_is_ours(const uint8_t *cookie, size_t len)
{
    return len == FLOWER_COOKIE_SIZE && memcmp(cookie, FLOWER_COOKIE_MARK, 4) == 0;
}

/* Qdisc and class ----------------------------------------------------------------------------- */

uint32_t value_reader_handle(struct value_reader *r, const char *key)
{
    uint32_t handle = 0;
    const char *text = value_reader_text(r, key, true);
    if (text != NULL && !tc_handle_parse(text, &handle))
        r->code = err_set(r->err, ERR_INVALID,
                          "the value of %s: \"%s\" is no handle such as \"5e11:1a\"", r->what, key);
    return handle;
}

enum err_code class_value_from_json(const json_t *json, struct class_value *out, struct err *err)
{
    struct value_reader r;
    value_reader_init(&r, json, "tc.class", err);
    struct class_value value = {
        .parent = value_reader_handle(&r, "parent"),
        .rate_bps = value_reader_int(&r, "rate_bps", 8, RATE_BPS_MAX),
        .ceil_bps = value_reader_int(&r, "ceil_bps", 8, RATE_BPS_MAX),
    };
    if (value_reader_end(&r))
        return r.code;
    if (value.parent >> 16 != TC_OUR_MAJOR)
        return err_set(err, ERR_INVALID, "tc.class: the parent is not of 5e11:");
    if (value.ceil_bps < value.rate_bps)
        return err_set(err, ERR_INVALID, "tc.class: ceil_bps is below rate_bps");
    *out = value;
    return ERR_OK;
}

json_t *class_value_to_json(const struct class_value *value)
{
    char parent[TC_HANDLE_TEXT_MAX];
    tc_handle_format(value->parent, parent);
    return json_pack("{s:I,s:s,s:I}", "ceil_bps", (json_int_t)value->ceil_bps, "parent", parent,
                     "rate_bps", (json_int_t)value->rate_bps);
}

/* Flower -------------------------------------------------------------------------------------- */

static bool prefix_is_masked(const struct flower_prefix *prefix, size_t size)
{
    for (size_t bit = prefix->bits; bit < 8 * size; bit++)
        if (prefix->addr[bit / 8] >> (7 - bit % 8) & 1)
            return false;
    return true;
}

#define PREFIX_TEXT_MAX (INET6_ADDRSTRLEN + 4)
static void prefix_format(const struct flower_prefix *prefix, bool ipv6, char out[PREFIX_TEXT_MAX])
{
    char addr[INET6_ADDRSTRLEN];
    inet_ntop(ipv6 ? AF_INET6 : AF_INET, prefix->addr, addr, sizeof(addr));
    snprintf(out, PREFIX_TEXT_MAX, "%s/%u", addr, prefix->bits);
}

static bool prefix_parse(const char *text, bool ipv6, struct flower_prefix *out)
{
    char addr[INET6_ADDRSTRLEN];
    const char *slash = strchr(text, '/');
    size_t size = ipv6 ? 16 : 4;
    int family = ipv6 ? AF_INET6 : AF_INET;
    if (slash == NULL || (size_t)(slash - text) >= sizeof(addr))
        return false;
    memcpy(addr, text, (size_t)(slash - text));
    addr[slash - text] = '\0';
    /* "/0" would match everything, which is what leaving the member out says. */
    unsigned long bits = strtoul(slash + 1, NULL, 10);
    struct flower_prefix prefix = {.set = true, .bits = (uint8_t)bits};
    if (bits < 1 || bits > 8 * size || inet_pton(family, addr, prefix.addr) != 1)
        return false;
    /* One text a prefix: plan and state are compared byte by byte. */
    char canonical[PREFIX_TEXT_MAX];
    prefix_format(&prefix, ipv6, canonical);
    if (!prefix_is_masked(&prefix, size) || strcmp(text, canonical) != 0)
        return false;
    *out = prefix;
    return true;
}

static void reader_prefix(struct value_reader *r, const char *key, bool ipv6,
                          struct flower_prefix *out)
{
    const char *text = value_reader_text(r, key, false);
    if (text != NULL && !prefix_parse(text, ipv6, out))
        r->code =
            err_set(r->err, ERR_INVALID,
                    "the value of %s: \"%s\" is no masked prefix of its family", r->what, key);
}

static bool reader_port(struct value_reader *r, const char *key, uint16_t *out)
{
    if (r->code != ERR_OK || json_object_get(r->object, key) == NULL)
        return false;
    *out = (uint16_t)value_reader_int(r, key, 1, UINT16_MAX);
    return true;
}

static enum err_code match_from_json(const json_t *json, struct flower_value *value,
                                     struct err *err)
{
    struct value_reader r;
    value_reader_init(&r, json, "tc.flower match", err);
    const char *eth_type = value_reader_text(&r, "eth_type", true);
    const char *ip_proto = value_reader_text(&r, "ip_proto", false);
    if (eth_type != NULL && strcmp(eth_type, "ipv4") != 0 && strcmp(eth_type, "ipv6") != 0)
        r.code =
            err_set(err, ERR_INVALID, "tc.flower: eth_type \"%s\" is not ipv4 or ipv6", eth_type);
    value->ipv6 = eth_type != NULL && strcmp(eth_type, "ipv6") == 0;
    if (ip_proto != NULL && strcmp(ip_proto, "udp") != 0 && strcmp(ip_proto, "tcp") != 0)
        r.code =
            err_set(err, ERR_INVALID, "tc.flower: ip_proto \"%s\" is not udp or tcp", ip_proto);
    value->ip_proto = ip_proto == NULL               ? 0
                      : strcmp(ip_proto, "udp") == 0 ? IPPROTO_UDP
                                                     : IPPROTO_TCP;
    if (r.code == ERR_OK && json_object_get(json, "dscp") != NULL) {
        value->has_dscp = true;
        value->dscp = (uint8_t)value_reader_int(&r, "dscp", 0, 63);
    }
    value->has_dst_port = reader_port(&r, "dst_port", &value->dst_port);
    value->has_src_port = reader_port(&r, "src_port", &value->src_port);
    reader_prefix(&r, "src", value->ipv6, &value->src);
    reader_prefix(&r, "dst", value->ipv6, &value->dst);
    if (value_reader_end(&r))
        return r.code;
    if ((value->has_dst_port || value->has_src_port) && value->ip_proto == 0)
        return err_set(err, ERR_INVALID, "tc.flower: a port without ip_proto");
    return ERR_OK;
}

static enum err_code action_from_json(const json_t *json, struct flower_action *out,
                                      struct err *err)
{
    struct value_reader r;
    value_reader_init(&r, json, "tc.flower action", err);
    *out = (struct flower_action){0};
    if (json_object_get(json, "class") != NULL) {
        out->kind = FLOWER_ACTION_CLASS;
        out->priority = value_reader_handle(&r, "class");
        if (r.code == ERR_OK && out->priority >> 16 != TC_OUR_MAJOR)
            return err_set(err, ERR_INVALID, "tc.flower: the class is not of 5e11:");
    } else if (json_object_get(json, "priority") != NULL) {
        out->kind = FLOWER_ACTION_PRIORITY;
        out->priority = (uint32_t)value_reader_int(&r, "priority", 0, UINT16_MAX);
    } else {
        out->kind = FLOWER_ACTION_POLICE;
        out->police_bps = value_reader_int(&r, "police_bps", 8, RATE_BPS_MAX);
        out->burst_bytes = value_reader_int(&r, "burst_bytes", 1, UINT32_MAX);
    }
    return value_reader_end(&r);
}

static enum err_code actions_from_json(const json_t *json, struct flower_value *value,
                                       struct err *err)
{
    size_t count = json_array_size(json);
    if (!json_is_array(json) || count == 0 || count > FLOWER_ACTIONS_MAX)
        return err_set(err, ERR_INVALID, "tc.flower: actions is no array of 1 to %d",
                       FLOWER_ACTIONS_MAX);
    for (size_t i = 0; i < count; i++)
        if (action_from_json(json_array_get(json, i), &value->actions[i], err))
            return err_context(err, "action %zu", i);
    value->action_count = count;
    return ERR_OK;
}

static bool cookie_parse(const char *text, uint8_t out[FLOWER_COOKIE_SIZE])
{
    if (strlen(text) != 2 * FLOWER_COOKIE_SIZE ||
        strspn(text, "0123456789abcdef") != 2 * FLOWER_COOKIE_SIZE)
        return false;
    for (size_t i = 0; i < FLOWER_COOKIE_SIZE; i++) {
        const char digits[3] = {text[2 * i], text[2 * i + 1], '\0'};
        out[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return flower_cookie_is_ours(out, FLOWER_COOKIE_SIZE);
}

enum err_code flower_value_from_json(const json_t *json, struct flower_value *out, struct err *err)
{
    struct flower_value value = {0};
    struct value_reader r;
    value_reader_init(&r, json, "tc.flower", err);
    const char *cookie = value_reader_text(&r, "cookie", true);
    const char *hw = value_reader_text(&r, "hw", true);
    const json_t *match = value_reader_get(&r, "match", true);
    const json_t *actions = value_reader_get(&r, "actions", true);
    if (value_reader_end(&r))
        return r.code;
    if (!cookie_parse(cookie, value.cookie))
        return err_set(err, ERR_INVALID, "tc.flower: the cookie is not ours (32 hex digits)");
    /* "lost" comes only as what a filter was before, on the way back. */
    bool lost = strcmp(hw, "lost") == 0;
    if (!lost && strcmp(hw, "only") != 0 && strcmp(hw, "no") != 0)
        return err_set(err, ERR_INVALID, "tc.flower: hw \"%s\" is not only or no", hw);
    value.hw = lost || strcmp(hw, "only") == 0;
    enum err_code code = match_from_json(match, &value, err);
    if (code == ERR_OK)
        code = actions_from_json(actions, &value, err);
    if (code == ERR_OK)
        *out = value;
    return code;
}

static void put_prefix(json_t *match, const char *key, const struct flower_value *value,
                       const struct flower_prefix *prefix)
{
    char text[PREFIX_TEXT_MAX];
    if (!prefix->set)
        return;
    prefix_format(prefix, value->ipv6, text);
    json_object_set_new(match, key, json_string(text));
}

static json_t *match_to_json(const struct flower_value *value)
{
    json_t *match = json_object();
    json_object_set_new(match, "eth_type", json_string(value->ipv6 ? "ipv6" : "ipv4"));
    if (value->ip_proto != 0)
        json_object_set_new(match, "ip_proto",
                            json_string(value->ip_proto == IPPROTO_UDP ? "udp" : "tcp"));
    if (value->has_dscp)
        json_object_set_new(match, "dscp", json_integer(value->dscp));
    if (value->has_dst_port)
        json_object_set_new(match, "dst_port", json_integer(value->dst_port));
    if (value->has_src_port)
        json_object_set_new(match, "src_port", json_integer(value->src_port));
    put_prefix(match, "src", value, &value->src);
    put_prefix(match, "dst", value, &value->dst);
    return match;
}

static json_t *action_to_json(const struct flower_action *action)
{
    char class_text[TC_HANDLE_TEXT_MAX];
    switch (action->kind) {
    case FLOWER_ACTION_CLASS:
        tc_handle_format(action->priority, class_text);
        return json_pack("{s:s}", "class", class_text);
    case FLOWER_ACTION_PRIORITY:
        return json_pack("{s:I}", "priority", (json_int_t)action->priority);
    case FLOWER_ACTION_POLICE:
        break;
    }
    return json_pack("{s:I,s:I}", "burst_bytes", (json_int_t)action->burst_bytes, "police_bps",
                     (json_int_t)action->police_bps);
}

json_t *flower_value_to_json(const struct flower_value *value)
{
    char cookie[2 * FLOWER_COOKIE_SIZE + 1];
    hex_encode(value->cookie, FLOWER_COOKIE_SIZE, cookie);
    json_t *actions = json_array();
    for (size_t i = 0; i < value->action_count; i++)
        json_array_append_new(actions, action_to_json(&value->actions[i]));
    return json_pack("{s:o,s:s,s:s,s:o}", "actions", actions, "cookie", cookie, "hw",
                     value->lost ? "lost"
                     : value->hw ? "only"
                                 : "no",
                     "match", match_to_json(value));
}
