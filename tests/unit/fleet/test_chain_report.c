/*
 * tests/unit/fleet/test_chain_report.c - chains as they are told: there and back, hostile ones, the
 * neighbour, findings; and chains of ports that a tool printed.
 */
#include "fleet_test.h"

#include "base/file.h"
#include "fleet/chain_report.h"
#include "fleet/evidence/evidence.h"

static const struct chain three[] = {
    {.subject = "p/0",
     .source = "acme/nlp",
     .label = 7,
     .dscp = 26,
     .priority = 3,
     .traffic_class = 3,
     .buffer = 1,
     .lossless = true,
     .verdict = CHAIN_WHOLE},
    {.subject = "p/0",
     .source = "roce.tos",
     .label = -1,
     .dscp = 27,
     .priority = -1,
     .traffic_class = -1,
     .buffer = -1,
     .verdict = CHAIN_BROKEN,
     .at = CHAIN_PRIORITY,
     .why = "no priority"},
    {.subject = "p/1",
     .source = "roce.tos",
     .label = -1,
     .dscp = 26,
     .priority = 3,
     .traffic_class = 3,
     .buffer = -1,
     .verdict = CHAIN_UNKNOWN,
     .at = CHAIN_PFC,
     .why = "not shown"},
};

static struct chain_report *there_and_back(size_t count, const struct chain *chains)
{
    struct err err = ERR_INIT;
    OWN(plan) struct plan *plan = NULL;
    struct chain_report *report = NULL;
    assert_ok(plan_new("n1", 7, &plan, &err));
    assert_ok(plan_seal(plan, &err));
    json_t *json = chain_report_to_json(plan, chains, count);
    assert_non_null(json);
    assert_ok(chain_report_from_json(json, &report, &err));
    json_decref(json);
    assert_string_equal(report->digest, plan->digest);
    return report;
}

static void a_report_goes_there_and_back(void **unused)
{
    (void)unused;
    OWN(chain_report) struct chain_report *report = there_and_back(3, three);
    assert_string_equal(report->node, "n1");
    assert_int_equal(report->generation, 7);
    assert_int_equal(report->count, 3);
    assert_false(report->truncated);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(report->chains[i].subject, three[i].subject);
        assert_string_equal(report->chains[i].source, three[i].source);
        assert_int_equal(report->chains[i].label, three[i].label);
        assert_int_equal(report->chains[i].dscp, three[i].dscp);
        assert_int_equal(report->chains[i].priority, three[i].priority);
        assert_int_equal(report->chains[i].buffer, three[i].buffer);
        assert_int_equal(report->chains[i].lossless, three[i].lossless);
        assert_int_equal(report->chains[i].verdict, three[i].verdict);
        assert_string_equal(report->chains[i].why, three[i].why);
    }
}

static void at_most_so_many_chains_are_told(void **unused)
{
    (void)unused;
    struct chain *many = calloc(CHAINS_MAX + 1, sizeof(*many));
    assert_non_null(many);
    for (size_t i = 0; i <= CHAINS_MAX; i++)
        many[i] = three[0];
    struct chain_report *report = there_and_back(CHAINS_MAX, many);
    assert_int_equal(report->count, CHAINS_MAX);
    assert_false(report->truncated);
    chain_report_free(report);
    report = there_and_back(CHAINS_MAX + 1, many);
    assert_int_equal(report->count, CHAINS_MAX);
    assert_true(report->truncated);
    chain_report_free(report);
    free(many);
}

#define HEAD                                                                                       \
    "'version':1,'node':'n1','generation':1,'digest':'sha256:"                                     \
    "0000000000000000000000000000000000000000000000000000000000000000'"
#define CHAIN_OF(rest) "{" HEAD ",'chains':[{'subject':'p/0','source':'s'," rest "}]}"

static void hostile_reports_are_refused(void **unused)
{
    (void)unused;
    static const char *const texts[] = {
        "[]",
        "{" HEAD "}",
        "{" HEAD ",'chains':{}}",
        "{" HEAD ",'chains':[7]}",
        "{" HEAD ",'chains':[],'more':1}",
        "{'version':1,'node':'../x','generation':1,'digest':'sha256:00','chains':[]}",
        CHAIN_OF("'dscp':64,'lossless':false,'verdict':'whole'"),
        CHAIN_OF("'dscp':-1,'lossless':false,'verdict':'whole'"),
        CHAIN_OF("'dscp':1,'priority':8,'lossless':false,'verdict':'whole'"),
        CHAIN_OF("'dscp':1,'class':8,'lossless':false,'verdict':'whole'"),
        CHAIN_OF("'dscp':1,'buffer':8,'lossless':false,'verdict':'whole'"),
        CHAIN_OF("'dscp':1,'lossless':'no','verdict':'whole'"),
        CHAIN_OF("'dscp':1,'lossless':false,'verdict':'good'"),
        CHAIN_OF("'dscp':1,'lossless':false,'verdict':'broken'"),
        CHAIN_OF("'dscp':1,'lossless':false,'verdict':'broken','at':'x','why':'y'"),
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct err err = ERR_INIT;
        struct chain_report *report = NULL;
        json_t *json = json_of(texts[i]);
        assert_fails(chain_report_from_json(json, &report, &err), ERR_INVALID);
        assert_null(report);
        json_decref(json);
    }
}

static void the_neighbour_is_unknown_unless_it_cannot_pause(void **unused)
{
    (void)unused;
    char why[160];
    struct switch_info info = {.name = "leaf1", .pfc = 0};
    assert_int_equal(chain_neighbour(&three[0], "", NULL, why), CHAIN_UNKNOWN);
    assert_contains(why, "no LLDP");
    assert_int_equal(chain_neighbour(&three[0], "leaf1", NULL, why), CHAIN_UNKNOWN);
    assert_int_equal(chain_neighbour(&three[0], "leaf1", &info, why), CHAIN_BROKEN);
    assert_contains(why, "switch leaf1 has no PFC");
    assert_int_equal(chain_neighbour(&three[2], "leaf1", &info, why), CHAIN_UNKNOWN); /* lossy */
    info.pfc = -1;
    assert_int_equal(chain_neighbour(&three[0], "leaf1", &info, why), CHAIN_UNKNOWN);
    info.pfc = 1;
    assert_int_equal(chain_neighbour(&three[0], "leaf1", &info, why), CHAIN_UNKNOWN);
}

static void broken_chains_are_warnings_and_hidden_ones_are_unknown(void **unused)
{
    (void)unused;
    OWN(chain_report) struct chain_report *report = there_and_back(3, three);
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    chain_report_findings(report, &findings);
    assert_int_equal(findings.count, 2);
    assert_string_equal(findings.items[0].rule, "marking-chain");
    assert_int_equal(findings.items[0].severity, FINDING_WARNING);
    assert_string_equal(findings.items[0].subject, "node/n1/port/p/0");
    assert_string_equal(findings.items[0].observed, "priority");
    assert_contains(findings.items[0].message, "breaks at hop priority: no priority");
    assert_int_equal(findings.items[1].severity, FINDING_INFO);
    assert_string_equal(findings.items[1].observed, "unknown");
}

/* Ports as tools print them ------------------------------------------------------------------- */

static bool number(const struct evidence *evidence, const char *name, uint64_t *out,
                   const char *part, int at)
{
    char subject[64];
    snprintf(subject, sizeof(subject), "netdev %s %d", part, at);
    return evidence_get_uint(evidence, subject, name, out);
}

/* What a `mlnx_qos` printout says of a port. */
static void port_of(const char *file, struct chain_port *out)
{
    struct err err = ERR_INIT;
    char path[TEST_PATH_MAX];
    char *bytes = NULL;
    size_t len = 0;
    OWN(evidence) struct evidence *evidence = NULL;
    uint64_t value;
    test_path(file, path);
    assert_ok(file_read(path, 1 << 20, &bytes, &len, &err));
    assert_ok(evidence_read(file, bytes, len, &evidence, &err));
    free(bytes);
    *out = (struct chain_port){.has = 1U << CHAIN_PRIORITY | 1U << CHAIN_PFC};
    for (int dscp = 0; dscp < CHAIN_DSCPS; dscp++)
        out->priority_of[dscp] = number(evidence, "prio", &value, "dscp", dscp) ? (int)value : -1;
    for (int prio = 0; prio < CHAIN_PRIOS; prio++)
        if (number(evidence, "pfc", &value, "prio", prio) && value != 0)
            out->lossless |= 1U << prio;
    for (int tc = 0; tc < CHAIN_PRIOS; tc++)
        if (number(evidence, "prio", &value, "tc", tc) && value < CHAIN_PRIOS) {
            out->class_of[value] = tc;
            out->has |= 1U << CHAIN_CLASS;
        }
}

static void a_port_without_pfc_on_the_roce_priority_breaks_there(void **unused)
{
    (void)unused;
    struct chain_port is, wanted = {.has = 1U << CHAIN_PFC, .lossless = 1U << 3};
    struct chain chain;
    port_of("data/evidence/mlnx_qos/mlnx_qos_dscp_pfc_0_2_6_7.txt", &is);
    chain_follow(&is, &wanted, 26, &chain);
    assert_int_equal(chain.priority, 3);
    assert_int_equal(chain.traffic_class, 3);
    assert_int_equal(chain.verdict, CHAIN_BROKEN);
    assert_int_equal(chain.at, CHAIN_PFC);
    wanted.lossless = 1U << 0 | 1U << 2 | 1U << 6 | 1U << 7;
    chain_follow(&is, &wanted, 50, &chain); /* DSCP 50 is of priority 6, which has it */
    assert_int_equal(chain.priority, 6);
    assert_true(chain.lossless);
    assert_int_equal(chain.at, CHAIN_BUFFER); /* the printout tells no buffer */
    assert_int_equal(chain.verdict, CHAIN_UNKNOWN);
}

static void a_port_that_trusts_pcp_breaks_at_the_priority(void **unused)
{
    (void)unused;
    struct chain_port is, wanted = {.has = 0};
    struct chain chain;
    port_of("data/evidence/mlnx_qos/mlnx_qos_trust_pcp_default.txt", &is);
    assert_int_equal(is.lossless, 0);
    chain_follow(&is, &wanted, 26, &chain);
    assert_int_equal(chain.verdict, CHAIN_BROKEN);
    assert_int_equal(chain.at, CHAIN_PRIORITY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_goes_there_and_back),
        cmocka_unit_test(at_most_so_many_chains_are_told),
        cmocka_unit_test(hostile_reports_are_refused),
        cmocka_unit_test(the_neighbour_is_unknown_unless_it_cannot_pause),
        cmocka_unit_test(broken_chains_are_warnings_and_hidden_ones_are_unknown),
        cmocka_unit_test(a_port_without_pfc_on_the_roce_priority_breaks_there),
        cmocka_unit_test(a_port_that_trusts_pcp_breaks_at_the_priority),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
