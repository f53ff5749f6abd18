/*
 * db/certificates.c - join tokens (as hashes) and the certificates of agents; see tables.h.
 */
#include "db/tables.h"

#include "db/stmt.h"
#include "db/store.h"

enum err_code join_put(struct db_tx *tx, const char *node, const char *hash, int64_t expires_us,
                       struct err *err)
{
    return stmt_run(tx->ro.conn,
                    "INSERT INTO join_tokens (node, hash, key, created_us, expires_us)"
                    " VALUES ($1, $2, '', $3, $4) ON CONFLICT (node) DO UPDATE SET"
                    " hash = excluded.hash, key = '', created_us = excluded.created_us,"
                    " expires_us = excluded.expires_us",
                    VALUES(TEXT(node), TEXT(hash), INT(tx->ro.now_us), INT(expires_us)), err);
}

enum err_code join_get(struct db_ro *ro, const char *hash, db_join_fn *fn, void *arg,
                       struct err *err)
{
    struct stmt s = stmt_start(ro->conn,
                               "SELECT node, hash, key, created_us, expires_us FROM join_tokens"
                               " WHERE hash = $1",
                               VALUES(TEXT(hash)), err);
    bool found = stmt_next(&s);
    if (found) {
        const struct db_join join = {
            .node = stmt_text(&s, 0),
            .hash = stmt_text(&s, 1),
            .key = stmt_text(&s, 2),
            .created_us = stmt_int(&s, 3),
            .expires_us = stmt_int(&s, 4),
        };
        fn(arg, &join);
    }
    enum err_code code = stmt_end(&s);
    if (code == ERR_OK && !found)
        return err_set(err, ERR_NOT_FOUND, "there is no such join token");
    return code;
}

enum err_code join_use(struct db_tx *tx, const char *node, const char *key, struct err *err)
{
    int64_t is_there = 0;
    enum err_code code =
        stmt_number(tx->ro.conn, "UPDATE join_tokens SET key = $1 WHERE node = $2 RETURNING 1",
                    VALUES(TEXT(key), TEXT(node)), &is_there, err);
    if (code == ERR_OK && is_there == 0)
        return err_set(err, ERR_NOT_FOUND, "node %s has no join token", node);
    return code;
}

enum err_code join_end(struct db_tx *tx, const char *node, struct err *err)
{
    return stmt_run(tx->ro.conn, "DELETE FROM join_tokens WHERE node = $1", VALUES(TEXT(node)),
                    err);
}

enum err_code certificate_put(struct db_tx *tx, const struct db_certificate *certificate,
                              struct err *err)
{
    return stmt_run(tx->ro.conn,
                    "INSERT INTO certificates (fingerprint, node, serial, origin, created_us,"
                    " expires_us) VALUES ($1, $2, $3, $4, $5, $6)",
                    VALUES(TEXT(certificate->fingerprint), TEXT(certificate->node),
                           TEXT(certificate->serial), TEXT(certificate->origin), INT(tx->ro.now_us),
                           INT(certificate->expires_us)),
                    err);
}

enum err_code certificates_end(struct db_tx *tx, const char *node, const char *keep,
                               int64_t *out_count, struct err *err)
{
    int64_t count = 0;
    struct stmt s = stmt_start(tx->ro.conn,
                               "DELETE FROM certificates WHERE node = $1 AND fingerprint <> $2"
                               " RETURNING 1",
                               VALUES(TEXT(node), TEXT(text_or_empty(keep))), err);
    while (stmt_next(&s))
        count++;
    enum err_code code = stmt_end(&s);
    if (code == ERR_OK)
        *out_count = count;
    return code;
}

enum err_code certificate_each(struct db_ro *ro, const char *node, db_certificate_fn *fn, void *arg,
                               struct err *err)
{
    struct stmt s = stmt_start(ro->conn,
                               "SELECT fingerprint, node, serial, origin, created_us, expires_us"
                               " FROM certificates WHERE $1 = '' OR node = $1"
                               " ORDER BY node, created_us, fingerprint",
                               VALUES(TEXT(text_or_empty(node))), err);
    bool wants_more = true;
    while (wants_more && stmt_next(&s)) {
        const struct db_certificate certificate = {
            .fingerprint = stmt_text(&s, 0),
            .node = stmt_text(&s, 1),
            .serial = stmt_text(&s, 2),
            .origin = stmt_text(&s, 3),
            .created_us = stmt_int(&s, 4),
            .expires_us = stmt_int(&s, 5),
        };
        wants_more = fn(arg, &certificate);
    }
    return stmt_end(&s);
}
