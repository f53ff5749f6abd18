/*
 * fleet/rollout_verify.c - see rollout_verify.h.
 */
#include "fleet/rollout_verify.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "fleet/read.h"
#include "fleet/rollout_private.h"
#include "fleet/verification.h"

#define WITH_MAX 64 /* nodes that are no part of the rollout */

static const char *const unknowns[] = {"fail", "pass", NULL};

/* Settings ------------------------------------------------------------------------------------- */

static void read_with(struct json_reader *r)
{
    const json_t *names = NULL;
    if (!json_reader_array(r, "with", false, WITH_MAX, &names))
        return;
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        if (name == NULL || !name_is_valid(name))
            read_problem(r, "with", "element %zu is no node's name", i);
    }
}

/* A test that ends behind the nodes' own timer gates nothing. */
static void check_times(const struct json_reader *r, const struct rollout_settings *settings)
{
    OWN_FINDINGS struct finding_list known; /* what they say was said when it was read */
    struct verification_settings tests;
    struct json_reader verify;
    finding_list_init(&known);
    json_reader_init(&verify, settings->verify, "", &known);
    verification_settings_read(&verify, &tests);
    int64_t test_ns = tests.deadline_s * NS_PER_S + VERIFICATION_GRACE_NS;
    if (test_ns + settings->soak_ns >= settings->confirm_timeout_ns)
        read_problem(r, "verify",
                     "its deadline, 10 s and soak are together not shorter than confirm_timeout: "
                     "nodes would go back while they are tested");
    else if (test_ns >= settings->wave_deadline_ns)
        read_problem(r, "verify",
                     "its deadline and 10 s are not shorter than wave_deadline: the wave would "
                     "fail while its nodes are tested");
}

/* NULL with *out_none: no verification is asked for. A copy: the document is another thread's. */
static json_t *read_tests(struct json_reader *verify, bool *out_none)
{
    struct verification_settings tests;
    const json_t *kinds = json_object_get(verify->object, "kinds");
    int unknown = 0;
    *out_none = json_is_array(kinds) && json_array_size(kinds) == 0;
    if (*out_none) {
        (void)json_reader_any(verify, "kinds", true, &kinds);
        return NULL;
    }
    verification_settings_read(verify, &tests);
    json_reader_enum(verify, "unknown", false, unknowns, &unknown);
    read_with(verify);
    return json_deep_copy(verify->object);
}

void rollout_verify_read(struct json_reader *r, struct rollout_settings *settings)
{
    struct json_reader verify;
    bool none;
    if (json_reader_object(r, "verify", false, &verify)) {
        json_t *copy = read_tests(&verify, &none);
        json_reader_end(&verify);
        if (copy == NULL && !none) {
            r->findings->nomem = true;
            return;
        }
        json_decref(settings->verify);
        settings->verify = copy;
    }
    if (settings->verify != NULL)
        check_times(r, settings);
}

/* Ordered -------------------------------------------------------------------------------------- */

bool rollout_verify_is_due(const struct rollout *r)
{
    struct rollout_gate gates[ROLLOUT_GATES];
    size_t count;
    if (!r->wave_open || r->settings.verify == NULL || r->verify_number != 0 ||
        r->verify_state != ROLLOUT_GATE_PENDING)
        return false;
    count = rollout_gates(r, r->wave, gates);
    for (size_t i = 0; i + 1 < count; i++)
        if (gates[i].state != ROLLOUT_GATE_OK)
            return false;
    return true;
}

static bool add_name(json_t *names, const char *name)
{
    size_t i;
    json_t *known;
    json_array_foreach(names, i, known)
    {
        if (strcmp(json_string_value(known), name) == 0)
            return true;
    }
    return json_array_append_new(names, json_string(name)) == 0;
}

static bool add_members(const struct rollout *r, json_t *names)
{
    const json_t *with = json_object_get(r->settings.verify, "with");
    for (size_t i = 0; i < r->node_count; i++)
        if (r->nodes[i].wave == r->wave && r->nodes[i].state == ROLLOUT_NODE_APPLIED &&
            json_array_append_new(names, json_string(r->nodes[i].name)) != 0)
            return false;
    for (size_t i = 0; i < json_array_size(with); i++)
        if (!add_name(names, json_string_value(json_array_get(with, i))))
            return false;
    for (size_t i = 0; i < r->node_count && json_array_size(names) == 1; i++)
        if (r->nodes[i].wave < r->wave && r->nodes[i].state == ROLLOUT_NODE_CONFIRMED &&
            !add_name(names, r->nodes[i].name))
            return false;
    return true;
}

json_t *rollout_verify_request(const struct rollout *r)
{
    char message[VERIFICATION_NOTE_SIZE];
    OWN(json) json_t *document = json_deep_copy(r->settings.verify);
    OWN(json) json_t *names = json_array();
    if (document == NULL || names == NULL || !add_members(r, names))
        return NULL;
    snprintf(message, sizeof(message), "gate of rollout r-%lld, wave %u of %u",
             (long long)r->number, r->wave + 1, r->wave_count);
    json_object_del(document, "with");
    json_object_del(document, "unknown");
    if (json_object_set(document, "nodes", names) != 0 ||
        json_object_set_new(document, "message", json_string(message)) != 0)
        return NULL;
    return GIVE(document);
}

void rollout_verify_ordered(struct rollout *r, int64_t number, struct rollout_actions *actions)
{
    r->verify_number = number;
    snprintf(r->verify_why, sizeof(r->verify_why), "v-%lld runs", (long long)number);
    rollout_say(actions, "rollout.gate", "wave %u of %u: verification v-%lld begins", r->wave + 1,
                r->wave_count, (long long)number);
}

bool rollout_verify_is_in_vain(const struct rollout *r)
{
    return r->verify_number != 0 && r->verify_state == ROLLOUT_GATE_PENDING && !r->wave_open;
}

void rollout_verify_held(struct rollout *r, const char *why)
{
    text_copy(r->verify_why, sizeof(r->verify_why), why);
}

/* Judged --------------------------------------------------------------------------------------- */

static void judge_unknown(struct rollout *r)
{
    const char *unknown = json_string_value(json_object_get(r->settings.verify, "unknown"));
    bool passes = unknown != NULL && strcmp(unknown, "pass") == 0;
    r->verify_state = passes ? ROLLOUT_GATE_OK : ROLLOUT_GATE_FAILED;
}

void rollout_verify_refused(struct rollout *r, const char *why)
{
    snprintf(r->verify_why, sizeof(r->verify_why), "unknown: %.200s", why);
    judge_unknown(r);
}

void rollout_verify_ended(struct rollout *r, enum verify_verdict verdict, const char *why)
{
    snprintf(r->verify_why, sizeof(r->verify_why), "v-%lld: %s%s%.180s",
             (long long)r->verify_number, verify_verdict_names[verdict], why[0] == '\0' ? "" : ": ",
             why);
    if (verdict == VERIFY_PASS || verdict == VERIFY_NOT_APPLICABLE)
        r->verify_state = ROLLOUT_GATE_OK;
    else if (verdict == VERIFY_FAIL)
        r->verify_state = ROLLOUT_GATE_FAILED;
    else
        judge_unknown(r);
}
