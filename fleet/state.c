/*
 * fleet/state.c - what a node is, knob by knob, and the digest that compares it with its plan.
 * Filled by the providers of datapath/, read by agent/ and server/.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/digest.h"
#include "fleet/plan.h"
#include "fleet/read.h"

#define STATE_ROOM_MIN 32

static const char *const owner_names[] = {"unknown", "stellar", "other", NULL};

void state_init(struct state *state)
{
    memset(state, 0, sizeof(*state));
}

void state_release(struct state *state)
{
    if (state == NULL)
        return;
    for (size_t i = 0; i < state->knob_count; i++) {
        json_decref(state->knobs[i].live);
        json_decref(state->knobs[i].persisted);
        json_decref(state->knobs[i].next_boot);
    }
    free(state->knobs);
    state_init(state);
}

static bool make_room(struct state *state)
{
    if (state->knob_count < state->knob_room)
        return true;
    size_t room = state->knob_room == 0 ? STATE_ROOM_MIN : 2 * state->knob_room;
    struct state_knob *knobs = realloc(state->knobs, room * sizeof(*knobs));
    if (knobs == NULL)
        return false;
    state->knobs = knobs;
    state->knob_room = room;
    return true;
}

enum err_code state_add(struct state *state, const struct state_knob *knob, struct err *err)
{
    OWN(json) json_t *live = knob->live;
    OWN(json) json_t *persisted = knob->persisted;
    OWN(json) json_t *next_boot = knob->next_boot;
    /* A foreign flow table may be larger than any plan of ours; only ours and wanted ones count. */
    if (state->knob_count >= 2 * PLAN_KNOBS_MAX)
        return err_set(err, ERR_LIMIT, "the node's state has more than %d knobs",
                       2 * PLAN_KNOBS_MAX);
    if (!make_room(state))
        return err_nomem(err);
    struct state_knob *added = &state->knobs[state->knob_count++];
    *added = *knob;
    added->live = GIVE(live);
    added->persisted = GIVE(persisted);
    added->next_boot = GIVE(next_boot);
    return ERR_OK;
}

static int compare_knobs(const void *a, const void *b)
{
    const struct state_knob *x = a, *y = b;
    return knob_compare(x->kind, x->subject, x->id, y->kind, y->subject, y->id);
}

void state_seal(struct state *state)
{
    for (size_t i = 1; i < state->knob_count; i++) {
        if (compare_knobs(&state->knobs[i - 1], &state->knobs[i]) > 0) {
            qsort(state->knobs, state->knob_count, sizeof(*state->knobs), compare_knobs);
            return;
        }
    }
}

const struct state_knob *state_get(const struct state *state, const struct knob_kind *kind,
                                   const char *subject, const char *id)
{
    size_t low = 0, high = state->knob_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct state_knob *knob = &state->knobs[middle];
        int order = knob_compare(knob->kind, knob->subject, knob->id, kind, subject, id);
        if (order == 0)
            return knob;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const json_t *state_knob_value(const struct state_knob *knob)
{
    return knob->kind->view == KNOB_VIEW_NEXT_BOOT ? knob->next_boot : knob->live;
}

static json_t *knob_to_json(const struct state_knob *knob)
{
    const struct {
        const char *key;
        json_t *value;
    } values[] = {
        {"live", knob->live}, {"persisted", knob->persisted}, {"next_boot", knob->next_boot}};
    OWN(json) json_t *object = json_object();
    if (object == NULL || !write_text(object, "kind", knob->kind->name) ||
        !write_text(object, "subject", knob->subject) || !write_text(object, "id", knob->id) ||
        !write_text(object, "owner", owner_names[knob->owner]) ||
        !write_text(object, "problem", knob->problem))
        return NULL;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        if (values[i].value != NULL &&
            !write_member(object, values[i].key, json_incref(values[i].value)))
            return NULL;
    return GIVE(object);
}

static json_t *of_to_json(const struct state_of *of)
{
    return json_pack("{ss, sI, sI}", "digest", of->digest, "generation", (json_int_t)of->generation,
                     "time_us", (json_int_t)of->time_us);
}

json_t *state_to_json(const struct state *state)
{
    OWN(json) json_t *knobs = json_array();
    for (size_t i = 0; i < state->knob_count; i++)
        if (json_array_append_new(knobs, knob_to_json(&state->knobs[i])) != 0)
            return NULL;
    OWN(json) json_t *object = json_object();
    if (object == NULL || !write_member(object, "knobs", json_incref(knobs)))
        return NULL;
    if (state->of.digest[0] != '\0' && !write_member(object, "of", of_to_json(&state->of)))
        return NULL;
    return GIVE(object);
}

static void of_from_json(struct json_reader *r, struct state_of *out)
{
    struct json_reader member;
    if (!json_reader_object(r, "of", false, &member))
        return;
    read_digest(&member, "digest", true, out->digest);
    json_reader_int(&member, "generation", true, 0, INT64_MAX, &out->generation);
    json_reader_int(&member, "time_us", true, 0, INT64_MAX, &out->time_us);
    json_reader_end(&member);
}

static enum err_code knob_from_json(struct json_reader *r, struct state_knob *out, struct err *err)
{
    const char *kind = NULL;
    const json_t *live = NULL, *persisted = NULL, *next_boot = NULL;
    int owner = KNOB_OWNER_UNKNOWN;
    memset(out, 0, sizeof(*out));
    json_reader_string(r, "kind", true, 1, 64, &kind);
    read_text(r, "subject", true, 1, out->subject, sizeof(out->subject));
    read_text(r, "id", false, 1, out->id, sizeof(out->id));
    read_text(r, "problem", false, 1, out->problem, sizeof(out->problem));
    json_reader_enum(r, "owner", true, owner_names, &owner);
    json_reader_any(r, "live", false, &live);
    json_reader_any(r, "persisted", false, &persisted);
    json_reader_any(r, "next_boot", false, &next_boot);
    json_reader_end(r);
    enum err_code code = read_result(r->findings, err);
    if (code != ERR_OK)
        return code;
    out->kind = knob_kind_get(kind);
    if (out->kind == NULL)
        return err_set_at(err, ERR_UNSUPPORTED, r->pointer,
                          "knob kind '%s' is unknown to this version", kind);
    out->owner = (enum knob_owner)owner;
    out->live = json_incref((json_t *)live);
    out->persisted = json_incref((json_t *)persisted);
    out->next_boot = json_incref((json_t *)next_boot);
    return ERR_OK;
}

static enum err_code knobs_from_json(struct json_reader *r, const json_t *knobs,
                                     struct state *state, struct err *err)
{
    for (size_t i = 0; i < json_array_size(knobs); i++) {
        struct json_reader element;
        struct state_knob knob;
        json_reader_element(r, "knobs", i, json_array_get(knobs, i), &element);
        enum err_code code = knob_from_json(&element, &knob, err);
        if (code == ERR_OK)
            code = state_add(state, &knob, err);
        if (code != ERR_OK)
            return code;
    }
    state_seal(state);
    for (size_t i = 1; i < state->knob_count; i++) {
        const struct state_knob *knob = &state->knobs[i];
        if (compare_knobs(knob - 1, knob) == 0)
            return err_set_at(err, ERR_INVALID, "/knobs", "knob %s %s%s%s is there twice",
                              knob->kind->name, knob->subject, knob->id[0] == '\0' ? "" : " ",
                              knob->id);
    }
    return ERR_OK;
}

enum err_code state_from_json(const json_t *document, struct state *out, struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    struct json_reader r;
    const json_t *knobs = NULL;
    OWN_STATE struct state state;
    state_init(&state);
    json_reader_init(&r, document, "", &findings);
    json_reader_array(&r, "knobs", true, 2 * PLAN_KNOBS_MAX, &knobs);
    of_from_json(&r, &state.of);
    json_reader_end(&r);
    enum err_code code = read_result(&findings, err);
    if (code == ERR_OK)
        code = knobs_from_json(&r, knobs, &state, err);
    if (code != ERR_OK)
        return code;
    *out = state;
    state_init(&state);
    return ERR_OK;
}

static bool is_ours(const struct state_knob *knob)
{
    return knob->kind->is_set && knob->owner == KNOB_OWNER_STELLAR &&
           state_knob_value(knob) != NULL;
}

static int compare_with(const struct plan_knob *want, const struct state_knob *is)
{
    return knob_compare(want->kind, want->subject, want->id, is->kind, is->subject, is->id);
}

/* One walk over both sorted lists. With digest == NULL it only says whether they are the same. */
static bool walk(const struct plan *plan, const struct state *state, struct digest *digest)
{
    size_t i = 0, j = 0;
    while (i < plan->knob_count || j < state->knob_count) {
        const struct plan_knob *want = i < plan->knob_count ? &plan->knobs[i] : NULL;
        const struct state_knob *is = j < state->knob_count ? &state->knobs[j] : NULL;
        int order = want == NULL ? 1 : is == NULL ? -1 : compare_with(want, is);
        if (order > 0) { /* only in the state */
            j++;
            if (is_ours(is) && digest == NULL)
                return false;
            if (is_ours(is))
                digest_knob(digest, is->kind, is->subject, is->id, 0, state_knob_value(is));
            continue;
        }
        const json_t *value = order < 0 ? NULL : state_knob_value(is);
        if (want->observe_only)
            value = want->want;
        if (digest == NULL && (value == NULL || !json_equal(value, want->want)))
            return false;
        if (digest != NULL)
            digest_knob(digest, want->kind, want->subject, want->id, digest_flags(want), value);
        i++;
        j += order == 0;
    }
    return true;
}

enum err_code plan_observed_digest(const struct plan *plan, const struct state *state,
                                   char out[DIGEST_TEXT_MAX], struct err *err)
{
    /* In sync is the usual case and needs no hashing: equal values have equal canonical forms. */
    if (walk(plan, state, NULL)) {
        memcpy(out, plan->digest, DIGEST_TEXT_MAX);
        return ERR_OK;
    }
    struct digest digest;
    digest_init(&digest);
    walk(plan, state, &digest);
    return digest_finish(&digest, plan->node, out, err);
}
