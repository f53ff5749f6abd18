/*
 * server/import.c - see import.h.
 *
 * The rows are written first, into the write's savepoint; the world that they make is loaded from
 * there as at a start, judged, and takes the place of the old one. So an import is judged and shown
 * exactly as a restart with the same content would be, and a refusal is a rollback.
 */
#include "server/import_change.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/catalogue.h"
#include "server/pipeline.h"
#include "server/planner.h"
#include "server/rollouts.h"
#include "server/world_load.h"

#define BODY_SIZE 256

enum err_code import_refuse(struct import *import, int status, const char *code, struct err *err,
                            const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(import->text, sizeof(import->text), fmt, args);
    va_end(args);
    import->status = status;
    import->code = code;
    return err_set(err, ERR_CONFLICT, "%s", import->text);
}

json_t *import_to_json(const struct import *import)
{
    json_t *answer =
        json_pack("{sI, sI, sI, so}", "changed", (json_int_t)import->changed, "unchanged",
                  (json_int_t)import->unchanged, "removed", (json_int_t)import->removed, "findings",
                  finding_list_to_json(&import->findings));
    if (answer != NULL && import->generation != 0 && !import->dry_run)
        json_object_set_new(answer, "generation", json_integer(import->generation));
    return answer;
}

/* The first change makes the generation. */
enum err_code import_begin(struct import *import, struct db_tx *tx, struct err *err)
{
    return import->generation != 0 ? ERR_OK
                                   : generation_next(tx, "import", &import->generation, err);
}

enum err_code import_record(struct import_change *change, struct err *err)
{
    struct import *import = change->import;
    char body[BODY_SIZE];
    const struct db_audit audit = {.action = change->action,
                                   .subject = change->subject,
                                   .before = change->before,
                                   .after = change->digest,
                                   .generation = import->generation};
    snprintf(body, sizeof(body), "{\"by\":\"%s\",\"generation\":%lld,\"revision\":%lld}",
             request_principal(import->request)->name, (long long)import->generation,
             (long long)change->revision);
    if (change->digest[0] == '\0')
        import->removed++;
    else
        import->changed++;
    return change_record(change->tx, import->request, &audit, change->event, body, err);
}

/* The canonical text of a document when it is another than the one in force; NULL = the same, or no
 * memory (*code). */
static char *changed_text(struct import_change *change, const json_t *document, enum err_code *code,
                          struct err *err)
{
    size_t len;
    OWN(str) char *text = json_canonical(document, &len);
    *code = text == NULL ? err_nomem(err) : ERR_OK;
    if (text == NULL)
        return NULL;
    bytes_digest(text, len, change->digest);
    if (strcmp(change->digest, change->before) == 0) {
        change->import->unchanged++;
        return NULL;
    }
    *code = import_begin(change->import, change->tx, err);
    return *code == ERR_OK ? GIVE(text) : NULL;
}

static enum err_code put_revision(struct import_change *change, const json_t *document,
                                  struct err *err)
{
    enum err_code code;
    OWN(str) char *text = changed_text(change, document, &code, err);
    if (text == NULL)
        return code;
    char actor[AUDIT_ACTOR_SIZE];
    principal_actor(request_principal(change->import->request), actor);
    const struct db_revision row = {.doc = change->subject,
                                    .body = text,
                                    .digest = change->digest,
                                    .author = actor,
                                    .message = "",
                                    .origin = "import"};
    code = document_put(change->tx, &row, &change->revision, err);
    return code != ERR_OK ? code : import_record(change, err);
}

static const char *member(const json_t *item, const char *key)
{
    return json_string_value(json_object_get(item, key));
}

struct import_change import_change(struct import *import, struct db_tx *tx, const char *action,
                                   const char *event)
{
    return (struct import_change){
        .import = import, .tx = tx, .action = action, .event = event, .before = ""};
}

static enum err_code put_fabric(struct import *import, struct db_tx *tx, const json_t *item,
                                struct err *err)
{
    struct import_change change = import_change(import, tx, "fabric.put", "fabric.changed");
    strcpy(change.subject, "fabric");
    if (import->app->world->fabric_revision != 0)
        change.before = import->app->world->fabric_digest;
    return put_revision(&change, item, err);
}

/* As PUT /v1/rollout-policy: what the nodes have now is kept when staging begins. */
static enum err_code stage(struct import *import, struct db_tx *tx, bool staged, struct err *err)
{
    OWN_RELEASES struct releases releases = {.items = NULL};
    if (staged)
        return releases_begin(&releases, import->app, tx, err);
    enum err_code code = releases_drop(tx, err);
    return code == ERR_OK ? plans_drop_unused(tx, DB_NO_LIMIT, NULL, err) : code;
}

static enum err_code put_rollout_policy(struct import *import, struct db_tx *tx, const json_t *item,
                                        struct err *err)
{
    const struct world *now = import->app->world;
    struct import_change change =
        import_change(import, tx, "rollout-policy.put", "rollout-policy.changed");
    struct rollout_policy policy;
    rollout_policy_init(&policy);
    enum err_code code = rollout_policy_from_json(item, &policy, NULL, err);
    bool staged = policy.staged, turns = staged != now->rollout_policy.staged;
    rollout_policy_release(&policy);
    if (code != ERR_OK)
        return code;
    if (turns && !staged && now->rollout_count > 0)
        return import_refuse(import, 409, "rollout-active", err,
                             "the archive ends staging while rollout r-%lld is %s",
                             (long long)now->rollouts[0]->number,
                             rollout_state_name(now->rollouts[0]->state));
    strcpy(change.subject, ROLLOUT_POLICY_KEY);
    if (now->rollout_policy_revision != 0)
        change.before = now->rollout_policy_digest;
    code = put_revision(&change, item, err);
    return code == ERR_OK && turns ? stage(import, tx, staged, err) : code;
}

static enum err_code put_policy(struct import *import, struct db_tx *tx, const char *name,
                                const json_t *policy, struct err *err)
{
    const struct world_tenant *now = world_tenant_get(import->app->world, name);
    struct import_change change = import_change(import, tx, "policy.put", "policy.changed");
    snprintf(change.subject, sizeof(change.subject), "tenant/%s/policy", name);
    if (now != NULL && now->policy_revision != 0)
        change.before = now->policy_digest;
    if (policy != NULL)
        return put_revision(&change, policy, err);
    if (!import->replace || change.before[0] == '\0')
        return ERR_OK;
    change.action = "policy.delete";
    enum err_code code = import_begin(import, tx, err);
    if (code == ERR_OK)
        code = document_delete(tx, change.subject, err);
    return code != ERR_OK ? code : import_record(&change, err);
}

static enum err_code put_tenant(struct import *import, struct db_tx *tx, const json_t *item,
                                struct err *err)
{
    const char *name = member(item, "name");
    const struct world_tenant *now = world_tenant_get(import->app->world, name);
    struct import_change change = import_change(import, tx, "tenant.put", "tenant.changed");
    enum err_code code;
    snprintf(change.subject, sizeof(change.subject), "tenant/%s", name);
    if (now != NULL)
        change.before = now->digest;
    OWN(str) char *text = changed_text(&change, json_object_get(item, "tenant"), &code, err);
    if (text != NULL) {
        code = tenant_put(tx, name, text, &change.revision, err);
        if (code == ERR_OK)
            code = import_record(&change, err);
    }
    return code != ERR_OK ? code
                          : put_policy(import, tx, name, json_object_get(item, "policy"), err);
}

static enum err_code put_node(struct import *import, struct db_tx *tx, const json_t *item,
                              struct err *err)
{
    const char *name = member(item, "name");
    const struct world_node *now = world_node_get(import->app->world, name);
    struct import_change change = import_change(import, tx, "node.put", "node.changed");
    enum err_code code;
    snprintf(change.subject, sizeof(change.subject), "node/%s", name);
    if (now != NULL)
        change.before = now->digest;
    OWN(str) char *text = changed_text(&change, json_object_get(item, "node"), &code, err);
    if (text == NULL)
        return code;
    code = node_put(tx, name, text, NULL, &change.revision, err);
    return code != ERR_OK ? code : import_record(&change, err);
}

static bool on_switch(void *arg, const struct db_switch *row)
{
    bytes_digest(row->body, strlen(row->body), arg);
    return false;
}

static enum err_code put_switch(struct import *import, struct db_tx *tx, const json_t *item,
                                struct err *err)
{
    const char *name = member(item, "name");
    struct import_change change = import_change(import, tx, "switch.put", "switch.changed");
    struct err absent = ERR_INIT;
    char before[DIGEST_TEXT_MAX] = "";
    enum err_code code = switch_get(db_tx_ro(tx), name, on_switch, before, &absent);
    if (code != ERR_OK && code != ERR_NOT_FOUND) {
        *err = absent;
        return code;
    }
    snprintf(change.subject, sizeof(change.subject), "switch/%s", name);
    change.before = before;
    OWN(str) char *text = changed_text(&change, json_object_get(item, "switch"), &code, err);
    if (text == NULL)
        return code;
    code = switch_put(tx, name, text, &change.revision, err);
    return code != ERR_OK ? code : import_record(&change, err);
}

static bool on_any_tenant(void *arg, const struct db_tenant *row)
{
    (void)arg;
    (void)row;
    return false;
}

/* A label that cannot be the job's, or a tenant that is nowhere, is the archive's fault: a finding
 * there, and the import goes on to find the others. */
static enum err_code blame(struct import *import, enum err_code code, const char *kind, size_t at,
                           struct err *err)
{
    char pointer[64];
    if (code != ERR_CONFLICT && code != ERR_NOT_FOUND)
        return code;
    snprintf(pointer, sizeof(pointer), "/content/%s/%zu", kind, at);
    finding_addf(&import->findings, "import", FINDING_ERROR, pointer, "%s", err->text);
    *err = (struct err)ERR_INIT;
    return ERR_OK;
}

static enum err_code put_placement(struct import *import, struct db_tx *tx, const json_t *item,
                                   size_t at, struct err *err)
{
    const char *tenant = member(item, "tenant"), *job = member(item, "job");
    uint32_t label = (uint32_t)json_integer_value(json_object_get(item, "label"));
    const struct world_placement *now = world_placement_get(import->app->world, tenant, job);
    struct import_change change = import_change(import, tx, "placement.put", "placement.changed");
    snprintf(change.subject, sizeof(change.subject), "tenant/%s/job/%s", tenant, job);
    enum err_code code = tenant_get(db_tx_ro(tx), tenant, on_any_tenant, NULL, err);
    if (code == ERR_OK)
        code = label_claim(tx, tenant, job, label, true, err);
    if (code != ERR_OK)
        return blame(import, code, "placements", at, err);
    if (now != NULL)
        change.before = now->digest;
    OWN(str) char *text = changed_text(&change, json_object_get(item, "placement"), &code, err);
    if (text == NULL)
        return code;
    code = placement_put(tx, tenant, job, label, text, &change.revision, err);
    return code != ERR_OK ? code : import_record(&change, err);
}

static enum err_code put_item(struct import *import, struct db_tx *tx, size_t index,
                              struct err *err)
{
    enum archive_kind kind;
    size_t at;
    const json_t *item = archive_item(&import->archive, index, &kind, &at);
    switch (kind) {
    case ARCHIVE_FABRIC:
        return put_fabric(import, tx, item, err);
    case ARCHIVE_ROLLOUT_POLICY:
        return put_rollout_policy(import, tx, item, err);
    case ARCHIVE_SWITCHES:
        return put_switch(import, tx, item, err);
    case ARCHIVE_TENANTS:
        return put_tenant(import, tx, item, err);
    case ARCHIVE_NODES:
        return put_node(import, tx, item, err);
    case ARCHIVE_PLACEMENTS:
        return put_placement(import, tx, item, at, err);
    case ARCHIVE_RETIRED_LABELS:
    case ARCHIVE_KINDS:
        break;
    }
    enum err_code code =
        label_claim(tx, member(item, "tenant"), member(item, "job"),
                    (uint32_t)json_integer_value(json_object_get(item, "label")), false, err);
    return blame(import, code, "retired_labels", at, err);
}

/* The whole as it will be, by every rule. */
static enum err_code judge(struct import *import, struct db_tx *tx, struct err *err)
{
    static const struct change change = {.kind = CHANGE_FABRIC};
    if (finding_list_has_errors(&import->findings))
        return ERR_OK;
    if (import->generation != 0) {
        enum err_code code = world_load(import->app, db_tx_ro(tx), false, &import->world, err);
        if (code != ERR_OK)
            return code;
    }
    const struct world *world = import->world != NULL ? import->world : import->app->world;
    rules_check(&world->view, &change, &import->findings);
    if (import->override_floor)
        findings_override(&import->findings, WRITE_OVERRIDABLE);
    return ERR_OK;
}

static enum err_code finish(struct import *import, struct db_tx *tx, struct err *err)
{
    enum err_code code = import->world == NULL
                             ? ERR_OK
                             : import_effects(import->app->world, import->world, db_tx_ro(tx),
                                              &import->effects, err);
    const struct db_audit audit = {.action = "fleet.import",
                                   .subject = "fleet",
                                   .after = import->archive.digest,
                                   .generation = import->generation};
    if (code == ERR_OK)
        code = change_record(tx, import->request, &audit, NULL, NULL, err);
    OWN(json) json_t *result = import_to_json(import);
    OWN(str) char *text = result == NULL ? NULL : json_canonical(result, NULL);
    if (code == ERR_OK && text == NULL)
        return err_nomem(err);
    const struct db_operation row = {.id = import->id,
                                     .state = "succeeded",
                                     .done = (int64_t)import->archive.total,
                                     .result = text};
    return code != ERR_OK ? code : operation_finish(tx, &row, err);
}

enum err_code import_apply(struct import *import, struct db_tx *tx, struct err *err)
{
    struct app *app = import->app;
    enum err_code code = ERR_OK;
    if (import->id[0] != '\0' && !operations_commit(app->operations, import->id))
        return import_refuse(import, 409, "cancelled", err, "the operation was cancelled");
    /* Removals first: their labels and names may be wanted anew. */
    if (import->replace)
        code = import_remove_others(import, tx, err);
    for (size_t i = 0; i < import->archive.total && code == ERR_OK; i++)
        code = put_item(import, tx, i, err);
    if (code == ERR_OK)
        code = judge(import, tx, err);
    if (code == ERR_OK && finding_list_has_errors(&import->findings))
        return import_refuse(import, 422, "import-refused", err,
                             "the archive is refused as a whole; see errors");
    if (code == ERR_OK && import->dry_run)
        return err_set(err, ERR_CONFLICT, "a dry run stores nothing");
    if (code == ERR_OK)
        code = finish(import, tx, err);
    if (code != ERR_OK || import->world == NULL)
        return code;
    /* Nothing can fail any more. */
    effects_move(&app->effects, &import->effects);
    world_free(app->world);
    app->world = GIVE(import->world);
    planner_reload(app);
    return ERR_OK;
}
