/*
 * tests/unit/fleet/test_report.c - reports of health: what is counted, what is unknown, the limits
 * of lists, hostile texts in HTML and CSV, languages.
 */
#include "fleet_test.h"

#include "fleet/report.h"

#define DAY_US INT64_C(86400000000)
#define T0     (20000 * DAY_US)

static struct report *report_at(int64_t since_us)
{
    struct err err = ERR_INIT;
    struct report *report = NULL;
    assert_ok(report_new(T0, since_us, &report, &err));
    return report;
}

static void add(struct report *report, const struct report_finding *finding)
{
    struct err err = ERR_INIT;
    assert_ok(report_add_finding(report, finding, &err));
}

static void add_node(struct report *report, const char *node, bool is_fresh)
{
    struct err err = ERR_INIT;
    assert_ok(report_add_node(report, node, is_fresh, &err));
}

static const struct report_finding bad = {.id = 7,
                                          .rule = "fcs-errors",
                                          .subject = "node/n1/port/p0",
                                          .node = "n1",
                                          .severity = "critical",
                                          .message = "12 frames",
                                          .opened_us = T0 - 5};

static const char *grade_of(const json_t *document)
{
    return json_string_value(json_object_get(document, "grade"));
}

static json_int_t count_of(const json_t *document, const char *part, const char *key)
{
    const json_t *value = json_object_get(json_object_get(document, part), key);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static void a_fleet_is_as_well_as_its_worst_node(void **unused)
{
    (void)unused;
    static const struct {
        const char *severity; /* of n1; NULL = none */
        bool is_excepted, is_fresh;
        size_t nodes;
        const char *grade;
    } cases[] = {
        {NULL, false, true, 2, "ok"},
        {NULL, false, false, 2, "unknown"},
        {NULL, false, false, 0, "unknown"},
        {"warning", false, true, 2, "warning"},
        {"critical", false, true, 2, "critical"},
        {"critical", true, true, 2, "ok"},
        {"warning", false, false, 2, "warning"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        OWN(report) struct report *report = report_at(0);
        struct report_finding finding = bad;
        finding.severity = cases[i].severity;
        finding.is_excepted = cases[i].is_excepted;
        if (cases[i].severity != NULL)
            add(report, &finding);
        for (size_t n = 0; n < cases[i].nodes; n++)
            add_node(report, n == 0 ? "n1" : "n2", cases[i].is_fresh);
        OWN(json) json_t *document = report_to_json(report);
        assert_string_equal(grade_of(document), cases[i].grade);
        assert_int_equal(count_of(document, "nodes", "total"), cases[i].nodes);
        assert_int_equal(count_of(document, "findings", "excepted"), cases[i].is_excepted);
    }
}

static void new_and_cured_are_since_the_report_before(void **unused)
{
    (void)unused;
    static const struct {
        int64_t since_us, opened_us, cleared_us;
        json_int_t fresh, cured, open;
    } cases[] = {
        {0, T0 - 5, 0, 0, 0, 1},           {T0 - 5, T0 - 5, 0, 1, 0, 1},
        {T0 - 4, T0 - 5, 0, 0, 0, 1},      {T0 - 5, T0 - 9, T0 - 5, 0, 1, 0},
        {T0 - 4, T0 - 9, T0 - 5, 0, 0, 0}, {0, T0 - 9, T0 - 5, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        OWN(report) struct report *report = report_at(cases[i].since_us);
        struct report_finding finding = bad;
        finding.opened_us = cases[i].opened_us;
        finding.cleared_us = cases[i].cleared_us;
        add(report, &finding);
        OWN(json) json_t *document = report_to_json(report);
        assert_int_equal(count_of(document, "findings", "new"), cases[i].fresh);
        assert_int_equal(count_of(document, "findings", "cured"), cases[i].cured);
        assert_int_equal(count_of(document, "findings", "critical"), cases[i].open);
        assert_int_equal(json_array_size(json_object_get(document, "new")), cases[i].fresh);
        assert_int_equal(json_object_get(document, "since") == NULL, cases[i].since_us == 0);
    }
}

static void lists_end_at_their_limit_and_say_so(void **unused)
{
    (void)unused;
    for (size_t count = REPORT_LISTED_MAX; count <= REPORT_LISTED_MAX + 1; count++) {
        OWN(report) struct report *report = report_at(1);
        for (size_t i = 0; i < count; i++) {
            char node[16];
            struct report_finding finding = bad;
            snprintf(node, sizeof(node), "n%zu", i);
            finding.node = node;
            add(report, &finding);
            add(report, &finding);
        }
        OWN(json) json_t *document = report_to_json(report);
        assert_int_equal(json_array_size(json_object_get(document, "outliers")),
                         REPORT_OUTLIERS_MAX);
        assert_int_equal(json_array_size(json_object_get(document, "new")), REPORT_LISTED_MAX);
        assert_true(json_is_true(json_object_get(document, "truncated")));
        assert_int_equal(count_of(document, "findings", "new"), 2 * count);
    }
    OWN(report) struct report *report = report_at(1);
    for (size_t i = 0; i < REPORT_LISTED_MAX; i++)
        add(report, &bad);
    OWN(json) json_t *document = report_to_json(report);
    assert_null(json_object_get(document, "truncated"));
}

static void the_worst_nodes_come_first(void **unused)
{
    (void)unused;
    OWN(report) struct report *report = report_at(0);
    static const struct {
        const char *node, *severity;
    } rows[] = {{"a", "warning"}, {"b", "critical"}, {"c", "warning"},
                {"c", "warning"}, {"d", "critical"}, {"d", "warning"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct report_finding finding = bad;
        finding.node = rows[i].node;
        finding.severity = rows[i].severity;
        add(report, &finding);
    }
    OWN(json) json_t *document = report_to_json(report);
    static const char *const wanted[] = {"d", "b", "c", "a"};
    for (size_t i = 0; i < 4; i++) {
        const json_t *item = json_array_get(json_object_get(document, "outliers"), i);
        assert_string_equal(json_string_value(json_object_get(item, "node")), wanted[i]);
    }
}

#define HOSTILE "<script>alert(1)</script>&\"'"

static void a_page_holds_no_script_and_both_languages(void **unused)
{
    (void)unused;
    OWN(report) struct report *report = report_at(1);
    struct report_finding finding = bad;
    finding.message = HOSTILE;
    finding.subject = HOSTILE;
    add(report, &finding);
    OWN(json) json_t *document = report_to_json(report);
    for (int l = REPORT_ENGLISH; l <= REPORT_CHINESE; l++) {
        size_t len = 0;
        OWN(str) char *page = report_html(document, (enum report_language)l, &len);
        assert_non_null(page);
        assert_int_equal(strlen(page), len);
        assert_null(strstr(page, "<script"));
        assert_null(strstr(page, "http"));
        assert_null(strstr(page, "src="));
        assert_contains(page, "&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#39;");
        assert_contains(page, l == REPORT_ENGLISH ? "Fleet health report" : "集群健康报告");
        assert_contains(page, l == REPORT_ENGLISH ? "<html lang=\"en\">" : "<html lang=\"zh\">");
        assert_contains(page, l == REPORT_ENGLISH ? ">critical<" : ">严重<");
        assert_contains(page, "@media print");
    }
}

static void a_table_runs_no_formula(void **unused)
{
    (void)unused;
    size_t len = 0;
    OWN(json)
    json_t *document = json_pack("{ss, s[{ss, ss}], s{sI}}", "grade", "=1+1", "new", "message",
                                 "@x \"y\"", "rule", "plain", "nodes", "ok", (json_int_t)-3);
    OWN(str) char *table = report_csv(document, &len);
    assert_non_null(table);
    assert_int_equal(strlen(table), len);
    assert_contains(table, "section,row,name,value\r\n");
    assert_contains(table, "\"report\",,\"grade\",\"'=1+1\"\r\n");
    assert_contains(table, "\"new\",1,\"message\",\"'@x \"\"y\"\"\"\r\n");
    assert_contains(table, "\"nodes\",,\"ok\",-3\r\n");
}

static void the_first_known_language_counts(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        enum report_language language;
    } cases[] = {
        {NULL, REPORT_ENGLISH},        {"", REPORT_ENGLISH},
        {"zh", REPORT_CHINESE},        {"zh-CN,zh;q=0.9,en;q=0.8", REPORT_CHINESE},
        {"fr, zh_TW", REPORT_CHINESE}, {"en-GB, zh", REPORT_ENGLISH},
        {"zhx", REPORT_ENGLISH},       {",,;", REPORT_ENGLISH},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(report_language_of(cases[i].text), cases[i].language);
}

static const struct report_job kept_job = {.job = "nlp_job",
                                           .asked = "40%",
                                           .worst = "n1 p0",
                                           .ports = 2,
                                           .known_ports = 2,
                                           .granted_bps = 40000000000,
                                           .known_minutes = 20,
                                           .below_minutes = 3,
                                           .mean_bps = 39000000000,
                                           .peak_bps = 41000000000};

static void a_tenants_report_has_its_jobs_and_not_the_fleet(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(report) struct report *report = report_at(T0 - DAY_US);
    report_of_tenant(report, "a");
    assert_ok(report_add_job(report, &kept_job, &err));
    OWN(json) json_t *document = report_to_json(report);
    assert_string_equal(grade_of(document), "ok");
    assert_string_equal(json_string_value(json_object_get(document, "kind")), "tenant");
    assert_string_equal(json_string_value(json_object_get(document, "source")), "a");
    static const char *const fleets[] = {"nodes", "outliers", "exceptions", "convergence",
                                         "uploads"};
    for (size_t i = 0; i < sizeof(fleets) / sizeof(fleets[0]); i++)
        assert_null(json_object_get(document, fleets[i]));
    const json_t *job = json_array_get(json_object_get(document, "jobs"), 0);
    assert_int_equal(json_integer_value(json_object_get(job, "below_minutes")), 3);
    assert_int_equal(json_integer_value(json_object_get(job, "granted_bps")), 40000000000);
    size_t len;
    OWN(str) char *page = report_html(document, REPORT_CHINESE, &len);
    assert_non_null(strstr(page, "租户报告"));
    assert_non_null(strstr(page, "低于保证带宽的分钟数"));
}

static void what_is_not_known_of_a_job_is_left_out_and_no_proof(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    static const struct {
        const char *asked;
        int ports, known_ports;
        const char *grade;
    } cases[] = {{"40%", 2, 1, "unknown"}, {"40%", 0, 0, "ok"}, {"", 2, 0, "ok"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        OWN(report) struct report *report = report_at(0);
        const struct report_job job = {.job = "j",
                                       .asked = cases[i].asked,
                                       .worst = "",
                                       .ports = cases[i].ports,
                                       .known_ports = cases[i].known_ports};
        report_of_tenant(report, "a");
        assert_ok(report_add_job(report, &job, &err));
        OWN(json) json_t *document = report_to_json(report);
        assert_string_equal(grade_of(document), cases[i].grade);
        const json_t *item = json_array_get(json_object_get(document, "jobs"), 0);
        assert_null(json_object_get(item, "mean_bps"));
        assert_null(json_object_get(item, "granted_bps"));
        assert_null(json_object_get(item, "worst"));
    }
    OWN(report) struct report *none = report_at(0);
    report_of_tenant(none, "a");
    for (size_t i = 0; i < REPORT_LISTED_MAX; i++)
        assert_ok(report_add_job(none, &kept_job, &err));
    OWN(json) json_t *full = report_to_json(none);
    assert_null(json_object_get(full, "truncated"));
    assert_ok(report_add_job(none, &kept_job, &err));
    OWN(json) json_t *more = report_to_json(none);
    assert_true(json_is_true(json_object_get(more, "truncated")));
    assert_int_equal(json_array_size(json_object_get(more, "jobs")), REPORT_LISTED_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fleet_is_as_well_as_its_worst_node),
        cmocka_unit_test(new_and_cured_are_since_the_report_before),
        cmocka_unit_test(lists_end_at_their_limit_and_say_so),
        cmocka_unit_test(the_worst_nodes_come_first),
        cmocka_unit_test(a_page_holds_no_script_and_both_languages),
        cmocka_unit_test(a_table_runs_no_formula),
        cmocka_unit_test(the_first_known_language_counts),
        cmocka_unit_test(a_tenants_report_has_its_jobs_and_not_the_fleet),
        cmocka_unit_test(what_is_not_known_of_a_job_is_left_out_and_no_proof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
