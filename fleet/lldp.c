/*
 * fleet/lldp.c - see lldp.h. Called by datapath/lldp_listen.
 *
 * A TLV is 7 bits of type, 9 of length, and the value (802.1AB-2016, 8.4). The first three are
 * chassis, port and time to live; the data unit ends with type 0 or with the frame.
 */
#include "fleet/lldp.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define TLV_HEADER   2
#define TLV_LEN_MASK 0x1ff
#define ID_MAX       256 /* subtype and up to 255 bytes */
#define TEXT_MAX     255 /* of a name or description */

/* 802.1Q-2018, annex D.2: 00-80-C2 and a subtype. */
#define DCB_HEADER    4
#define DCB_ETS       9
#define DCB_PFC       11
#define DCB_APP       12
#define ETS_LEN       25
#define PFC_LEN       6
#define APP_ENTRY     3
#define SELECTOR_DSCP 5

enum tlv_type {
    TLV_END = 0,
    TLV_CHASSIS = 1,
    TLV_PORT = 2,
    TLV_TTL = 3,
    TLV_PORT_DESCRIPTION = 4,
    TLV_SYSTEM = 5,
    TLV_ORGANIZATION = 127,
};

struct tlv {
    unsigned type;
    const uint8_t *value;
    size_t len;
};

/* Texts --------------------------------------------------------------------------------------- */

static void put_text(const uint8_t *data, size_t len, char out[INVENTORY_TEXT_MAX])
{
    if (len > INVENTORY_TEXT_MAX - 1)
        len = INVENTORY_TEXT_MAX - 1;
    memcpy(out, data, len);
    out[len] = '\0'; /* and what stands behind a NUL is filling */
    text_clean(out, "");
}

static void put_bytes(const uint8_t *data, size_t len, char out[INVENTORY_TEXT_MAX])
{
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < len && at + 3 < INVENTORY_TEXT_MAX; i++)
        at += (size_t)snprintf(out + at, INVENTORY_TEXT_MAX - at, "%s%02x", i == 0 ? "" : ":",
                               data[i]);
}

/* An address family number of IANA, and the address. */
static void put_address(const uint8_t *data, size_t len, char out[INVENTORY_TEXT_MAX])
{
    if (len == 5 && data[0] == 1)
        inet_ntop(AF_INET, data + 1, out, INVENTORY_TEXT_MAX);
    else if (len == 17 && data[0] == 2)
        inet_ntop(AF_INET6, data + 1, out, INVENTORY_TEXT_MAX);
    else
        put_bytes(data, len, out);
}

/* Subtypes: MAC and network addresses differ between chassis and port, all others are texts. */
static bool put_id(const struct tlv *tlv, unsigned mac, unsigned address,
                   char out[INVENTORY_TEXT_MAX])
{
    if (tlv->len < 2 || tlv->len > ID_MAX)
        return false;
    unsigned subtype = tlv->value[0];
    const uint8_t *id = tlv->value + 1;
    size_t len = tlv->len - 1;
    if (subtype == mac)
        put_bytes(id, len, out);
    else if (subtype == address)
        put_address(id, len, out);
    else
        put_text(id, len, out);
    return out[0] != '\0';
}

/* DCB ----------------------------------------------------------------------------------------- */

static void take_ets(const uint8_t *value, size_t len, struct lldp_neighbour *out)
{
    static const enum lldp_tsa known[] = {LLDP_TSA_STRICT, LLDP_TSA_CBS, LLDP_TSA_ETS};
    if (len != ETS_LEN || out->has_ets)
        return;
    const uint8_t *assigned = value + DCB_HEADER + 1, *percent = assigned + 4, *tsa = percent + 8;
    for (size_t i = 0; i < LLDP_PRIOS; i++) {
        int tc = assigned[i / 2] >> (i % 2 == 0 ? 4 : 0) & 0xf;
        if (tc >= LLDP_PRIOS || percent[i] > 100)
            return;
        out->class_of[i] = tc;
        out->percent_of[i] = percent[i];
        out->tsa_of[i] =
            tsa[i] < sizeof(known) / sizeof(known[0]) ? known[tsa[i]] : LLDP_TSA_VENDOR;
    }
    out->has_ets = true;
}

static void take_pfc(const uint8_t *value, size_t len, struct lldp_neighbour *out)
{
    if (len != PFC_LEN || out->has_pfc)
        return;
    out->lossless = value[DCB_HEADER + 1];
    out->has_pfc = true;
}

static void take_app(const uint8_t *value, size_t len, struct lldp_neighbour *out)
{
    if (len <= DCB_HEADER || (len - DCB_HEADER - 1) % APP_ENTRY != 0)
        return;
    for (size_t at = DCB_HEADER + 1; at < len; at += APP_ENTRY) {
        int priority = value[at] >> 5, dscp = value[at + 1] << 8 | value[at + 2];
        if ((value[at] & 7) != SELECTOR_DSCP || dscp >= LLDP_DSCPS)
            continue;
        int had = out->priority_of[dscp];
        out->priority_of[dscp] = had == LLDP_NO_ENTRY || had == priority ? priority : LLDP_SEVERAL;
        out->has_app = true;
    }
}

static const struct {
    unsigned subtype;
    void (*take)(const uint8_t *value, size_t len, struct lldp_neighbour *out);
} dcb_tlvs[] = {{DCB_ETS, take_ets}, {DCB_PFC, take_pfc}, {DCB_APP, take_app}};

static void take_organization(const struct tlv *tlv, struct lldp_neighbour *out)
{
    static const uint8_t dcb[] = {0x00, 0x80, 0xc2};
    if (tlv->len < DCB_HEADER || memcmp(tlv->value, dcb, sizeof(dcb)) != 0)
        return;
    for (size_t i = 0; i < sizeof(dcb_tlvs) / sizeof(dcb_tlvs[0]); i++)
        if (tlv->value[3] == dcb_tlvs[i].subtype)
            dcb_tlvs[i].take(tlv->value, tlv->len, out);
}

/* The data unit ------------------------------------------------------------------------------- */

/* False: the TLV ends behind the data. */
static bool next_tlv(const uint8_t **data, size_t *len, struct tlv *out)
{
    if (*len < TLV_HEADER)
        return false;
    unsigned head = (unsigned)(*data)[0] << 8 | (*data)[1];
    *out = (struct tlv){head >> 9, *data + TLV_HEADER, head & TLV_LEN_MASK};
    if (out->len > *len - TLV_HEADER)
        return false;
    *data += TLV_HEADER + out->len;
    *len -= TLV_HEADER + out->len;
    return true;
}

static bool take_mandatory(const struct tlv *tlv, unsigned place, struct lldp_neighbour *out)
{
    if (tlv->type != place)
        return false;
    if (tlv->type == TLV_CHASSIS)
        return put_id(tlv, 4, 5, out->chassis);
    if (tlv->type == TLV_PORT)
        return put_id(tlv, 3, 4, out->port);
    if (tlv->len < 2)
        return false;
    out->ttl_s = tlv->value[0] << 8 | tlv->value[1];
    return true;
}

/* False: one that may come only at the beginning. */
static bool take_optional(const struct tlv *tlv, struct lldp_neighbour *out)
{
    if (tlv->type <= TLV_TTL)
        return false;
    if (tlv->type == TLV_PORT_DESCRIPTION && tlv->len <= TEXT_MAX &&
        out->port_description[0] == '\0')
        put_text(tlv->value, tlv->len, out->port_description);
    if (tlv->type == TLV_SYSTEM && tlv->len <= TEXT_MAX && out->system[0] == '\0')
        put_text(tlv->value, tlv->len, out->system);
    if (tlv->type == TLV_ORGANIZATION)
        take_organization(tlv, out);
    return true;
}

enum err_code lldp_decode(const uint8_t *data, size_t len, struct lldp_neighbour *out,
                          struct err *err)
{
    struct lldp_neighbour told = {0};
    if (len > LLDP_BYTES_MAX)
        return err_set(err, ERR_INVALID, "an LLDP data unit of %zu bytes is over %d", len,
                       LLDP_BYTES_MAX);
    for (size_t i = 0; i < LLDP_DSCPS; i++)
        told.priority_of[i] = LLDP_NO_ENTRY;
    for (unsigned place = TLV_CHASSIS; len > 0; place++) {
        struct tlv tlv;
        if (!next_tlv(&data, &len, &tlv))
            return err_set(err, ERR_INVALID, "an LLDP data unit is cut short in its TLV %u", place);
        if (place > TLV_TTL && tlv.type == TLV_END)
            break;
        if (place <= TLV_TTL ? !take_mandatory(&tlv, place, &told) : !take_optional(&tlv, &told))
            return err_set(err, ERR_INVALID,
                           "an LLDP data unit does not begin with one chassis, one port and one "
                           "time to live (TLV %u has type %u)",
                           place, tlv.type);
    }
    if (told.port[0] == '\0')
        return err_set(err, ERR_INVALID, "an LLDP data unit has no chassis and port");
    *out = told;
    return ERR_OK;
}

bool lldp_same(const struct lldp_neighbour *a, const struct lldp_neighbour *b)
{
    return strcmp(a->chassis, b->chassis) == 0 && strcmp(a->port, b->port) == 0 &&
           strcmp(a->port_description, b->port_description) == 0 &&
           strcmp(a->system, b->system) == 0 && a->has_ets == b->has_ets &&
           a->has_pfc == b->has_pfc && a->has_app == b->has_app && a->lossless == b->lossless &&
           memcmp(a->class_of, b->class_of, sizeof(a->class_of)) == 0 &&
           memcmp(a->percent_of, b->percent_of, sizeof(a->percent_of)) == 0 &&
           memcmp(a->tsa_of, b->tsa_of, sizeof(a->tsa_of)) == 0 &&
           memcmp(a->priority_of, b->priority_of, sizeof(a->priority_of)) == 0;
}

/* Inventory ----------------------------------------------------------------------------------- */

static json_t *priorities_json(const struct lldp_neighbour *neighbour)
{
    static const char *const names[] = {"strict", "cbs", "ets", "vendor"};
    json_t *list = json_array();
    for (int i = 0; i < LLDP_PRIOS && (neighbour->has_ets || neighbour->has_pfc); i++) {
        json_t *item = json_pack("{s:i}", "priority", i);
        if (neighbour->has_pfc)
            json_object_set_new(item, "lossless", json_boolean(neighbour->lossless >> i & 1));
        if (neighbour->has_ets) {
            int tc = neighbour->class_of[i];
            json_object_set_new(item, "class", json_integer(tc));
            json_object_set_new(item, "percent", json_integer(neighbour->percent_of[tc]));
            json_object_set_new(item, "tsa", json_string(names[neighbour->tsa_of[tc]]));
        }
        json_array_append_new(list, item);
    }
    return list;
}

/* A DSCP that has several priorities is left out: which of them is meant is unknown. */
static json_t *dscps_json(const struct lldp_neighbour *neighbour)
{
    json_t *list = json_array();
    for (int i = 0; i < LLDP_DSCPS; i++)
        if (neighbour->priority_of[i] >= 0)
            json_array_append_new(
                list, json_pack("{s:i,s:i}", "dscp", i, "priority", neighbour->priority_of[i]));
    return list;
}

json_t *lldp_to_json(const struct lldp_neighbour *neighbour)
{
    const struct {
        const char *key, *text;
    } texts[] = {{"chassis", neighbour->chassis},
                 {"port", neighbour->port},
                 {"port_description", neighbour->port_description},
                 {"system", neighbour->system},
                 {"source", "lldp"}};
    json_t *object = json_object(), *dscps = dscps_json(neighbour);
    json_t *priorities = priorities_json(neighbour);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (texts[i].text[0] != '\0')
            json_object_set_new(object, texts[i].key, json_string(texts[i].text));
    if (json_array_size(priorities) > 0)
        json_object_set(object, "priorities", priorities);
    if (json_array_size(dscps) > 0)
        json_object_set(object, "dscps", dscps);
    json_decref(priorities);
    json_decref(dscps);
    return object;
}
