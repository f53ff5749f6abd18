#pragma once
/*
 * fleet/inventory.h - what a node says it is made of (schemas/inventory.json). Comes from agents:
 * hostile until parsed. An absent value is unknown, never 0.
 *
 * A port's id is its bus address + port number ("0000:3b:00.0/0", "solar_rdma.0/0"): the key of
 * every knob; the interface name is for people.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/finding.h"
#include "base/own.h"
#include "fleet/name.h"

#define INVENTORY_PORTS_MAX 128
#define PORT_ID_SIZE        96
#define IFNAME_SIZE         16
#define INVENTORY_TEXT_MAX  128

/* What the port can take, found by probing. */
struct port_caps {
    bool dcb_app, dcb_ets, dcb_pfc, dcb_maxrate, dcb_buffer;
    bool tc;                   /* qdiscs and software filters */
    bool flower_hw;            /* flow table in the NIC */
    int32_t flower_hw_entries; /* capacity, -1 = unknown */
    int64_t maxrate_unit_bps;  /* granularity of per-TC max rate; 0 = unknown */
    int ets_tcs;               /* number of traffic classes, 0 = unknown */
};

struct port {
    char id[PORT_ID_SIZE];
    char ifname[IFNAME_SIZE];
    char driver[INVENTORY_TEXT_MAX];      /* "" = unknown */
    char firmware[INVENTORY_TEXT_MAX];    /* running, "" = unknown */
    char rdma_device[INVENTORY_TEXT_MAX]; /* "" = none */
    bool rdma_software;                   /* rxe: its packets pass qdiscs */
    int64_t speed_bps;                    /* -1 = unknown */
    int mtu_bytes;                        /* -1 = unknown */
    struct port_caps caps;
};

struct inventory {
    struct port *ports; /* sorted by id */
    size_t port_count;
};

ERR_MUST_CHECK enum err_code inventory_from_json(const json_t *document, struct inventory **out,
                                                 struct finding_list *findings, struct err *err);
void inventory_free(struct inventory *inventory);
OWN_DEFINE(inventory, struct inventory *, inventory_free)

const struct port *inventory_port_get(const struct inventory *inventory, const char *id);
