#pragma once
/*
 * agent/lock.h - one agent a state folder, and one agent an interface: two would undo each other.
 * The locks go with the process. Called by agent_main.c.
 */

#include "base/err.h"

/* Makes the state folder and locks it; sweeps what half a write left in it. One that is there and
 * cannot be written is locked, too, and named in the log. ERR_CONFLICT: another agent runs on it.
 */
ERR_MUST_CHECK enum err_code lock_state(const char *state_dir, struct err *err);

/*
 * Locks what is managed, in ROOT/run/stellar: agent.lock, alone when it is all interfaces (devices
 * NULL), else together with others, and agent-NAME.lock of each interface. ERR_CONFLICT: another
 * agent manages some of it. Where no lock can be made that is only logged: who may not write there
 * may not program NICs either. root may be NULL.
 */
ERR_MUST_CHECK enum err_code lock_devices(const char *root, const char *const *devices,
                                          struct err *err);
