/*
 * db/tokens.c - API tokens, as hashes; see tables.h.
 */
#include "db/tables.h"

#include "db/stmt.h"
#include "db/store.h"

#define SELECT_TOKENS                                                                              \
    "SELECT id, hash, role, tenant, description, created_us, expires_us, owner, scopes, sources,"  \
    " created_by, used_us FROM tokens "

enum err_code token_put(struct db_tx *tx, const struct db_token *token, struct err *err)
{
    int64_t created_us = token->created_us != 0 ? token->created_us : tx->ro.now_us;
    return stmt_run(
        tx->ro.conn,
        "INSERT INTO tokens (id, hash, role, tenant, description, created_us, expires_us, owner,"
        " scopes, sources, created_by, used_us)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0)"
        " ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, role = excluded.role,"
        " tenant = excluded.tenant, description = excluded.description,"
        " expires_us = excluded.expires_us, owner = excluded.owner, scopes = excluded.scopes,"
        " sources = excluded.sources",
        VALUES(TEXT(token->id), TEXT(token->hash), TEXT(token->role),
               TEXT(text_or_empty(token->tenant)), TEXT(text_or_empty(token->description)),
               INT(created_us), INT(token->expires_us), TEXT(text_or_empty(token->owner)),
               INT(token->scopes), TEXT(text_or_empty(token->sources)),
               TEXT(text_or_empty(token->created_by))),
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

enum err_code tokens_delete_of(struct db_tx *tx, const char *owner, struct err *err)
{
    return stmt_run(tx->ro.conn, "DELETE FROM tokens WHERE owner = $1 AND owner <> ''",
                    VALUES(TEXT(owner)), err);
}

enum err_code token_used(struct db_tx *tx, const char *id, int64_t used_us, struct err *err)
{
    return stmt_run(tx->ro.conn, "UPDATE tokens SET used_us = $1 WHERE id = $2 AND used_us < $1",
                    VALUES(INT(used_us), TEXT(id)), err);
}

static enum err_code each_row(struct stmt *s, db_token_fn *fn, void *arg)
{
    bool wants_more = true;
    while (wants_more && stmt_next(s)) {
        struct db_token token = {
            .id = stmt_text(s, 0),
            .hash = stmt_text(s, 1),
            .role = stmt_text(s, 2),
            .tenant = stmt_text(s, 3),
            .description = stmt_text(s, 4),
            .created_us = stmt_int(s, 5),
            .expires_us = stmt_int(s, 6),
            .owner = stmt_text(s, 7),
            .scopes = stmt_int(s, 8),
            .sources = stmt_text(s, 9),
            .created_by = stmt_text(s, 10),
            .used_us = stmt_int(s, 11),
        };
        wants_more = fn(arg, &token);
    }
    return stmt_end(s);
}

enum err_code token_each(struct db_ro *ro, const char *after, db_token_fn *fn, void *arg,
                         struct err *err)
{
    struct stmt s =
        stmt_start(ro->conn, SELECT_TOKENS "WHERE id > $1 ORDER BY id", VALUES(TEXT(after)), err);
    return each_row(&s, fn, arg);
}

enum err_code token_each_of_tenant(struct db_ro *ro, const char *tenant, const char *after,
                                   db_token_fn *fn, void *arg, struct err *err)
{
    struct stmt s = stmt_start(
        ro->conn, SELECT_TOKENS "WHERE tenant = $1 AND tenant <> '' AND id > $2 ORDER BY id",
        VALUES(TEXT(tenant), TEXT(after)), err);
    return each_row(&s, fn, arg);
}

enum err_code token_each_of_owner(struct db_ro *ro, const char *owner, const char *after,
                                  db_token_fn *fn, void *arg, struct err *err)
{
    struct stmt s = stmt_start(
        ro->conn, SELECT_TOKENS "WHERE owner = $1 AND owner <> '' AND id > $2 ORDER BY id",
        VALUES(TEXT(owner), TEXT(after)), err);
    return each_row(&s, fn, arg);
}

enum err_code token_get(struct db_ro *ro, const char *id, db_token_fn *fn, void *arg,
                        struct err *err)
{
    struct stmt s = stmt_start(ro->conn, SELECT_TOKENS "WHERE id = $1", VALUES(TEXT(id)), err);
    return each_row(&s, fn, arg);
}
