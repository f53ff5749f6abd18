/*
 * db/receipts.c - receipts of nodes, and the generations they answer to; see tables.h.
 */
#include "db/tables.h"

#include "db/store.h"
#include "db/tables_private.h"

static enum err_code next_id(struct db_tx *tx, int64_t *out, struct err *err)
{
    int64_t last = 0;
    enum err_code code = stmt_number(
        tx->ro.conn, "SELECT value FROM counters WHERE name = 'receipt'", NO_VALUES, &last, err);
    if (code == ERR_OK)
        code = stmt_run(tx->ro.conn,
                        "INSERT INTO counters (name, value) VALUES ('receipt', $1)"
                        " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                        VALUES(INT(last + 1)), err);
    *out = last + 1;
    return code;
}

static enum err_code drop_old(struct db_tx *tx, const char *node, struct err *err)
{
    return stmt_run(tx->ro.conn,
                    "DELETE FROM receipts WHERE node = $1 AND id <= (SELECT id FROM receipts"
                    " WHERE node = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)",
                    VALUES(TEXT(node), INT(RECEIPTS_KEPT)), err);
}

enum err_code receipt_put(struct db_tx *tx, const struct db_receipt *receipt, int64_t *out_id,
                          struct err *err)
{
    enum err_code code = node_report_put(tx, receipt->node, "receipt", receipt->body, err);
    int64_t id = 0;
    if (code == ERR_OK)
        code = next_id(tx, &id, err);
    if (code == ERR_OK)
        code = stmt_run(tx->ro.conn,
                        "INSERT INTO receipts (id, node, generation, digest, observed, result,"
                        " body, received_us, rollout) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                        VALUES(INT(id), TEXT(receipt->node), INT(receipt->generation),
                               TEXT(text_or_empty(receipt->digest)),
                               TEXT(text_or_empty(receipt->observed)),
                               TEXT(text_or_empty(receipt->result)), TEXT(receipt->body),
                               INT(tx->ro.now_us), TEXT(text_or_empty(receipt->rollout))),
                        err);
    if (code == ERR_OK)
        code = drop_old(tx, receipt->node, err);
    if (code == ERR_OK)
        *out_id = id;
    return code;
}

static void each_receipt(struct stmt *s, db_receipt_fn *fn, void *arg)
{
    bool wants_more = true;
    while (wants_more && stmt_next(s)) {
        struct db_receipt receipt = {
            .id = stmt_int(s, 0),
            .node = stmt_text(s, 1),
            .generation = stmt_int(s, 2),
            .digest = stmt_text(s, 3),
            .observed = stmt_text(s, 4),
            .result = stmt_text(s, 5),
            .body = stmt_text(s, 6),
            .received_us = stmt_int(s, 7),
            .rollout = stmt_text(s, 8),
        };
        wants_more = fn(arg, &receipt);
    }
}

enum err_code receipt_list(struct db_ro *ro, const char *node, int64_t before, int limit,
                           db_receipt_fn *fn, void *arg, struct err *err)
{
    enum err_code code = list_check(limit, err);
    if (code != ERR_OK)
        return code;
    struct stmt s =
        stmt_start(ro->conn,
                   "SELECT id, node, generation, digest, observed, result, body,"
                   " received_us, rollout FROM receipts WHERE node = $1 AND id < $2"
                   " ORDER BY id DESC LIMIT $3",
                   VALUES(TEXT(node), INT(before == 0 ? INT64_MAX : before), INT(limit)), err);
    each_receipt(&s, fn, arg);
    return stmt_end(&s);
}

enum err_code receipts_since(struct db_ro *ro, int64_t generation, const char *after, int limit,
                             db_receipt_fn *fn, void *arg, struct err *err)
{
    enum err_code code = list_check(limit, err);
    if (code != ERR_OK)
        return code;
    struct stmt s = stmt_start(
        ro->conn,
        "SELECT id, node, generation, digest, observed, result, body, received_us, rollout"
        " FROM receipts"
        " WHERE id IN (SELECT min(id) FROM receipts WHERE generation >= $1 AND node > $2"
        " GROUP BY node ORDER BY node LIMIT $3) ORDER BY node",
        VALUES(INT(generation), TEXT(text_or_empty(after)), INT(limit)), err);
    each_receipt(&s, fn, arg);
    return stmt_end(&s);
}

enum err_code generation_current(struct db_ro *ro, int64_t *out, struct err *err)
{
    int64_t number = 0;
    enum err_code code =
        stmt_number(ro->conn, "SELECT number FROM generations ORDER BY number DESC LIMIT 1",
                    NO_VALUES, &number, err);
    if (code == ERR_OK)
        *out = number;
    return code;
}

enum err_code generations_start(struct db_tx *tx, struct err *err)
{
    return generation_current(&tx->ro, &tx->db->heads.generation, err);
}

enum err_code generation_next(struct db_tx *tx, const char *cause, int64_t *out, struct err *err)
{
    int64_t number = tx->db->heads.generation + 1;
    enum err_code code = stmt_run(
        tx->ro.conn, "INSERT INTO generations (number, cause, created_us) VALUES ($1, $2, $3)",
        VALUES(INT(number), TEXT(cause), INT(tx->ro.now_us)), err);
    if (code != ERR_OK)
        return code;
    tx->db->heads.generation = number;
    *out = number;
    return ERR_OK;
}
