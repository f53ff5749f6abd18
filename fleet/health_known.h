#pragma once
/*
 * fleet/health_known.h - what the server knows of a node, as facts of its health: inventory,
 * profile, marking chains, and what the other nodes have. Pure.
 */

#include "base/text.h"
#include "fleet/chain_report.h"
#include "fleet/fabric.h"
#include "fleet/health.h"
#include "fleet/inventory.h"

/* What most of a group have: a text each, counted. */
#define HEALTH_PEERS_MAX   262144 /* different pairs of group and text; more are not counted */
#define HEALTH_PEERS_LEAST 3      /* of a group, or there is no most */

struct health_peers;
ERR_MUST_CHECK enum err_code health_peers_new(struct health_peers **out, struct err *err);
void health_peers_free(struct health_peers *peers);
OWN_DEFINE(health_peers, struct health_peers *, health_peers_free)
ERR_MUST_CHECK enum err_code health_peers_add(struct health_peers *peers, const char *group,
                                              const char *text, struct err *err);
/* 1 = more than half of the group have another one, and the same; 0 = more than half have this one;
 * -1 = neither. */
int health_peers_differs(const struct health_peers *peers, const char *group, const char *text);

/* Of one port, for the peers. False = it takes no part (no RDMA device, virtual, unknown). */
#define HEALTH_GROUP_MAX 288
bool health_rail_of(const struct port *port, char group[HEALTH_GROUP_MAX],
                    char mtu[TEXT_NUMBER_MAX]);
bool health_board_of(const struct port *port, char group[HEALTH_GROUP_MAX]); /* text: firmware */

struct health_known {
    const struct inventory *inventory;
    const struct fabric *fabric;       /* NULL = no profile */
    const struct chain_report *chains; /* NULL = none was told */
    const struct health_peers *peers;  /* NULL = not known */
    bool *moved; /* NULL, or set to true when a port has what it did not have in the look before */
};
/* Replaces what was known of ports, priorities and RDMA ports. ERR_NOMEM leaves facts out. The MTU
 * and firmware of a port are held against its peers' once they are what they were in the look
 * before: peers were counted then, and what a profile changes on every port at once differs from
 * none. */
ERR_MUST_CHECK enum err_code health_know(struct health *health, const struct health_known *known,
                                         struct err *err);
