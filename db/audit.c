/*
 * db/audit.c - the audit log, hash-chained; see tables.h.
 *
 * The hash of a row is SHA-256 over its fields as netstrings ("5:hello,"), in this order:
 * prev_hash, id, time_us, actor, action, subject, request_id, reason, before, after and, when it is
 * not 0, generation; numbers in decimal. The first row's prev_hash is "". Ids have no gaps. The
 * writer knows the last row (struct db_heads).
 */
#include "db/tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "db/stmt.h"
#include "db/store.h"

#define FIELDS_MAX    11
#define VERIFY_CHUNK  10000 /* rows a transaction */
#define SUBJECT_START "tenant/"

static enum err_code row_hash(const struct db_audit *row, char out[DIGEST_TEXT_MAX],
                              struct err *err)
{
    char id[TEXT_NUMBER_MAX], time[TEXT_NUMBER_MAX], generation[TEXT_NUMBER_MAX];
    text_put_number(id, row->id);
    text_put_number(time, row->time_us);
    text_put_number(generation, row->generation);
    const char *const fields[FIELDS_MAX] = {
        row->prev_hash,  id,          time,        row->actor, row->action, row->subject,
        row->request_id, row->reason, row->before, row->after, generation,
    };
    const size_t count = row->generation != 0 ? FIELDS_MAX : FIELDS_MAX - 1;
    size_t lens[FIELDS_MAX], room = 1;
    for (size_t i = 0; i < count; i++) {
        lens[i] = strlen(fields[i]);
        room += lens[i] + 24; /* the length, ':' and ',' */
    }
    char small[2048];
    OWN(str) char *large = room > sizeof(small) ? malloc(room) : NULL;
    if (room > sizeof(small) && large == NULL)
        return err_nomem(err);
    char *text = large != NULL ? large : small;
    char *at = text;
    for (size_t i = 0; i < count; i++) {
        at = text_put(text_put_number(at, (int64_t)lens[i]), ":");
        memcpy(at, fields[i], lens[i]);
        at += lens[i];
        *at++ = ',';
    }
    bytes_digest(text, (size_t)(at - text), out);
    return ERR_OK;
}

/* T of "tenant/T" or "tenant/T/...", else "". */
static size_t subject_tenant(const char *subject, const char **out)
{
    *out = "";
    if (strncmp(subject, SUBJECT_START, strlen(SUBJECT_START)) != 0)
        return 0;
    *out = subject + strlen(SUBJECT_START);
    return strcspn(*out, "/");
}

enum err_code audit_start(struct db_tx *tx, struct err *err)
{
    struct db_heads *heads = &tx->db->heads;
    heads->audit_id = 0;
    heads->audit_hash[0] = '\0';
    struct stmt s = stmt_start(tx->ro.conn, "SELECT id, hash FROM audit ORDER BY id DESC LIMIT 1",
                               NO_VALUES, err);
    if (stmt_next(&s)) {
        heads->audit_id = stmt_int(&s, 0);
        snprintf(heads->audit_hash, sizeof(heads->audit_hash), "%s", stmt_text(&s, 1));
    }
    return stmt_end(&s);
}

enum err_code audit_add(struct db_tx *tx, const struct db_audit *row, struct err *err)
{
    struct db_heads *heads = &tx->db->heads;
    const struct db_audit full = {
        .id = heads->audit_id + 1,
        .time_us = tx->ro.now_us,
        .actor = text_or_empty(row->actor),
        .action = text_or_empty(row->action),
        .subject = text_or_empty(row->subject),
        .request_id = text_or_empty(row->request_id),
        .reason = text_or_empty(row->reason),
        .before = text_or_empty(row->before),
        .after = text_or_empty(row->after),
        .generation = row->generation,
        .prev_hash = heads->audit_hash,
    };
    const char *start;
    size_t len = subject_tenant(full.subject, &start);
    OWN(str) char *tenant = strndup(start, len);
    if (tenant == NULL)
        return err_nomem(err);
    char hash[DIGEST_TEXT_MAX];
    enum err_code code = row_hash(&full, hash, err);
    if (code != ERR_OK)
        return code;
    code = stmt_run(tx->ro.conn,
                    "INSERT INTO audit (id, time_us, actor, action, subject, tenant, request_id,"
                    " reason, before_text, after_text, prev_hash, hash, generation)"
                    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
                    VALUES(INT(full.id), INT(full.time_us), TEXT(full.actor), TEXT(full.action),
                           TEXT(full.subject), TEXT(tenant), TEXT(full.request_id),
                           TEXT(full.reason), TEXT(full.before), TEXT(full.after),
                           TEXT(full.prev_hash), TEXT(hash), INT(full.generation)),
                    err);
    if (code != ERR_OK)
        return code;
    heads->audit_id = full.id;
    memcpy(heads->audit_hash, hash, sizeof(hash));
    return ERR_OK;
}

#define COLUMNS                                                                                    \
    "id, time_us, actor, action, subject, request_id, reason, before_text, after_text, prev_hash," \
    " hash, tenant, generation"
/* What an index does not find; "" and 0 take every row. The actor is "PRINCIPAL" or "PRINCIPAL
 * PERSON"; either may be asked for. */
#define REST                                                                                       \
    " AND ($3 = '' OR actor = $3 OR substr(actor, 1, length($3) + 1) = $3 || ' '"                  \
    " OR ($4 = 0 AND substr(actor, length(actor) - length($3)) = ' ' || $3))"                      \
    " AND ($5 = '' OR action = $5) AND ($6 = '' OR subject = $6"                                   \
    " OR substr(subject, 1, length($6) + 1) = $6 || '/') AND ($7 = '' OR request_id = $7)"         \
    " AND time_us >= $8 AND time_us < $9 ORDER BY id DESC LIMIT $10"
#define SELECT_BY(key) "SELECT " COLUMNS " FROM audit WHERE " key " AND id < $2" REST

static struct db_audit row_of(struct stmt *s)
{
    return (struct db_audit){
        .id = stmt_int(s, 0),
        .time_us = stmt_int(s, 1),
        .actor = stmt_text(s, 2),
        .action = stmt_text(s, 3),
        .subject = stmt_text(s, 4),
        .request_id = stmt_text(s, 5),
        .reason = stmt_text(s, 6),
        .before = stmt_text(s, 7),
        .after = stmt_text(s, 8),
        .prev_hash = stmt_text(s, 9),
        .hash = stmt_text(s, 10),
        .generation = stmt_int(s, 12),
    };
}

/* One statement an index; all take the same values, the index's key first. */
static struct stmt list_start(struct db_ro *ro, const struct audit_filter *f, int64_t before,
                              int limit, struct err *err)
{
    const char *request_id = text_or_empty(f->request_id);
    const char *key = f->tenant != NULL ? f->tenant : request_id;
    const struct stmt_values values =
        VALUES(TEXT(key), INT(before == 0 ? INT64_MAX : before), TEXT(text_or_empty(f->actor)),
               INT(f->principal_only), TEXT(text_or_empty(f->action)),
               TEXT(text_or_empty(f->subject)), TEXT(request_id), INT(f->since_us),
               INT(f->until_us == 0 ? INT64_MAX : f->until_us), INT(limit));
    if (f->tenant != NULL)
        return stmt_start(ro->conn, SELECT_BY("tenant = $1 AND tenant <> ''"), values, err);
    if (request_id[0] != '\0')
        return stmt_start(ro->conn, SELECT_BY("request_id = $1 AND request_id <> ''"), values, err);
    return stmt_start(ro->conn, SELECT_BY("$1 = ''"), values, err);
}

enum err_code audit_list(struct db_ro *ro, const struct audit_filter *filter, int64_t before,
                         int limit, db_audit_fn *fn, void *arg, struct err *err)
{
    enum err_code code = list_check(limit, err);
    if (code != ERR_OK)
        return code;
    struct stmt s = list_start(ro, filter, before, limit, err);
    bool wants_more = true;
    while (wants_more && stmt_next(&s)) {
        struct db_audit row = row_of(&s);
        wants_more = fn(arg, &row);
    }
    return stmt_end(&s);
}

enum err_code audit_get(struct db_ro *ro, int64_t id, db_audit_fn *fn, void *arg, struct err *err)
{
    struct stmt s =
        stmt_start(ro->conn, "SELECT " COLUMNS " FROM audit WHERE id = $1", VALUES(INT(id)), err);
    bool found = stmt_next(&s);
    if (found) {
        struct db_audit row = row_of(&s);
        fn(arg, &row);
    }
    enum err_code code = stmt_end(&s);
    if (code == ERR_OK && !found)
        return err_set(err, ERR_NOT_FOUND, "there is no audit row %lld", (long long)id);
    return code;
}

/* Notes what does not fit and returns false, or the row as the last good one. */
static bool verify_row(struct audit_check *check, struct stmt *s, enum err_code *code,
                       struct err *err)
{
    struct db_audit row = row_of(s);
    char hash[DIGEST_TEXT_MAX];
    if (row.id != check->rows + 1) {
        check->bad_id = check->rows + 1;
        snprintf(check->problem, sizeof(check->problem), "the row is missing");
        return false;
    }
    *code = row_hash(&row, hash, err);
    if (*code != ERR_OK)
        return false;
    const char *tenant;
    size_t len = subject_tenant(row.subject, &tenant);
    const char *stored = stmt_text(s, 11);
    if (strcmp(row.prev_hash, check->head) != 0 || strcmp(row.hash, hash) != 0 ||
        strlen(stored) != len || strncmp(stored, tenant, len) != 0) {
        check->bad_id = row.id;
        snprintf(check->problem, sizeof(check->problem), "the row was changed");
        return false;
    }
    check->rows = row.id;
    memcpy(check->head, hash, sizeof(hash));
    if (row.id == check->anchor_id)
        check->anchored = strcmp(hash, check->anchor) == 0;
    return true;
}

static enum err_code verify_chunk(struct audit_check *check, struct db_ro *ro, bool *out_is_end,
                                  struct err *err)
{
    struct stmt s =
        stmt_start(ro->conn, "SELECT " COLUMNS " FROM audit WHERE id > $1 ORDER BY id LIMIT $2",
                   VALUES(INT(check->rows), INT(VERIFY_CHUNK)), err);
    enum err_code code = ERR_OK;
    int rows = 0;
    while (stmt_next(&s) && verify_row(check, &s, &code, err))
        rows++;
    *out_is_end = rows < VERIFY_CHUNK;
    enum err_code end_code = stmt_end(&s);
    return code != ERR_OK ? code : end_code;
}

enum err_code audit_verify(struct db_ro *ro, struct audit_check *check, struct err *err)
{
    bool is_end = false;
    enum err_code code = ERR_OK;
    check->rows = check->bad_id = 0;
    check->head[0] = check->problem[0] = '\0';
    check->anchored = false;
    while (code == ERR_OK && !is_end) {
        code = verify_chunk(check, ro, &is_end, err);
        /* Rows are only ever added, so the walk may go on in a newer view. */
        if (code == ERR_OK && !is_end)
            code = db_ro_renew(ro, err);
    }
    return code;
}
