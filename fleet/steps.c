/*
 * fleet/steps.c - from what a node is to what it must be: ordered steps, their undo and JSON form.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/plan.h"
#include "fleet/read.h"

#define STEPS_ROOM_MIN 16
#define STEPS_MAX      (3 * PLAN_KNOBS_MAX)

static const char *const op_names[] = {"remove", "change", "add", NULL};

void plan_step_release(struct plan_step *step)
{
    json_decref(step->from);
    json_decref(step->to);
    memset(step, 0, sizeof(*step));
}

void plan_steps_release(struct plan_steps *steps)
{
    if (steps == NULL)
        return;
    for (size_t i = 0; i < steps->count; i++)
        plan_step_release(&steps->items[i]);
    free(steps->items);
    memset(steps, 0, sizeof(*steps));
}

/* Takes over from and to of step, also on failure. */
static enum err_code add_step(struct plan_steps *steps, struct plan_step *step, struct err *err)
{
    if (steps->count == steps->room) {
        size_t room = steps->room == 0 ? STEPS_ROOM_MIN : 2 * steps->room;
        struct plan_step *items = realloc(steps->items, room * sizeof(*items));
        if (items == NULL) {
            plan_step_release(step);
            return err_nomem(err);
        }
        steps->items = items;
        steps->room = room;
    }
    steps->items[steps->count++] = *step;
    return ERR_OK;
}

static enum err_code add_removal(struct plan_steps *steps, const struct state_knob *is,
                                 struct err *err)
{
    struct plan_step step = {
        .op = STEP_REMOVE,
        .kind = is->kind,
        .from = json_incref((json_t *)state_knob_value(is)),
        .disruption = knob_disruption(is->kind, NULL),
    };
    snprintf(step.subject, sizeof(step.subject), "%s", is->subject);
    snprintf(step.id, sizeof(step.id), "%s", is->id);
    return add_step(steps, &step, err);
}

/* Whether what the knob stands on will be made anew: the kernel takes all that is there along. */
static bool is_renewed(const struct plan *plan, const struct state *state,
                       const struct plan_knob *want)
{
    const struct knob_kind *base = knob_base(want->kind);
    if (base == NULL)
        return false;
    const struct plan_knob *to = plan_knob_get(plan, base, want->subject, KNOB_BASE_ID);
    const struct state_knob *from = state_get(state, base, want->subject, KNOB_BASE_ID);
    const json_t *value = from == NULL ? NULL : state_knob_value(from);
    return to != NULL && !to->observe_only && value != NULL && !json_equal(value, to->want) &&
           !knob_changes_in_place(base, value, to->want);
}

/* is == NULL: the state does not have the knob. What is equal but renewed is set again. */
static enum err_code add_wanted(struct plan_steps *steps, const struct plan_knob *want,
                                const struct state_knob *is, bool renewed, struct err *err)
{
    const json_t *value = is == NULL ? NULL : state_knob_value(is);
    if (want->observe_only || (value != NULL && json_equal(value, want->want) && !renewed))
        return ERR_OK;
    if (value == NULL && is != NULL && is->problem[0] != '\0')
        return err_set(err, ERR_UNAVAILABLE, "%s %s%s%s cannot be read: %s", want->kind->name,
                       want->subject, want->id[0] == '\0' ? "" : " ", want->id, is->problem);
    struct plan_step step = {
        .op = value == NULL ? STEP_ADD : STEP_CHANGE,
        .kind = want->kind,
        .from = json_incref((json_t *)value),
        .to = json_incref(want->want),
        .disruption = knob_disruption(want->kind, want->want),
        .strict = want->strict,
    };
    memcpy(step.subject, want->subject, sizeof(step.subject));
    memcpy(step.id, want->id, sizeof(step.id));
    memcpy(step.tenant, want->tenant, sizeof(step.tenant));
    memcpy(step.job, want->job, sizeof(step.job));
    return add_step(steps, &step, err);
}

static bool is_removable(const struct state_knob *is)
{
    return is->kind->is_set && is->owner == KNOB_OWNER_STELLAR && state_knob_value(is) != NULL;
}

/* A change of what stands on something belongs to the additions: it may need one of them. */
static enum step_op phase_of(const struct plan_step *step)
{
    return step->op == STEP_CHANGE && knob_base(step->kind) != NULL ? STEP_ADD : step->op;
}

int plan_step_compare(const struct plan_step *a, const struct plan_step *b)
{
    enum step_op phase = phase_of(a);
    if (phase != phase_of(b))
        return phase < phase_of(b) ? -1 : 1;
    int order = knob_compare(a->kind, a->subject, "", b->kind, b->subject, "");
    if (order == 0 && a->op != b->op)
        return a->op < b->op ? -1 : 1; /* those of one op go together (dp.h, apply_run) */
    if (order == 0)
        order = knob_compare(a->kind, a->subject, a->id, b->kind, b->subject, b->id);
    return phase == STEP_REMOVE ? -order : order;
}

static int compare_steps(const void *a, const void *b)
{
    return plan_step_compare(a, b);
}

enum err_code plan_diff(const struct plan *plan, const struct state *state, struct plan_steps *out,
                        struct err *err)
{
    OWN_STEPS struct plan_steps steps = {0};
    size_t i = 0, j = 0;
    while (i < plan->knob_count || j < state->knob_count) {
        const struct plan_knob *want = i < plan->knob_count ? &plan->knobs[i] : NULL;
        const struct state_knob *is = j < state->knob_count ? &state->knobs[j] : NULL;
        int order = want == NULL ? 1
                    : is == NULL ? -1
                                 : knob_compare(want->kind, want->subject, want->id, is->kind,
                                                is->subject, is->id);
        enum err_code code = ERR_OK;
        if (order <= 0)
            code = add_wanted(&steps, want, order == 0 ? is : NULL,
                              order == 0 && is_renewed(plan, state, want), err);
        else if (is_removable(is))
            code = add_removal(&steps, is, err);
        if (code != ERR_OK)
            return code;
        i += order <= 0;
        j += order >= 0;
    }
    if (steps.count > 1)
        qsort(steps.items, steps.count, sizeof(*steps.items), compare_steps);
    *out = steps;
    steps = (struct plan_steps){0};
    return ERR_OK;
}

enum err_code plan_step_undo(const struct plan_step *step, struct plan_step *out, struct err *err)
{
    (void)err; /* JSON values are shared, nothing is allocated */
    *out = *step;
    out->op = step->op == STEP_ADD ? STEP_REMOVE : step->op == STEP_REMOVE ? STEP_ADD : STEP_CHANGE;
    out->from = json_incref(step->to);
    out->to = json_incref(step->from);
    return ERR_OK;
}

static json_t *step_to_json(const struct plan_step *step)
{
    OWN(json) json_t *object = json_object();
    if (object == NULL || !write_text(object, "op", op_names[step->op]) ||
        !write_text(object, "kind", step->kind->name) ||
        !write_text(object, "subject", step->subject) || !write_text(object, "id", step->id) ||
        !write_text(object, "disruption", disruption_name(step->disruption)) ||
        !write_text(object, "tenant", step->tenant) || !write_text(object, "job", step->job))
        return NULL;
    if (step->from != NULL && !write_member(object, "from", json_incref(step->from)))
        return NULL;
    if (step->to != NULL && !write_member(object, "to", json_incref(step->to)))
        return NULL;
    if (step->strict && !write_member(object, "strict", json_true()))
        return NULL;
    return GIVE(object);
}

json_t *plan_steps_to_json(const struct plan_steps *steps)
{
    OWN(json) json_t *array = json_array();
    for (size_t i = 0; i < steps->count; i++)
        if (json_array_append_new(array, step_to_json(&steps->items[i])) != 0)
            return NULL;
    return GIVE(array);
}

static void check_values(struct json_reader *r, int op, const json_t *from, const json_t *to)
{
    bool wants_from = op != STEP_ADD, wants_to = op != STEP_REMOVE;
    if (wants_from != (from != NULL))
        read_problem(r, "from", wants_from ? "is missing" : "does not belong to an addition");
    if (wants_to != (to != NULL))
        read_problem(r, "to", wants_to ? "is missing" : "does not belong to a removal");
}

static enum err_code step_from_json(struct json_reader *r, struct plan_step *out, struct err *err)
{
    const char *kind = NULL, *disruption = NULL;
    const json_t *from = NULL, *to = NULL;
    int op = STEP_CHANGE;
    memset(out, 0, sizeof(*out));
    if (json_reader_enum(r, "op", true, op_names, &op))
        out->op = (enum step_op)op;
    json_reader_string(r, "kind", true, 1, 64, &kind);
    read_text(r, "subject", true, 1, out->subject, sizeof(out->subject));
    read_text(r, "id", false, 1, out->id, sizeof(out->id));
    json_reader_any(r, "from", false, &from);
    json_reader_any(r, "to", false, &to);
    if (json_reader_string(r, "disruption", true, 1, 32, &disruption) &&
        !disruption_from_name(disruption, &out->disruption))
        read_problem(r, "disruption", "'%s' is no disruption class", disruption);
    json_reader_bool(r, "strict", false, &out->strict);
    read_text(r, "tenant", false, 1, out->tenant, sizeof(out->tenant));
    read_text(r, "job", false, 1, out->job, sizeof(out->job));
    json_reader_end(r);
    check_values(r, op, from, to);
    enum err_code code = read_result(r->findings, err);
    if (code != ERR_OK)
        return code;
    out->kind = knob_kind_get(kind);
    if (out->kind == NULL)
        return err_set_at(err, ERR_UNSUPPORTED, r->pointer,
                          "knob kind '%s' is unknown to this version", kind);
    out->from = json_incref((json_t *)from);
    out->to = json_incref((json_t *)to);
    return ERR_OK;
}

enum err_code plan_steps_from_json(const json_t *array, struct plan_steps *out, struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    OWN_STEPS struct plan_steps steps = {0};
    if (!json_is_array(array))
        return err_set(err, ERR_INVALID, "the steps are no array");
    if (json_array_size(array) > STEPS_MAX)
        return err_set(err, ERR_LIMIT, "more than %d steps", STEPS_MAX);
    for (size_t i = 0; i < json_array_size(array); i++) {
        struct json_reader r;
        struct plan_step step;
        char pointer[32];
        snprintf(pointer, sizeof(pointer), "/%zu", i);
        json_reader_init(&r, json_array_get(array, i), pointer, &findings);
        enum err_code code = step_from_json(&r, &step, err);
        if (code == ERR_OK)
            code = add_step(&steps, &step, err);
        if (code != ERR_OK)
            return code;
    }
    *out = steps;
    steps = (struct plan_steps){0};
    return ERR_OK;
}

void plan_step_describe(const struct plan_step *step, char *out, size_t size)
{
    snprintf(out, size, "%s %s %s%s%s", op_names[step->op], step->kind->name, step->subject,
             step->id[0] == '\0' ? "" : " ", step->id);
}

enum err_code plan_compare(const struct plan *from, const struct plan *to, struct plan_steps *out,
                           struct err *err)
{
    OWN_STATE struct state state;
    state_init(&state);
    for (size_t i = 0; from != NULL && i < from->knob_count; i++) {
        const struct plan_knob *knob = &from->knobs[i];
        struct state_knob is = {
            .kind = knob->kind,
            .live = json_incref(knob->want),
            .next_boot = json_incref(knob->want),
            .owner = KNOB_OWNER_STELLAR,
        };
        memcpy(is.subject, knob->subject, sizeof(is.subject));
        memcpy(is.id, knob->id, sizeof(is.id));
        enum err_code code = state_add(&state, &is, err);
        if (code != ERR_OK)
            return code;
    }
    return plan_diff(to, &state, out, err);
}
