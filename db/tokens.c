/*
 * db/tokens.c - API tokens, as hashes; see tables.h.
 */
#include "db/tables.h"

#include "db/stmt.h"
#include "db/store.h"

enum err_code token_put(struct db_tx *tx, const struct db_token *token, struct err *err)
{
    int64_t created_us = token->created_us != 0 ? token->created_us : tx->ro.now_us;
    return stmt_run(tx->ro.conn,
                    "INSERT INTO tokens (id, hash, role, tenant, description, created_us,"
                    " expires_us) VALUES ($1, $2, $3, $4, $5, $6, $7)"
                    " ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, role = excluded.role,"
                    " tenant = excluded.tenant, description = excluded.description,"
                    " expires_us = excluded.expires_us",
                    VALUES(TEXT(token->id), TEXT(token->hash), TEXT(token->role),
                           TEXT(text_or_empty(token->tenant)),
                           TEXT(text_or_empty(token->description)), INT(created_us),
                           INT(token->expires_us)),
                    err);
}

enum err_code token_delete(struct db_tx *tx, const char *id, struct err *err)
{
    int64_t created_us = 0;
    enum err_code code =
        stmt_number(tx->ro.conn, "DELETE FROM tokens WHERE id = $1 RETURNING created_us",
                    VALUES(TEXT(id)), &created_us, err);
    if (code == ERR_OK && created_us == 0)
        return err_set(err, ERR_NOT_FOUND, "token %s does not exist", id);
    return code;
}

enum err_code token_each(struct db_ro *ro, const char *after, db_token_fn *fn, void *arg,
                         struct err *err)
{
    struct stmt s = stmt_start(ro->conn,
                               "SELECT id, hash, role, tenant, description, created_us, expires_us"
                               " FROM tokens WHERE id > $1 ORDER BY id",
                               VALUES(TEXT(after)), err);
    bool wants_more = true;
    while (wants_more && stmt_next(&s)) {
        struct db_token token = {
            .id = stmt_text(&s, 0),
            .hash = stmt_text(&s, 1),
            .role = stmt_text(&s, 2),
            .tenant = stmt_text(&s, 3),
            .description = stmt_text(&s, 4),
            .created_us = stmt_int(&s, 5),
            .expires_us = stmt_int(&s, 6),
        };
        wants_more = fn(arg, &token);
    }
    return stmt_end(&s);
}
