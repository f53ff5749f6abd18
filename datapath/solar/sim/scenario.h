#pragma once
/*
 * datapath/solar/sim/scenario.h - a run of the simulator as a JSON document, and what it must give.
 *
 *   {"name": "incast-127", "source": "where the expected figures come from", "seed": 1,
 *    "fabric": {"leaves": 1, "hosts_per_leaf": 128, "spines": 0, "host_bps": 100000000000,
 *               "core_bps": 100000000000, "link_ns": 3000, "queue_bytes": 1000000,
 *               "ecn_min_bytes": 0, "ecn_max_bytes": 0, "loss_ppm": 0},
 *    "transport": {"law": "solar", "payload_bytes": 4096, "header_bytes": 64, "paths": 8,
 *                  "ack_every": 4, "credit": true, "ecn": false},
 *    "pattern": {"kind": "incast", "hosts": 127, "bytes": 2007040},
 *    "failed_links": [{"leaf": 0, "spine": 1}],
 *    "expect": {"end_min_ns": 20030000, "end_max_ns": 21270000, "resent_max": 0}}
 *
 * All but "name" and "pattern" may be left out: netsim_defaults() then, and nothing is expected.
 * Kinds: incast (`hosts` send to one), permutation, all-reduce (of `hosts`).
 */

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "datapath/solar/sim/netsim.h"

#define SCENARIO_NAME_MAX  64
#define SCENARIO_LINKS_MAX 64
#define SCENARIO_FILE_MAX  (64 * 1024)

enum scenario_kind { SCENARIO_INCAST, SCENARIO_PERMUTATION, SCENARIO_ALL_REDUCE };

struct scenario {
    char name[SCENARIO_NAME_MAX];
    struct netsim_params params;
    enum scenario_kind kind;
    int hosts;
    int64_t bytes;
    struct {
        int leaf, spine;
    } failed[SCENARIO_LINKS_MAX];
    int failed_count;
    int64_t end_min_ns, end_max_ns, resent_max; /* -1 = nothing is expected */
};

/* ERR_INVALID with the pointer of the first member that is wrong. */
ERR_MUST_CHECK enum err_code scenario_from_json(const json_t *document, struct scenario *out,
                                                struct err *err);

/* Runs it to its end. */
ERR_MUST_CHECK enum err_code scenario_run(const struct scenario *scenario,
                                          struct netsim_totals *out, struct err *err);

/* ERR_UNSUPPORTED = the law's gate is open: its figures are not to be shown. */
ERR_MUST_CHECK enum err_code scenario_check_gate(const struct scenario *scenario, struct err *err);

/* ERR_CONFLICT = the run did not give what is expected; the text says what. */
ERR_MUST_CHECK enum err_code scenario_check(const struct scenario *scenario,
                                            const struct netsim_totals *totals, struct err *err);

/* {"name", "law", "validated": true, "end_ns", "flows", "finished", "sent", "resent", ...}; of a
 * law whose gate (gate.h) is open {"name", "law", "validated": false, "why"} and no figure. NULL =
 * no memory. */
json_t *scenario_result_to_json(const struct scenario *scenario,
                                const struct netsim_totals *totals);
