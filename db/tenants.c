/*
 * db/tenants.c - tenants; see tables.h.
 */
#include "db/tables.h"

#include <stdio.h>

#include "db/store.h"
#include "db/tables_private.h"

#define DOC_MAX 512

enum err_code tenant_put(struct db_tx *tx, const char *name, const char *body,
                         int64_t *out_revision, struct err *err)
{
    return stmt_number(tx->ro.conn,
                       "INSERT INTO tenants (name, revision, body, created_us, updated_us)"
                       " VALUES ($1, " REVISION_OF_NEW
                       ", $2, $3, $3) ON CONFLICT (name) DO UPDATE SET"
                       " revision = tenants.revision + 1, body = excluded.body,"
                       " updated_us = excluded.updated_us RETURNING revision",
                       VALUES(TEXT(name), TEXT(body), INT(tx->ro.now_us)), out_revision, err);
}

/* The labels of its jobs stay, as they do when a single placement goes. */
static enum err_code drop_placements(struct db_tx *tx, const char *name, struct err *err)
{
    int64_t revision = 0;
    enum err_code code = stmt_number(
        tx->ro.conn, "SELECT coalesce(max(revision), 0) FROM placements WHERE tenant = $1",
        VALUES(TEXT(name)), &revision, err);
    if (code == ERR_OK)
        code = revision_retire(tx, revision, err);
    if (code == ERR_OK)
        code = stmt_run(tx->ro.conn,
                        "UPDATE labels SET freed_us = $1 WHERE label IN"
                        " (SELECT label FROM placements WHERE tenant = $2)",
                        VALUES(INT(tx->ro.now_us), TEXT(name)), err);
    if (code != ERR_OK)
        return code;
    return stmt_run(tx->ro.conn, "DELETE FROM placements WHERE tenant = $1", VALUES(TEXT(name)),
                    err);
}

static enum err_code drop_policy(struct db_tx *tx, const char *name, struct err *err)
{
    char doc[DOC_MAX];
    int n = snprintf(doc, sizeof(doc), "tenant/%s/policy", name);
    if (n < 0 || (size_t)n >= sizeof(doc))
        return err_set(err, ERR_INVALID, "the tenant's name is too long");
    return stmt_run(tx->ro.conn, "UPDATE documents SET current_number = 0 WHERE doc = $1",
                    VALUES(TEXT(doc)), err);
}

enum err_code tenant_delete(struct db_tx *tx, const char *name, struct err *err)
{
    enum err_code code;
    if ((code = drop_placements(tx, name, err)) != ERR_OK ||
        (code = drop_policy(tx, name, err)) != ERR_OK ||
        (code = users_drop_tenant(tx, name, err)) != ERR_OK ||
        (code = stmt_run(tx->ro.conn, "DELETE FROM tokens WHERE tenant = $1 AND tenant <> ''",
                         VALUES(TEXT(name)), err)) != ERR_OK)
        return code;
    int64_t revision = 0;
    code = stmt_number(tx->ro.conn, "DELETE FROM tenants WHERE name = $1 RETURNING revision",
                       VALUES(TEXT(name)), &revision, err);
    if (code == ERR_OK && revision == 0)
        return err_set(err, ERR_NOT_FOUND, "tenant %s does not exist", name);
    return code == ERR_OK ? revision_retire(tx, revision, err) : code;
}

enum err_code tenant_created(struct db_ro *ro, const char *name, int64_t *out_us, struct err *err)
{
    *out_us = INT64_MAX;
    return stmt_number(ro->conn, "SELECT created_us FROM tenants WHERE name = $1",
                       VALUES(TEXT(name)), out_us, err);
}

#define COLUMNS "name, revision, body, created_us, updated_us"

static struct db_tenant row(struct stmt *s)
{
    return (struct db_tenant){
        .name = stmt_text(s, 0),
        .revision = stmt_int(s, 1),
        .body = stmt_text(s, 2),
        .created_us = stmt_int(s, 3),
        .updated_us = stmt_int(s, 4),
    };
}

enum err_code tenant_get(struct db_ro *ro, const char *name, db_tenant_fn *fn, void *arg,
                         struct err *err)
{
    struct stmt s = stmt_start(ro->conn, "SELECT " COLUMNS " FROM tenants WHERE name = $1",
                               VALUES(TEXT(name)), err);
    bool is_found = stmt_next(&s);
    if (is_found) {
        struct db_tenant tenant = row(&s);
        fn(arg, &tenant);
    }
    enum err_code code = stmt_end(&s);
    if (code == ERR_OK && !is_found)
        return err_set(err, ERR_NOT_FOUND, "tenant %s does not exist", name);
    return code;
}

enum err_code tenant_list(struct db_ro *ro, const char *after, int limit, db_tenant_fn *fn,
                          void *arg, struct err *err)
{
    enum err_code code = list_check(limit, err);
    if (code != ERR_OK)
        return code;
    struct stmt s = stmt_start(ro->conn,
                               "SELECT " COLUMNS " FROM tenants"
                               " WHERE name > $1 ORDER BY name LIMIT $2",
                               VALUES(TEXT(text_or_empty(after)), INT(limit)), err);
    bool wants_more = true;
    while (wants_more && stmt_next(&s)) {
        struct db_tenant tenant = row(&s);
        wants_more = fn(arg, &tenant);
    }
    return stmt_end(&s);
}
