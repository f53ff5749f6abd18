/*
 * db/placements.c - placements and the labels of their jobs; see tables.h.
 *
 * A label belongs to its job until the row is given to another one; freed_us says since when no
 * placement uses it (0 = one does, or is about to).
 */
#include "db/tables.h"

#include <string.h>

#include "db/store.h"
#include "db/tables_private.h"

static enum err_code label_of_job(struct db_tx *tx, const char *tenant, const char *job,
                                  int64_t *out, struct err *err)
{
    return stmt_number(tx->ro.conn,
                       "UPDATE labels SET freed_us = 0 WHERE tenant = $1 AND job = $2"
                       " RETURNING label",
                       VALUES(TEXT(tenant), TEXT(job)), out, err);
}

static enum err_code label_unused(struct db_tx *tx, const char *tenant, const char *job,
                                  int64_t *out, struct err *err)
{
    int64_t last = 0;
    enum err_code code = stmt_number(
        tx->ro.conn, "SELECT label FROM labels ORDER BY label DESC LIMIT 1", NO_VALUES, &last, err);
    if (code != ERR_OK || last >= DB_LABEL_MAX)
        return code;
    code = stmt_run(tx->ro.conn,
                    "INSERT INTO labels (label, tenant, job, freed_us) VALUES ($1, $2, $3, 0)",
                    VALUES(INT(last + 1), TEXT(tenant), TEXT(job)), err);
    if (code == ERR_OK)
        *out = last + 1;
    return code;
}

static enum err_code label_longest_freed(struct db_tx *tx, const char *tenant, const char *job,
                                         int64_t *out, struct err *err)
{
    return stmt_number(tx->ro.conn,
                       "UPDATE labels SET tenant = $1, job = $2, freed_us = 0, taken_us = $3"
                       " WHERE label = (SELECT label FROM labels WHERE freed_us > 0"
                       " ORDER BY freed_us, label LIMIT 1) RETURNING label",
                       VALUES(TEXT(tenant), TEXT(job), INT(tx->ro.now_us)), out, err);
}

enum err_code label_get(struct db_tx *tx, const char *tenant, const char *job, uint32_t *out,
                        struct err *err)
{
    int64_t label = 0;
    enum err_code code = label_of_job(tx, tenant, job, &label, err);
    if (code == ERR_OK && label == 0)
        code = label_unused(tx, tenant, job, &label, err);
    if (code == ERR_OK && label == 0)
        code = label_longest_freed(tx, tenant, job, &label, err);
    if (code != ERR_OK)
        return code;
    if (label == 0)
        return err_set(err, ERR_LIMIT, "all %d labels are in use; remove placements first",
                       DB_LABEL_MAX);
    *out = (uint32_t)label;
    return ERR_OK;
}

static bool on_owner(struct stmt *s, const char *tenant, const char *job)
{
    return strcmp(stmt_text(s, 0), tenant) == 0 && strcmp(stmt_text(s, 1), job) == 0;
}

enum err_code label_claim(struct db_tx *tx, const char *tenant, const char *job, uint32_t label,
                          bool placed, struct err *err)
{
    int64_t own = 0;
    bool taken = false;
    enum err_code code =
        stmt_number(tx->ro.conn, "SELECT label FROM labels WHERE tenant = $1 AND job = $2",
                    VALUES(TEXT(tenant), TEXT(job)), &own, err);
    if (code != ERR_OK)
        return code;
    if (own != 0 && own != label)
        return err_set(err, ERR_CONFLICT, "job %s of tenant %s has the label %lld, not %u", job,
                       tenant, (long long)own, (unsigned)label);
    struct stmt s = stmt_start(tx->ro.conn, "SELECT tenant, job FROM labels WHERE label = $1",
                               VALUES(INT(label)), err);
    if (stmt_next(&s))
        taken = !on_owner(&s, tenant, job);
    code = stmt_end(&s);
    if (code == ERR_OK && taken)
        return err_set(err, ERR_CONFLICT, "label %u belongs to another job", (unsigned)label);
    if (code != ERR_OK || own != 0)
        return code;
    return stmt_run(
        tx->ro.conn, "INSERT INTO labels (label, tenant, job, freed_us) VALUES ($1, $2, $3, $4)",
        VALUES(INT(label), TEXT(tenant), TEXT(job), INT(placed ? 0 : tx->ro.now_us)), err);
}

enum err_code label_list_freed(struct db_ro *ro, uint32_t after, int limit, db_label_fn *fn,
                               void *arg, struct err *err)
{
    enum err_code code = list_check(limit, err);
    if (code != ERR_OK)
        return code;
    struct stmt s = stmt_start(ro->conn,
                               "SELECT tenant, job, label FROM labels WHERE freed_us > 0 AND"
                               " label > $1 ORDER BY label LIMIT $2",
                               VALUES(INT(after), INT(limit)), err);
    bool wants_more = true;
    while (wants_more && stmt_next(&s))
        wants_more = fn(arg, stmt_text(&s, 0), stmt_text(&s, 1), (uint32_t)stmt_int(&s, 2));
    return stmt_end(&s);
}

enum err_code placement_put(struct db_tx *tx, const char *tenant, const char *job, uint32_t label,
                            const char *body, int64_t *out_revision, struct err *err)
{
    int64_t own = 0;
    enum err_code code = label_of_job(tx, tenant, job, &own, err);
    if (code != ERR_OK)
        return code;
    if (own != label)
        return err_set(err, ERR_CONFLICT, "label %u is not the label of job %s of tenant %s",
                       (unsigned)label, job, tenant);
    return stmt_number(tx->ro.conn,
                       "INSERT INTO placements (tenant, job, label, revision, body, updated_us)"
                       " VALUES ($1, $2, $3, " REVISION_OF_NEW
                       ", $4, $5) ON CONFLICT (tenant, job) DO UPDATE SET"
                       " label = excluded.label, revision = placements.revision + 1,"
                       " body = excluded.body, updated_us = excluded.updated_us"
                       " RETURNING revision",
                       VALUES(TEXT(tenant), TEXT(job), INT(label), TEXT(body), INT(tx->ro.now_us)),
                       out_revision, err);
}

enum err_code placement_delete(struct db_tx *tx, const char *tenant, const char *job,
                               struct err *err)
{
    int64_t revision = 0;
    enum err_code code = stmt_number(
        tx->ro.conn, "DELETE FROM placements WHERE tenant = $1 AND job = $2 RETURNING revision",
        VALUES(TEXT(tenant), TEXT(job)), &revision, err);
    if (code != ERR_OK)
        return code;
    if (revision == 0)
        return err_set(err, ERR_NOT_FOUND, "job %s of tenant %s has no placement", job, tenant);
    code = revision_retire(tx, revision, err);
    if (code != ERR_OK)
        return code;
    return stmt_run(tx->ro.conn, "UPDATE labels SET freed_us = $1 WHERE tenant = $2 AND job = $3",
                    VALUES(INT(tx->ro.now_us), TEXT(tenant), TEXT(job)), err);
}

#define COLUMNS                                                                                    \
    "tenant, job, label, revision, body, updated_us,"                                              \
    " (SELECT taken_us FROM labels WHERE labels.label = placements.label)"

static struct db_placement row(struct stmt *s)
{
    return (struct db_placement){
        .tenant = stmt_text(s, 0),
        .job = stmt_text(s, 1),
        .label = (uint32_t)stmt_int(s, 2),
        .revision = stmt_int(s, 3),
        .body = stmt_text(s, 4),
        .updated_us = stmt_int(s, 5),
        .taken_us = stmt_int(s, 6),
    };
}

enum err_code placement_get(struct db_ro *ro, const char *tenant, const char *job,
                            db_placement_fn *fn, void *arg, struct err *err)
{
    struct stmt s =
        stmt_start(ro->conn, "SELECT " COLUMNS " FROM placements WHERE tenant = $1 AND job = $2",
                   VALUES(TEXT(tenant), TEXT(job)), err);
    bool is_found = stmt_next(&s);
    if (is_found) {
        struct db_placement placement = row(&s);
        fn(arg, &placement);
    }
    enum err_code code = stmt_end(&s);
    if (code == ERR_OK && !is_found)
        return err_set(err, ERR_NOT_FOUND, "job %s of tenant %s has no placement", job, tenant);
    return code;
}

enum err_code placement_list(struct db_ro *ro, const char *tenant, const char *after_tenant,
                             const char *after_job, int limit, db_placement_fn *fn, void *arg,
                             struct err *err)
{
    enum err_code code = list_check(limit, err);
    if (code != ERR_OK)
        return code;
    after_tenant = text_or_empty(after_tenant);
    after_job = text_or_empty(after_job);
    struct stmt s =
        tenant == NULL
            ? stmt_start(ro->conn,
                         "SELECT " COLUMNS " FROM placements WHERE (tenant, job) > ($1, $2)"
                         " ORDER BY tenant, job LIMIT $3",
                         VALUES(TEXT(after_tenant), TEXT(after_job), INT(limit)), err)
            : stmt_start(ro->conn,
                         "SELECT " COLUMNS " FROM placements WHERE tenant = $1 AND"
                         " (tenant, job) > ($2, $3) ORDER BY tenant, job LIMIT $4",
                         VALUES(TEXT(tenant), TEXT(after_tenant), TEXT(after_job), INT(limit)),
                         err);
    bool wants_more = true;
    while (wants_more && stmt_next(&s)) {
        struct db_placement placement = row(&s);
        wants_more = fn(arg, &placement);
    }
    return stmt_end(&s);
}
