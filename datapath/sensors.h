#pragma once
/*
 * datapath/sensors.h - what of a node is no counter of a port or a queue pair: GPUs, PCIe links,
 * interrupts, temperatures, PTP clocks, the host's settings. For counters_linux.c.
 *
 * Each kind is read on a thread of its own with a deadline: one that hangs tells nothing until it
 * is back, and keeps the others waiting for SENSORS_WAIT_MS once, not each time.
 */

#include "base/err.h"
#include "base/own.h"
#include "datapath/counters.h"

#define SENSORS_WAIT_MS 400

struct sensors;

/* nvml: NVIDIA's management library; NULL = as it is called everywhere. */
ERR_MUST_CHECK enum err_code sensors_new(const char *root, const char *nvml, struct sensors **out,
                                         struct err *err);
/* What hangs goes when it comes back. */
void sensors_free(struct sensors *sensors);
OWN_DEFINE(sensors, struct sensors *, sensors_free)

/* Looks at each kind, and tells what it says. What cannot be read is not told.
 * ERR_UNAVAILABLE names the last that hangs; the others were told. */
ERR_MUST_CHECK enum err_code sensors_tell(struct sensors *sensors, const struct counters_sink *sink,
                                          struct err *err);
