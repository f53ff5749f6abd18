#pragma once
/*
 * datapath/solar/sim/netsim.h - a run: hosts with the transport's own objects (pump, track, cc,
 * place, credit) on a simulated fabric, under a virtual clock. Deterministic: the same parameters
 * and seed give the same bytes.
 *
 * A flow is one message on a queue pair of its own. One that begins `after` another begins when
 * that one's last byte has arrived at its receiver (as the steps of a collective do).
 *
 * What it is not: there is no host processing time, no PFC and no trimming, and tags are not
 * computed.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "datapath/solar/cc.h"
#include "datapath/solar/sim/netfab.h"

#define NETSIM_FLOWS_MAX  65535
#define NETSIM_NONE       UINT32_MAX
#define NETSIM_PACKET_MAX 9000
#define NETSIM_END_NS     INT64_C(10000000000) /* no run is longer: 10 s of virtual time */

struct netsim_params {
    struct netfab_params fabric;
    uint64_t seed;
    enum cc_kind cc;
    int payload_bytes, header_bytes; /* of a full packet */
    int paths;                       /* 1 = ECMP */
    int ack_every;
    bool credit;               /* receivers divide their line; else all is granted */
    bool ecn;                  /* the law looks at marks, not at delay */
    double eta, beta, damping; /* 0 = cc_defaults() */
};

struct netsim_flow_params {
    int src, dst;
    int64_t bytes;
    int64_t start_ns; /* after the flow `after` has ended */
    uint32_t after;   /* NETSIM_NONE = from the beginning */
    int weight;
};

struct netsim_flow_result {
    int64_t start_ns, received_ns, acked_ns; /* -1 = not yet */
    int64_t acked_bytes;
    uint64_t sent, resent, spurious; /* packets */
};

struct netsim_totals {
    int64_t end_ns; /* when the last flow was acknowledged */
    int finished, flows;
    uint64_t sent, resent, duplicates, drops, lost, marks, events;
};

struct netsim;

/* Flows with the library's defaults of the gates: 4096 + 64 bytes, 8 paths, Solar-CC, credit. */
struct netsim_params netsim_defaults(void);

ERR_MUST_CHECK enum err_code netsim_new(const struct netsim_params *params, struct netsim **out,
                                        struct err *err);
void netsim_free(struct netsim *sim);
/* `after` must exist already. ERR_INVALID, ERR_LIMIT, ERR_NOMEM. */
ERR_MUST_CHECK enum err_code netsim_add(struct netsim *sim, const struct netsim_flow_params *flow,
                                        uint32_t *out_index, struct err *err);
/* Runs until all flows have ended or until_ns. ERR_LIMIT, ERR_NOMEM, ERR_INVALID (an end that took
 * the other for broken: our own bug). Can be called again. */
ERR_MUST_CHECK enum err_code netsim_run(struct netsim *sim, int64_t until_ns, struct err *err);

void netsim_flow_result(const struct netsim *sim, uint32_t flow, struct netsim_flow_result *out);
void netsim_totals(const struct netsim *sim, struct netsim_totals *out);
struct netfab *netsim_fabric(struct netsim *sim);
