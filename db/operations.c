/*
 * db/operations.c - see operations.h.
 */
#include "db/operations.h"

#include "db/stmt.h"
#include "db/store.h"

enum err_code operation_add(struct db_tx *tx, const struct db_operation *operation, struct err *err)
{
    enum err_code code = stmt_run(tx->ro.conn,
                                  "DELETE FROM operations WHERE id IN (SELECT id FROM operations"
                                  " WHERE state <> 'running' AND finished_us < $1"
                                  " ORDER BY created_us LIMIT 8)",
                                  VALUES(INT(tx->ro.now_us - OPERATIONS_KEPT_US)), err);
    if (code != ERR_OK)
        return code;
    return stmt_run(tx->ro.conn,
                    "INSERT INTO operations (id, kind, state, actor, done, total, result,"
                    " created_us, finished_us) VALUES ($1, $2, 'running', $3, 0, $4, '', $5, 0)",
                    VALUES(TEXT(operation->id), TEXT(operation->kind), TEXT(operation->actor),
                           INT(operation->total), INT(tx->ro.now_us)),
                    err);
}

enum err_code operation_finish(struct db_tx *tx, const struct db_operation *operation,
                               struct err *err)
{
    int64_t found = 0;
    enum err_code code = stmt_number(
        tx->ro.conn,
        "UPDATE operations SET state = $1, done = $2, result = $3, finished_us = $4"
        " WHERE id = $5 AND state = 'running' RETURNING 1",
        VALUES(TEXT(operation->state), INT(operation->done), TEXT(text_or_empty(operation->result)),
               INT(tx->ro.now_us), TEXT(operation->id)),
        &found, err);
    if (code == ERR_OK && found == 0)
        return err_set(err, ERR_NOT_FOUND, "operation %s does not run", operation->id);
    return code;
}

enum err_code operations_interrupt(struct db_tx *tx, struct err *err)
{
    return stmt_run(tx->ro.conn,
                    "UPDATE operations SET state = 'interrupted', finished_us = $1"
                    " WHERE state = 'running'",
                    VALUES(INT(tx->ro.now_us)), err);
}

#define COLUMNS "id, kind, state, actor, done, total, result, created_us, finished_us"

static struct db_operation row(struct stmt *s)
{
    return (struct db_operation){
        .id = stmt_text(s, 0),
        .kind = stmt_text(s, 1),
        .state = stmt_text(s, 2),
        .actor = stmt_text(s, 3),
        .done = stmt_int(s, 4),
        .total = stmt_int(s, 5),
        .result = stmt_text(s, 6),
        .created_us = stmt_int(s, 7),
        .finished_us = stmt_int(s, 8),
    };
}

enum err_code operation_get(struct db_ro *ro, const char *id, db_operation_fn *fn, void *arg,
                            struct err *err)
{
    struct stmt s = stmt_start(ro->conn, "SELECT " COLUMNS " FROM operations WHERE id = $1",
                               VALUES(TEXT(id)), err);
    bool is_found = stmt_next(&s);
    if (is_found) {
        struct db_operation operation = row(&s);
        fn(arg, &operation);
    }
    enum err_code code = stmt_end(&s);
    if (code == ERR_OK && !is_found)
        return err_set(err, ERR_NOT_FOUND, "there is no operation %s", id);
    return code;
}

enum err_code operation_list(struct db_ro *ro, const char *before, int limit, db_operation_fn *fn,
                             void *arg, struct err *err)
{
    enum err_code code = list_check(limit, err);
    if (code != ERR_OK)
        return code;
    struct stmt s = stmt_start(ro->conn,
                               "SELECT " COLUMNS " FROM operations WHERE $1 = '' OR id < $1"
                               " ORDER BY id DESC LIMIT $2",
                               VALUES(TEXT(text_or_empty(before)), INT(limit)), err);
    bool wants_more = true;
    while (wants_more && stmt_next(&s)) {
        struct db_operation operation = row(&s);
        wants_more = fn(arg, &operation);
    }
    return stmt_end(&s);
}
