#pragma once
/*
 * datapath/solar/sim/gate.h - which laws' figures may be shown: those of a published scheme only
 * when this simulator gives what its authors' one does. Until then a figure would compare our
 * reading of a paper, not the scheme.
 */

#include "datapath/solar/cc.h"

/* What is not reproduced yet; NULL = the law's gates are passed (test_solar_sim). */
const char *gate_open(enum cc_kind kind);
