/*
 * db/idempotency.c - answers kept for repeated requests; see tables.h.
 */
#include "db/tables.h"

#include "db/stmt.h"
#include "db/store.h"

#define DROPPED_A_PUT 8 /* expired rows; more than one, so that they become fewer */

static int64_t expired_us(const struct db_ro *ro)
{
    return ro->now_us - IDEMPOTENCY_KEPT_US;
}

enum err_code idempotency_get(struct db_ro *ro, const char *key, db_idempotency_fn *fn, void *arg,
                              struct err *err)
{
    struct stmt s = stmt_start(ro->conn,
                               "SELECT key, request, status, body FROM idempotency"
                               " WHERE key = $1 AND created_us > $2",
                               VALUES(TEXT(key), INT(expired_us(ro))), err);
    bool is_found = stmt_next(&s);
    if (is_found) {
        struct db_idempotency row = {
            .key = stmt_text(&s, 0),
            .request = stmt_text(&s, 1),
            .status = (int)stmt_int(&s, 2),
            .body = stmt_text(&s, 3),
        };
        fn(arg, &row);
    }
    enum err_code code = stmt_end(&s);
    if (code == ERR_OK && !is_found)
        return err_set(err, ERR_NOT_FOUND, "the idempotency key was not used before");
    return code;
}

enum err_code idempotency_put(struct db_tx *tx, const struct db_idempotency *row, struct err *err)
{
    int64_t expired = expired_us(&tx->ro);
    int64_t status = -1;
    enum err_code code =
        stmt_number(tx->ro.conn,
                    "INSERT INTO idempotency (key, request, status, body, created_us)"
                    " VALUES ($1, $2, $3, $4, $5) ON CONFLICT (key) DO UPDATE SET"
                    " request = excluded.request, status = excluded.status, body = excluded.body,"
                    " created_us = excluded.created_us WHERE idempotency.created_us <= $6"
                    " RETURNING status",
                    VALUES(TEXT(row->key), TEXT(row->request), INT(row->status), TEXT(row->body),
                           INT(tx->ro.now_us), INT(expired)),
                    &status, err);
    if (code != ERR_OK)
        return code;
    if (status == -1)
        return err_set(err, ERR_CONFLICT, "the idempotency key was used already");
    return stmt_run(tx->ro.conn,
                    "DELETE FROM idempotency WHERE key IN (SELECT key FROM idempotency"
                    " WHERE created_us <= $1 ORDER BY created_us LIMIT $2)",
                    VALUES(INT(expired), INT(DROPPED_A_PUT)), err);
}
