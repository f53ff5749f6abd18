/*
 * datapath/solar/sim/gate.c - see gate.h.
 */
#include "datapath/solar/sim/gate.h"

#include <stddef.h>

#define TABLES                                                                                     \
    "the tables of the simulator published with HPCC (SIGCOMM 2019) are not reproduced: flow "     \
    "completion under WebSearch at half load, and incast 16 and 64 to 1"

static const char *const open_gates[CC_KINDS] = {
    [CC_SOLAR] = NULL, /* one flow, incast, fairness of two, spraying beside ECMP */
    [CC_SOLAR_LITERAL] = "it is made to fail the gate of fairness; test_solar_cc shows how",
    [CC_DCQCN] = TABLES,
    [CC_SWIFT] = "no table of its authors' is reproduced, nor TIMELY's, which it follows",
    [CC_HPCC] = TABLES "; switches tell no telemetry here",
};

const char *gate_open(enum cc_kind kind)
{
    return open_gates[kind];
}
