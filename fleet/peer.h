#pragma once
/*
 * fleet/peer.h - ports of other nodes that a node asks for an answer over RoCE in the self-test of
 * a plan. Part of the plan's assignment, not of its digest: other peers make no other plan.
 */

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/json.h"
#include "fleet/inventory.h"
#include "fleet/name.h"

#define PEERS_MAX        32 /* of a plan */
#define PEERS_A_PORT_MAX 2
#define PEERS_LOOK_MAX   64 /* nodes that are looked at for the peers of a node */

struct peer {
    char port[PORT_ID_SIZE];             /* of this node: through which it is asked */
    char node[NAME_SIZE];                /* whose it is, for people */
    char address[INVENTORY_ADDRESS_MAX]; /* its RoCE v2 address: IPv4, or IPv6 */
};

struct peer_list {
    struct peer items[PEERS_MAX]; /* those of a port together */
    size_t count;
};

/*
 * Whether two ports are on the same rail, so that what one sends over RoCE is meant to reach the
 * other: both are at the same switch (LLDP), or, when that of one is unknown, have the same place
 * in their hosts (the port's id).
 */
bool peer_is_on_rail(const struct port *a, const struct port *b);

struct view;
struct view_node;
/* The next nodes by name, in a ring, so that not all ask the same one. None without addresses. */
void peers_choose(const struct view *view, const struct view_node *node, struct peer_list *out);

/* [{"port","node","address"}], NULL = no memory. */
json_t *peers_to_json(const struct peer_list *peers);
/* Of the member "peers", which may be absent; problems go to the reader. */
void peers_from_json(struct json_reader *r, struct peer_list *out);
