/*
 * fleet/plan.c - building, sealing and digesting a plan, and its JSON form. Made by fleet/compile
 * on the server, read by the agent. Knows nothing of what a knob means.
 */
#include "fleet/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fleet/digest.h"
#include "fleet/read.h"

#define PLAN_VERSION  1
#define PLAN_ROOM_MIN 16

enum err_code plan_new(const char *node, int64_t generation, struct plan **out, struct err *err)
{
    if (name_check(node, "node", err))
        return err == NULL ? ERR_INVALID : err->code;
    struct plan *plan = calloc(1, sizeof(*plan));
    if (plan == NULL)
        return err_nomem(err);
    snprintf(plan->node, sizeof(plan->node), "%s", node);
    plan->generation = generation;
    *out = plan;
    return ERR_OK;
}

void plan_free(struct plan *plan)
{
    if (plan == NULL)
        return;
    for (size_t i = 0; i < plan->knob_count; i++)
        json_decref(plan->knobs[i].want);
    free(plan->knobs);
    free(plan);
}

static bool make_room(struct plan *plan)
{
    if (plan->knob_count < plan->knob_room)
        return true;
    size_t room = plan->knob_room == 0 ? PLAN_ROOM_MIN : 2 * plan->knob_room;
    struct plan_knob *knobs = realloc(plan->knobs, room * sizeof(*knobs));
    if (knobs == NULL)
        return false;
    plan->knobs = knobs;
    plan->knob_room = room;
    return true;
}

enum err_code plan_add(struct plan *plan, const struct plan_knob *knob, struct err *err)
{
    OWN(json) json_t *want = knob->want;
    if (want == NULL)
        return err_nomem(err); /* the caller's constructor had no memory */
    if (plan->knob_count >= PLAN_KNOBS_MAX)
        return err_set(err, ERR_LIMIT, "the plan of node %s would have more than %d knobs",
                       plan->node, PLAN_KNOBS_MAX);
    if (!make_room(plan))
        return err_nomem(err);
    plan->knobs[plan->knob_count] = *knob;
    plan->knobs[plan->knob_count].want = GIVE(want);
    plan->knob_count++;
    return ERR_OK;
}

enum err_code plan_add_copy(struct plan *plan, const struct plan_knob *knob, struct err *err)
{
    struct plan_knob copy = *knob;
    json_incref(copy.want);
    return plan_add(plan, &copy, err);
}

static int compare_knobs(const void *a, const void *b)
{
    const struct plan_knob *x = a, *y = b;
    return knob_compare(x->kind, x->subject, x->id, y->kind, y->subject, y->id);
}

static enum err_code digest_plan(struct plan *plan, struct err *err)
{
    struct digest digest;
    digest_init(&digest);
    for (size_t i = 0; i < plan->knob_count; i++) {
        const struct plan_knob *knob = &plan->knobs[i];
        digest_knob(&digest, knob->kind, knob->subject, knob->id, digest_flags(knob), knob->want);
    }
    return digest_finish(&digest, plan->node, plan->digest, err);
}

enum err_code plan_seal(struct plan *plan, struct err *err)
{
    bool sorted = true;
    for (size_t i = 1; i < plan->knob_count && sorted; i++)
        sorted = compare_knobs(&plan->knobs[i - 1], &plan->knobs[i]) <= 0;
    if (!sorted)
        qsort(plan->knobs, plan->knob_count, sizeof(*plan->knobs), compare_knobs);
    for (size_t i = 1; i < plan->knob_count; i++) {
        const struct plan_knob *knob = &plan->knobs[i];
        if (compare_knobs(knob - 1, knob) == 0)
            return err_set(err, ERR_CONFLICT, "node %s: knob %s %s%s%s is in the plan twice",
                           plan->node, knob->kind->name, knob->subject,
                           knob->id[0] == '\0' ? "" : " ", knob->id);
    }
    return digest_plan(plan, err);
}

struct knob_key {
    const struct knob_kind *kind;
    const char *subject, *id;
};

static int compare_key(const void *a, const void *b)
{
    const struct knob_key *key = a;
    const struct plan_knob *knob = b;
    return knob_compare(key->kind, key->subject, key->id, knob->kind, knob->subject, knob->id);
}

const struct plan_knob *plan_knob_get(const struct plan *plan, const struct knob_kind *kind,
                                      const char *subject, const char *id)
{
    const struct knob_key key = {.kind = kind, .subject = subject, .id = id};
    return plan->knob_count == 0
               ? NULL
               : bsearch(&key, plan->knobs, plan->knob_count, sizeof(*plan->knobs), compare_key);
}

void plan_tag(const struct plan *plan, char out[PLAN_TAG_SIZE])
{
    int n = snprintf(out, PLAN_TAG_SIZE, "%s%s%s", plan->digest, plan_is_final(plan) ? "" : "+",
                     plan->confirm.rollout);
    if (plan->attempt > 0)
        snprintf(out + n, PLAN_TAG_SIZE - (size_t)n, "!%" PRId64, plan->attempt);
}

static json_t *knob_to_json(const struct plan_knob *knob)
{
    OWN(json) json_t *object = json_object();
    if (object == NULL || !write_text(object, "kind", knob->kind->name) ||
        !write_text(object, "subject", knob->subject) || !write_text(object, "id", knob->id) ||
        !write_member(object, "want", json_incref(knob->want)) ||
        !write_text(object, "enforcement", enforcement_name(knob->enforcement)) ||
        !write_text(object, "tenant", knob->tenant) || !write_text(object, "job", knob->job))
        return NULL;
    if (knob->strict && !write_member(object, "strict", json_true()))
        return NULL;
    if (knob->observe_only && !write_member(object, "observe_only", json_true()))
        return NULL;
    return GIVE(object);
}

static json_t *confirm_to_json(const struct plan_confirm *confirm)
{
    OWN(json) json_t *object = json_object();
    if (object == NULL || !write_text(object, "rollout", confirm->rollout) ||
        !write_member(object, "timeout_s", json_integer(confirm->timeout_s)))
        return NULL;
    return GIVE(object);
}

json_t *plan_to_json(const struct plan *plan)
{
    OWN(json) json_t *knobs = json_array();
    for (size_t i = 0; i < plan->knob_count; i++)
        if (json_array_append_new(knobs, knob_to_json(&plan->knobs[i])) != 0)
            return NULL;
    OWN(json) json_t *object = json_object();
    if (object == NULL || !write_member(object, "version", json_integer(PLAN_VERSION)) ||
        !write_text(object, "node", plan->node) ||
        !write_member(object, "generation", json_integer(plan->generation)) ||
        !write_text(object, "digest", plan->digest) ||
        !write_member(object, "knobs", json_incref(knobs)))
        return NULL;
    if (!plan_is_final(plan) && !write_member(object, "confirm", confirm_to_json(&plan->confirm)))
        return NULL;
    if (plan->attempt > 0 && !write_member(object, "attempt", json_integer(plan->attempt)))
        return NULL;
    if (plan->approved[0] != '\0' && !write_text(object, "approved", plan->approved))
        return NULL;
    if (plan->peers.count > 0 && !write_member(object, "peers", peers_to_json(&plan->peers)))
        return NULL;
    return GIVE(object);
}

/* The kind's name is read apart: an unknown one is ERR_UNSUPPORTED (a newer server), not INVALID.
 */
static enum err_code knob_from_json(struct json_reader *r, struct plan_knob *out, struct err *err)
{
    static const char *const enforcements[] = {"nic", "kernel", "solar", "none", NULL};
    const char *kind = NULL;
    const json_t *want = NULL;
    int enforcement = ENFORCEMENT_NONE;
    *out = (struct plan_knob){.enforcement = ENFORCEMENT_NONE};
    json_reader_string(r, "kind", true, 1, 64, &kind);
    read_text(r, "subject", true, 1, out->subject, sizeof(out->subject));
    read_text(r, "id", false, 1, out->id, sizeof(out->id));
    json_reader_any(r, "want", true, &want);
    json_reader_enum(r, "enforcement", true, enforcements, &enforcement);
    json_reader_bool(r, "strict", false, &out->strict);
    json_reader_bool(r, "observe_only", false, &out->observe_only);
    read_text(r, "tenant", false, 1, out->tenant, sizeof(out->tenant));
    read_text(r, "job", false, 1, out->job, sizeof(out->job));
    json_reader_end(r);
    if (want != NULL && json_is_null(want))
        read_problem(r, "want", "must not be null: leave the knob out");
    if (read_result(r->findings, err))
        return err == NULL ? ERR_INVALID : err->code;
    out->enforcement = (enum enforcement)enforcement;
    out->kind = knob_kind_get(kind);
    if (out->kind == NULL)
        return err_set_at(err, ERR_UNSUPPORTED, r->pointer,
                          "knob kind '%s' is unknown to this version", kind);
    out->want = json_incref((json_t *)want);
    return ERR_OK;
}

static enum err_code knobs_from_json(struct json_reader *r, const json_t *knobs, struct plan *plan,
                                     struct err *err)
{
    for (size_t i = 0; i < json_array_size(knobs); i++) {
        struct json_reader element;
        struct plan_knob knob;
        json_reader_element(r, "knobs", i, json_array_get(knobs, i), &element);
        enum err_code code = knob_from_json(&element, &knob, err);
        if (code == ERR_OK)
            code = plan_add(plan, &knob, err);
        if (code != ERR_OK)
            return code;
    }
    return ERR_OK;
}

static void confirm_from_json(struct json_reader *r, struct plan_confirm *out)
{
    struct json_reader member;
    int64_t timeout_s = 0;
    if (!json_reader_object(r, "confirm", false, &member))
        return;
    read_name(&member, "rollout", true, out->rollout);
    json_reader_int(&member, "timeout_s", true, 1, PLAN_CONFIRM_TIMEOUT_MAX_S, &timeout_s);
    json_reader_end(&member);
    out->timeout_s = (int32_t)timeout_s;
}

enum err_code plan_from_json(const json_t *document, struct plan **out, struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    struct json_reader r;
    json_reader_init(&r, document, "", &findings);
    int64_t version, generation = 0, attempt = 0;
    const char *node = "", *digest = "";
    char approved[DIGEST_TEXT_MAX] = "";
    const json_t *knobs = NULL;
    struct plan_confirm confirm = {0};
    struct peer_list peers;
    json_reader_int(&r, "version", true, PLAN_VERSION, PLAN_VERSION, &version);
    json_reader_string(&r, "node", true, 1, NAME_MAX_LEN, &node);
    json_reader_int(&r, "generation", true, 0, INT64_MAX, &generation);
    json_reader_string(&r, "digest", true, 1, DIGEST_TEXT_MAX - 1, &digest);
    json_reader_array(&r, "knobs", true, PLAN_KNOBS_MAX, &knobs);
    confirm_from_json(&r, &confirm);
    json_reader_int(&r, "attempt", false, 1, INT64_MAX, &attempt);
    if (read_text(&r, "approved", false, 1, approved, sizeof(approved)) &&
        !digest_is_valid(approved))
        read_problem(&r, "approved", "is no digest; \"sha256:\" and 64 hex digits");
    peers_from_json(&r, &peers);
    json_reader_end(&r);
    enum err_code code = read_result(&findings, err);
    OWN(plan) struct plan *plan = NULL;
    if (code == ERR_OK)
        code = plan_new(node, generation, &plan, err);
    if (code == ERR_OK)
        code = knobs_from_json(&r, knobs, plan, err);
    if (code == ERR_OK)
        code = plan_seal(plan, err);
    if (code != ERR_OK)
        return code;
    if (strcmp(plan->digest, digest) != 0)
        return err_set_at(
            err, ERR_INVALID, "/digest",
            "the plan's digest is %s, but its content gives %s: it was changed or cut "
            "on the way",
            digest, plan->digest);
    plan->confirm = confirm;
    plan->attempt = attempt;
    memcpy(plan->approved, approved, sizeof(approved));
    plan->peers = peers;
    *out = GIVE(plan);
    return ERR_OK;
}
