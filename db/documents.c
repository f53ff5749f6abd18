/*
 * db/documents.c - documents and their revisions; see tables.h.
 */
#include "db/tables.h"

#include <string.h>

#include "db/stmt.h"
#include "db/store.h"

enum err_code document_current(struct db_ro *ro, const char *doc, int64_t *out, struct err *err)
{
    int64_t number = 0;
    enum err_code code =
        stmt_number(ro->conn, "SELECT current_number FROM documents WHERE doc = $1",
                    VALUES(TEXT(doc)), &number, err);
    if (code == ERR_OK)
        *out = number;
    return code;
}

enum err_code document_put(struct db_tx *tx, const struct db_revision *revision,
                           int64_t *out_number, struct err *err)
{
    int64_t number = 0;
    enum err_code code =
        stmt_number(tx->ro.conn, "SELECT last_number FROM documents WHERE doc = $1",
                    VALUES(TEXT(revision->doc)), &number, err);
    number++;
    /* Not one statement with RETURNING, for which SQLite opens a table of its own each time. */
    if (code == ERR_OK)
        code = stmt_run(tx->ro.conn,
                        "INSERT INTO documents (doc, current_number, last_number)"
                        " VALUES ($1, $2, $2) ON CONFLICT (doc) DO UPDATE SET"
                        " current_number = excluded.current_number,"
                        " last_number = excluded.last_number",
                        VALUES(TEXT(revision->doc), INT(number)), err);
    if (code != ERR_OK)
        return code;
    code = stmt_run(tx->ro.conn,
                    "INSERT INTO revisions (doc, number, body, digest, author, message, origin,"
                    " created_us) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                    VALUES(TEXT(revision->doc), INT(number), TEXT(revision->body),
                           TEXT(revision->digest), TEXT(revision->author),
                           TEXT(text_or_empty(revision->message)), TEXT(revision->origin),
                           INT(tx->ro.now_us)),
                    err);
    if (code == ERR_OK)
        *out_number = number;
    return code;
}

enum err_code document_delete(struct db_tx *tx, const char *doc, struct err *err)
{
    int64_t last = 0;
    enum err_code code = stmt_number(tx->ro.conn,
                                     "UPDATE documents SET current_number = 0 WHERE doc = $1"
                                     " AND current_number > 0 RETURNING last_number",
                                     VALUES(TEXT(doc)), &last, err);
    if (code == ERR_OK && last == 0)
        return err_set(err, ERR_NOT_FOUND, "%s does not exist", doc);
    return code;
}

#define COLUMNS "doc, number, digest, author, message, origin, created_us"

static struct db_revision row(struct stmt *s, bool has_body)
{
    return (struct db_revision){
        .doc = stmt_text(s, 0),
        .number = stmt_int(s, 1),
        .digest = stmt_text(s, 2),
        .author = stmt_text(s, 3),
        .message = stmt_text(s, 4),
        .origin = stmt_text(s, 5),
        .created_us = stmt_int(s, 6),
        .body = has_body ? stmt_text(s, 7) : NULL,
    };
}

enum err_code revision_get(struct db_ro *ro, const char *doc, int64_t number, db_revision_fn *fn,
                           void *arg, struct err *err)
{
    struct stmt s = stmt_start(ro->conn,
                               "SELECT " COLUMNS ", body FROM revisions"
                               " WHERE doc = $1 AND number = $2",
                               VALUES(TEXT(doc), INT(number)), err);
    bool is_found = stmt_next(&s);
    if (is_found) {
        struct db_revision revision = row(&s, true);
        fn(arg, &revision);
    }
    enum err_code code = stmt_end(&s);
    if (code == ERR_OK && !is_found)
        return err_set(err, ERR_NOT_FOUND, "%s has no revision %lld", doc, (long long)number);
    return code;
}

enum err_code revision_list(struct db_ro *ro, const char *doc, int64_t before, int limit,
                            db_revision_fn *fn, void *arg, struct err *err)
{
    enum err_code code = list_check(limit, err);
    if (code != ERR_OK)
        return code;
    struct stmt s =
        stmt_start(ro->conn,
                   "SELECT " COLUMNS " FROM revisions WHERE doc = $1 AND number < $2"
                   " ORDER BY number DESC LIMIT $3",
                   VALUES(TEXT(doc), INT(before == 0 ? INT64_MAX : before), INT(limit)), err);
    bool wants_more = true;
    while (wants_more && stmt_next(&s)) {
        struct db_revision revision = row(&s, false);
        wants_more = fn(arg, &revision);
    }
    return stmt_end(&s);
}

enum err_code document_each(struct db_ro *ro, db_revision_fn *fn, void *arg, struct err *err)
{
    struct stmt s = stmt_start(ro->conn,
                               "SELECT r.doc, r.number, r.digest, r.author, r.message, r.origin,"
                               " r.created_us, r.body FROM documents d"
                               " JOIN revisions r ON r.doc = d.doc AND r.number = d.current_number"
                               " ORDER BY d.doc",
                               NO_VALUES, err);
    bool wants_more = true;
    while (wants_more && stmt_next(&s)) {
        struct db_revision revision = row(&s, true);
        wants_more = fn(arg, &revision);
    }
    return stmt_end(&s);
}
