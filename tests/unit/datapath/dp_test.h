#pragma once
/*
 * tests/unit/datapath/dp_test.h - steps and values in one line each.
 */

#include "tests/unit/test.h"

#include "base/own.h"
#include "datapath/dp.h"

static inline json_t *parse(const char *text)
{
    json_t *value = text == NULL ? NULL : json_loads(text, JSON_DECODE_ANY, NULL);
    if (text != NULL && value == NULL)
        fail_msg("no JSON: %s", text);
    return value;
}

/* want NULL: a removal. */
static inline struct plan_step make_step(const char *kind, const char *subject, const char *id,
                                         const char *want, bool strict)
{
    struct plan_step step = {
        .op = want == NULL ? STEP_REMOVE : STEP_CHANGE,
        .kind = knob_kind_get(kind),
        .to = parse(want),
        .strict = strict,
    };
    assert_non_null(step.kind);
    snprintf(step.subject, sizeof(step.subject), "%s", subject);
    snprintf(step.id, sizeof(step.id), "%s", id);
    return step;
}

static inline enum err_code check_step(struct dp *dp, const char *kind, const char *subject,
                                       const char *id, const char *want, struct err *err)
{
    struct plan_step step = make_step(kind, subject, id, want, false);
    enum err_code code = dp_check(dp, &step, err);
    plan_step_release(&step);
    return code;
}

static inline enum err_code apply_step(struct dp *dp, const char *kind, const char *subject,
                                       const char *id, const char *want, struct err *err)
{
    struct plan_step step = make_step(kind, subject, id, want, false);
    enum err_code code = dp_apply(dp, &step, err);
    plan_step_release(&step);
    return code;
}

/* The knob's value as text, "absent", or "problem: ...". want NULL: out of all knobs; else as a
 * plan that has the knob sees it. Free it. */
static inline char *observed_as(struct dp *dp, const char *kind, const char *subject,
                                const char *id, const char *want)
{
    struct err err = ERR_INIT;
    OWN_STATE struct state state;
    OWN(plan) struct plan *plan = NULL;
    state_init(&state);
    if (want != NULL) {
        struct plan_knob knob = {.kind = knob_kind_get(kind), .want = parse(want)};
        snprintf(knob.subject, sizeof(knob.subject), "%s", subject);
        snprintf(knob.id, sizeof(knob.id), "%s", id);
        assert_ok(plan_new("n1", 1, &plan, &err));
        assert_ok(plan_add(plan, &knob, &err));
        assert_ok(plan_seal(plan, &err));
    }
    assert_ok(dp_observe(dp, plan, &state, &err));
    const struct state_knob *knob = state_get(&state, knob_kind_get(kind), subject, id);
    if (knob == NULL)
        return strdup("absent");
    if (knob->problem[0] != '\0') {
        char text[200];
        snprintf(text, sizeof(text), "problem: %s", knob->problem);
        return strdup(text);
    }
    const json_t *value = state_knob_value(knob);
    return value == NULL ? strdup("absent")
                         : json_dumps(value, JSON_ENCODE_ANY | JSON_SORT_KEYS | JSON_COMPACT);
}

#define assert_shows(dp, kind, subject, id, want)                                                  \
    do {                                                                                           \
        OWN(str) char *shown_ = observed_as(dp, kind, subject, id, NULL);                          \
        assert_string_equal(shown_, want);                                                         \
    } while (0)

#define QDISC "{\"default_class\":\"5e11:ffff\",\"handle\":\"5e11:\",\"kind\":\"htb\"}"
#define CLASS(rate, parent)                                                                        \
    "{\"ceil_bps\":100000000000,\"parent\":\"" parent "\",\"rate_bps\":" rate "}"
#define FLOWER(label, hw)                                                                          \
    "{\"actions\":[{\"priority\":3}],\"cookie\":\"53544c52" label                                  \
    "0011223344556677\",\"hw\":\"" hw "\",\"match\":{\"dscp\":26,\"eth_type\":\"ipv4\"}}"
