/*
 * tests/unit/fleet/test_schemas.c - the readers in C and the published schemas say the same: what a
 * reader accepts its schema accepts too, over the schemas' own examples and mutations of them.
 * Readers may refuse more (sums, doubles, zero shares), so the other direction is only counted.
 */
#include "fleet_test.h"

#include "base/embed.h"
#include "base/schema.h"
#include "fleet/campaign_settings.h"
#include "fleet/compat.h"
#include "fleet/flash.h"
#include "fleet/receipt.h"
#include "fleet/rollout_policy.h"
#include "fleet/switch.h"

#define MUTATIONS 4000

static bool accept_policy(const json_t *document)
{
    OWN(policy) struct policy *policy = NULL;
    return policy_from_json(document, &policy, NULL, NULL) == ERR_OK;
}

static bool accept_fabric(const json_t *document)
{
    OWN(fabric) struct fabric *fabric = NULL;
    return fabric_from_json(document, &fabric, NULL, NULL) == ERR_OK;
}

static bool accept_placement(const json_t *document)
{
    OWN(placement) struct placement *placement = NULL;
    return placement_from_json(document, "t", "j", 1, &placement, NULL, NULL) == ERR_OK;
}

static bool accept_inventory(const json_t *document)
{
    OWN(inventory) struct inventory *inventory = NULL;
    return inventory_from_json(document, &inventory, NULL, NULL) == ERR_OK;
}

/* The digest of the plan is the reader's own; it is made right here, as far as it can be. */
static bool accept_plan(const json_t *document)
{
    struct err err = ERR_INIT;
    OWN(plan) struct plan *plan = NULL;
    OWN(json) json_t *copy = json_deep_copy(document);
    if (plan_from_json(document, &plan, &err) == ERR_OK)
        return true;
    const char *right = strstr(err.text, "gives sha256:");
    const char *given = json_string_value(json_object_get(document, "digest"));
    if (right == NULL || strlen(given) != strlen("sha256:") + 64)
        return false;
    char digest[DIGEST_TEXT_MAX];
    snprintf(digest, sizeof(digest), "%.71s", right + strlen("gives "));
    json_object_set_new(copy, "digest", json_string(digest));
    return plan_from_json(copy, &plan, &err) == ERR_OK;
}

static bool accept_state(const json_t *document)
{
    OWN_STATE struct state state;
    state_init(&state);
    return state_from_json(document, &state, NULL) == ERR_OK;
}

static bool accept_receipt(const json_t *document)
{
    OWN(receipt) struct receipt *receipt = NULL;
    return receipt_from_json(document, &receipt, NULL) == ERR_OK;
}

static bool accept_switch(const json_t *document)
{
    struct switch_info info;
    return switch_from_json(document, "", "sw1", &info, NULL, NULL) == ERR_OK;
}

static bool accept_compat(const json_t *document)
{
    OWN(compat) struct compat *compat = NULL;
    return compat_from_json(document, &compat, NULL, NULL) == ERR_OK;
}

static bool accept_rollout_policy(const json_t *document)
{
    struct rollout_policy policy;
    rollout_policy_init(&policy);
    bool accepted = rollout_policy_from_json(document, &policy, NULL, NULL) == ERR_OK;
    rollout_policy_release(&policy);
    return accepted;
}

static bool accept_rollout(const json_t *document)
{
    struct rollout_settings settings;
    rollout_settings_init(&settings);
    bool accepted = rollout_request_from_json(document, &settings, NULL, NULL) == ERR_OK;
    rollout_settings_release(&settings);
    return accepted;
}

static bool accept_campaign(const json_t *document)
{
    struct campaign_request request;
    return campaign_request_from_json(document, &request, NULL, NULL) == ERR_OK;
}

static bool accept_flash_task(const json_t *document)
{
    struct flash_task task;
    return flash_task_from_json(document, &task, NULL) == ERR_OK;
}

static bool accept_flash_report(const json_t *document)
{
    struct flash_report report;
    return flash_report_from_json(document, &report, NULL) == ERR_OK;
}

static const struct {
    const char *name;
    bool (*accept)(const json_t *document);
} kinds[] = {
    {"policy", accept_policy},
    {"fabric", accept_fabric},
    {"placement", accept_placement},
    {"inventory", accept_inventory},
    {"plan", accept_plan},
    {"state", accept_state},
    {"receipt", accept_receipt},
    {"switch", accept_switch},
    {"compat-rules", accept_compat},
    {"rollout_policy", accept_rollout_policy},
    {"rollout", accept_rollout},
    {"campaign", accept_campaign},
    {"flash_task", accept_flash_task},
    {"flash_report", accept_flash_report},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static json_t *examples_of(const char *name)
{
    for (const struct embed_file *file = schema_files; file->name != NULL; file++) {
        if (strcmp(file->name, name) != 0)
            continue;
        OWN(json) json_t *schema = json_loadb((const char *)file->data, file->len, 0, NULL);
        assert_non_null(schema);
        return json_incref(json_object_get(schema, "examples"));
    }
    fail_msg("no schema %s", name);
    return NULL;
}

static uint64_t random_state;
static size_t random_below(size_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)(random_state % n);
}

static json_t *random_value(void)
{
    static const char *const values[] = {
        "null",
        "true",
        "0",
        "-1",
        "7",
        "8",
        "1.0",
        "1e3",
        "9223372036854775807",
        "''",
        "'a'",
        "'../x'",
        "'40%'",
        "'0%'",
        "'100%'",
        "'100.01%'",
        "'040%'",
        "'4.123%'",
        "'90Gbps'",
        "'1 Gbps'",
        "'0.05'",
        "'0.0000001'",
        "'1000'",
        "'10.0.0.0/8'",
        "'10.0.0.1/8'",
        "'::1'",
        "'never'",
        "'dscp'",
        "'net.a.b'",
        "'a b'",
        "'1MB'",
        "'0B'",
        "[]",
        "{}",
        "[0]",
        "['n1']",
        "['n1','n1']",
        "[0,0,0,0,0,0,0,0]",
        "{'a':1}",
        "{'priority':3}",
        "[{'priority':3}]",
        "'sha256:0'",
        "'p/0'",
        "'\\u00e9'",
        "'x\\u200by'",
        "26",
        "64",
        "4791",
        "65536",
    };
    return json_of(values[random_below(sizeof(values) / sizeof(values[0]))]);
}

static void mutate_array(json_t *array)
{
    size_t size = json_array_size(array), at = size == 0 ? 0 : random_below(size);
    switch (random_below(4)) {
    case 0:
        json_array_append_new(array, random_value());
        break;
    case 1:
        json_array_remove(array, at);
        break;
    case 2:
        if (size > 0)
            json_array_append(array, json_array_get(array, at));
        break;
    default:
        if (size > 0)
            json_array_set_new(array, at, random_value());
    }
}

static const char *random_key(json_t *object)
{
    static const char *const keys[] = {"priority", "bw_limit", "x",     "nodes", "match", "limit",
                                       "strict",   "dscp",     "solar", "id",    "caps",  "a/b"};
    size_t at = random_below(json_object_size(object) + 2);
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        if (at-- == 0)
            return key;
    }
    return keys[random_below(sizeof(keys) / sizeof(keys[0]))];
}

/* Walks down at random and changes one thing. */
static void mutate(json_t *value)
{
    if (json_is_array(value)) {
        size_t size = json_array_size(value);
        json_t *item = size == 0 ? NULL : json_array_get(value, random_below(size));
        if ((json_is_object(item) || json_is_array(item)) && random_below(4) > 0)
            mutate(item);
        else
            mutate_array(value);
        return;
    }
    const char *key = random_key(value);
    json_t *member = json_object_get(value, key);
    if ((json_is_object(member) || json_is_array(member)) && random_below(5) > 0)
        mutate(member);
    else if (random_below(4) == 0)
        json_object_del(value, key);
    else
        json_object_set_new(value, key, random_value());
}

static void agree(const char *name, bool (*accept)(const json_t *), const json_t *document,
                  size_t *accepted, size_t *stricter)
{
    bool by_reader = accept(document);
    bool by_schema = schema_validate(schema_get(name), document, NULL);
    if (by_reader && !by_schema) {
        OWN_FINDINGS struct finding_list findings;
        finding_list_init(&findings);
        schema_validate(schema_get(name), document, &findings);
        fleet_print(&findings);
        char *text = json_dumps(document, 0);
        fail_msg("%s: the reader accepts what the schema refuses: %s", name, text);
    }
    *accepted += by_reader;
    *stricter += by_schema && !by_reader;
}

static void readers_accept_only_what_schemas_accept(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < KINDS; k++) {
        OWN(json) json_t *examples = examples_of(kinds[k].name);
        size_t accepted = 0, stricter = 0;
        assert_true(json_array_size(examples) > 0);
        random_state = 88172645463325252ULL + k;
        for (int i = 0; i < MUTATIONS; i++) {
            size_t at = (size_t)i % json_array_size(examples);
            OWN(json) json_t *document = json_deep_copy(json_array_get(examples, at));
            for (size_t n = 1 + random_below(3); n > 0; n--)
                mutate(document);
            agree(kinds[k].name, kinds[k].accept, document, &accepted, &stricter);
        }
        print_message("%-9s %d mutations, %zu accepted, %zu refused by the reader alone\n",
                      kinds[k].name, MUTATIONS, accepted, stricter);
        assert_true(accepted > MUTATIONS / 100);
    }
}

static void examples_are_accepted_by_both(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < KINDS; k++) {
        OWN(json) json_t *examples = examples_of(kinds[k].name);
        for (size_t i = 0; i < json_array_size(examples); i++) {
            const json_t *example = json_array_get(examples, i);
            assert_true(schema_validate(schema_get(kinds[k].name), example, NULL));
            if (!kinds[k].accept(example))
                fail_msg("%s: example %zu is refused by the reader", kinds[k].name, i);
        }
    }
}

static void hostile_policies_are_refused_by_the_schema_too(void **unused)
{
    (void)unused;
    static const char *const files[] = {
        "p02_percent_with_space", "p03_fraction_number",   "p04_integer_percent",
        "p05_fullwidth_percent",  "p06_priority_negative", "p07_priority_8",
        "p08_priority_string",    "p12_unknown_field",     "p14_empty_policy",
        "p15_null_values",        "p16_job_name_sql",      "p17_job_name_long",
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char name[128];
        snprintf(name, sizeof(name), "golden/hostile/%s.json", files[i]);
        char *text = test_load(name, NULL);
        OWN(json) json_t *document = json_loads(text, 0, NULL);
        free(text);
        assert_non_null(document);
        assert_false(accept_policy(document));
        if (schema_validate(schema_get("policy"), document, NULL))
            fail_msg("the schema accepts %s", files[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_are_accepted_by_both),
        cmocka_unit_test(readers_accept_only_what_schemas_accept),
        cmocka_unit_test(hostile_policies_are_refused_by_the_schema_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
