#pragma once
/*
 * datapath/verbs/steering.h - whether a device steers received packets to queue pairs by what is in
 * them (ibv_create_flow). No plan uses it: it steers Ethernet and UD traffic, not the reliable
 * connections of RoCE, so the inventory tells it and that is all.
 */

#include <infiniband/verbs.h>

/*
 * Asked once a device and firmware, then remembered: 1 = yes, 0 = the driver has no such operation,
 * -1 = unknown. Makes a queue pair and a rule for an address that nobody has, for a moment. Safe in
 * any thread; may hang with its device.
 */
int verbs_flow_steering(struct ibv_context *context, const char *firmware);
