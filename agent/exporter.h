#pragma once
/*
 * agent/exporter.h - GET /metrics on the node: the last look, for Prometheus and its like. Opt-in,
 * without TLS and open to anybody who reaches the address, so a loopback or management address is
 * meant. A thread of its own serves it; collect gives it the looks.
 */

#include <stddef.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "fleet/telemetry.h"

#define EXPORTER_CLIENTS_MAX 16
#define EXPORTER_TIMEOUT_S   10
#define EXPORTER_STALE_MS    30000 /* an older look is not told: what hangs now is unknown now */

struct exporter;

struct exporter_config {
    const char *node;    /* copied; a label of each value */
    const char *address; /* "127.0.0.1:9469", "[::1]:9469"; port 0 = any */
    struct clock *clock; /* borrowed; any thread */
};

/* ERR_INVALID: the address is none. */
ERR_MUST_CHECK enum err_code exporter_check(const char *address, struct err *err);
/* Serves at once. ERR_IO: the address cannot be had. */
ERR_MUST_CHECK enum err_code exporter_new(const struct exporter_config *config,
                                          struct exporter **out, struct err *err);
void exporter_free(struct exporter *exporter);
OWN_DEFINE(exporter, struct exporter *, exporter_free)

/* That sample is the newest look. From any thread, never waits for a client. */
void exporter_put(struct exporter *exporter, const struct telemetry_batch *batch, size_t sample);

/* The page as it is served now; malloc'ed. Any thread. ERR_NOMEM. */
ERR_MUST_CHECK enum err_code exporter_page(struct exporter *exporter, char **out, size_t *out_len,
                                           struct err *err);
/* Where it listens; for tests. */
unsigned exporter_port(const struct exporter *exporter);
