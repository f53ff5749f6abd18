/*
 * db/catalogue.c - see catalogue.h.
 */
#include "db/catalogue.h"

#include "db/store.h"
#include "db/tables_private.h"

#define SWITCH_COLUMNS "SELECT name, revision, body, created_us, updated_us FROM switches"
#define IMAGE_COLUMNS                                                                              \
    "SELECT id, component, version, psids, name, size_bytes, sha256, uploaded_by, created_us"      \
    " FROM firmware_images"

enum err_code switch_put(struct db_tx *tx, const char *name, const char *body,
                         int64_t *out_revision, struct err *err)
{
    return stmt_number(tx->ro.conn,
                       "INSERT INTO switches (name, revision, body, created_us, updated_us)"
                       " VALUES ($1, " REVISION_OF_NEW ", $2, $3, $3)"
                       " ON CONFLICT (name) DO UPDATE SET revision = switches.revision + 1,"
                       " body = excluded.body, updated_us = excluded.updated_us RETURNING revision",
                       VALUES(TEXT(name), TEXT(body), INT(tx->ro.now_us)), out_revision, err);
}

enum err_code switch_delete(struct db_tx *tx, const char *name, struct err *err)
{
    int64_t revision = 0;
    enum err_code code =
        stmt_number(tx->ro.conn, "DELETE FROM switches WHERE name = $1 RETURNING revision",
                    VALUES(TEXT(name)), &revision, err);
    if (code == ERR_OK && revision == 0)
        return err_set(err, ERR_NOT_FOUND, "switch %s does not exist", name);
    return code == ERR_OK ? revision_retire(tx, revision, err) : code;
}

/* Ends s; *out_rows were given to fn. */
static enum err_code each_switch(struct stmt *s, db_switch_fn *fn, void *arg, int *out_rows)
{
    bool wants_more = true;
    *out_rows = 0;
    while (wants_more && stmt_next(s)) {
        struct db_switch row = {
            .name = stmt_text(s, 0),
            .revision = stmt_int(s, 1),
            .body = stmt_text(s, 2),
            .created_us = stmt_int(s, 3),
            .updated_us = stmt_int(s, 4),
        };
        (*out_rows)++;
        wants_more = fn(arg, &row);
    }
    return stmt_end(s);
}

enum err_code switch_get(struct db_ro *ro, const char *name, db_switch_fn *fn, void *arg,
                         struct err *err)
{
    int rows;
    struct stmt s =
        stmt_start(ro->conn, SWITCH_COLUMNS " WHERE name = $1", VALUES(TEXT(name)), err);
    enum err_code code = each_switch(&s, fn, arg, &rows);
    if (code == ERR_OK && rows == 0)
        return err_set(err, ERR_NOT_FOUND, "switch %s does not exist", name);
    return code;
}

enum err_code switch_list(struct db_ro *ro, const char *after, int limit, db_switch_fn *fn,
                          void *arg, struct err *err)
{
    int rows;
    enum err_code code = list_check(limit, err);
    if (code != ERR_OK)
        return code;
    struct stmt s = stmt_start(ro->conn, SWITCH_COLUMNS " WHERE name > $1 ORDER BY name LIMIT $2",
                               VALUES(TEXT(text_or_empty(after)), INT(limit)), err);
    return each_switch(&s, fn, arg, &rows);
}

enum err_code image_put(struct db_tx *tx, const struct db_image *row, struct err *err)
{
    return stmt_run(tx->ro.conn,
                    "INSERT INTO firmware_images (id, component, version, psids, name, size_bytes,"
                    " sha256, uploaded_by, created_us) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                    VALUES(TEXT(row->id), TEXT(row->component), TEXT(row->version),
                           TEXT(row->psids), TEXT(row->name), INT(row->size_bytes),
                           TEXT(row->sha256), TEXT(row->uploaded_by), INT(tx->ro.now_us)),
                    err);
}

enum err_code image_delete(struct db_tx *tx, const char *id, struct err *err)
{
    int64_t gone = 0;
    enum err_code code =
        stmt_number(tx->ro.conn, "DELETE FROM firmware_images WHERE id = $1 RETURNING 1",
                    VALUES(TEXT(id)), &gone, err);
    if (code == ERR_OK && gone == 0)
        return err_set(err, ERR_NOT_FOUND, "image %s does not exist", id);
    return code;
}

static enum err_code each_image(struct stmt *s, db_image_fn *fn, void *arg, int *out_rows)
{
    bool wants_more = true;
    *out_rows = 0;
    while (wants_more && stmt_next(s)) {
        struct db_image row = {
            .id = stmt_text(s, 0),
            .component = stmt_text(s, 1),
            .version = stmt_text(s, 2),
            .psids = stmt_text(s, 3),
            .name = stmt_text(s, 4),
            .size_bytes = stmt_int(s, 5),
            .sha256 = stmt_text(s, 6),
            .uploaded_by = stmt_text(s, 7),
            .created_us = stmt_int(s, 8),
        };
        (*out_rows)++;
        wants_more = fn(arg, &row);
    }
    return stmt_end(s);
}

static enum err_code one_image(struct stmt *s, db_image_fn *fn, void *arg, struct err *err)
{
    int rows;
    enum err_code code = each_image(s, fn, arg, &rows);
    return code == ERR_OK && rows == 0 ? err_set(err, ERR_NOT_FOUND, "there is no such image")
                                       : code;
}

enum err_code image_get(struct db_ro *ro, const char *id, db_image_fn *fn, void *arg,
                        struct err *err)
{
    struct stmt s = stmt_start(ro->conn, IMAGE_COLUMNS " WHERE id = $1", VALUES(TEXT(id)), err);
    return one_image(&s, fn, arg, err);
}

enum err_code image_find(struct db_ro *ro, const struct db_image *like, db_image_fn *fn, void *arg,
                         struct err *err)
{
    struct stmt s =
        stmt_start(ro->conn, IMAGE_COLUMNS " WHERE component = $1 AND version = $2 AND psids = $3",
                   VALUES(TEXT(like->component), TEXT(like->version), TEXT(like->psids)), err);
    return one_image(&s, fn, arg, err);
}

enum err_code image_each_of(struct db_ro *ro, const char *component, db_image_fn *fn, void *arg,
                            struct err *err)
{
    int rows;
    struct stmt s =
        stmt_start(ro->conn, IMAGE_COLUMNS " WHERE component = $1 ORDER BY version, psids",
                   VALUES(TEXT(component)), err);
    return each_image(&s, fn, arg, &rows);
}

enum err_code image_list(struct db_ro *ro, const char *after, int limit, db_image_fn *fn, void *arg,
                         struct err *err)
{
    int rows;
    enum err_code code = list_check(limit, err);
    if (code != ERR_OK)
        return code;
    struct stmt s = stmt_start(ro->conn, IMAGE_COLUMNS " WHERE id > $1 ORDER BY id LIMIT $2",
                               VALUES(TEXT(text_or_empty(after)), INT(limit)), err);
    return each_image(&s, fn, arg, &rows);
}
