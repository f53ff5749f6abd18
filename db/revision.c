/*
 * db/revision.c - revisions of rows that can be deleted never repeat; see tables_private.h.
 */
#include "db/tables_private.h"

enum err_code revision_retire(struct db_tx *tx, int64_t revision, struct err *err)
{
    if (revision == 0)
        return ERR_OK;
    return stmt_run(tx->ro.conn,
                    "INSERT INTO counters (name, value) VALUES ('retired-revision', $1)"
                    " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
                    " WHERE counters.value < excluded.value",
                    VALUES(INT(revision)), err);
}
