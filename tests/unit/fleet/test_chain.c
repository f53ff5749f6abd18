/*
 * tests/unit/fleet/test_chain.c - marks followed through a port: whole, and broken or hidden at
 * each hop.
 */
#include "fleet_test.h"

#include "fleet/chain.h"

#define P      "p/0"
#define ETS    "{'bw_percent':[25,25,0,50,0,0,0,0],'prio_tc':[0,1,2,3,4,5,6,7],'tsa':" TSA "}"
#define TSA    "['ets','ets','ets','ets','strict','strict','strict','strict']"
#define BUFFER "{'prio_buffer':[0,0,0,1,0,0,0,0],'size_bytes':[1000,2000,0,0,0,0,0,0]}"
#define FLOWER(dscp)                                                                               \
    "{'actions':[{'priority':3}],'hw':'no','match':{'dscp':" dscp ",'eth_type':'ipv4'}}"

static void want(struct plan *plan, const char *kind, const char *id, const char *value)
{
    struct err err = ERR_INIT;
    struct plan_knob knob = {.kind = knob_kind_get(kind), .want = json_of(value), .subject = P};
    snprintf(knob.id, sizeof(knob.id), "%s", id);
    if (knob.kind->is_set) {
        snprintf(knob.tenant, sizeof(knob.tenant), "acme");
        snprintf(knob.job, sizeof(knob.job), "nlp");
    }
    assert_ok(plan_add(plan, &knob, &err));
}

static void show(struct state *state, const char *kind, const char *id, const char *value)
{
    struct err err = ERR_INIT;
    struct state_knob knob = {.kind = knob_kind_get(kind), .live = json_of(value), .subject = P};
    snprintf(knob.id, sizeof(knob.id), "%s", id);
    assert_ok(state_add(state, &knob, &err));
}

static const struct shown {
    const char *kind, *value;
} sound[] = {
    {"dcb.app", "[{'dscp':26,'priority':3}]"},
    {"dcb.ets", ETS},
    {"dcb.buffer", BUFFER},
    {"dcb.pfc", "{'delay':0,'priorities':[3]}"},
    {"roce.tos", "{'mode':'RoCE v2','tos':106}"},
};
#define SOUND_COUNT (sizeof(sound) / sizeof(sound[0]))

/* The plan wants what is sound; the port shows it too, but for one kind (value NULL: hidden). */
static struct chain prove(const char *kind, const char *value)
{
    struct err err = ERR_INIT;
    OWN(plan) struct plan *plan = NULL;
    OWN_STATE struct state state;
    struct chain *chains = NULL;
    size_t count = 0;
    state_init(&state);
    assert_ok(plan_new("n1", 7, &plan, &err));
    for (size_t i = 0; i < SOUND_COUNT; i++) {
        bool other = kind != NULL && strcmp(kind, sound[i].kind) == 0;
        want(plan, sound[i].kind, "", sound[i].value);
        if (!other)
            show(&state, sound[i].kind, "", sound[i].value);
        else if (value != NULL)
            show(&state, kind, "", value);
    }
    assert_ok(plan_seal(plan, &err));
    state_seal(&state);
    assert_ok(chain_prove(plan, &state, &chains, &count, &err));
    assert_int_equal(count, 1);
    struct chain chain = chains[0];
    free(chains);
    return chain;
}

static void a_whole_chain_tells_each_hop(void **unused)
{
    (void)unused;
    struct chain chain = prove(NULL, NULL);
    assert_int_equal(chain.verdict, CHAIN_WHOLE);
    assert_string_equal(chain.subject, P);
    assert_string_equal(chain.source, "roce.tos");
    assert_int_equal(chain.dscp, 26);
    assert_int_equal(chain.priority, 3);
    assert_int_equal(chain.traffic_class, 3);
    assert_true(chain.lossless);
    assert_int_equal(chain.buffer, 1);
    assert_string_equal(chain.why, "");
}

static void the_first_hop_that_is_wrong_is_named(void **unused)
{
    (void)unused;
    static const struct {
        const char *kind, *value;
        enum chain_hop at;
        const char *why;
    } rows[] = {
        {"roce.tos", "{'mode':'RoCE v2','tos':32}", CHAIN_DSCP, "marked with DSCP 8, not 26"},
        {"dcb.app", "[]", CHAIN_PRIORITY, "no priority for DSCP 26"},
        {"dcb.app", "[{'dscp':26,'priority':2}]", CHAIN_PRIORITY, "priority 2 on the port and 3"},
        {"dcb.app", "[{'dscp':26,'priority':2},{'dscp':26,'priority':3}]", CHAIN_PRIORITY,
         "several priorities"},
        {"dcb.ets", "{'bw_percent':[25,25,0,50,0,0,0,0],'prio_tc':[0,1,2,0,4,5,6,7],'tsa':" TSA "}",
         CHAIN_CLASS, "class 0 on the port and in 3"},
        {"dcb.ets", "{'bw_percent':[75,25,0,0,0,0,0,0],'prio_tc':[0,1,2,3,4,5,6,7],'tsa':" TSA "}",
         CHAIN_CLASS, "share of 0 %"},
        {"dcb.pfc", "{'delay':0,'priorities':[0,2,6,7]}", CHAIN_PFC, "priority 3 has no PFC"},
        {"dcb.buffer", "{'prio_buffer':[0,0,0,0,0,0,0,0],'size_bytes':[1000,2000,0,0,0,0,0,0]}",
         CHAIN_BUFFER, "buffer 0 on the port and in 1"},
        {"dcb.buffer", "{'prio_buffer':[0,0,0,1,0,0,0,0],'size_bytes':[3000,0,0,0,0,0,0,0]}",
         CHAIN_BUFFER, "0 bytes"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct chain chain = prove(rows[i].kind, rows[i].value);
        assert_int_equal(chain.verdict, CHAIN_BROKEN);
        assert_int_equal(chain.at, rows[i].at);
        assert_contains(chain.why, rows[i].why);
    }
}

static void a_hop_that_is_not_shown_is_unknown_and_never_whole(void **unused)
{
    (void)unused;
    static const struct {
        const char *kind;
        enum chain_hop at;
    } rows[] = {{"roce.tos", CHAIN_DSCP},
                {"dcb.app", CHAIN_PRIORITY},
                {"dcb.ets", CHAIN_CLASS},
                {"dcb.pfc", CHAIN_PFC},
                {"dcb.buffer", CHAIN_BUFFER}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct chain chain = prove(rows[i].kind, NULL);
        assert_int_equal(chain.verdict, CHAIN_UNKNOWN);
        assert_int_equal(chain.at, rows[i].at);
        assert_true(chain.why[0] != '\0');
    }
}

static void a_value_of_another_form_is_unknown(void **unused)
{
    (void)unused;
    static const struct shown rows[] = {
        {"dcb.app", "[{'dscp':64,'priority':3}]"},
        {"dcb.app", "{'dscp':26}"},
        {"dcb.app", "[{'dscp':26,'priority':8}]"},
        {"dcb.ets", "{'bw_percent':[100],'prio_tc':[0],'tsa':['ets']}"},
        {"dcb.ets",
         "{'bw_percent':[25,25,0,50,0,0,0,0],'prio_tc':[0,1,2,8,4,5,6,7],'tsa':" TSA "}"},
        {"dcb.pfc", "{'priorities':[-1]}"},
        {"dcb.pfc", "[3]"},
        {"dcb.buffer", "{'prio_buffer':[0,0,0,8,0,0,0,0],'size_bytes':[1,1,1,1,1,1,1,1]}"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(prove(rows[i].kind, rows[i].value).verdict, CHAIN_UNKNOWN);
}

/* A port as mlnx_qos shows one in the field (trust dscp, PFC on 0, 2, 6, 7): a fleet that wants 3.
 */
static void pfc_on_other_priorities_leaves_the_mark_lossy(void **unused)
{
    (void)unused;
    struct chain_port is = {.has = 1U << CHAIN_PRIORITY | 1U << CHAIN_CLASS | 1U << CHAIN_PFC,
                            .class_of = {1, 0, 2, 3, 4, 5, 6, 7},
                            .lossless = 1U << 0 | 1U << 2 | 1U << 6 | 1U << 7};
    struct chain_port wanted = {.has = 1U << CHAIN_PFC, .lossless = 1U << 3};
    struct chain chain;
    for (int dscp = 0; dscp < CHAIN_DSCPS; dscp++)
        is.priority_of[dscp] = dscp / 8;
    chain_follow(&is, &wanted, 26, &chain);
    assert_int_equal(chain.verdict, CHAIN_BROKEN);
    assert_int_equal(chain.at, CHAIN_PFC);
    assert_int_equal(chain.priority, 3);
    assert_int_equal(chain.traffic_class, 3);
    assert_false(chain.lossless);
    chain_follow(&is, &wanted, 16, &chain); /* PFC that nobody wanted */
    assert_int_equal(chain.at, CHAIN_PFC);
    assert_contains(chain.why, "does not want");
    chain_follow(&is, &wanted, 8, &chain); /* meant to be lossy, and is: needs no buffer */
    assert_int_equal(chain.verdict, CHAIN_WHOLE);
    assert_int_equal(chain.traffic_class, 0);
}

static void jobs_are_proven_by_their_flows_once(void **unused)
{
    (void)unused;
    struct err err = ERR_INIT;
    OWN(plan) struct plan *plan = NULL;
    OWN_STATE struct state state;
    struct chain *chains = NULL;
    size_t count = 0;
    state_init(&state);
    assert_ok(plan_new("n1", 7, &plan, &err));
    for (size_t i = 0; i + 1 < SOUND_COUNT; i++) { /* without roce.tos */
        want(plan, sound[i].kind, "", sound[i].value);
        show(&state, sound[i].kind, "", sound[i].value);
    }
    want(plan, "tc.flower", "egress/1", FLOWER("26"));
    want(plan, "tc.flower", "egress/2", FLOWER("27"));
    want(plan, "tc.flower", "egress/3", "{'actions':[],'match':{'eth_type':'ipv4'}}");
    want(plan, "tc.flower", "ingress/1", FLOWER("26"));
    show(&state, "tc.flower", "egress/1", FLOWER("26"));
    show(&state, "tc.flower", "ingress/1", FLOWER("26"));
    assert_ok(plan_seal(plan, &err));
    state_seal(&state);
    assert_ok(chain_prove(plan, &state, &chains, &count, &err));
    assert_int_equal(count, 2);
    assert_string_equal(chains[0].source, "acme/nlp");
    assert_int_equal(chains[0].label, 1);
    assert_int_equal(chains[0].dscp, 26);
    assert_int_equal(chains[0].verdict, CHAIN_WHOLE);
    assert_int_equal(chains[1].dscp, 27);
    assert_int_equal(chains[1].verdict, CHAIN_UNKNOWN);
    assert_int_equal(chains[1].at, CHAIN_DSCP);
    free(chains);
}

static void nccl_marks_every_port_whose_dscps_are_managed(void **unused)
{
    (void)unused;
    static const char *const values[] = {"{'NCCL_IB_TC':'106'}", "{'NCCL_IB_TC':'x'}",
                                         "{'NCCL_IB_TC':'256'}", "{'NCCL_DEBUG':'1'}"};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        struct err err = ERR_INIT;
        OWN(plan) struct plan *plan = NULL;
        OWN_STATE struct state state;
        struct chain *chains = NULL;
        size_t count = 0;
        state_init(&state);
        assert_ok(plan_new("n1", 7, &plan, &err));
        struct plan_knob file = {.kind = knob_kind_get("host.file"),
                                 .want = json_of(values[i]),
                                 .subject = "host",
                                 .id = "nccl.env"};
        struct state_knob shown = {
            .kind = file.kind, .live = json_of(values[i]), .subject = "host", .id = "nccl.env"};
        assert_ok(plan_add(plan, &file, &err));
        assert_ok(state_add(&state, &shown, &err));
        want(plan, "dcb.app", "", "[{'dscp':26,'priority':3}]");
        show(&state, "dcb.app", "", "[{'dscp':26,'priority':4}]");
        assert_ok(plan_seal(plan, &err));
        state_seal(&state);
        assert_ok(chain_prove(plan, &state, &chains, &count, &err));
        assert_int_equal(count, i == 0);
        if (i == 0) {
            assert_string_equal(chains[0].source, "NCCL_IB_TC");
            assert_string_equal(chains[0].subject, P);
            assert_int_equal(chains[0].dscp, 26);
            assert_int_equal(chains[0].label, -1);
            assert_int_equal(chains[0].at, CHAIN_PRIORITY);
            assert_int_equal(chains[0].verdict, CHAIN_BROKEN);
        }
        free(chains);
    }
}

static void hops_and_verdicts_have_names(void **unused)
{
    (void)unused;
    assert_string_equal(chain_hop_name(CHAIN_DSCP), "dscp");
    assert_string_equal(chain_hop_name(CHAIN_BUFFER), "buffer");
    assert_string_equal(chain_verdict_name(CHAIN_WHOLE), "whole");
    assert_string_equal(chain_verdict_name(CHAIN_UNKNOWN), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_chain_tells_each_hop),
        cmocka_unit_test(the_first_hop_that_is_wrong_is_named),
        cmocka_unit_test(a_hop_that_is_not_shown_is_unknown_and_never_whole),
        cmocka_unit_test(a_value_of_another_form_is_unknown),
        cmocka_unit_test(pfc_on_other_priorities_leaves_the_mark_lossy),
        cmocka_unit_test(jobs_are_proven_by_their_flows_once),
        cmocka_unit_test(nccl_marks_every_port_whose_dscps_are_managed),
        cmocka_unit_test(hops_and_verdicts_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
