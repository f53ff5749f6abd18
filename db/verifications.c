/*
 * db/verifications.c - see verifications.h.
 */
#include "db/verifications.h"

#include "db/tables_private.h"

enum err_code verification_next(struct db_tx *tx, int64_t *out, struct err *err)
{
    return stmt_number(tx->ro.conn,
                       "INSERT INTO counters (name, value) VALUES ('verification', 1)"
                       " ON CONFLICT (name) DO UPDATE SET value = value + 1 RETURNING value",
                       NO_VALUES, out, err);
}

enum err_code verification_put(struct db_tx *tx, const struct db_verification *row, struct err *err)
{
    enum err_code code =
        stmt_run(tx->ro.conn,
                 "INSERT INTO verifications (id, state, active, verdict, revision, head, counts,"
                 " created_us, updated_us) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
                 " ON CONFLICT (id) DO UPDATE SET state = excluded.state, active = excluded.active,"
                 " verdict = excluded.verdict, revision = excluded.revision, head = excluded.head,"
                 " counts = excluded.counts, updated_us = excluded.updated_us",
                 VALUES(INT(row->number), TEXT(row->state), INT(row->active), TEXT(row->verdict),
                        INT(row->revision), TEXT(row->head), TEXT(row->counts),
                        INT(row->created_us), INT(row->updated_us)),
                 err);
    if (code == ERR_OK)
        code = stmt_run(tx->ro.conn, "DELETE FROM verifications WHERE id <= $1 AND active = 0",
                        VALUES(INT(row->number - VERIFICATIONS_KEPT)), err);
    return code;
}

static void take_row(struct stmt *s, struct db_verification *out)
{
    *out = (struct db_verification){
        .number = stmt_int(s, 0),
        .state = stmt_text(s, 1),
        .active = stmt_int(s, 2) != 0,
        .verdict = stmt_text(s, 3),
        .revision = stmt_int(s, 4),
        .head = stmt_text(s, 5),
        .counts = stmt_text(s, 6),
        .created_us = stmt_int(s, 7),
        .updated_us = stmt_int(s, 8),
    };
}

enum err_code verification_get(struct db_ro *ro, int64_t number, db_verification_fn *fn, void *arg,
                               struct err *err)
{
    struct db_verification row;
    struct stmt s = stmt_start(ro->conn,
                               "SELECT id, state, active, verdict, revision, head, counts,"
                               " created_us, updated_us FROM verifications WHERE id = $1",
                               VALUES(INT(number)), err);
    bool found = stmt_next(&s);
    if (found) {
        take_row(&s, &row);
        fn(arg, &row);
    }
    enum err_code code = stmt_end(&s);
    if (code == ERR_OK && !found)
        return err_set(err, ERR_NOT_FOUND, "there is no verification v-%lld", (long long)number);
    return code;
}

enum err_code verification_list(struct db_ro *ro, int64_t before, int limit, db_verification_fn *fn,
                                void *arg, struct err *err)
{
    enum err_code code = list_check(limit, err);
    if (code != ERR_OK)
        return code;
    struct stmt s = stmt_start(ro->conn,
                               "SELECT id, state, active, verdict, revision, head, counts,"
                               " created_us, updated_us FROM verifications WHERE id < $1"
                               " ORDER BY id DESC LIMIT $2",
                               VALUES(INT(before == 0 ? INT64_MAX : before), INT(limit)), err);
    bool wants_more = true;
    while (wants_more && stmt_next(&s)) {
        struct db_verification row;
        take_row(&s, &row);
        wants_more = fn(arg, &row);
    }
    return stmt_end(&s);
}

enum err_code verification_test_put(struct db_tx *tx, int64_t number,
                                    const struct db_verification_test *row, struct err *err)
{
    return stmt_run(
        tx->ro.conn,
        "INSERT INTO verification_tests (verification, place, same, value, body)"
        " VALUES ($1, $2, $3, $4, $5) ON CONFLICT (verification, place) DO UPDATE"
        " SET value = excluded.value, body = excluded.body",
        VALUES(INT(number), INT(row->place), TEXT(row->same), INT(row->value), TEXT(row->body)),
        err);
}

enum err_code verification_test_each(struct db_ro *ro, int64_t number, db_verification_test_fn *fn,
                                     void *arg, struct err *err)
{
    struct stmt s = stmt_start(ro->conn,
                               "SELECT place, same, value, body FROM verification_tests"
                               " WHERE verification = $1 ORDER BY place",
                               VALUES(INT(number)), err);
    bool wants_more = true;
    while (wants_more && stmt_next(&s)) {
        const struct db_verification_test row = {
            .place = stmt_int(&s, 0),
            .same = stmt_text(&s, 1),
            .value = stmt_int(&s, 2),
            .body = stmt_text(&s, 3),
        };
        wants_more = fn(arg, &row);
    }
    return stmt_end(&s);
}

enum err_code verification_test_last(struct db_ro *ro, const char *same, int64_t before,
                                     int64_t *out_number, int64_t *out_value, struct err *err)
{
    struct stmt s = stmt_start(ro->conn,
                               "SELECT verification, value FROM verification_tests"
                               " WHERE same = $1 AND verification < $2 AND value >= 0"
                               " ORDER BY verification DESC LIMIT 1",
                               VALUES(TEXT(same), INT(before)), err);
    *out_number = 0;
    *out_value = 0;
    if (stmt_next(&s)) {
        *out_number = stmt_int(&s, 0);
        *out_value = stmt_int(&s, 1);
    }
    return stmt_end(&s);
}
