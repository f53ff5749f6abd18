/*
 * db/nodes.c - nodes and what they last reported; see tables.h.
 */
#include "db/tables.h"

#include "db/store.h"
#include "db/tables_private.h"

enum err_code node_put(struct db_tx *tx, const char *name, const char *body, const char *token_hash,
                       int64_t *out_revision, struct err *err)
{
    return stmt_number(tx->ro.conn,
                       "INSERT INTO nodes (name, revision, body, token_hash, created_us,"
                       " updated_us) VALUES ($1, " REVISION_OF_NEW ", $2, coalesce($3, ''), $4, $4)"
                       " ON CONFLICT (name) DO UPDATE SET revision = nodes.revision + 1,"
                       " body = excluded.body, token_hash = coalesce($3, nodes.token_hash),"
                       " updated_us = excluded.updated_us RETURNING revision",
                       VALUES(TEXT(name), TEXT(body), TEXT(token_hash), INT(tx->ro.now_us)),
                       out_revision, err);
}

enum err_code node_delete(struct db_tx *tx, const char *name, struct err *err)
{
    int64_t revision = 0;
    enum err_code code =
        stmt_number(tx->ro.conn, "DELETE FROM nodes WHERE name = $1 RETURNING revision",
                    VALUES(TEXT(name)), &revision, err);
    if (code == ERR_OK && revision == 0)
        return err_set(err, ERR_NOT_FOUND, "node %s does not exist", name);
    return code == ERR_OK ? revision_retire(tx, revision, err) : code;
}

enum err_code node_list(struct db_ro *ro, const char *after, int limit, db_node_fn *fn, void *arg,
                        struct err *err)
{
    enum err_code code = list_check(limit, err);
    if (code != ERR_OK)
        return code;
    struct stmt s =
        stmt_start(ro->conn,
                   "SELECT n.name, n.revision, n.body, n.token_hash, n.created_us, n.updated_us,"
                   " i.body, i.received_us, s.body, s.received_us, r.body, r.received_us,"
                   " coalesce(a.number, 0), coalesce(a.approved, '') FROM nodes n"
                   " LEFT JOIN node_reports i ON i.node = n.name AND i.kind = 'inventory'"
                   " LEFT JOIN node_reports s ON s.node = n.name AND s.kind = 'state'"
                   " LEFT JOIN node_reports r ON r.node = n.name AND r.kind = 'receipt'"
                   " LEFT JOIN node_attempts a ON a.node = n.name"
                   " WHERE n.name > $1 ORDER BY n.name LIMIT $2",
                   VALUES(TEXT(text_or_empty(after)), INT(limit)), err);
    bool wants_more = true;
    while (wants_more && stmt_next(&s)) {
        struct db_node node = {
            .name = stmt_text(&s, 0),
            .revision = stmt_int(&s, 1),
            .body = stmt_text(&s, 2),
            .token_hash = stmt_text(&s, 3),
            .created_us = stmt_int(&s, 4),
            .updated_us = stmt_int(&s, 5),
            .inventory = stmt_text_or_null(&s, 6),
            .inventory_us = stmt_int(&s, 7),
            .state = stmt_text_or_null(&s, 8),
            .state_us = stmt_int(&s, 9),
            .receipt = stmt_text_or_null(&s, 10),
            .receipt_us = stmt_int(&s, 11),
            .attempt = stmt_int(&s, 12),
            .approved = stmt_text(&s, 13),
        };
        wants_more = fn(arg, &node);
    }
    return stmt_end(&s);
}

enum err_code node_report_put(struct db_tx *tx, const char *node, const char *kind,
                              const char *body, struct err *err)
{
    int64_t is_there = 0;
    enum err_code code = stmt_number(tx->ro.conn, "SELECT 1 FROM nodes WHERE name = $1",
                                     VALUES(TEXT(node)), &is_there, err);
    if (code == ERR_OK && is_there == 0)
        return err_set(err, ERR_NOT_FOUND, "node %s does not exist", node);
    if (code != ERR_OK)
        return code;
    return stmt_run(tx->ro.conn,
                    "INSERT INTO node_reports (node, kind, body, received_us)"
                    " VALUES ($1, $2, $3, $4) ON CONFLICT (node, kind) DO UPDATE SET"
                    " body = excluded.body, received_us = excluded.received_us",
                    VALUES(TEXT(node), TEXT(kind), TEXT(body), INT(tx->ro.now_us)), err);
}

enum err_code node_inventory_put(struct db_tx *tx, const char *name, const char *inventory,
                                 struct err *err)
{
    return node_report_put(tx, name, "inventory", inventory, err);
}

enum err_code node_state_put(struct db_tx *tx, const char *name, const char *state, struct err *err)
{
    return node_report_put(tx, name, "state", state, err);
}

enum err_code node_state_keep(struct db_tx *tx, const char *name, const char *state,
                              struct err *err)
{
    int64_t is_there = 0;
    enum err_code code =
        stmt_number(tx->ro.conn,
                    "SELECT 1 FROM node_reports WHERE node = $1 AND kind = 'state' AND"
                    " json_remove(body, '$.of.time_us') = json_remove($2, '$.of.time_us')",
                    VALUES(TEXT(name), TEXT(state)), &is_there, err);
    return code != ERR_OK || is_there != 0 ? code : node_state_put(tx, name, state, err);
}

enum err_code node_attempt_next(struct db_tx *tx, const char *name, const char *approved,
                                int64_t *out, struct err *err)
{
    return stmt_number(tx->ro.conn,
                       "INSERT INTO node_attempts (node, number, approved) VALUES ($1, 1, $2)"
                       " ON CONFLICT (node) DO UPDATE SET number = node_attempts.number + 1,"
                       " approved = excluded.approved RETURNING number",
                       VALUES(TEXT(name), TEXT(approved)), out, err);
}

enum err_code node_chains_put(struct db_tx *tx, const char *name, const char *chains,
                              struct err *err)
{
    return stmt_run(tx->ro.conn,
                    "INSERT INTO node_chains (node, body, received_us) VALUES ($1, $2, $3)"
                    " ON CONFLICT (node) DO UPDATE SET body = excluded.body,"
                    " received_us = excluded.received_us",
                    VALUES(TEXT(name), TEXT(chains), INT(tx->ro.now_us)), err);
}

enum err_code node_chains_get(struct db_ro *ro, const char *name, db_chains_fn *fn, void *arg,
                              struct err *err)
{
    struct stmt s =
        stmt_start(ro->conn, "SELECT node, body, received_us FROM node_chains WHERE node = $1",
                   VALUES(TEXT(name)), err);
    while (stmt_next(&s)) {
        struct db_chains chains = {
            .node = stmt_text(&s, 0), .body = stmt_text(&s, 1), .received_us = stmt_int(&s, 2)};
        (void)fn(arg, &chains);
    }
    return stmt_end(&s);
}
