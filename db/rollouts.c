/*
 * db/rollouts.c - plans by digest, what nodes were given, rollouts; see tables.h.
 */
#include "db/tables.h"

#include "db/store.h"
#include "db/tables_private.h"

enum err_code plan_put(struct db_tx *tx, const char *digest, const char *body, int64_t knobs,
                       struct err *err)
{
    return stmt_run(tx->ro.conn,
                    "INSERT INTO plans (digest, body, knobs) VALUES ($1, $2, $3)"
                    " ON CONFLICT (digest) DO NOTHING",
                    VALUES(TEXT(digest), TEXT(body), INT(knobs)), err);
}

enum err_code plan_get(struct db_ro *ro, const char *digest, db_plan_fn *fn, void *arg,
                       struct err *err)
{
    struct stmt s = stmt_start(ro->conn, "SELECT body, knobs FROM plans WHERE digest = $1",
                               VALUES(TEXT(digest)), err);
    bool found = stmt_next(&s);
    if (found)
        fn(arg, stmt_text(&s, 0), stmt_int(&s, 1));
    enum err_code code = stmt_end(&s);
    if (code == ERR_OK && !found)
        return err_set(err, ERR_NOT_FOUND, "there is no plan %s", digest);
    return code;
}

enum err_code plans_drop_unused(struct db_tx *tx, int64_t limit, bool *out_any, struct err *err)
{
    int64_t found = 0;
    enum err_code code =
        stmt_number(tx->ro.conn,
                    "DELETE FROM plans WHERE digest IN (SELECT digest FROM plans WHERE digest"
                    " NOT IN (SELECT digest FROM node_releases"
                    " UNION SELECT good FROM node_releases"
                    " UNION SELECT target FROM rollout_nodes WHERE rollout IN"
                    " (SELECT id FROM rollouts WHERE active = 1)"
                    " UNION SELECT before FROM rollout_nodes WHERE rollout IN"
                    " (SELECT id FROM rollouts WHERE active = 1)"
                    " UNION SELECT n.before FROM rollout_nodes n JOIN node_releases r"
                    " ON r.node = n.node AND r.given_by = n.rollout) LIMIT $1) RETURNING 1",
                    VALUES(INT(limit)), &found, err);
    if (code == ERR_OK && out_any != NULL)
        *out_any = found != 0;
    return code;
}

enum err_code release_put(struct db_tx *tx, const struct db_release *release, struct err *err)
{
    return stmt_run(tx->ro.conn,
                    "INSERT INTO node_releases (node, digest, good, rollout, timeout_s, given_by,"
                    " refused) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (node) DO UPDATE SET"
                    " digest = excluded.digest, good = excluded.good, rollout = excluded.rollout,"
                    " timeout_s = excluded.timeout_s, given_by = excluded.given_by,"
                    " refused = excluded.refused",
                    VALUES(TEXT(release->node), TEXT(release->digest), TEXT(release->good),
                           INT(release->rollout), INT(release->timeout_s), INT(release->given_by),
                           TEXT(text_or_empty(release->refused))),
                    err);
}

enum err_code release_each(struct db_ro *ro, db_release_fn *fn, void *arg, struct err *err)
{
    struct stmt s = stmt_start(ro->conn,
                               "SELECT r.node, r.digest, r.good, r.rollout, r.timeout_s,"
                               " r.given_by, r.refused, p.knobs FROM node_releases r"
                               " JOIN plans p ON p.digest = r.digest ORDER BY r.node",
                               NO_VALUES, err);
    bool wants_more = true;
    while (wants_more && stmt_next(&s)) {
        const struct db_release release = {
            .node = stmt_text(&s, 0),
            .digest = stmt_text(&s, 1),
            .good = stmt_text(&s, 2),
            .rollout = stmt_int(&s, 3),
            .timeout_s = stmt_int(&s, 4),
            .given_by = stmt_int(&s, 5),
            .refused = stmt_text(&s, 6),
            .knobs = stmt_int(&s, 7),
        };
        wants_more = fn(arg, &release);
    }
    return stmt_end(&s);
}

enum err_code releases_drop(struct db_tx *tx, struct err *err)
{
    return stmt_run(tx->ro.conn, "DELETE FROM node_releases", NO_VALUES, err);
}

enum err_code rollout_next(struct db_tx *tx, int64_t *out, struct err *err)
{
    int64_t last = 0;
    enum err_code code = stmt_number(
        tx->ro.conn, "SELECT value FROM counters WHERE name = 'rollout'", NO_VALUES, &last, err);
    if (code == ERR_OK)
        code = stmt_run(tx->ro.conn,
                        "INSERT INTO counters (name, value) VALUES ('rollout', $1)"
                        " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                        VALUES(INT(last + 1)), err);
    if (code == ERR_OK)
        *out = last + 1;
    return code;
}

enum err_code rollout_put(struct db_tx *tx, const struct db_rollout *rollout, struct err *err)
{
    enum err_code code =
        stmt_run(tx->ro.conn,
                 "INSERT INTO rollouts (id, state, active, revision, head, created_us,"
                 " updated_us) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO UPDATE SET"
                 " state = excluded.state, active = excluded.active,"
                 " revision = excluded.revision, head = excluded.head,"
                 " updated_us = excluded.updated_us",
                 VALUES(INT(rollout->number), TEXT(rollout->state), INT(rollout->active),
                        INT(rollout->revision), TEXT(rollout->head), INT(rollout->created_us),
                        INT(rollout->updated_us)),
                 err);
    if (code == ERR_OK)
        code = stmt_run(tx->ro.conn, "DELETE FROM rollouts WHERE id <= $1 AND active = 0",
                        VALUES(INT(rollout->number - ROLLOUTS_KEPT)), err);
    return code;
}

static void rollout_row(struct stmt *s, struct db_rollout *out)
{
    *out = (struct db_rollout){
        .number = stmt_int(s, 0),
        .state = stmt_text(s, 1),
        .active = stmt_int(s, 2) != 0,
        .revision = stmt_int(s, 3),
        .head = stmt_text(s, 4),
        .created_us = stmt_int(s, 5),
        .updated_us = stmt_int(s, 6),
    };
}

enum err_code rollout_get(struct db_ro *ro, int64_t number, db_rollout_fn *fn, void *arg,
                          struct err *err)
{
    struct db_rollout row;
    struct stmt s = stmt_start(ro->conn,
                               "SELECT id, state, active, revision, head, created_us, updated_us"
                               " FROM rollouts WHERE id = $1",
                               VALUES(INT(number)), err);
    bool found = stmt_next(&s);
    if (found) {
        rollout_row(&s, &row);
        fn(arg, &row);
    }
    enum err_code code = stmt_end(&s);
    if (code == ERR_OK && !found)
        return err_set(err, ERR_NOT_FOUND, "there is no rollout r-%lld", (long long)number);
    return code;
}

enum err_code rollout_list(struct db_ro *ro, int64_t before, bool active_only, int limit,
                           db_rollout_fn *fn, void *arg, struct err *err)
{
    enum err_code code = list_check(limit, err);
    if (code != ERR_OK)
        return code;
    struct stmt s = stmt_start(
        ro->conn,
        "SELECT id, state, active, revision, head, created_us, updated_us"
        " FROM rollouts WHERE id < $1 AND active >= $2"
        " ORDER BY id DESC LIMIT $3",
        VALUES(INT(before == 0 ? INT64_MAX : before), INT(active_only), INT(limit)), err);
    bool wants_more = true;
    while (wants_more && stmt_next(&s)) {
        struct db_rollout row;
        rollout_row(&s, &row);
        wants_more = fn(arg, &row);
    }
    return stmt_end(&s);
}

enum err_code rollout_node_put(struct db_tx *tx, int64_t number, const struct db_rollout_node *node,
                               struct err *err)
{
    return stmt_run(tx->ro.conn,
                    "INSERT INTO rollout_nodes (rollout, node, wave, state, target, before, body)"
                    " VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (rollout, node) DO UPDATE SET"
                    " wave = excluded.wave, state = excluded.state, target = excluded.target,"
                    " before = excluded.before, body = excluded.body",
                    VALUES(INT(number), TEXT(node->node), INT(node->wave), TEXT(node->state),
                           TEXT(node->target), TEXT(node->before), TEXT(node->body)),
                    err);
}

enum err_code rollout_node_delete(struct db_tx *tx, int64_t number, const char *node,
                                  struct err *err)
{
    return stmt_run(tx->ro.conn, "DELETE FROM rollout_nodes WHERE rollout = $1 AND node = $2",
                    VALUES(INT(number), TEXT(node)), err);
}

enum err_code rollout_node_list(struct db_ro *ro, int64_t number, const char *after, int limit,
                                db_rollout_node_fn *fn, void *arg, struct err *err)
{
    enum err_code code = list_check(limit, err);
    if (code != ERR_OK)
        return code;
    struct stmt s = stmt_start(ro->conn,
                               "SELECT node, wave, state, target, before, body FROM rollout_nodes"
                               " WHERE rollout = $1 AND node > $2 ORDER BY node LIMIT $3",
                               VALUES(INT(number), TEXT(text_or_empty(after)), INT(limit)), err);
    bool wants_more = true;
    while (wants_more && stmt_next(&s)) {
        const struct db_rollout_node node = {
            .node = stmt_text(&s, 0),
            .wave = stmt_int(&s, 1),
            .state = stmt_text(&s, 2),
            .target = stmt_text(&s, 3),
            .before = stmt_text(&s, 4),
            .body = stmt_text(&s, 5),
        };
        wants_more = fn(arg, &node);
    }
    return stmt_end(&s);
}
