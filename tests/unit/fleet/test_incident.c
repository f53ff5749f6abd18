/*
 * tests/unit/fleet/test_incident.c - causes and symptoms: which rules, which places, which times.
 */
#include "tests/unit/test.h"

#include "fleet/health.h"
#include "fleet/incident.h"

#define T0 INT64_C(1790000000000000)

static const struct incident_ref down = {
    .id = 1, .rule = "link-down", .node = "n1", .port = "0000:3b:00.0/0", .opened_us = T0};

static void a_link_that_went_down_explains_what_failed_on_its_port(void **state)
{
    struct incident_ref symptom = {.id = 2,
                                   .rule = "rdma-retries-exceeded",
                                   .node = "n1",
                                   .port = "0000:3b:00.0/0",
                                   .opened_us = T0 + 1};
    (void)state;
    assert_true(incident_explains(&down, &symptom));
    assert_false(incident_explains(&symptom, &down));
    symptom.port = "0000:5e:00.0/0";
    assert_false(incident_explains(&down, &symptom));
    symptom.port = ""; /* nobody knows where */
    assert_true(incident_explains(&down, &symptom));
    symptom.node = "n2";
    assert_false(incident_explains(&down, &symptom));
}

static void matters_of_the_node_do_not_ask_for_the_port(void **state)
{
    struct incident_ref symptom = {
        .rule = "nccl-transport-retry", .node = "n1", .port = "elsewhere", .opened_us = T0};
    (void)state;
    assert_true(incident_explains(&down, &symptom));
    symptom.rule = "device-hot";
    assert_false(incident_explains(&down, &symptom));
}

static void a_symptom_is_explained_within_the_window_alone(void **state)
{
    struct incident_ref cause = down;
    struct incident_ref symptom = {.rule = "retransmission-rate", .node = "n1", .port = ""};
    (void)state;
    symptom.opened_us = T0 - INCIDENT_EARLY_US;
    assert_true(incident_explains(&cause, &symptom));
    symptom.opened_us--;
    assert_false(incident_explains(&cause, &symptom));
    symptom.opened_us = T0 + 100 * INCIDENT_WINDOW_US; /* it is still open */
    assert_true(incident_explains(&cause, &symptom));
    cause.cleared_us = T0 + 5;
    symptom.opened_us = T0 + 5 + INCIDENT_WINDOW_US;
    assert_true(incident_explains(&cause, &symptom));
    symptom.opened_us++;
    assert_false(incident_explains(&cause, &symptom));
}

static void a_peers_link_explains_what_fails_here(void **state)
{
    const char *rules[INCIDENT_PEER_RULES_MAX];
    struct incident_ref symptom = {.rule = "rdma-retries-exceeded",
                                   .node = "n2",
                                   .port = "0000:5e:00.0/0",
                                   .opened_us = T0 + INCIDENT_WINDOW_US};
    (void)state;
    assert_true(incident_explains_peer(&down, &symptom));
    assert_false(incident_explains_peer(&symptom, &down));
    symptom.opened_us = T0 - INCIDENT_EARLY_US - 1;
    assert_false(incident_explains_peer(&down, &symptom));
    symptom.opened_us = T0;
    symptom.node = "n1"; /* no peer of itself */
    assert_false(incident_explains_peer(&down, &symptom));
    symptom.node = "n2";
    symptom.rule = "port-down"; /* of the node alone */
    assert_false(incident_explains_peer(&down, &symptom));
    assert_int_equal(incident_peer_rules("pause-storm", false, rules), 1);
    assert_string_equal(rules[0], "pause-storm-sent");
    assert_int_equal(incident_peer_rules("pause-storm-sent", true, rules), 2);
    assert_int_equal(incident_peer_rules("thp-on", true, rules), 0);
}

static void no_rule_has_more_peers_than_the_limit(void **state)
{
    (void)state;
    for (size_t i = 0; i < incident_cause_count; i++) {
        size_t causes = 0, symptoms = 0;
        for (size_t k = 0; k < incident_cause_count; k++) {
            bool is_peer = incident_causes[k].scope == INCIDENT_PEER_NODE;
            causes +=
                is_peer && strcmp(incident_causes[k].symptom, incident_causes[i].symptom) == 0;
            symptoms += is_peer && strcmp(incident_causes[k].cause, incident_causes[i].cause) == 0;
        }
        assert_true(causes <= INCIDENT_PEER_RULES_MAX && symptoms <= INCIDENT_PEER_RULES_MAX);
    }
}

/* Else a chain of causes could lead back to where it began. */
static bool leads_to(const char *from, const char *to, int depth)
{
    for (size_t i = 0; i < incident_cause_count && depth < 16; i++)
        if (strcmp(incident_causes[i].cause, from) == 0 &&
            (strcmp(incident_causes[i].symptom, to) == 0 ||
             leads_to(incident_causes[i].symptom, to, depth + 1)))
            return true;
    return false;
}

static void nothing_is_its_own_cause(void **state)
{
    (void)state;
    for (size_t i = 0; i < incident_cause_count; i++)
        if (leads_to(incident_causes[i].cause, incident_causes[i].cause, 0))
            fail_msg("%s is a cause of itself", incident_causes[i].cause);
}

static void every_cause_is_a_rule_of_health(void **state)
{
    (void)state;
    for (size_t i = 0; i < incident_cause_count; i++)
        assert_non_null(health_rule_find(incident_causes[i].cause));
    assert_true(incident_is_cause("link-down"));
    assert_false(incident_is_cause("nccl-peer-lost"));
    assert_true(incident_is_symptom("nccl-peer-lost"));
    assert_false(incident_is_symptom("link-down"));
}

static void what_port_and_device_both_count_is_one_matter(void **state)
{
    struct incident_ref again = down;
    (void)state;
    again.id = 2;
    again.opened_us++;
    assert_true(incident_explains(&down, &again));
    assert_false(incident_explains(&again, &down)); /* the first one is the root */
    assert_false(incident_explains(&down, &down));
    again.rule = "symbol-errors";
    assert_false(incident_explains(&down, &again));
    again.rule = "link-down";
    again.port = "0000:5e:00.0/0"; /* the other end of the same cable is another port */
    assert_false(incident_explains(&down, &again));
    again.port = "";
    assert_false(incident_explains(&down, &again));
    again.port = down.port;
    again.node = "n2";
    assert_false(incident_explains(&down, &again));
}

static void an_exclusion_covers_what_is_below_its_subject(void **state)
{
    (void)state;
    assert_true(incident_is_covered("fcs-errors", "node/n1", "fcs-errors", "node/n1"));
    assert_true(incident_is_covered("fcs-errors", "node/n1", "fcs-errors", "node/n1/port/a/0"));
    assert_true(incident_is_covered("", "node/n1", "link-down", "node/n1/port/a/0"));
    assert_false(incident_is_covered("fcs-errors", "node/n1", "link-down", "node/n1"));
    assert_false(incident_is_covered("", "node/n1", "fcs-errors", "node/n10"));
    assert_false(incident_is_covered("", "node/n1/port/a/0", "fcs-errors", "node/n1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_that_went_down_explains_what_failed_on_its_port),
        cmocka_unit_test(matters_of_the_node_do_not_ask_for_the_port),
        cmocka_unit_test(a_symptom_is_explained_within_the_window_alone),
        cmocka_unit_test(a_peers_link_explains_what_fails_here),
        cmocka_unit_test(no_rule_has_more_peers_than_the_limit),
        cmocka_unit_test(nothing_is_its_own_cause),
        cmocka_unit_test(every_cause_is_a_rule_of_health),
        cmocka_unit_test(what_port_and_device_both_count_is_one_matter),
        cmocka_unit_test(an_exclusion_covers_what_is_below_its_subject),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
