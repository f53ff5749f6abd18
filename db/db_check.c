/*
 * db/db_check.c - is the file whole?
 */
#include "db/store.h"

#include "db/db.h"

static enum err_code check_integrity(struct db_conn *conn, struct err *err)
{
    struct stmt s = stmt_start(conn, "PRAGMA integrity_check(1)", NO_VALUES, err);
    enum err_code code = ERR_OK;
    if (stmt_next(&s) && sqlite3_stricmp(stmt_text(&s, 0), "ok") != 0)
        code = err_set(err, ERR_INVALID, "the database is damaged: %s", stmt_text(&s, 0));
    enum err_code end_code = stmt_end(&s);
    return end_code != ERR_OK ? end_code : code;
}

enum err_code conn_check_parents(struct db_conn *conn, struct err *err)
{
    struct stmt s = stmt_start(conn, "PRAGMA foreign_key_check", NO_VALUES, err);
    enum err_code code = ERR_OK;
    if (stmt_next(&s))
        code = err_set(err, ERR_INVALID, "row %lld of table %s has no parent",
                       (long long)stmt_int(&s, 1), stmt_text(&s, 0));
    enum err_code end_code = stmt_end(&s);
    return end_code != ERR_OK ? end_code : code;
}

enum err_code db_check(struct db_ro *ro, struct err *err)
{
    enum err_code code = check_integrity(ro->conn, err);
    return code != ERR_OK ? code : conn_check_parents(ro->conn, err);
}
