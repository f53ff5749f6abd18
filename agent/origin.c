/*
 * agent/origin.c - see origin.h.
 */
#include "agent/origin.h"

#include <stdlib.h>
#include <string.h>

#include "agent/deviation.h"
#include "base/json.h"
#include "fleet/read.h"

#define ORIGIN_VERSION 1

static const struct {
    const char *kind, *why;
} left[] = {
    {"dcb.dcbx", "the mode says who may write the port's other dcb knobs: who shall have it next "
                 "is a person's choice"},
};

/* Their values speak of some of what the device has; only that is ours to give back. */
static const char *const partial[] = {"devlink.param", "roce.cc"};

const char *origin_left_why(const struct knob_kind *kind)
{
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
        if (strcmp(left[i].kind, kind->name) == 0)
            return left[i].why;
    return NULL;
}

/* File ---------------------------------------------------------------------------------------- */

static enum err_code from_json(const json_t *document, const char *node, struct state *out,
                               struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    struct json_reader r;
    int64_t version;
    char name[NAME_SIZE] = "";
    const json_t *state = NULL;
    json_reader_init(&r, document, "", &findings);
    json_reader_int(&r, "version", true, ORIGIN_VERSION, ORIGIN_VERSION, &version);
    read_text(&r, "node", true, 1, name, sizeof(name));
    json_reader_any(&r, "state", true, &state);
    json_reader_end(&r);
    enum err_code code = read_result(&findings, err);
    if (code == ERR_OK && strcmp(name, node) != 0)
        code = err_set(err, ERR_INVALID, "it is of node %s", name);
    return code == ERR_OK ? state_from_json(state, out, err) : code;
}

enum err_code origin_load(const char *state_dir, const char *node, struct clock *clock,
                          struct state *out, struct err *err)
{
    OWN(json) json_t *document = NULL;
    struct err why = ERR_INIT;
    enum err_code code = keep_read(state_dir, ORIGIN_FILE, &document, &why);
    if (code == ERR_NOT_FOUND)
        return ERR_OK;
    if (code == ERR_OK)
        code = from_json(document, node, out, &why);
    if (code == ERR_NOMEM)
        return err_nomem(err);
    if (code != ERR_OK)
        keep_set_aside(state_dir, ORIGIN_FILE, clock, &why);
    return ERR_OK;
}

enum err_code origin_save(const char *state_dir, const char *node, const struct state *origin,
                          struct err *err)
{
    OWN(json) json_t *object = json_object();
    if (object == NULL || !write_member(object, "version", json_integer(ORIGIN_VERSION)) ||
        !write_text(object, "node", node) || !write_member(object, "state", state_to_json(origin)))
        return err_nomem(err);
    return keep_write(state_dir, ORIGIN_FILE, object, err);
}

/* Learning ------------------------------------------------------------------------------------ */

static bool manages(const struct plan *plan, const struct plan_knob *knob)
{
    const struct plan_knob *had =
        plan == NULL ? NULL : plan_knob_get(plan, knob->kind, knob->subject, knob->id);
    return had != NULL && !had->observe_only;
}

/* What the state shows of a knob; false = it cannot be seen. Of a kind that counts at the next boot
 * nothing shown is a value too. *out NULL: absent. */
static bool shown(const struct knob_kind *kind, const struct state_knob *is, const json_t **out)
{
    *out = is == NULL ? NULL : state_knob_value(is);
    if (is != NULL && is->problem[0] != '\0')
        return false;
    return *out != NULL || kind->view == KNOB_VIEW_NEXT_BOOT;
}

/* The members of `value` that `want` has too, at every depth. A new reference. */
static json_t *part_of(const json_t *value, const json_t *want)
{
    if (!json_is_object(value) || !json_is_object(want))
        return json_incref((json_t *)(uintptr_t)value);
    OWN(json) json_t *part = json_object();
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        const json_t *wanted = json_object_get(want, key);
        if (wanted != NULL && json_object_set_new(part, key, part_of(member, wanted)) != 0)
            return NULL;
    }
    return GIVE(part);
}

static json_t *value_before(const struct plan_knob *knob, const json_t *value)
{
    for (size_t i = 0; i < sizeof(partial) / sizeof(partial[0]); i++)
        if (strcmp(knob->kind->name, partial[i]) == 0)
            return part_of(value, knob->want);
    return json_incref((json_t *)(uintptr_t)value);
}

/* Whether there is something to learn of the knob: it begins to be ours and can be seen. */
static bool is_new(const struct state *origin, const struct plan_knob *knob,
                   const struct origin_plans *stood, const struct state_knob *is)
{
    if (knob->kind->is_set || knob->observe_only || origin_left_why(knob->kind) != NULL ||
        manages(stood->good, knob) || manages(stood->trial, knob) ||
        state_get(origin, knob->kind, knob->subject, knob->id) != NULL)
        return false;
    const json_t *value;
    return shown(knob->kind, is, &value);
}

static enum err_code learn_one(struct state *news, const struct plan_knob *knob,
                               const struct state_knob *is, struct err *err)
{
    struct state_knob entry = {.kind = knob->kind};
    const json_t *value = is == NULL ? NULL : state_knob_value(is);
    memcpy(entry.subject, knob->subject, sizeof(entry.subject));
    memcpy(entry.id, knob->id, sizeof(entry.id));
    json_t **kept = knob->kind->view == KNOB_VIEW_NEXT_BOOT ? &entry.next_boot : &entry.live;
    *kept = value_before(knob, value);
    if (*kept == NULL && value != NULL)
        return err_nomem(err);
    return state_add(news, &entry, err);
}

static void release_entry(struct state_knob *entry)
{
    json_decref(entry->live);
    json_decref(entry->persisted);
    json_decref(entry->next_boot);
}

static void drop_from(struct state *origin, size_t count)
{
    while (origin->knob_count > count)
        release_entry(&origin->knobs[--origin->knob_count]);
}

enum err_code origin_learn(struct state *origin, const struct plan *plan,
                           const struct origin_plans *stood, const struct state *before,
                           bool *out_news, struct err *err)
{
    OWN_STATE struct state news;
    state_init(&news);
    enum err_code code = ERR_OK;
    *out_news = false;
    for (size_t i = 0; code == ERR_OK && i < plan->knob_count; i++) {
        const struct plan_knob *knob = &plan->knobs[i];
        const struct state_knob *is = state_get(before, knob->kind, knob->subject, knob->id);
        if (is_new(origin, knob, stood, is))
            code = learn_one(&news, knob, is, err);
    }
    if (code == ERR_OK && origin->knob_count + news.knob_count > ORIGIN_MAX)
        code =
            err_set(err, ERR_LIMIT, "more than %d knobs have a value to go back to; %s holds them",
                    ORIGIN_MAX, ORIGIN_FILE);
    size_t had = origin->knob_count;
    for (size_t i = 0; code == ERR_OK && i < news.knob_count; i++) {
        code = state_add(origin, &news.knobs[i], err);
        news.knobs[i].live = news.knobs[i].next_boot = NULL; /* taken over */
    }
    if (code != ERR_OK)
        drop_from(origin, had);
    *out_news = origin->knob_count > had;
    state_seal(origin);
    return code;
}

/* Giving back --------------------------------------------------------------------------------- */

static bool names(const struct plan *plan, const struct state_knob *entry)
{
    return plan != NULL && plan_knob_get(plan, entry->kind, entry->subject, entry->id) != NULL;
}

static enum err_code add_entry(struct plan *view, const struct state_knob *entry, struct err *err)
{
    const json_t *value = state_knob_value(entry);
    struct plan_knob knob = {
        .kind = entry->kind,
        .want = value == NULL ? json_null() : json_incref((json_t *)(uintptr_t)value),
    };
    memcpy(knob.subject, entry->subject, sizeof(knob.subject));
    memcpy(knob.id, entry->id, sizeof(knob.id));
    return plan_add(view, &knob, err);
}

enum err_code origin_view(const struct state *origin, const struct plan *plan,
                          const struct plan *view, struct plan **out, struct err *err)
{
    OWN(plan) struct plan *merged = NULL;
    enum err_code code = ERR_OK;
    for (size_t i = 0; code == ERR_OK && i < origin->knob_count; i++) {
        const struct state_knob *entry = &origin->knobs[i];
        if (names(plan, entry) || names(view, entry))
            continue;
        if (merged == NULL)
            code = plan_new(plan->node, plan->generation, &merged, err);
        for (size_t k = merged == NULL ? 0 : merged->knob_count;
             code == ERR_OK && k < view->knob_count; k++)
            code = plan_add_copy(merged, &view->knobs[k], err);
        if (code == ERR_OK)
            code = add_entry(merged, entry, err);
    }
    if (code == ERR_OK && merged != NULL)
        code = plan_seal(merged, err);
    if (code == ERR_OK)
        *out = GIVE(merged);
    return code;
}

/* Whether the knob can be seen and is not what it was. */
static bool is_owed(const struct state_knob *entry, const struct state_knob *is)
{
    const json_t *value;
    return origin_left_why(entry->kind) == NULL && shown(entry->kind, is, &value) &&
           !json_same(value, state_knob_value(entry));
}

static struct plan_step step_back(const struct state_knob *entry, const struct state_knob *is)
{
    const json_t *from = is == NULL ? NULL : state_knob_value(is), *to = state_knob_value(entry);
    struct plan_step step = {
        .op = to == NULL     ? STEP_REMOVE
              : from == NULL ? STEP_ADD
                             : STEP_CHANGE,
        .kind = entry->kind,
        .from = json_incref((json_t *)(uintptr_t)from),
        .to = json_incref((json_t *)(uintptr_t)to),
        .disruption = knob_disruption(entry->kind, to),
    };
    memcpy(step.subject, entry->subject, sizeof(step.subject));
    memcpy(step.id, entry->id, sizeof(step.id));
    return step;
}

enum err_code origin_diff(const struct state *origin, const struct plan *plan,
                          const struct state *state, struct plan_steps *steps, struct err *err)
{
    if (origin->knob_count == 0)
        return ERR_OK;
    size_t room = steps->count + origin->knob_count;
    struct plan_step *items = realloc(steps->items, room * sizeof(*items));
    if (items == NULL)
        return err_nomem(err);
    steps->items = items;
    steps->room = room;
    for (size_t i = 0; i < origin->knob_count; i++) {
        const struct state_knob *entry = &origin->knobs[i];
        const struct state_knob *is = state_get(state, entry->kind, entry->subject, entry->id);
        if (!names(plan, entry) && is_owed(entry, is))
            steps->items[steps->count++] = step_back(entry, is);
    }
    deviation_sort(steps);
    return ERR_OK;
}

bool origin_is_return(const struct state *origin, const struct plan *plan,
                      const struct plan_step *step)
{
    return !step->kind->is_set &&
           plan_knob_get(plan, step->kind, step->subject, step->id) == NULL &&
           state_get(origin, step->kind, step->subject, step->id) != NULL;
}

static bool was_done(const struct plan_steps *done, const struct state_knob *entry)
{
    for (size_t i = 0; i < done->count; i++)
        if (knob_compare(done->items[i].kind, done->items[i].subject, done->items[i].id,
                         entry->kind, entry->subject, entry->id) == 0)
            return true;
    return false;
}

static bool is_settled(const struct state_knob *entry, const struct plan_steps *done,
                       const struct state *state)
{
    const struct state_knob *is = state_get(state, entry->kind, entry->subject, entry->id);
    if (origin_left_why(entry->kind) != NULL || was_done(done, entry))
        return true;
    const json_t *value;
    return shown(entry->kind, is, &value) && json_same(value, state_knob_value(entry));
}

bool origin_forget(struct state *origin, const struct origin_plans *stand,
                   const struct plan_steps *done, const struct state *state)
{
    size_t kept = 0, had = origin->knob_count;
    for (size_t i = 0; i < had; i++) {
        struct state_knob *entry = &origin->knobs[i];
        bool named = names(stand->good, entry) || names(stand->trial, entry);
        if (!named && is_settled(entry, done, state))
            release_entry(entry);
        else
            origin->knobs[kept++] = *entry;
    }
    origin->knob_count = kept;
    return kept != had;
}

bool origin_forget_trial(struct state *origin, const struct origin_plans *stood)
{
    size_t kept = 0, had = origin->knob_count;
    for (size_t i = 0; i < had; i++) {
        struct state_knob *entry = &origin->knobs[i];
        if (names(stood->trial, entry) && !names(stood->good, entry))
            release_entry(entry);
        else
            origin->knobs[kept++] = *entry;
    }
    origin->knob_count = kept;
    return kept != had;
}
