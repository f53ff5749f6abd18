#pragma once
/*
 * datapath/counters.h - one look at everything that a node counts, for telemetry. Providers:
 * counters_linux (this node), counters_sim (made traffic).
 *
 * A reader belongs to one thread, which is not the agent's loop: a look may take as long as a
 * device hangs. It has sockets of its own and shares nothing with dp.h's provider. Rows and columns
 * are those of fleet/telemetry.h; what cannot be read is not told.
 */

#include <stdint.h>

#include "base/err.h"
#include "base/own.h"
#include "fleet/telemetry.h"

/* Where the values of a look go. A row that is told again goes on. */
struct counters_sink {
    void *arg;
    void (*row)(void *arg, enum telemetry_kind kind, const char *device,
                const struct telemetry_subject *subject); /* number, pid, label of it alone */
    void (*value)(void *arg, const struct telemetry_name *name,
                  int64_t value); /* of the last row; TELEMETRY_ABSENT: keeps its column's place */
};

struct counters;
struct counters_ops {
    /* One look; mono_ns: now. What failed as a whole is an error; the rest was told. */
    enum err_code (*read)(struct counters *counters, int64_t mono_ns,
                          const struct counters_sink *sink, struct err *err);
    void (*free)(struct counters *counters);
};
struct counters {
    const struct counters_ops *ops;
};
void counters_free(struct counters *counters);
OWN_DEFINE(counters, struct counters *, counters_free)

struct counters_linux_config {
    const char *root; /* of sysfs and procfs; NULL = "" */
    const char *nvml; /* NVIDIA's management library; NULL = as it is called everywhere */
};
ERR_MUST_CHECK enum err_code counters_linux_new(const struct counters_linux_config *config,
                                                struct counters **out, struct err *err);

#define COUNTERS_SIM_QPS 16 /* a port */
/* Ports as dp_sim has them; the same time, the same values. */
ERR_MUST_CHECK enum err_code counters_sim_new(int port_count, struct counters **out,
                                              struct err *err);

/* Pure: the job's label of a process, by the text of /proc/PID/cgroup: the first part of a path
 * that is "stellar-job-LABEL", also with ".slice", ".scope" or ".service"; 0 = none. */
uint32_t counters_label(const char *cgroup);
