#pragma once
/*
 * server/health_report_parts.h - the parts of a report of health, each from where it is known.
 * Private to server/health_report*.c; on a reader thread.
 */

#include "db/db.h"
#include "fleet/report.h"
#include "server/app.h"

struct report_exception;

struct report_parts {
    struct app *app;
    struct db_ro *ro;
    struct report *report;
    int64_t now_us, since_us;
    const char *tenant; /* borrowed; NULL = the fleet */
    int64_t born_us;    /* when the tenant was made: what was before is another's */
    struct report_exception *exceptions; /* owned; in force */
    size_t exception_count;
};
void report_parts_release(struct report_parts *parts);

/* Before the incidents, which come before the nodes. */
ERR_MUST_CHECK enum err_code report_take_exceptions(struct report_parts *parts, struct err *err);
ERR_MUST_CHECK enum err_code report_take_incidents(struct report_parts *parts, struct err *err);
/* The tenant's placed jobs. */
ERR_MUST_CHECK enum err_code report_take_jobs(struct report_parts *parts, struct err *err);
ERR_MUST_CHECK enum err_code report_take_nodes(struct report_parts *parts, struct err *err);
ERR_MUST_CHECK enum err_code report_take_convergence(struct report_parts *parts, struct err *err);
ERR_MUST_CHECK enum err_code report_take_uploads(struct report_parts *parts, struct err *err);
