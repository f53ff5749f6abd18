#pragma once
/*
 * datapath/sys/dcbx_agent.h - whether somebody else on this node runs DCBX.
 */

#include <stdbool.h>

/* lldpad listens on an abstract socket of its own name, which anybody sees in /proc/net/unix; other
 * users' processes an unprivileged agent would not see. */
bool dcbx_lldpad_runs(const char *root);
