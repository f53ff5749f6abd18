/*
 * db/users.c - people and their sessions; see tables.h.
 */
#include "db/tables.h"

#include "db/stmt.h"
#include "db/store.h"
#include "db/tables_private.h"

#define SELECT_USERS                                                                               \
    "SELECT name, tenant, role, description, password_hash, disabled, revision, created_us,"       \
    " updated_us, password_us FROM users "

enum err_code user_put(struct db_tx *tx, const struct db_user *user, int64_t *out_revision,
                       struct err *err)
{
    return stmt_number(
        tx->ro.conn,
        "INSERT INTO users (name, tenant, role, description, password_hash, disabled, revision,"
        " created_us, updated_us, password_us)"
        " VALUES ($1, $2, $3, $4, $5, $6, " REVISION_OF_NEW ", $7, $7, $7)"
        " ON CONFLICT (name) DO UPDATE SET role = excluded.role,"
        " description = excluded.description, password_hash = excluded.password_hash,"
        " disabled = excluded.disabled, revision = users.revision + 1,"
        " updated_us = excluded.updated_us, password_us = CASE WHEN"
        " users.password_hash = excluded.password_hash THEN users.password_us"
        " ELSE excluded.password_us END RETURNING revision",
        VALUES(TEXT(user->name), TEXT(text_or_empty(user->tenant)), TEXT(user->role),
               TEXT(text_or_empty(user->description)), TEXT(user->password_hash),
               INT(user->disabled), INT(tx->ro.now_us)),
        out_revision, err);
}

static enum err_code each_user(struct stmt *s, db_user_fn *fn, void *arg)
{
    bool wants_more = true;
    while (wants_more && stmt_next(s)) {
        struct db_user user = {
            .name = stmt_text(s, 0),
            .tenant = stmt_text(s, 1),
            .role = stmt_text(s, 2),
            .description = stmt_text(s, 3),
            .password_hash = stmt_text(s, 4),
            .disabled = stmt_int(s, 5) != 0,
            .revision = stmt_int(s, 6),
            .created_us = stmt_int(s, 7),
            .updated_us = stmt_int(s, 8),
            .password_us = stmt_int(s, 9),
        };
        wants_more = fn(arg, &user);
    }
    return stmt_end(s);
}

enum err_code user_get(struct db_ro *ro, const char *name, db_user_fn *fn, void *arg,
                       struct err *err)
{
    struct stmt s = stmt_start(ro->conn, SELECT_USERS "WHERE name = $1", VALUES(TEXT(name)), err);
    return each_user(&s, fn, arg);
}

enum err_code user_list(struct db_ro *ro, const char *tenant, const char *after, int limit,
                        db_user_fn *fn, void *arg, struct err *err)
{
    enum err_code code = list_check(limit, err);
    if (code != ERR_OK)
        return code;
    struct stmt s =
        tenant == NULL
            ? stmt_start(ro->conn, SELECT_USERS "WHERE name > $1 ORDER BY name LIMIT $2",
                         VALUES(TEXT(text_or_empty(after)), INT(limit)), err)
            : stmt_start(ro->conn,
                         SELECT_USERS "WHERE tenant = $1 AND name > $2 ORDER BY name LIMIT $3",
                         VALUES(TEXT(tenant), TEXT(text_or_empty(after)), INT(limit)), err);
    return each_user(&s, fn, arg);
}

enum err_code user_delete(struct db_tx *tx, const char *name, struct err *err)
{
    int64_t revision = 0;
    enum err_code code = tokens_delete_of(tx, name, err);
    if (code == ERR_OK)
        code = stmt_number(tx->ro.conn, "DELETE FROM users WHERE name = $1 RETURNING revision",
                           VALUES(TEXT(name)), &revision, err);
    if (code == ERR_OK && revision == 0)
        return err_set(err, ERR_NOT_FOUND, "user %s does not exist", name);
    return code == ERR_OK ? revision_retire(tx, revision, err) : code;
}

enum err_code users_drop_tenant(struct db_tx *tx, const char *tenant, struct err *err)
{
    int64_t revision = 0;
    enum err_code code =
        stmt_number(tx->ro.conn, "SELECT coalesce(max(revision), 0) FROM users WHERE tenant = $1",
                    VALUES(TEXT(tenant)), &revision, err);
    if (code == ERR_OK)
        code = revision_retire(tx, revision, err);
    return code != ERR_OK
               ? code
               : stmt_run(tx->ro.conn, "DELETE FROM users WHERE tenant = $1 AND tenant <> ''",
                          VALUES(TEXT(tenant)), err);
}

enum err_code users_count(struct db_ro *ro, const char *tenant, int64_t *out, struct err *err)
{
    return stmt_number(ro->conn, "SELECT count(*) FROM users WHERE tenant = $1",
                       VALUES(TEXT(tenant)), out, err);
}

enum err_code admins_count(struct db_ro *ro, int64_t *out, struct err *err)
{
    return stmt_number(ro->conn,
                       "SELECT (SELECT count(*) FROM users WHERE role = 'admin' AND disabled = 0)"
                       " + (SELECT count(*) FROM tokens WHERE role = 'admin' AND owner = ''"
                       " AND expires_us = 0 AND scopes = 3 AND sources = '')",
                       NO_VALUES, out, err);
}

/* Sessions ------------------------------------------------------------------------------------ */

enum err_code session_put(struct db_tx *tx, const struct db_session *session, struct err *err)
{
    return stmt_run(tx->ro.conn,
                    "INSERT INTO sessions (id, hash, owner, created_us, seen_us, expires_us)"
                    " VALUES ($1, $2, $3, $4, $4, $5)",
                    VALUES(TEXT(session->id), TEXT(session->hash), TEXT(session->owner),
                           INT(tx->ro.now_us), INT(session->expires_us)),
                    err);
}

enum err_code session_delete(struct db_tx *tx, const char *id, struct err *err)
{
    return stmt_run(tx->ro.conn, "DELETE FROM sessions WHERE id = $1", VALUES(TEXT(id)), err);
}

enum err_code sessions_delete_of(struct db_tx *tx, const char *owner, struct err *err)
{
    return stmt_run(tx->ro.conn, "DELETE FROM sessions WHERE owner = $1", VALUES(TEXT(owner)), err);
}

enum err_code sessions_expire(struct db_tx *tx, int64_t seen_before_us, struct err *err)
{
    return stmt_run(tx->ro.conn, "DELETE FROM sessions WHERE expires_us <= $1 OR seen_us < $2",
                    VALUES(INT(tx->ro.now_us), INT(seen_before_us)), err);
}

enum err_code session_seen(struct db_tx *tx, const char *id, int64_t seen_us, struct err *err)
{
    return stmt_run(tx->ro.conn, "UPDATE sessions SET seen_us = $1 WHERE id = $2 AND seen_us < $1",
                    VALUES(INT(seen_us), TEXT(id)), err);
}

enum err_code session_each(struct db_ro *ro, const char *owner, db_session_fn *fn, void *arg,
                           struct err *err)
{
    /* Newest first, so that who keeps a number of them sees the old ones last. */
    struct stmt s =
        owner == NULL
            ? stmt_start(ro->conn,
                         "SELECT id, hash, owner, created_us, seen_us, expires_us FROM sessions"
                         " ORDER BY id",
                         NO_VALUES, err)
            : stmt_start(ro->conn,
                         "SELECT id, hash, owner, created_us, seen_us, expires_us FROM sessions"
                         " WHERE owner = $1 ORDER BY created_us DESC, id",
                         VALUES(TEXT(owner)), err);
    bool wants_more = true;
    while (wants_more && stmt_next(&s)) {
        struct db_session session = {
            .id = stmt_text(&s, 0),
            .hash = stmt_text(&s, 1),
            .owner = stmt_text(&s, 2),
            .created_us = stmt_int(&s, 3),
            .seen_us = stmt_int(&s, 4),
            .expires_us = stmt_int(&s, 5),
        };
        wants_more = fn(arg, &session);
    }
    return stmt_end(&s);
}
