#pragma once
/*
 * agent/hold.h - a pass that leaves one device alone, because its firmware is being written. Called
 * by reconcile.
 */

#include "fleet/plan.h"

/* Whether the subject is a port of the device ("0000:3b:00.0/0" of "0000:3b:00.0"); "" = none is.
 */
bool hold_covers(const char *device, const char *subject);

/* The plan's knobs but those of the device, to be observed. */
ERR_MUST_CHECK enum err_code hold_view(const struct plan *plan, const char *device,
                                       struct plan **out, struct err *err);

/* Drops the device's steps. */
void hold_filter(struct plan_steps *steps, const char *device);
