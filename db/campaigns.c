/*
 * db/campaigns.c - see campaigns.h.
 */
#include "db/campaigns.h"

#include "db/tables_private.h"

enum err_code campaign_next(struct db_tx *tx, int64_t *out, struct err *err)
{
    int64_t last = 0;
    enum err_code code = stmt_number(
        tx->ro.conn, "SELECT value FROM counters WHERE name = 'campaign'", NO_VALUES, &last, err);
    if (code == ERR_OK)
        code = stmt_run(tx->ro.conn,
                        "INSERT INTO counters (name, value) VALUES ('campaign', $1)"
                        " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                        VALUES(INT(last + 1)), err);
    if (code == ERR_OK)
        *out = last + 1;
    return code;
}

enum err_code campaign_put(struct db_tx *tx, const struct db_campaign *row, struct err *err)
{
    enum err_code code = stmt_run(
        tx->ro.conn,
        "INSERT INTO campaigns (id, state, active, revision, image, head, created_us,"
        " updated_us) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO UPDATE"
        " SET state = excluded.state, active = excluded.active,"
        " revision = excluded.revision, head = excluded.head,"
        " updated_us = excluded.updated_us",
        VALUES(INT(row->number), TEXT(row->state), INT(row->active), INT(row->revision),
               TEXT(row->image), TEXT(row->head), INT(row->created_us), INT(row->updated_us)),
        err);
    if (code == ERR_OK)
        code = stmt_run(tx->ro.conn, "DELETE FROM campaigns WHERE id <= $1 AND active = 0",
                        VALUES(INT(row->number - CAMPAIGNS_KEPT)), err);
    return code;
}

static void campaign_row(struct stmt *s, struct db_campaign *out)
{
    *out = (struct db_campaign){
        .number = stmt_int(s, 0),
        .state = stmt_text(s, 1),
        .active = stmt_int(s, 2) != 0,
        .revision = stmt_int(s, 3),
        .image = stmt_text(s, 4),
        .head = stmt_text(s, 5),
        .created_us = stmt_int(s, 6),
        .updated_us = stmt_int(s, 7),
    };
}

enum err_code campaign_get(struct db_ro *ro, int64_t number, db_campaign_fn *fn, void *arg,
                           struct err *err)
{
    struct db_campaign row;
    struct stmt s =
        stmt_start(ro->conn,
                   "SELECT id, state, active, revision, image, head, created_us, updated_us"
                   " FROM campaigns WHERE id = $1",
                   VALUES(INT(number)), err);
    bool found = stmt_next(&s);
    if (found) {
        campaign_row(&s, &row);
        fn(arg, &row);
    }
    enum err_code code = stmt_end(&s);
    if (code == ERR_OK && !found)
        return err_set(err, ERR_NOT_FOUND, "there is no campaign c-%lld", (long long)number);
    return code;
}

enum err_code campaign_list(struct db_ro *ro, int64_t before, bool active_only, int limit,
                            db_campaign_fn *fn, void *arg, struct err *err)
{
    enum err_code code = list_check(limit, err);
    if (code != ERR_OK)
        return code;
    struct stmt s = stmt_start(
        ro->conn,
        "SELECT id, state, active, revision, image, head, created_us, updated_us"
        " FROM campaigns WHERE id < $1 AND active >= $2 ORDER BY id DESC LIMIT $3",
        VALUES(INT(before == 0 ? INT64_MAX : before), INT(active_only), INT(limit)), err);
    bool wants_more = true;
    while (wants_more && stmt_next(&s)) {
        struct db_campaign row;
        campaign_row(&s, &row);
        wants_more = fn(arg, &row);
    }
    return stmt_end(&s);
}

enum err_code campaign_device_put(struct db_tx *tx, int64_t number,
                                  const struct db_campaign_device *row, struct err *err)
{
    return stmt_run(tx->ro.conn,
                    "INSERT INTO campaign_devices (campaign, place, node, device, wave, state,"
                    " body) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (campaign, place)"
                    " DO UPDATE SET wave = excluded.wave, state = excluded.state,"
                    " body = excluded.body",
                    VALUES(INT(number), INT(row->place), TEXT(row->node), TEXT(row->device),
                           INT(row->wave), TEXT(row->state), TEXT(row->body)),
                    err);
}

enum err_code campaign_device_list(struct db_ro *ro, int64_t number, int64_t after, int limit,
                                   db_campaign_device_fn *fn, void *arg, struct err *err)
{
    enum err_code code = list_check(limit, err);
    if (code != ERR_OK)
        return code;
    struct stmt s = stmt_start(ro->conn,
                               "SELECT place, node, device, wave, state, body"
                               " FROM campaign_devices WHERE campaign = $1 AND place > $2"
                               " ORDER BY place LIMIT $3",
                               VALUES(INT(number), INT(after), INT(limit)), err);
    bool wants_more = true;
    while (wants_more && stmt_next(&s)) {
        const struct db_campaign_device row = {
            .place = stmt_int(&s, 0),
            .node = stmt_text(&s, 1),
            .device = stmt_text(&s, 2),
            .wave = stmt_int(&s, 3),
            .state = stmt_text(&s, 4),
            .body = stmt_text(&s, 5),
        };
        wants_more = fn(arg, &row);
    }
    return stmt_end(&s);
}
