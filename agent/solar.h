#pragma once
/*
 * agent/solar.h - divides the ports' lines among the processes that use libsolar: a thread of its
 * own, because the loop may wait for a device for seconds and shares are worth 20 ms.
 *
 * It shares nothing with the agent but the folder (datapath/solar_node.h): the page is a knob like
 * others (solar.page). Without it, or while it does not run, processes hold themselves to the page.
 */

#include "base/err.h"
#include "base/own.h"

#define SOLAR_SHARE_MS 20  /* between looks while processes report */
#define SOLAR_IDLE_MS  100 /* while none does */

struct solar_shares;
/* root: of the files; NULL = "". ERR_LIMIT, ERR_NOMEM, ERR_IO (no thread). */
ERR_MUST_CHECK enum err_code solar_shares_new(const char *root, struct solar_shares **out,
                                              struct err *err);
void solar_shares_free(struct solar_shares *shares);
OWN_DEFINE(solar_shares, struct solar_shares *, solar_shares_free)
