#pragma once
/*
 * server/health_reports.h - reports of the fleet's health: made on a reader thread of what the
 * store, the telemetry and the nodes' states say at that moment; once a day one is kept.
 *
 *   GET current --> db_read -------------------------------> the reply
 *   the minute  --> db_read (make) --> db_write (keep, audit, event)
 */

#include <jansson.h>

#include "db/db.h"
#include "db/health_reports.h"
#include "server/app.h"

#define HEALTH_REPORT_DAY_US   INT64_C(86400000000)
#define HEALTH_REPORT_FRESH_US INT64_C(60000000) /* counters that are older say nothing of now */
#define HEALTH_REPORT_UPLOADS  50                /* newest ones that a report names */

struct health_reports;

ERR_MUST_CHECK enum err_code health_reports_new(struct app *app, struct health_reports **out,
                                                struct err *err);
/* What is under way ends, and nothing new begins: before the series and the store are closed. NULL
 * is legal. */
void health_reports_stop(struct health_reports *reports);
void health_reports_free(struct health_reports *reports);
OWN_DEFINE(health_reports, struct health_reports *, health_reports_free)

/* Once a minute: keeps a report when the last one is of another day (UTC). */
void health_reports_tick(struct health_reports *reports);

/* The report of now, on a reader thread. ERR_UNAVAILABLE: the server stops. */
ERR_MUST_CHECK enum err_code health_report_make(struct health_reports *reports, struct db_ro *ro,
                                                json_t **out, struct err *err);
/* A tenant's of now, new and cured are findings of the last day. ERR_NOT_FOUND: there is no such
 * tenant. */
ERR_MUST_CHECK enum err_code health_report_make_tenant(struct health_reports *reports,
                                                       struct db_ro *ro, const char *tenant,
                                                       json_t **out, struct err *err);
