#pragma once
/*
 * db/health_reports.h - the table of stored reports of health. The manners are those of
 * db/tables.h.
 */

#include "db/tables.h"

#define HEALTH_REPORTS_DAILY_MAX  400  /* the newest are kept */
#define HEALTH_REPORTS_UPLOAD_MAX 1000 /* the same */

struct db_health_report {
    int64_t id;         /* from 1; grows, never repeats */
    const char *kind;   /* "daily", "upload" */
    const char *source; /* who made it: "stellard", or what an upload says */
    const char *grade;  /* "ok", "warning", "critical", "unknown" */
    const char *body;   /* canonical JSON; NULL in lists */
    int64_t created_us;
};
typedef bool db_health_report_fn(void *arg, const struct db_health_report *row);

/* id and created_us are filled in; the oldest of its kind beyond the maximum go. */
ERR_MUST_CHECK enum err_code health_report_add(struct db_tx *tx, const struct db_health_report *row,
                                               int64_t *out_id, struct err *err);
/* ERR_NOT_FOUND. */
ERR_MUST_CHECK enum err_code health_report_get(struct db_ro *ro, int64_t id,
                                               db_health_report_fn *fn, void *arg, struct err *err);
/* Newest first, ids below `before` (0 = from the newest); kind NULL = all. */
ERR_MUST_CHECK enum err_code health_report_list(struct db_ro *ro, const char *kind, int64_t before,
                                                int limit, db_health_report_fn *fn, void *arg,
                                                struct err *err);
