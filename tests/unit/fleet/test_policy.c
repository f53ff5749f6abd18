#include "fleet_test.h"

#include "fleet/name.h"

static enum err_code read_policy(const char *text, struct policy **out,
                                 struct finding_list *findings, struct err *err)
{
    OWN(json) json_t *document = json_of(text);
    return policy_from_json(document, out, findings, err);
}

static void refused(const char *text, const char *rule, const char *pointer)
{
    struct err err = ERR_INIT;
    OWN(policy) struct policy *policy = NULL;
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    assert_fails(read_policy(text, &policy, &findings, &err), ERR_INVALID);
    assert_null(policy);
    for (size_t i = 0; i < findings.count; i++)
        if (strcmp(findings.items[i].rule, rule) == 0 &&
            strcmp(findings.items[i].pointer, pointer) == 0)
            return;
    fleet_print(&findings);
    fail_msg("no %s at %s", rule, pointer);
}

#define JOB(members) "{'qos_policy':{'j':{" members "}}}"

static void every_member_is_read(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(policy) struct policy *policy = NULL;
    assert_ok(read_policy(
        JOB("'priority':7,'bw_guarantee':'12.5%','bw_limit':'90Gbps','demand':'1Mbit',"
            "'latency_class':'latency','tensor_classes':[{'min_bytes':'1MB','weight':4},"
            "{'min_bytes':'64KiB','weight':1}],'solar':{'eta':'0.05','beta':'0.000001'},"
            "'description':'x'"),
        &policy, NULL, &err));
    const struct policy_job *job = policy_job_get(policy, "j");
    assert_non_null(job);
    assert_int_equal(job->priority, 7);
    assert_int_equal(job->guarantee.share_permyriad, 1250);
    assert_int_equal(job->limit.rate_bps, 90000000000);
    assert_int_equal(job->demand.rate_bps, 1000000);
    assert_int_equal(job->latency_class, LATENCY_CLASS_LATENCY);
    assert_int_equal(job->tensor_class_count, 2);
    assert_int_equal(job->tensor_classes[0].min_bytes, 65536); /* sorted by size */
    assert_int_equal(job->tensor_classes[1].weight, 4);
    assert_int_equal(job->solar.eta_micro, 50000);
    assert_int_equal(job->solar.beta_micro, 1);
    assert_string_equal(job->description, "x");
    assert_null(policy_job_get(policy, "k"));
}

static void jobs_are_sorted_by_name(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(policy) struct policy *policy = NULL;
    assert_ok(read_policy("{'qos_policy':{'b':{'priority':0},'a-1':{'priority':0},"
                          "'C':{'priority':0},'a':{'priority':0}}}",
                          &policy, NULL, &err));
    const char *order[] = {"C", "a", "a-1", "b"};
    assert_int_equal(policy->job_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(policy->jobs[i].name, order[i]);
        assert_ptr_equal(policy_job_get(policy, order[i]), &policy->jobs[i]);
    }
}

static void a_policy_survives_json(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(policy) struct policy *policy = NULL;
    OWN(policy) struct policy *again = NULL;
    assert_ok(read_policy(
        JOB("'priority':7,'bw_guarantee':'12.50%','bw_limit':'90.0Gbps','demand':'1Mbit',"
            "'latency_class':'latency','tensor_classes':[{'min_bytes':'1500B','weight':4},"
            "{'min_bytes':'65536B','weight':1}],'solar':{'eta':'1.500'},'description':''"),
        &policy, NULL, &err));
    OWN(json) json_t *document = policy_to_json(policy);
    OWN(json)
    json_t *wanted =
        json_of(JOB("'priority':7,'bw_guarantee':'12.5%','bw_limit':'90Gbps','demand':'1Mbps',"
                    "'latency_class':'latency','tensor_classes':[{'min_bytes':'1500B','weight':4},"
                    "{'min_bytes':'64KiB','weight':1}],'solar':{'eta':'1.5'},'description':''"));
    assert_true(json_equal(document, wanted));
    assert_ok(policy_from_json(document, &again, NULL, &err));
    OWN(json) json_t *twice = policy_to_json(again);
    assert_true(json_equal(document, twice));
}

static void wrong_shapes_are_refused_with_their_place(void **unused)
{
    (void)unused;
    refused("{}", "schema", "/qos_policy");
    refused("{'qos_policy':[]}", "schema", "/qos_policy");
    refused("{'qos_policy':{}}", "schema", "/qos_policy");
    refused("{'qos_policy':{'j':{'priority':1}},'x':1}", "schema", "/x");
    refused("{'qos_policy':{'j':7}}", "schema", "/qos_policy/j");
    refused("{'qos_policy':{'j':null}}", "schema", "/qos_policy/j");
    refused("{'qos_policy':{'j':{}}}", "schema", "/qos_policy/j/priority");
    refused(JOB("'priority':1.0"), "schema", "/qos_policy/j/priority");
    refused(JOB("'priority':true"), "schema", "/qos_policy/j/priority");
    refused(JOB("'priority':1,'bw_limt':'1%'"), "schema", "/qos_policy/j/bw_limt");
    refused(JOB("'priority':1,'solar':{'eta':0.05}"), "schema", "/qos_policy/j/solar/eta");
    refused(JOB("'priority':1,'solar':{'eta':'0.0000001'}"), "schema", "/qos_policy/j/solar/eta");
    refused(JOB("'priority':1,'solar':{'eta':'1e-3'}"), "schema", "/qos_policy/j/solar/eta");
    refused(JOB("'priority':1,'solar':{'eta':'-1'}"), "schema", "/qos_policy/j/solar/eta");
    refused(JOB("'priority':1,'solar':{'gamma':'1'}"), "schema", "/qos_policy/j/solar/gamma");
    refused(JOB("'priority':1,'latency_class':'fast'"), "schema", "/qos_policy/j/latency_class");
    refused(JOB("'priority':1,'tensor_classes':[{'min_bytes':'1MB'}]"), "schema",
            "/qos_policy/j/tensor_classes/0/weight");
    refused(JOB("'priority':1,'tensor_classes':[{'min_bytes':'1MB','weight':1},"
                "{'min_bytes':'1000KB','weight':1}]"),
            "schema", "/qos_policy/j/tensor_classes");
    refused("{'qos_policy':{'a/b~c':{'priority':1}}}", "schema", "/qos_policy/a~1b~0c");
}

static void priorities_from_0_to_7_pass(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(policy) struct policy *low = NULL;
    OWN(policy) struct policy *high = NULL;
    assert_ok(read_policy(JOB("'priority':0"), &low, NULL, &err));
    assert_ok(read_policy(JOB("'priority':7"), &high, NULL, &err));
    refused(JOB("'priority':-1"), "priority-range", "/qos_policy/j/priority");
    refused(JOB("'priority':8"), "priority-range", "/qos_policy/j/priority");
    refused(JOB("'priority':9223372036854775807"), "priority-range", "/qos_policy/j/priority");
}

static void weights_and_texts_have_bounds(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    char text[2048], description[POLICY_DESCRIPTION_MAX + 2];
    for (int over = 0; over < 2; over++) {
        OWN(policy) struct policy *policy = NULL;
        memset(description, 'x', sizeof(description));
        description[POLICY_DESCRIPTION_MAX + over] = '\0';
        snprintf(text, sizeof(text), JOB("'priority':1,'description':'%s'"), description);
        if (over)
            refused(text, "schema", "/qos_policy/j/description");
        else
            assert_ok(read_policy(text, &policy, NULL, &err));
    }
    refused(JOB("'priority':1,'tensor_classes':[{'min_bytes':'1MB','weight':0}]"), "schema",
            "/qos_policy/j/tensor_classes/0/weight");
    refused(JOB("'priority':1,'tensor_classes':[{'min_bytes':'1MB','weight':101}]"), "schema",
            "/qos_policy/j/tensor_classes/0/weight");
}

static void a_policy_has_a_maximum_of_jobs(void **unused)
{
    (void)unused;
    for (int over = 0; over < 2; over++) {
        struct err err = ERR_INIT;
        OWN(policy) struct policy *policy = NULL;
        OWN(json) json_t *jobs = json_object();
        for (int i = 0; i < POLICY_JOBS_MAX + over; i++) {
            char name[16];
            snprintf(name, sizeof(name), "j%d", i);
            json_object_set_new(jobs, name, json_pack("{s:i}", "priority", 1));
        }
        OWN(json) json_t *document = json_pack("{s:O}", "qos_policy", jobs);
        enum err_code code = policy_from_json(document, &policy, NULL, &err);
        assert_int_equal(code, over ? ERR_INVALID : ERR_OK);
    }
}

static void all_problems_are_reported_at_once(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(policy) struct policy *policy = NULL;
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    assert_fails(read_policy("{'qos_policy':{'a':{'priority':9,'bw_limit':'0%'},"
                             "'b b':{'priority':1},'c':{'x':1}}}",
                             &policy, &findings, &err),
                 ERR_INVALID);
    assert_int_equal(findings.count, 5);
    assert_string_equal(err.pointer, findings.items[0].pointer);
}

static void what_nothing_enforces_yet_is_said(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(policy) struct policy *policy = NULL;
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    assert_ok(read_policy(JOB("'priority':1,'latency_class':'latency','solar':{'eta':'0.1'},"
                              "'tensor_classes':[{'min_bytes':'1MB','weight':1}]"),
                          &policy, &findings, &err));
    assert_int_equal(findings.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(findings.items[i].rule, "not-enforced-yet");
        assert_int_equal(findings.items[i].severity, FINDING_WARNING);
    }
}

static void names_are_letters_digits_and_three_signs(void **unused)
{
    (void)unused;
    char longest[NAME_MAX_LEN + 2];
    static const char *const good[] = {"a", "Z9", "0", "a_b-c.d", NULL};
    static const char *const bad[] = {"",   "-a",  ".a",       "_a",        "a b", "a/b",
                                      "a'", "a\n", "\xc3\xa9", "a\xff\xfe", "a:b", NULL};
    struct err err = ERR_INIT;
    for (size_t i = 0; good[i] != NULL; i++)
        assert_ok(name_check(good[i], "job", &err));
    for (size_t i = 0; bad[i] != NULL; i++) {
        assert_fails(name_check(bad[i], "job", &err), ERR_INVALID);
        assert_false(name_is_valid(bad[i]));
    }
    memset(longest, 'a', sizeof(longest));
    longest[NAME_MAX_LEN] = '\0';
    assert_ok(name_check(longest, "job", &err));
    longest[NAME_MAX_LEN] = 'a';
    longest[NAME_MAX_LEN + 1] = '\0';
    assert_fails(name_check(longest, "job", &err), ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_is_read),
        cmocka_unit_test(jobs_are_sorted_by_name),
        cmocka_unit_test(a_policy_survives_json),
        cmocka_unit_test(wrong_shapes_are_refused_with_their_place),
        cmocka_unit_test(priorities_from_0_to_7_pass),
        cmocka_unit_test(weights_and_texts_have_bounds),
        cmocka_unit_test(a_policy_has_a_maximum_of_jobs),
        cmocka_unit_test(all_problems_are_reported_at_once),
        cmocka_unit_test(what_nothing_enforces_yet_is_said),
        cmocka_unit_test(names_are_letters_digits_and_three_signs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
