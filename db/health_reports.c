/*
 * db/health_reports.c - see health_reports.h.
 */
#include "db/health_reports.h"

#include <string.h>

#include "db/stmt.h"
#include "db/store.h"

enum err_code health_report_add(struct db_tx *tx, const struct db_health_report *row,
                                int64_t *out_id, struct err *err)
{
    int64_t kept =
        strcmp(row->kind, "daily") == 0 ? HEALTH_REPORTS_DAILY_MAX : HEALTH_REPORTS_UPLOAD_MAX;
    /* The newest row stays, so that its successor's id is a new one. */
    enum err_code code = stmt_number(
        tx->ro.conn,
        "INSERT INTO health_reports (id, kind, source, grade, body, created_us)"
        " SELECT coalesce(max(id), 0) + 1, $1, $2, $3, $4, $5 FROM health_reports RETURNING id",
        VALUES(TEXT(row->kind), TEXT(row->source), TEXT(row->grade), TEXT(row->body),
               INT(tx->ro.now_us)),
        out_id, err);
    if (code != ERR_OK)
        return code;
    return stmt_run(tx->ro.conn,
                    "DELETE FROM health_reports WHERE kind = $1 AND id <= ("
                    "SELECT id FROM health_reports WHERE kind = $1 ORDER BY id DESC"
                    " LIMIT 1 OFFSET $2)",
                    VALUES(TEXT(row->kind), INT(kept)), err);
}

/* Ends s; *out_rows were given to fn. */
static enum err_code each_row(struct stmt *s, bool bodies, db_health_report_fn *fn, void *arg,
                              int *out_rows)
{
    bool wants_more = true;
    *out_rows = 0;
    while (wants_more && stmt_next(s)) {
        const struct db_health_report row = {
            .id = stmt_int(s, 0),
            .kind = stmt_text(s, 1),
            .source = stmt_text(s, 2),
            .grade = stmt_text(s, 3),
            .created_us = stmt_int(s, 4),
            .body = bodies ? stmt_text(s, 5) : NULL,
        };
        (*out_rows)++;
        wants_more = fn(arg, &row);
    }
    return stmt_end(s);
}

enum err_code health_report_get(struct db_ro *ro, int64_t id, db_health_report_fn *fn, void *arg,
                                struct err *err)
{
    int rows;
    struct stmt s = stmt_start(ro->conn,
                               "SELECT id, kind, source, grade, created_us, body"
                               " FROM health_reports WHERE id = $1",
                               VALUES(INT(id)), err);
    enum err_code code = each_row(&s, true, fn, arg, &rows);
    return code == ERR_OK && rows == 0
               ? err_set(err, ERR_NOT_FOUND, "there is no report %lld", (long long)id)
               : code;
}

enum err_code health_report_list(struct db_ro *ro, const char *kind, int64_t before, int limit,
                                 db_health_report_fn *fn, void *arg, struct err *err)
{
    int rows;
    enum err_code code = list_check(limit, err);
    if (code != ERR_OK)
        return code;
    struct stmt s = stmt_start(ro->conn,
                               "SELECT id, kind, source, grade, created_us FROM health_reports"
                               " WHERE ($1 = '' OR kind = $1) AND ($2 = 0 OR id < $2)"
                               " ORDER BY id DESC LIMIT $3",
                               VALUES(TEXT(text_or_empty(kind)), INT(before), INT(limit)), err);
    return each_row(&s, false, fn, arg, &rows);
}
