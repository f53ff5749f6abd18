#pragma once
/*
 * datapath/dp_sim.h - a node in memory, with faults: for tests, benchmarks and demonstrations.
 *
 * It holds real knob values and checks them as the test NIC's driver would (ETS sum 100, rates in
 * units of 100 Mb/s, finite flow table), so that a plan which dp_sim takes is a plan the lab takes.
 */

#include "datapath/dp.h"

struct dp_sim_config {
    int port_count;       /* ports "sim.0/0", "sim.1/0", ...; 1..128 */
    int64_t speed_bps;    /* 0 = 100 Gbit/s */
    int32_t flow_entries; /* per port, 0 = 64 */
    bool no_pfc;          /* the NIC has no PFC: unsupported */
};

ERR_MUST_CHECK enum err_code dp_sim_new(const struct dp_sim_config *config, struct dp **out,
                                        struct err *err);

/* Faults. apply call number n from now on (1 = next) fails with ERR_IO, once; 0 = never.
 * `after` true: the change is made and then the failure reported. */
void dp_sim_fail_apply(struct dp *dp, int n, bool after);
/* Every apply from now on fails while on. */
void dp_sim_fail_all(struct dp *dp, bool on);
/*
 * Faults by name, for tests with whole agents; they hold from now on:
 *   fail-step:N     apply call number N of the simulator's life fails, once
 *   fail:KNOB       every apply of a knob of that kind fails
 *   refuse:KNOB     the device cannot do knobs of that kind (ERR_UNSUPPORTED before a change)
 *   ignore:KNOB     they are accepted and nothing changes
 *   link-down:KNOB  a port's link is down while its knob is not what it was at the start
 *   peers-silent:KNOB  no peer of a port answers while its knob is not what it was at the start
 *   alter:KNOB      DP_SIM_WRITER sets a knob that was changed back to what it was at the start,
 *                   once, SIM_ALTER_MS after the last change of one: drift, without a hand
 *   flash:WHAT      firmware (flash.h): fail-PERCENT (the write fails there), slow-MS (each of its
 *                   16 steps), psid (the board says another id than the inventory), dead-link (no
 *                   link after the activation), stuck (a write never ends, until unstuck),
 *                   no-activate (it needs a reboot), users (queue pairs that stay, until
 *                   no-users), ignore (a write stores nothing)
 * ERR_INVALID: no such fault or knob; ERR_LIMIT over SIM_FAULTS_MAX.
 */
#define SIM_FAULTS_MAX        8
#define SIM_FAULT_STEP_MAX    1000000
#define SIM_ALTER_MS          2000
#define SIM_FLASH_SLOW_MAX_MS 60000
ERR_MUST_CHECK enum err_code dp_sim_fault(struct dp *dp, const char *text, struct err *err);
/* Peers answer (dp.h, ping()), all but the one of this address. */
#define DP_SIM_SILENT_PEER "192.0.2.1"
void dp_sim_fault_clear(struct dp *dp); /* none is left, but for those of firmware */
/* The kernel rounds: maxrate is floored to unit_bps on apply. */
void dp_sim_set_rate_unit(struct dp *dp, int64_t unit_bps);
/* As an operator's shell would: sets (value NULL: removes) a knob behind the agent's back and
 * makes event_fd readable; the inventory may be another then. Of the last one it is known that
 * DP_SIM_WRITER was it. */
#define DP_SIM_WRITER "sh (process 4711)"
ERR_MUST_CHECK enum err_code dp_sim_poke(struct dp *dp, const char *kind, const char *subject,
                                         const char *id, const json_t *value, struct err *err);
/* The port goes away, or comes back as it was; event_fd is readable. */
void dp_sim_hide_port(struct dp *dp, int index, bool hidden);
int dp_sim_apply_count(const struct dp *dp); /* apply calls so far */
