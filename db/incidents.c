/*
 * db/incidents.c - see incidents.h.
 */
#include "db/incidents.h"

#include <string.h>

#include "db/tables_private.h"

#define EXCLUSION_KEPT_US INT64_C(86400000000) /* after its end, to be looked at */

#define COLUMNS                                                                                    \
    "id, rule, subject, node, tenant, job, kind, number, label, device, port, severity, root,"     \
    " message, observed, passes, hint, count, opened_us, changed_us, cleared_us, acknowledged_us," \
    " acknowledged_by, acknowledged_why"

static struct db_incident incident_row(struct stmt *s)
{
    return (struct db_incident){
        .id = stmt_int(s, 0),
        .rule = stmt_text(s, 1),
        .subject = stmt_text(s, 2),
        .node = stmt_text(s, 3),
        .tenant = stmt_text(s, 4),
        .job = stmt_text(s, 5),
        .kind = stmt_int(s, 6),
        .number = stmt_int(s, 7),
        .label = stmt_int(s, 8),
        .device = stmt_text(s, 9),
        .port = stmt_text(s, 10),
        .severity = stmt_text(s, 11),
        .root = stmt_int(s, 12),
        .message = stmt_text(s, 13),
        .observed = stmt_text(s, 14),
        .limit = stmt_text(s, 15),
        .hint = stmt_text(s, 16),
        .count = stmt_int(s, 17),
        .opened_us = stmt_int(s, 18),
        .changed_us = stmt_int(s, 19),
        .cleared_us = stmt_int(s, 20),
        .acknowledged_us = stmt_int(s, 21),
        .acknowledged_by = stmt_text(s, 22),
        .acknowledged_why = stmt_text(s, 23),
    };
}

static enum err_code each_incident(struct stmt *s, db_incident_fn *fn, void *arg)
{
    bool wants_more = true;
    while (wants_more && stmt_next(s)) {
        struct db_incident row = incident_row(s);
        wants_more = fn(arg, &row);
    }
    return stmt_end(s);
}

/* Raising and clearing ------------------------------------------------------------------------ */

struct latest {
    int64_t id, cleared_us;
    bool same;
};

static enum err_code find_latest(struct db_tx *tx, const struct db_incident *row,
                                 struct latest *out, struct err *err)
{
    struct stmt s = stmt_start(tx->ro.conn,
                               "SELECT id, cleared_us, severity FROM incidents"
                               " WHERE subject = $1 AND rule = $2 ORDER BY id DESC LIMIT 1",
                               VALUES(TEXT(row->subject), TEXT(row->rule)), err);
    *out = (struct latest){0};
    if (stmt_next(&s))
        *out = (struct latest){.id = stmt_int(&s, 0),
                               .cleared_us = stmt_int(&s, 1),
                               .same = strcmp(stmt_text(&s, 2), row->severity) == 0};
    return stmt_end(&s);
}

static enum err_code insert_incident(struct db_tx *tx, const struct db_incident *row,
                                     int64_t *out_id, struct err *err)
{
    int64_t open = 0;
    enum err_code code = stmt_number(
        tx->ro.conn, "SELECT count(*) FROM incidents WHERE cleared_us = 0", NO_VALUES, &open, err);
    if (code == ERR_OK && open >= INCIDENTS_OPEN_MAX)
        return err_set(err, ERR_LIMIT, "%d incidents are open, no more are kept",
                       INCIDENTS_OPEN_MAX);
    if (code == ERR_OK)
        code = stmt_number(
            tx->ro.conn,
            "INSERT INTO incidents (rule, subject, node, tenant, job, kind, number, label,"
            " device, port, severity, root, message, observed, passes, hint, count, opened_us,"
            " changed_us, cleared_us, acknowledged_us, acknowledged_by, acknowledged_why)"
            " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, 1,"
            " $17, $17, 0, 0, '', '') RETURNING id",
            VALUES(TEXT(row->rule), TEXT(row->subject), TEXT(row->node),
                   TEXT(text_or_empty(row->tenant)), TEXT(text_or_empty(row->job)), INT(row->kind),
                   INT(row->number), INT(row->label), TEXT(row->device), TEXT(row->port),
                   TEXT(row->severity), INT(row->root), TEXT(row->message), TEXT(row->observed),
                   TEXT(row->limit), TEXT(row->hint), INT(tx->ro.now_us)),
            out_id, err);
    if (code == ERR_OK)
        code = stmt_run(tx->ro.conn, "DELETE FROM incidents WHERE id <= $1 AND cleared_us <> 0",
                        VALUES(INT(*out_id - INCIDENTS_KEPT)), err);
    return code;
}

enum err_code incident_raise(struct db_tx *tx, const struct db_incident *row, int64_t *out_id,
                             enum incident_news *out_news, struct err *err)
{
    struct latest latest;
    enum err_code code = find_latest(tx, row, &latest, err);
    if (code != ERR_OK)
        return code;
    bool is_open = latest.id != 0 && latest.cleared_us == 0;
    if (!is_open && (latest.id == 0 || latest.cleared_us < tx->ro.now_us - INCIDENT_REOPEN_US)) {
        *out_news = INCIDENT_OPENED;
        return insert_incident(tx, row, out_id, err);
    }
    *out_id = latest.id;
    *out_news = !is_open ? INCIDENT_OPENED : latest.same ? INCIDENT_SAME : INCIDENT_CHANGED;
    return stmt_run(tx->ro.conn,
                    "UPDATE incidents SET severity = $1, message = $2, observed = $3, passes = $4,"
                    " count = count + $5, changed_us = $6, cleared_us = 0 WHERE id = $7",
                    VALUES(TEXT(row->severity), TEXT(row->message), TEXT(row->observed),
                           TEXT(row->limit), INT(!is_open), INT(tx->ro.now_us), INT(latest.id)),
                    err);
}

enum err_code incident_clear(struct db_tx *tx, const char *rule, const char *subject,
                             int64_t *out_id, struct err *err)
{
    *out_id = 0;
    return stmt_number(tx->ro.conn,
                       "UPDATE incidents SET cleared_us = $1, changed_us = $1"
                       " WHERE rule = $2 AND subject = $3 AND cleared_us = 0 RETURNING id",
                       VALUES(INT(tx->ro.now_us), TEXT(rule), TEXT(subject)), out_id, err);
}

enum err_code incidents_clear_node(struct db_tx *tx, const char *node, int64_t *out_count,
                                   struct err *err)
{
    *out_count = 0;
    enum err_code code = stmt_number(
        tx->ro.conn, "SELECT count(*) FROM incidents WHERE node = $1 AND cleared_us = 0",
        VALUES(TEXT(node)), out_count, err);
    if (code == ERR_OK && *out_count > 0)
        code = stmt_run(tx->ro.conn,
                        "UPDATE incidents SET cleared_us = $1, changed_us = $1"
                        " WHERE node = $2 AND cleared_us = 0",
                        VALUES(INT(tx->ro.now_us), TEXT(node)), err);
    return code;
}

enum err_code incident_set_root(struct db_tx *tx, int64_t id, int64_t root, struct err *err)
{
    enum err_code code =
        stmt_run(tx->ro.conn, "UPDATE incidents SET root = $1, changed_us = $2 WHERE id = $3",
                 VALUES(INT(root), INT(tx->ro.now_us), INT(id)), err);
    if (code == ERR_OK)
        code = stmt_run(tx->ro.conn, "UPDATE incidents SET root = $1 WHERE root = $2 AND root <> 0",
                        VALUES(INT(root), INT(id)), err);
    return code;
}

enum err_code incident_acknowledge(struct db_tx *tx, int64_t id, const char *by, const char *why,
                                   bool *out_again, struct err *err)
{
    int64_t at = -1;
    enum err_code code =
        stmt_number(tx->ro.conn, "SELECT acknowledged_us FROM incidents WHERE id = $1",
                    VALUES(INT(id)), &at, err);
    if (code == ERR_OK && at < 0)
        return err_set(err, ERR_NOT_FOUND, "there is no incident %lld", (long long)id);
    *out_again = at > 0;
    if (code != ERR_OK || at > 0)
        return code;
    return stmt_run(tx->ro.conn,
                    "UPDATE incidents SET acknowledged_us = $1, acknowledged_by = $2,"
                    " acknowledged_why = $3 WHERE id = $4",
                    VALUES(INT(tx->ro.now_us), TEXT(by), TEXT(why), INT(id)), err);
}

/* Reading ------------------------------------------------------------------------------------- */

enum err_code incident_get(struct db_ro *ro, int64_t id, db_incident_fn *fn, void *arg,
                           struct err *err)
{
    struct stmt s = stmt_start(ro->conn, "SELECT " COLUMNS " FROM incidents WHERE id = $1",
                               VALUES(INT(id)), err);
    bool is_found = stmt_next(&s);
    if (is_found) {
        struct db_incident row = incident_row(&s);
        fn(arg, &row);
    }
    enum err_code code = stmt_end(&s);
    if (code == ERR_OK && !is_found)
        return err_set(err, ERR_NOT_FOUND, "there is no incident %lld", (long long)id);
    return code;
}

enum err_code incident_list(struct db_ro *ro, const struct incident_filter *filter, int64_t before,
                            int limit, db_incident_fn *fn, void *arg, struct err *err)
{
    enum err_code code = list_check(limit, err);
    if (code != ERR_OK)
        return code;
    struct stmt s = stmt_start(
        ro->conn,
        "SELECT " COLUMNS " FROM incidents WHERE ($1 = 0 OR id < $1) AND ($2 = '' OR rule = $2)"
        " AND ($3 = '' OR node = $3) AND ($4 = '' OR tenant = $4) AND ($5 = '' OR severity = $5)"
        " AND ($6 < 0 OR (cleared_us = 0) = $6) AND ($7 < 0 OR (acknowledged_us <> 0) = $7)"
        " AND ($8 < 0 OR root = $8) AND opened_us >= $9 ORDER BY id DESC LIMIT $10",
        VALUES(INT(before), TEXT(text_or_empty(filter->rule)), TEXT(text_or_empty(filter->node)),
               TEXT(text_or_empty(filter->tenant)), TEXT(text_or_empty(filter->severity)),
               INT(filter->open), INT(filter->acknowledged), INT(filter->root),
               INT(filter->since_us), INT(limit)),
        err);
    return each_incident(&s, fn, arg);
}

enum err_code incident_near(struct db_ro *ro, const char *node, int64_t since_us,
                            db_incident_fn *fn, void *arg, struct err *err)
{
    struct stmt s = stmt_start(ro->conn,
                               "SELECT " COLUMNS " FROM incidents WHERE node = $1"
                               " AND (cleared_us = 0 OR cleared_us >= $2) ORDER BY id",
                               VALUES(TEXT(node), INT(since_us)), err);
    return each_incident(&s, fn, arg);
}

enum err_code incident_elsewhere(struct db_ro *ro, const struct incident_place *from, int limit,
                                 db_incident_fn *fn, void *arg, struct err *err)
{
    /* Two walks of the index incidents_of_rule, however many are kept. */
    struct stmt s = stmt_start(
        ro->conn,
        "SELECT * FROM (SELECT " COLUMNS " FROM incidents WHERE rule = $1 AND cleared_us = 0"
        " AND node <> $2 ORDER BY id DESC LIMIT $3)"
        " UNION ALL SELECT * FROM (SELECT " COLUMNS " FROM incidents WHERE rule = $1"
        " AND cleared_us >= $4 AND node <> $2 ORDER BY cleared_us DESC LIMIT $3) LIMIT $3",
        VALUES(TEXT(from->rule), TEXT(from->node), INT(limit),
               INT(from->since_us > 1 ? from->since_us : 1)),
        err);
    return each_incident(&s, fn, arg);
}

/* Exclusions ---------------------------------------------------------------------------------- */

#define EXCLUSION "id, rule, subject, reason, created_by, created_us, expires_us"

static struct db_exclusion exclusion_row(struct stmt *s)
{
    return (struct db_exclusion){
        .id = stmt_int(s, 0),
        .rule = stmt_text(s, 1),
        .subject = stmt_text(s, 2),
        .reason = stmt_text(s, 3),
        .created_by = stmt_text(s, 4),
        .created_us = stmt_int(s, 5),
        .expires_us = stmt_int(s, 6),
    };
}

enum err_code exclusion_add(struct db_tx *tx, const struct db_exclusion *row, int64_t *out_id,
                            struct err *err)
{
    int64_t count = 0;
    enum err_code code = stmt_run(tx->ro.conn, "DELETE FROM exclusions WHERE expires_us < $1",
                                  VALUES(INT(tx->ro.now_us - EXCLUSION_KEPT_US)), err);
    if (code == ERR_OK)
        code = stmt_number(tx->ro.conn, "SELECT count(*) FROM exclusions", NO_VALUES, &count, err);
    if (code == ERR_OK && count >= EXCLUSIONS_MAX)
        return err_set(err, ERR_LIMIT, "there are %d exclusions, as many as may be: delete one",
                       EXCLUSIONS_MAX);
    if (code != ERR_OK)
        return code;
    return stmt_number(tx->ro.conn,
                       "INSERT INTO exclusions (rule, subject, reason, created_by, created_us,"
                       " expires_us) VALUES ($1, $2, $3, $4, $5, $6) RETURNING id",
                       VALUES(TEXT(row->rule), TEXT(row->subject), TEXT(row->reason),
                              TEXT(row->created_by), INT(tx->ro.now_us), INT(row->expires_us)),
                       out_id, err);
}

enum err_code exclusion_delete(struct db_tx *tx, int64_t id, struct err *err)
{
    int64_t found = 0;
    enum err_code code = stmt_number(tx->ro.conn,
                                     "DELETE FROM exclusions WHERE id = $1"
                                     " RETURNING id",
                                     VALUES(INT(id)), &found, err);
    if (code == ERR_OK && found == 0)
        return err_set(err, ERR_NOT_FOUND, "there is no exclusion %lld", (long long)id);
    return code;
}

enum err_code exclusion_get(struct db_ro *ro, int64_t id, db_exclusion_fn *fn, void *arg,
                            struct err *err)
{
    struct stmt s = stmt_start(ro->conn, "SELECT " EXCLUSION " FROM exclusions WHERE id = $1",
                               VALUES(INT(id)), err);
    bool is_found = stmt_next(&s);
    if (is_found) {
        struct db_exclusion row = exclusion_row(&s);
        fn(arg, &row);
    }
    enum err_code code = stmt_end(&s);
    if (code == ERR_OK && !is_found)
        return err_set(err, ERR_NOT_FOUND, "there is no exclusion %lld", (long long)id);
    return code;
}

enum err_code exclusion_list(struct db_ro *ro, int64_t after, int limit, db_exclusion_fn *fn,
                             void *arg, struct err *err)
{
    enum err_code code = list_check(limit, err);
    if (code != ERR_OK)
        return code;
    struct stmt s = stmt_start(ro->conn,
                               "SELECT " EXCLUSION " FROM exclusions WHERE id > $1"
                               " ORDER BY id LIMIT $2",
                               VALUES(INT(after), INT(limit)), err);
    bool wants_more = true;
    while (wants_more && stmt_next(&s)) {
        struct db_exclusion row = exclusion_row(&s);
        wants_more = fn(arg, &row);
    }
    return stmt_end(&s);
}
