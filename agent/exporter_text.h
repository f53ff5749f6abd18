#pragma once
/*
 * agent/exporter_text.h - a node's last look in Prometheus' text format 0.0.4. Pure. For
 * exporter.c.
 *
 * stellar_KIND_COLUMN{node="n1",device="..."}: counters end in _total, values are in base units
 * (seconds, bytes, ratios, degrees Celsius). doc/telemetry.md has the labels.
 */

#include <stdio.h>

#include "fleet/telemetry.h"

#define EXPORTER_NAME_SIZE 128

/* The name of a column's metric, and what its values are multiplied with. */
double exporter_name(enum telemetry_kind kind, const struct telemetry_name *name,
                     char out[EXPORTER_NAME_SIZE]);

/* Of a batch of one sample: each metric's values stand together, those that are absent are left
 * out. ERR_NOMEM; whether `out` took it is the caller's to see. */
ERR_MUST_CHECK enum err_code exporter_text(const struct telemetry_batch *look, const char *node,
                                           FILE *out, struct err *err);
