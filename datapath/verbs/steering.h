#pragma once
/*
 * datapath/verbs/steering.h - whether a device steers received packets to queue pairs by what is in
 * them (ibv_create_flow). No plan uses it: it steers Ethernet and UD traffic, not the reliable
 * connections of RoCE, so the inventory tells it and that is all.
 */

#include <stdbool.h>

#include <infiniband/verbs.h>

/*
 * Asked once a device and firmware, then remembered: 1 = yes, 0 = the driver has no such operation,
 * -1 = unknown: this process may not ask (CAP_NET_RAW), or the device had no room. Makes a queue
 * pair and a rule for an address that nobody has, for a moment. Safe in any thread; may hang with
 * its device.
 */
int verbs_flow_steering(struct ibv_context *context, const char *firmware);

/* What the try says, as above: a rule was made, or why not (errno). */
int verbs_steering_answer(bool made, int error);
