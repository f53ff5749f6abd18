/*
 * tests/unit/fleet/test_link.c - a port's link knobs: pause frames, interrupt moderation and ARP in
 * the profile, in capabilities and in plans.
 */
#include "fleet_test.h"

#define PORT     "0000:3b:00.0/0"
#define LOSSLESS "'priorities':[{'priority':0},{'priority':3,'dscps':[26],'lossless':true}]"
#define LOSSY    "'priorities':[{'priority':0},{'priority':3,'dscps':[26]}]"
#define NODE(caps)                                                                                 \
    "{'ports':[{'id':'" PORT "','driver':'mlx5_core','speed_bps':100000000000,'caps':{" caps "}}]" \
    "}"
#define MODERATED "'coalesce':['adaptive_rx','newer','rx_frames','rx_usecs']"

static struct plan *plan_of(struct fleet *fleet, const char *profile, const char *node)
{
    struct plan *plan = NULL;
    struct err err = ERR_INIT;
    char text[2048];
    fleet_init(fleet);
    snprintf(text, sizeof(text), "{'fabric_profile':{%s}}", profile);
    fleet_fabric(fleet, text);
    fleet_node(fleet, "n1", node);
    assert_ok(compile_plan(&fleet->view, &fleet->nodes[0], 1, &plan, &fleet->findings, &err));
    return plan;
}

static void assert_want(const struct plan *plan, const char *kind, const char *want)
{
    const struct plan_knob *knob = plan_knob_get(plan, knob_kind_get(kind), PORT, "");
    if (want == NULL) {
        assert_null(knob);
        return;
    }
    assert_non_null(knob);
    OWN(json) json_t *wanted = json_of(want);
    assert_true(json_equal(knob->want, wanted));
    assert_int_equal(knob->enforcement, ENFORCEMENT_NIC);
}

static void pause_is_off_where_single_priorities_pause(void **state)
{
    (void)state;
    static const struct {
        const char *profile, *node, *want;
    } cases[] = {
        {LOSSLESS, NODE("'dcb_pfc':true,'pause':true"), "{'rx':false,'tx':false}"},
        {LOSSLESS, NODE("'dcb_pfc':true,'pause':false"), NULL},
        {LOSSLESS, NODE("'dcb_pfc':true"), NULL},
        {LOSSLESS, NODE("'dcb_pfc':false,'pause':true"), NULL}, /* all that it can do */
        {LOSSY, NODE("'dcb_pfc':true,'pause':true"), NULL},
        {LOSSLESS, NODE("'dcb_pfc':true,'pause':true,'dcbx_agent':'firmware'"), NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fleet fleet;
        OWN(plan) struct plan *plan = plan_of(&fleet, cases[i].profile, cases[i].node);
        assert_want(plan, "link.pause", cases[i].want);
        fleet_release(&fleet);
    }
}

static void pause_stands_between_the_manager_and_the_maps(void **state)
{
    (void)state;
    const int pause = knob_kind_get("link.pause")->rank;
    assert_true(knob_kind_get("dcb.dcbx")->rank < pause);
    assert_true(pause < knob_kind_get("dcb.app")->rank);
    assert_true(pause < knob_kind_get("dcb.pfc")->rank);
}

static void moderation_reaches_ports_that_have_it(void **state)
{
    (void)state;
    struct fleet fleet;
    OWN(plan)
    struct plan *plan = plan_of(&fleet,
                                LOSSY ",'host':{'coalesce':{'rx_usecs':3,'tx_usecs':5,"
                                      "'tx_frames':7}}",
                                NODE(MODERATED));
    /* Fixed values and an adapting driver do not go together. */
    assert_want(plan, "link.coalesce", "{'adaptive_rx':false,'rx_usecs':3}");
    assert_int_equal(fleet_count(&fleet, "knob-unsupported", FINDING_WARNING) > 0, 1);
    bool named = false;
    for (size_t i = 0; i < fleet.findings.count; i++)
        named |= strstr(fleet.findings.items[i].message, "has no tx_frames, tx_usecs") != NULL;
    assert_true(named);
    fleet_check(&fleet, CHANGE_FABRIC, NULL, NULL);
    named = false;
    for (size_t i = 0; i < fleet.findings.count; i++)
        named |= strstr(fleet.findings.items[i].message,
                        "1 port cannot moderate interrupts as the profile says") != NULL;
    assert_true(named);
    fleet_release(&fleet);
}

static void an_adaptive_mode_that_is_asked_for_stays(void **state)
{
    (void)state;
    struct fleet fleet;
    OWN(plan)
    struct plan *plan = plan_of(
        &fleet, LOSSY ",'host':{'coalesce':{'adaptive_rx':true,'rx_frames':4}}", NODE(MODERATED));
    assert_want(plan, "link.coalesce", "{'adaptive_rx':true,'rx_frames':4}");
    fleet_release(&fleet);
}

static void arp_reaches_every_port(void **state)
{
    (void)state;
    struct fleet fleet;
    OWN(plan)
    struct plan *plan =
        plan_of(&fleet, LOSSY ",'host':{'arp':{'arp_ignore':1,'arp_announce':2,'rp_filter':0}}",
                NODE("'tc':true"));
    const struct plan_knob *knob = plan_knob_get(plan, knob_kind_get("link.arp"), PORT, "");
    assert_non_null(knob);
    OWN(json) json_t *want = json_of("{'arp_announce':2,'arp_ignore':1,'rp_filter':0}");
    assert_true(json_equal(knob->want, want));
    assert_int_equal(knob->enforcement, ENFORCEMENT_KERNEL);
    fleet_release(&fleet);
    OWN(plan) struct plan *none = plan_of(&fleet, LOSSY, NODE("'tc':true"));
    assert_want(none, "link.arp", NULL);
    fleet_release(&fleet);
}

static void without_moderation_or_wish_there_is_no_knob(void **state)
{
    (void)state;
    struct fleet fleet;
    OWN(plan) struct plan *none = plan_of(&fleet, LOSSY, NODE(MODERATED));
    assert_want(none, "link.coalesce", NULL);
    fleet_release(&fleet);
    OWN(plan)
    struct plan *lacking =
        plan_of(&fleet, LOSSY ",'host':{'coalesce':{'rx_usecs':3}}", NODE("'tc':true"));
    assert_want(lacking, "link.coalesce", NULL);
    fleet_release(&fleet);
}

static void what_a_profile_cannot_ask_for(void **state)
{
    (void)state;
    static const struct {
        const char *member, *pointer;
        bool valid;
    } cases[] = {
        {"'coalesce':{'rx_usecs':1000000,'rx_frames':65535}", "", true},
        {"'coalesce':{'rx_usecs':1000001}", "/fabric_profile/host/coalesce/rx_usecs", false},
        {"'coalesce':{'tx_frames':65536}", "/fabric_profile/host/coalesce/tx_frames", false},
        {"'coalesce':{'rx_usecs':-1}", "/fabric_profile/host/coalesce/rx_usecs", false},
        {"'coalesce':{'adaptive_tx':1}", "/fabric_profile/host/coalesce/adaptive_tx", false},
        {"'arp':{'arp_ignore':8,'arp_announce':2,'rp_filter':2}", "", true},
        {"'arp':{'arp_ignore':9}", "/fabric_profile/host/arp/arp_ignore", false},
        {"'arp':{'arp_announce':3}", "/fabric_profile/host/arp/arp_announce", false},
        {"'arp':{'rp_filter':3}", "/fabric_profile/host/arp/rp_filter", false},
        {"'arp':{'rp_filter':-1}", "/fabric_profile/host/arp/rp_filter", false},
        {"'arp':{'arp_filter':1}", "/fabric_profile/host/arp/arp_filter", false},
        /* The kernel would take that of all. */
        {"'sysctl':{'net.ipv4.conf.all.rp_filter':1},'arp':{'rp_filter':0}",
         "/fabric_profile/host/arp/rp_filter", false},
        {"'sysctl':{'net.ipv4.conf.all.rp_filter':1},'arp':{'rp_filter':1}", "", true},
        {"'sysctl':{'net.ipv4.conf.all.rp_filter':1},'arp':{'arp_ignore':0}", "", true},
        {"'coalesce':{'usecs':1}", "/fabric_profile/host/coalesce/usecs", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[512];
        struct err err = ERR_INIT;
        struct fabric *fabric = NULL;
        OWN_FINDINGS struct finding_list findings;
        finding_list_init(&findings);
        snprintf(text, sizeof(text), "{'fabric_profile':{" LOSSY ",'host':{%s}}}", cases[i].member);
        OWN(json) json_t *json = json_of(text);
        enum err_code code = fabric_from_json(json, &fabric, &findings, &err);
        fabric_free(fabric);
        assert_int_equal(code, cases[i].valid ? ERR_OK : ERR_INVALID);
        if (!cases[i].valid)
            assert_string_equal(findings.items[0].pointer, cases[i].pointer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pause_is_off_where_single_priorities_pause),
        cmocka_unit_test(pause_stands_between_the_manager_and_the_maps),
        cmocka_unit_test(moderation_reaches_ports_that_have_it),
        cmocka_unit_test(an_adaptive_mode_that_is_asked_for_stays),
        cmocka_unit_test(arp_reaches_every_port),
        cmocka_unit_test(without_moderation_or_wish_there_is_no_knob),
        cmocka_unit_test(what_a_profile_cannot_ask_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
