#pragma once
/*
 * fleet/lldp.h - what is at the other end of a cable, as it says itself: one LLDP data unit (IEEE
 * 802.1AB-2016) with the DCB TLVs of 802.1Qaz. Pure. The bytes are from anybody on the wire.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "fleet/inventory.h"

#define LLDP_BYTES_MAX 1500 /* of a data unit: one Ethernet frame's payload */
#define LLDP_PRIOS     8
#define LLDP_DSCPS     64
#define LLDP_NO_ENTRY  (-1) /* in priority_of: the neighbour tells nothing of this DSCP */
#define LLDP_SEVERAL   (-2) /* it tells several that differ */

enum lldp_tsa {
    LLDP_TSA_STRICT = 0,
    LLDP_TSA_CBS,
    LLDP_TSA_ETS,
    LLDP_TSA_VENDOR,
};

struct lldp_neighbour {
    char chassis[INVENTORY_TEXT_MAX]; /* as the others: hidden characters replaced, cut; "" = not
                                         told (chassis and port never are) */
    char port[INVENTORY_TEXT_MAX];
    char port_description[INVENTORY_TEXT_MAX];
    char system[INVENTORY_TEXT_MAX];
    int ttl_s; /* 0..65535 that this holds for; 0: it says good bye */
    bool has_ets, has_pfc, has_app;
    int class_of[LLDP_PRIOS]; /* ETS: what it does, not what it recommends */
    int percent_of[LLDP_PRIOS];
    enum lldp_tsa tsa_of[LLDP_PRIOS];
    unsigned lossless;           /* 1 << priority */
    int priority_of[LLDP_DSCPS]; /* APP entries with selector 5 */
};

/*
 * The data unit without its Ethernet header. ERR_INVALID: no chassis, port and time to live in this
 * order (each once), or a TLV that ends behind the data. A TLV of DCB that is not of its form is
 * one that was not sent.
 */
ERR_MUST_CHECK enum err_code lldp_decode(const uint8_t *data, size_t len,
                                         struct lldp_neighbour *out, struct err *err);

/* The same neighbour says the same, its time to live aside. */
bool lldp_same(const struct lldp_neighbour *a, const struct lldp_neighbour *b);

/* As the inventory's "neighbour"; NULL = no memory. */
json_t *lldp_to_json(const struct lldp_neighbour *neighbour);
