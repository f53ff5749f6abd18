/*
 * db/events.c - the event log, bounded; see tables.h.
 *
 * The writer knows the last id (struct db_heads). Each PRUNE_STEP-th event drops the ones that are
 * too old by then, so that EVENTS_KEPT to EVENTS_KEPT + PRUNE_STEP rows are there.
 */
#include "db/tables.h"

#include "db/stmt.h"
#include "db/store.h"

#define PRUNE_STEP 64

enum err_code events_start(struct db_tx *tx, struct err *err)
{
    tx->db->heads.event_id = 0;
    return stmt_number(tx->ro.conn, "SELECT id FROM events ORDER BY id DESC LIMIT 1", NO_VALUES,
                       &tx->db->heads.event_id, err);
}

enum err_code event_add(struct db_tx *tx, const char *kind, const char *subject, const char *body,
                        int64_t *out_id, struct err *err)
{
    int64_t id = tx->db->heads.event_id + 1;
    enum err_code code =
        stmt_run(tx->ro.conn,
                 "INSERT INTO events (id, time_us, kind, subject, body)"
                 " VALUES ($1, $2, $3, $4, $5)",
                 VALUES(INT(id), INT(tx->ro.now_us), TEXT(kind), TEXT(subject), TEXT(body)), err);
    if (code == ERR_OK && id % PRUNE_STEP == 0 && id > EVENTS_KEPT)
        code = stmt_run(tx->ro.conn, "DELETE FROM events WHERE id <= $1",
                        VALUES(INT(id - EVENTS_KEPT)), err);
    if (code != ERR_OK)
        return code;
    tx->db->heads.event_id = id;
    *out_id = id;
    return ERR_OK;
}

enum err_code event_list(struct db_ro *ro, int64_t after, int limit, db_event_fn *fn, void *arg,
                         struct err *err)
{
    enum err_code code = list_check(limit, err);
    if (code != ERR_OK)
        return code;
    struct stmt s = stmt_start(ro->conn,
                               "SELECT id, time_us, kind, subject, body FROM events WHERE id > $1"
                               " ORDER BY id LIMIT $2",
                               VALUES(INT(after), INT(limit)), err);
    bool wants_more = true;
    while (wants_more && stmt_next(&s)) {
        struct db_event event = {
            .id = stmt_int(&s, 0),
            .time_us = stmt_int(&s, 1),
            .kind = stmt_text(&s, 2),
            .subject = stmt_text(&s, 3),
            .body = stmt_text(&s, 4),
        };
        wants_more = fn(arg, &event);
    }
    return stmt_end(&s);
}
