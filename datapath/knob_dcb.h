#pragma once
/*
 * datapath/knob_dcb.h - what the dcb kinds share. Only knob_*.c include it.
 */

#include "datapath/linux.h"
#include "datapath/nl/dcb.h"

/* The port's dcb state; ERR_UNSUPPORTED "the driver D has no dcb". */
ERR_MUST_CHECK enum err_code knob_dcb_get(struct dp_linux *dp, const struct dp_port *port,
                                          struct dcb_state *out, struct err *err);
/* ERR_UNSUPPORTED "the driver D has no WHAT" unless has. */
ERR_MUST_CHECK enum err_code knob_dcb_need(const struct dp_port *port, bool has, const char *what,
                                           struct err *err);
/* Makes the host the manager of the port's dcb. What a driver then refuses, it says itself; with
 * *out_host false the reason may be that its firmware manages it. */
ERR_MUST_CHECK enum err_code knob_dcb_claim(struct dp_linux *dp, const struct dp_port *port,
                                            bool *out_host, struct err *err);
/* Ends an apply: adds the reason to a refusal when the host is not the manager. */
enum err_code knob_dcb_done(enum err_code code, bool host, struct err *err);
