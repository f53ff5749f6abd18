#pragma once
/*
 * datapath/lldp_listen.h - listens for what neighbours say of themselves by LLDP; sends nothing.
 *
 * One packet socket for all interfaces. Opening it takes CAP_NET_RAW; what comes later does not,
 * so it is opened before rights are given up. A NIC whose firmware or an agent in whose driver
 * takes LLDP frames away (ice, i40e with FW-LLDP) shows none: its neighbour is unknown.
 */

#include <stdbool.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "fleet/lldp.h"

#define LLDP_NEIGHBOURS_MAX INVENTORY_PORTS_MAX /* more are not kept */
#define LLDP_DRAIN_MAX      256                 /* frames that one drain reads */

struct lldp_listen;

/* ERR_DENIED: no right to; ERR_UNSUPPORTED: the kernel has no packet sockets. Borrows the clock. */
ERR_MUST_CHECK enum err_code lldp_listen_open(struct clock *clock, struct lldp_listen **out,
                                              struct err *err);
/* Takes over a datagram descriptor that brings data units of interface `ifindex`; for tests. */
ERR_MUST_CHECK enum err_code lldp_listen_attach(int fd, int ifindex, struct clock *clock,
                                                struct lldp_listen **out, struct err *err);
void lldp_listen_close(struct lldp_listen *listen);
OWN_DEFINE(lldp_listen, struct lldp_listen *, lldp_listen_close)

int lldp_listen_fd(const struct lldp_listen *listen);

/* Lets the NIC pass LLDP's multicast address. Idempotent; a failure is a neighbour unknown. */
void lldp_listen_join(struct lldp_listen *listen, int ifindex);

/* Reads what there is, at most LLDP_DRAIN_MAX frames, never waits. True: a neighbour came, went or
 * says something else. */
bool lldp_listen_drain(struct lldp_listen *listen);

/* Borrowed until the next drain; NULL = nobody spoke there within the time that it said. Where
 * several speak on one cable, the one that came first stays until it is silent. */
const struct lldp_neighbour *lldp_listen_get(const struct lldp_listen *listen, int ifindex);
