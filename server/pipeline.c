/*
 * server/pipeline.c - see pipeline.h.
 *
 *   HTTP thread                     writer thread ("the core")                      other threads
 *   -----------                     --------------------------                      -------------
 *   bytes
 *     | http*.c: framing, limits, JSON, role       (400 401 403 404 413 415 428)
 *     v
 *   handler (api_*.c)
 *     | fleet/ _from_json: every problem            (422 with all findings)
 *     | canonical text + digest
 *     v
 *   write_submit() --db_write()--> savepoint
 *        |                          | prepare: look the target up                   (404)
 *        |                          | precondition: If-Match against the revision   (412)
 *        |                          | same digest as now: answer "unchanged"
 *        |                          | swap in -> rules, enforcement -> swap out     (422)
 *        |                          | SQL: generation, revision, audit, event
 *        |                          | effects: blobs for readers, made but not shown
 *        |                          | --- from here nothing can fail ---
 *        |                          | mark nodes, swap in, settle, mark nodes
 *        |                         release; next write of the group ...
 *        |                         COMMIT (one fsync for the group)
 *        |                          | failed: world is loaded anew, effects are dropped (503)
 *        |                         committed hook: effects shown  --> publish, auth, status
 *        |                         done: answer + ETag            --> client
 *        |                         idle hook: planner compiles dirty nodes
 *        |                          | digest changed              --> GET /v1/agent/plan answers
 *        |                         receipts come in as writes
 *        |                          | all digests agree           --> GET /v1/generations answers
 *        |
 *        +------ dry run, validate: db_look(): prepare .. rules, then preview.c; nothing is stored
 */
#include "server/pipeline.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "server/audit_text.h"
#include "server/denials.h"
#include "server/hardware.h"

#define EVENT_BODY_MAX   256
#define ANSWER_FRAME_MAX 256 /* without the texts of others */
#define REFUSED_TEXT     "the document is not valid; see errors"

bool etag_list_has(const char *list, int64_t revision)
{
    char wanted[32];
    etag_format(revision, wanted);
    const size_t len = strlen(wanted);
    if (strcmp(list, "*") == 0)
        return true;
    for (int i = 0; i < WRITE_ETAGS_MAX; i++) {
        list += strspn(list, " \t,");
        if (*list == '\0')
            return false;
        size_t item = strcspn(list, " \t,");
        if (item == len && memcmp(list, wanted, len) == 0)
            return true; /* W/"3" is another text: weak tags never match here (RFC 9110 13.1.1) */
        list += item;
    }
    return false;
}

enum err_code write_refuse(struct write *w, int status, const char *code, struct err *err,
                           const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(w->refusal_text, sizeof(w->refusal_text), fmt, args);
    va_end(args);
    w->refusal = status;
    w->refusal_code = code;
    return err_set(err, ERR_CONFLICT, "%s", w->refusal_text);
}

void write_release(struct write *w)
{
    finding_list_release(&w->findings);
    effects_drop(&w->effects);
    json_decref(w->answer);
    free(w->enforcement);
    blob_unref(w->blob);
    preview_free(w->preview);
    free(w->text);
}

void write_fail(struct write *w, const struct err *err)
{
    struct request *request = w->request;
    const struct finding_list *findings = w->findings.count > 0 ? &w->findings : NULL;
    const char *etag = w->refusal == 412 && w->current != 0 ? w->etag : NULL;
    if (w->refusal == 422)
        counters_refused(&w->app->counters, findings);
    if (w->refusal != 0)
        request_reply_problem(request, w->refusal, w->refusal_code, findings, etag, "%s",
                              w->refusal_text);
    else
        request_reply_err(request, err);
    w->kind->release(w);
}

static const char *query(const struct request *request, const char *key)
{
    const char *value = request_query(request, key);
    return value == NULL ? "" : value;
}

bool write_init(struct write *w, const struct write_kind *kind, struct request *request)
{
    struct err err = ERR_INIT;
    w->kind = kind;
    w->app = request_app(request);
    w->world = w->app->world;
    w->request = request;
    w->mode = request_is_dry_run(request) ? WRITE_DRY_RUN : WRITE_STORE;
    w->message = query(request, "message");
    strcpy(w->origin, "upload");
    finding_list_init(&w->findings);
    const char *override = request_query(request, "override");
    if (strlen(w->message) > WRITE_TEXT_MAX || strlen(query(request, "reason")) > WRITE_TEXT_MAX)
        write_refuse(w, 400, "invalid-parameter", &err,
                     "message and reason take at most %d bytes each", WRITE_TEXT_MAX);
    else if (override == NULL)
        return true;
    else if (strcmp(override, WRITE_OVERRIDABLE) != 0)
        write_refuse(w, 400, "invalid-parameter", &err, "only %s can be overridden",
                     WRITE_OVERRIDABLE);
    else if (request_principal(request)->role != ROLE_ADMIN)
        write_refuse(w, 403, "override-denied", &err, "only an admin may override a rule");
    else if (query(request, "reason")[0] == '\0')
        write_refuse(w, 400, "reason-required", &err,
                     "an override needs a reason: add ?reason=, it is kept in the audit");
    else
        return true;
    if (w->refusal == 403)
        denial_call(w->app, request, w->refusal, w->refusal_code);
    write_fail(w, &err);
    return false;
}

static enum err_code set_document(struct write *w, const json_t *document, struct err *err)
{
    size_t len;
    w->text = json_canonical(document, &len);
    if (w->text == NULL)
        return err_nomem(err);
    bytes_digest(w->text, len, w->digest);
    return ERR_OK;
}

enum err_code write_publish(struct write *w, const char *key, struct err *err)
{
    struct publish_entry *entry = NULL;
    char etag[32];
    etag_format(w->revision, etag);
    char *copy = strdup(w->text);
    if (copy == NULL)
        return err_nomem(err);
    struct blob *blob = blob_new(copy, strlen(copy), etag, "application/json");
    enum err_code code = publish_entry_new(key, blob, w->digest, &entry, err);
    if (code == ERR_OK)
        code = effects_publish(&w->effects, entry, err);
    return code;
}

bool precondition_holds(const struct request *request, const char *what, int64_t current,
                        char text[PRECONDITION_TEXT_MAX])
{
    const char *match = request_header(request, "If-Match");
    const char *none_match = request_header(request, "If-None-Match");
    long long number = (long long)current;
    text[0] = '\0';
    if (match != NULL && current == 0)
        snprintf(text, PRECONDITION_TEXT_MAX, "%s does not exist; create it with If-None-Match: *",
                 what);
    else if (match != NULL && !etag_list_has(match, current))
        snprintf(text, PRECONDITION_TEXT_MAX,
                 "%s is at revision %lld (ETag \"%lld\", with the quotes), not at the one given in "
                 "If-Match; read it again",
                 what, number, number);
    else if (none_match != NULL && current != 0 && etag_list_has(none_match, current))
        snprintf(text, PRECONDITION_TEXT_MAX,
                 "%s exists already, at revision %lld; change it with If-Match", what, number);
    return text[0] == '\0';
}

enum err_code write_check_precondition(struct write *w, struct err *err)
{
    char text[PRECONDITION_TEXT_MAX];
    etag_format(w->current, w->etag);
    if (precondition_holds(w->request, w->subject, w->current, text))
        return ERR_OK;
    return write_refuse(w, 412, "precondition-failed", err, "%s", text);
}

void findings_override(struct finding_list *list, const char *rule)
{
    if (list->truncated || list->nomem)
        return;
    list->worst = FINDING_INFO;
    for (size_t i = 0; i < list->count; i++) {
        struct finding *finding = &list->items[i];
        if (strcmp(finding->rule, rule) == 0 && finding->severity == FINDING_ERROR)
            finding->severity = FINDING_WARNING;
        if (finding->severity > list->worst)
            list->worst = finding->severity;
    }
}

static void check_rules(struct write *w)
{
    const struct change change = {.kind = w->kind->change,
                                  .tenant = w->tenant[0] == '\0' ? NULL : w->tenant,
                                  .job = w->job[0] == '\0' ? NULL : w->job,
                                  .node = w->node[0] == '\0' ? NULL : w->node};
    rules_check(&w->world->view, &change, &w->findings);
    /* A stored policy or placement is the busiest path; who wants to know asks in a rehearsal. */
    if (w->mode != WRITE_STORE || change.kind == CHANGE_INVENTORY || change.kind == CHANGE_FABRIC)
        hardware_admit(w->app, w->world, &change, &w->findings);
    const char *overridden = request_query(w->request, "override");
    if (overridden != NULL)
        findings_override(&w->findings, overridden);
}

/* Everything before SQL; leaves the world as it was. */
static enum err_code check(struct write *w, struct err *err)
{
    enum err_code code = world_reserve(w->world, err);
    if (code == ERR_OK)
        code = w->kind->prepare(w, err);
    if (code == ERR_OK && w->mode != WRITE_VALIDATE)
        code = write_check_precondition(w, err);
    if (code != ERR_OK)
        return code;
    w->answer = json_object();
    if (w->answer == NULL)
        return err_nomem(err);
    w->kind->swap(w);
    if (w->kind->ruled && !(w->unchanged && w->mode == WRITE_STORE))
        check_rules(w);
    if (w->kind->describe != NULL)
        code = w->kind->describe(w, w->answer, err);
    w->kind->swap(w);
    if (code == ERR_OK && w->mode != WRITE_VALIDATE && w->kind->change != CHANGE_INVENTORY &&
        !w->unchanged && finding_list_has_errors(&w->findings))
        code = write_refuse(w, 422, w->kind->refused, err, "%s: the rules refuse it; see errors",
                            w->subject);
    return code;
}

/* The answer of a change, {"enforcement"?,"findings","generation","label"?,"revision",
 * "unchanged"?}, written straight: on the busiest path of the writer thread a tree of it costs as
 * much as the rules. */
static enum err_code write_answer_text(struct write *w, struct err *err)
{
    json_int_t label = json_integer_value(json_object_get(w->answer, "label"));
    const char *inner = w->enforcement;
    OWN(json) json_t *list = w->findings.count == 0 ? NULL : finding_list_to_json(&w->findings);
    OWN(str) char *findings = list == NULL ? strdup("[]") : json_canonical(list, NULL);
    if (findings == NULL || (w->findings.count > 0 && list == NULL))
        return err_nomem(err);
    char *text = malloc(ANSWER_FRAME_MAX + strlen(findings) + (inner == NULL ? 0 : strlen(inner)));
    if (text == NULL)
        return err_nomem(err);
    char *at = text_put(text, "{");
    if (inner != NULL)
        at = text_put(text_put(text_put(at, "\"enforcement\":"), inner), ",");
    at = text_put(text_put(at, "\"findings\":"), findings);
    at = text_put_number(text_put(at, ",\"generation\":"), w->generation);
    if (label != 0)
        at = text_put_number(text_put(at, ",\"label\":"), label);
    at = text_put_number(text_put(at, ",\"revision\":"), w->revision);
    at = text_put(at, w->unchanged ? ",\"unchanged\":true}" : "}");
    w->blob = blob_new(text, (size_t)(at - text), w->etag, "application/json");
    return w->blob == NULL ? err_nomem(err) : ERR_OK;
}

static enum err_code finish_answer(struct write *w, struct err *err)
{
    etag_format(w->revision, w->etag);
    if (w->kind->body && w->current != 0 && w->revision != 0)
        return write_answer_text(w, err);
    bool ok = json_object_set_new(w->answer, "generation", json_integer(w->generation)) == 0;
    if (w->kind->body) {
        if (w->revision != 0)
            ok &= json_object_set_new(w->answer, "revision", json_integer(w->revision)) == 0;
        ok &= json_object_set_new(w->answer, "findings", finding_list_to_json(&w->findings)) == 0;
    }
    if (w->unchanged)
        ok &= json_object_set_new(w->answer, "unchanged", json_true()) == 0;
    return ok ? ERR_OK : err_nomem(err);
}

enum err_code change_record(struct db_tx *tx, const struct request *request,
                            const struct db_audit *audit, const char *event, const char *event_body,
                            struct err *err)
{
    enum err_code code = ERR_OK;
    int64_t id;
    if (audit->action != NULL) {
        struct db_audit row = *audit;
        char actor[AUDIT_ACTOR_SIZE];
        principal_actor(request_principal(request), actor);
        row.before = row.before == NULL ? "" : row.before;
        row.after = row.after == NULL ? "" : row.after;
        row.actor = actor;
        row.request_id = request_id(request);
        row.reason = query(request, "reason");
        code = audit_add(tx, &row, err);
    }
    if (code != ERR_OK || event == NULL)
        return code;
    const struct db_event happened = {.kind = event,
                                      .subject = audit->subject,
                                      .request_id = request_id(request),
                                      .body = event_body};
    return event_body == NULL ? err_nomem(err) : event_add(tx, &happened, &id, err);
}

static enum err_code record(struct write *w, struct db_tx *tx, struct err *err)
{
    OWN(str) char *before = NULL;
    OWN(str) char *after = NULL;
    char body[EVENT_BODY_MAX];
    if (w->kind->audited) {
        enum err_code code = audit_text_of_write(w, &before, &after, err);
        if (code != ERR_OK)
            return code;
    }
    const struct db_audit audit = {
        .action = w->kind->audited ? w->kind->action : NULL,
        .subject = w->subject,
        .before = before,
        .after = after,
        .generation = w->generation,
    };
    /* Names of principals need no escapes: they are identifiers that we checked or made. */
    char *at = text_put(text_put(body, "{\"by\":\""), request_principal(w->request)->name);
    at = text_put_number(text_put(at, "\",\"generation\":"), w->generation);
    text_put(text_put_number(text_put(at, ",\"revision\":"), w->revision), "}");
    return change_record(tx, w->request, &audit, w->kind->event, body, err);
}

static void mark(void *arg, struct world_node *node)
{
    world_mark_dirty(arg, node);
}

static enum err_code store(struct write *w, struct db_tx *tx, struct err *err)
{
    const struct write_kind *kind = w->kind;
    enum err_code code = generation_next(tx, w->subject, &w->generation, err);
    if (code == ERR_OK)
        code = kind->store(w, tx, err);
    if (code == ERR_OK)
        code = record(w, tx, err);
    if (code == ERR_OK)
        code = kind->effects(w, err);
    if (code == ERR_OK)
        code = finish_answer(w, err);
    if (code != ERR_OK)
        return code;
    if (kind->each_node != NULL)
        kind->each_node(w, mark, w->world);
    kind->swap(w);
    kind->settle(w);
    if (kind->each_node != NULL)
        kind->each_node(w, mark, w->world);
    w->world->generation = w->generation;
    effects_move(&w->app->effects, &w->effects);
    return ERR_OK;
}

/* What was made of a stored document is read like an upload, by today's rules. */
static enum err_code derive(struct write *w, struct db_tx *tx, struct err *err)
{
    OWN(json) json_t *document = NULL;
    enum err_code code = w->derive(w, db_tx_ro(tx), &document, err);
    if (code != ERR_OK)
        return code;
    code = w->kind->read(w, document, err);
    if ((code == ERR_OK || code == ERR_INVALID) && finding_list_has_errors(&w->findings))
        return write_refuse(w, 422, w->kind->refused, err, REFUSED_TEXT);
    if (code == ERR_OK)
        code = set_document(w, document, err);
    if (code == ERR_OK && strlen(w->text) > HTTP_BODY_MAX)
        return write_refuse(w, 422, "too-large", err, "%s would have more than %d bytes",
                            w->subject, HTTP_BODY_MAX);
    if (code == ERR_OK)
        w->derive = NULL;
    return code;
}

static enum err_code run(struct db_tx *tx, void *arg, struct err *err)
{
    struct write *w = arg;
    /* The world may have been loaded anew since the handler ran. */
    w->world = w->app->world;
    enum err_code code = w->derive == NULL ? ERR_OK : derive(w, tx, err);
    if (code == ERR_OK)
        code = check(w, err);
    if (code != ERR_OK || w->mode != WRITE_STORE)
        return code;
    if (!w->unchanged)
        return store(w, tx, err);
    w->revision = w->current;
    w->generation = w->world->generation;
    return finish_answer(w, err);
}

static void reply_stored(struct write *w)
{
    bool created = w->kind->body && w->current == 0 && w->revision != 0;
    if (w->blob != NULL) {
        request_reply_blob(w->request, 200, w->blob);
        w->kind->release(w);
        return;
    }
    request_reply_json(w->request, created ? 201 : 200, GIVE(w->answer),
                       w->kind->body && w->revision != 0 ? w->etag : NULL,
                       created && w->wanted == 0 ? request_path(w->request) : NULL);
    w->kind->release(w);
}

static void reply_verdict(struct write *w)
{
    bool valid = !finding_list_has_errors(&w->findings);
    json_object_set_new(w->answer, "valid", json_boolean(valid));
    json_object_set_new(w->answer, "findings", finding_list_to_json(&w->findings));
    request_reply_json(w->request, 200, GIVE(w->answer), NULL, NULL);
    w->kind->release(w);
}

static void done(void *arg, enum err_code code, const struct err *err)
{
    struct write *w = arg;
    if (code != ERR_OK)
        write_fail(w, err);
    else if (w->mode == WRITE_STORE)
        reply_stored(w);
    else if (w->mode == WRITE_VALIDATE)
        reply_verdict(w);
    else
        preview_start(w);
}

void write_submit(struct write *w)
{
    struct err err = ERR_INIT;
    enum err_code code = ERR_OK;
    if (finding_list_has_errors(&w->findings) && w->mode != WRITE_VALIDATE)
        code = write_refuse(w, 422, w->kind->refused, &err, REFUSED_TEXT);
    else if (finding_list_has_errors(&w->findings)) {
        w->answer = json_object();
        reply_verdict(w);
        return;
    } else if (w->mode == WRITE_STORE)
        code = db_write(w->app->db, run, done, w, &err);
    else
        code = db_look(w->app->db, run, done, w, &err);
    if (code != ERR_OK)
        write_fail(w, &err);
}

void write_submit_document(struct write *w, const json_t *document, enum err_code code,
                           struct err *err)
{
    if (code == ERR_OK || code == ERR_INVALID)
        code = set_document(w, document, err);
    if (code != ERR_OK)
        write_fail(w, err);
    else
        write_submit(w);
}

void write_submit_body(struct write *w)
{
    struct err err = ERR_INIT;
    const json_t *document = request_json(w->request);
    write_submit_document(w, document, w->kind->read(w, document, &err), &err);
}
