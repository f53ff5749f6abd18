/*
 * tests/unit/agent/test_agent.c - an agent on a loop with a link of our own: plans, drift, fights,
 * receipts that wait, restarts.
 */
#include "agent_site.h"

#include <signal.h>
#include <sys/resource.h>

#include "agent/hardware.h"

static void a_start_sends_the_inventory_and_asks_for_any_plan(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    assert_int_equal(site.inventories, 1);
    assert_int_equal(site.receipts, 0);
    assert_string_equal(site.known, "");
    site_close(&site);
}

static void another_inventory_is_told_by_its_event(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    clock_fake_advance(&site.clock, 2 * NS_PER_S);
    poke(site.dp, "link.mtu", "sim.0/0", "", "9000");
    turn(&site, 800);
    assert_int_equal(site.inventories, 2);
    clock_fake_advance(&site.clock, 2 * NS_PER_S);
    poke(site.dp, "dcb.app", "sim.0/0", "", "[]"); /* nothing that it tells of */
    turn(&site, 800);
    assert_int_equal(site.inventories, 2);
    site_close(&site);
}

static void a_flapping_inventory_is_told_at_a_bounded_rate(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    for (int i = 0; i < AGENT_INVENTORY_BURST + 2; i++) {
        clock_fake_advance(&site.clock, 2 * NS_PER_S);
        poke(site.dp, "link.mtu", "sim.0/0", "", i % 2 == 0 ? "9000" : "1500");
        turn(&site, 800);
    }
    assert_int_equal(site.inventories, 1 + AGENT_INVENTORY_BURST);
    site_close(&site);
}

static void tellings_refill_with_time(void **state)
{
    (void)state;
    struct hardware_rate rate = {.spent = 0};
    int64_t wait_ns, now_ns = 7 * NS_PER_S;
    for (int i = 0; i < AGENT_INVENTORY_BURST; i++)
        assert_true(hardware_rate_take(&rate, now_ns, &wait_ns));
    assert_false(hardware_rate_take(&rate, now_ns, &wait_ns));
    assert_int_equal(wait_ns, AGENT_INVENTORY_REFILL_NS);
    now_ns += AGENT_INVENTORY_REFILL_NS - 1;
    assert_false(hardware_rate_take(&rate, now_ns, &wait_ns));
    assert_int_equal(wait_ns, 1);
    assert_true(hardware_rate_take(&rate, now_ns + 1, &wait_ns));
    assert_false(hardware_rate_take(&rate, now_ns + 1, &wait_ns));
    now_ns += 100 * AGENT_INVENTORY_REFILL_NS;
    for (int i = 0; i < AGENT_INVENTORY_BURST; i++)
        assert_true(hardware_rate_take(&rate, now_ns, &wait_ns));
    assert_false(hardware_rate_take(&rate, now_ns, &wait_ns));
}

static void what_changes_while_a_node_works_is_no_part_of_its_identity(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    static const char *const texts[] = {
        "{\"ports\":[{\"id\":\"a/0\",\"irq\":{\"vectors\":2,\"affinity\":[{\"cpus\":\"0\"}]}}],"
        "\"gpus\":[{\"id\":\"g\",\"pcie\":{\"current_gen\":1,\"current_width\":16}}]}",
        "{\"ports\":[{\"id\":\"a/0\",\"irq\":{\"vectors\":2,\"affinity\":[{\"cpus\":\"7\"}]}}],"
        "\"gpus\":[{\"id\":\"g\",\"pcie\":{\"current_gen\":4,\"current_width\":16}}]}",
        "{\"ports\":[{\"id\":\"a/0\",\"irq\":{\"vectors\":2,\"affinity\":[{\"cpus\":\"0\"}]}}],"
        "\"gpus\":[{\"id\":\"g\",\"pcie\":{\"current_gen\":1,\"current_width\":8}}]}"};
    char digests[3][DIGEST_TEXT_MAX];
    for (size_t i = 0; i < 3; i++) {
        OWN(json) json_t *inventory = json_loads(texts[i], 0, NULL);
        assert_ok(hardware_identity(inventory, digests[i], &err));
        assert_non_null(json_object_get(
            json_object_get(json_array_get(json_object_get(inventory, "ports"), 0), "irq"),
            "affinity")); /* it is told all the same */
    }
    assert_string_equal(digests[0], digests[1]);
    assert_string_not_equal(digests[0], digests[2]);
}

static void a_plan_is_applied_receipted_and_known(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    good_plan(&site);
    assert_int_equal(site.receipts, 1);
    assert_string_equal(site.known, json_string_value(json_object_get(site.receipt, "observed")));
    assert_false(send_plan(&site, NODE, 1, plan_a)); /* no news */
    assert_int_equal(site.receipts, 1);
    assert_false(kept(site.dir, OUTBOX_FILE));
    site_close(&site);
}

static void hostile_answers_are_refused_and_the_good_plan_stays(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    good_plan(&site);
    char known[PLAN_TAG_SIZE];
    memcpy(known, site.known, sizeof(known));
    int calls = dp_sim_apply_count(site.dp);

    assert_false(send_plan(&site, "n2", 2, plan_b)); /* another node's */
    assert_string_equal(last_result(&site), "refused");
    assert_contains(last_problem(&site), "n2");
    acknowledge(&site);

    struct plan *plan = make_plan(2, plan_b);
    json_t *json = plan_to_json(plan);
    json_object_set_new(json, "digest", json_string(known)); /* a wrong digest */
    assert_false(send_json(&site, json));
    assert_string_equal(last_result(&site), "refused");
    assert_contains(last_problem(&site), "digest");
    acknowledge(&site);

    json_t *knob = json_array_get(json_object_get(json, "knobs"), 0);
    json_object_set_new(knob, "kind", json_string("dcb.unheard")); /* a newer server */
    assert_false(send_json(&site, json));
    assert_contains(last_problem(&site), "dcb.unheard");
    acknowledge(&site);
    int receipts = site.receipts;
    assert_false(send_json(&site, json)); /* the same bytes: said once */
    assert_int_equal(site.receipts, receipts);
    json_decref(json);
    plan_free(plan);

    static const char *const texts[] = {"", "{", "null", "[1]", "\x80", "{\"version\":2}"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_false(site.events.plan(site.events.arg, texts[i], strlen(texts[i])));
        assert_string_equal(last_result(&site), "refused");
        acknowledge(&site);
    }
    assert_int_equal(dp_sim_apply_count(site.dp), calls);
    assert_string_equal(site.known, known);
    assert_true(send_plan(&site, NODE, 2, plan_b)); /* and a right one still goes */
    assert_string_equal(last_result(&site), "applied");
    site_close(&site);
}

static const char *chain_text(const struct site *site, const char *key)
{
    const json_t *chains = json_object_get(site->chains, "chains");
    assert_int_equal(json_array_size(chains), 1);
    const char *text = json_string_value(json_object_get(json_array_get(chains, 0), key));
    return text == NULL ? "" : text;
}

static void marks_are_followed_at_each_check_and_told_when_they_change(void **state)
{
    (void)state;
    static const struct row marked[] = {
        {"dcb.app", "sim.0/0", "", "[{\"dscp\":26,\"priority\":3}]", false, false},
        {"dcb.ets", "sim.0/0", "", ETS("[10,20,30,40,0,0,0,0]"), false, false},
        {"dcb.pfc", "sim.0/0", "", "{\"delay\":0,\"priorities\":[3]}", false, true},
        {"roce.tos", "sim.0/0", "", "{\"mode\":\"RoCE v2\",\"tos\":106}", false, false},
        {NULL, NULL, NULL, NULL, false, false},
    };
    struct site site;
    site_open(&site);
    assert_int_equal(site.chain_reports, 0); /* no plan, no marks */
    assert_true(send_plan(&site, NODE, 1, marked));
    assert_int_equal(site.chain_reports, 1);
    assert_string_equal(chain_text(&site, "source"), "roce.tos");
    assert_string_equal(chain_text(&site, "verdict"), "broken"); /* it is only watched */
    assert_string_equal(chain_text(&site, "at"), "pfc");
    acknowledge(&site);
    poke(site.dp, "dcb.pfc", "sim.0/0", "", "{\"delay\":0,\"priorities\":[3]}");
    turn(&site, 250);
    assert_int_equal(site.chain_reports, 2);
    assert_string_equal(chain_text(&site, "verdict"), "whole");
    poke(site.dp, "dcb.app", "sim.0/0", "", "[]"); /* repaired in the same pass: no news */
    turn(&site, 250);
    assert_int_equal(site.chain_reports, 2);
    sleep_agent(&site);
    wake(&site);
    assert_int_equal(site.chain_reports, 3); /* once in each life */
    site_close(&site);
}

static void a_failed_plan_is_known_and_tried_again_on_reload(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    good_plan(&site);
    dp_sim_fail_apply(site.dp, 3, false);
    assert_true(send_plan(&site, NODE, 2, plan_b));
    assert_string_equal(last_result(&site), "rolled-back");
    acknowledge(&site);
    assert_string_equal(site.known, json_string_value(json_object_get(site.receipt, "digest")));
    assert_false(send_plan(&site, NODE, 2, plan_b));
    agent_reload(site.agent);
    assert_int_equal(agent_stats(site.agent)->results[RECEIPT_APPLIED], 2);
    assert_int_equal(agent_stats(site.agent)->results[RECEIPT_UNCHANGED], 0); /* not once more */
    site_close(&site);
}

static const char *found_by(const struct site *site)
{
    const char *by =
        json_string_value(json_object_get(json_object_get(site->receipt, "found"), "by"));
    return by == NULL ? "none" : by;
}

static int64_t found_ms(const struct site *site)
{
    return json_integer_value(json_object_get(json_object_get(site->receipt, "found"), "ms"));
}

static void drift_is_seen_by_its_event_repaired_and_told(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    good_plan(&site);
    char *wanted = picture(site.dp);
    turn(&site, 250);
    assert_string_equal(found_by(&site), "none"); /* a plan that is applied is no drift */
    uint64_t checks = agent_stats(site.agent)->checks;
    poke(site.dp, "link.mtu", "sim.0/0", "", "1500");
    poke(site.dp, "dcb.app", "sim.0/0", "", "[]");
    turn(&site, 300);
    assert_int_equal(agent_stats(site.agent)->checks, checks + 1); /* both in one, no loop */
    assert_string_equal(last_result(&site), "drift");
    assert_string_equal(found_by(&site), "event");
    assert_int_equal(json_array_size(json_object_get(site.receipt, "steps")), 2);
    assert_int_equal(site.states, 1);
    assert_picture(site.dp, wanted);
    free(wanted);
    site_close(&site);
}

static void a_deviation_seen_at_the_start_is_told_with_its_state(void **state)
{
    (void)state;
    struct site site;
    struct err err = ERR_INIT;
    site_open(&site);
    good_plan(&site);
    assert_int_equal(site.states, 0);
    sleep_agent(&site);
    assert_ok(dp_sim_fault(site.dp, "ignore:link.mtu", &err));
    poke(site.dp, "link.mtu", "sim.0/0", "", "1500");
    wake(&site);
    assert_string_not_equal(json_string_value(json_object_get(site.receipt, "observed")),
                            json_string_value(json_object_get(site.receipt, "digest")));
    assert_int_equal(site.states, 1); /* once, although the pass came before the link */
    site_close(&site);
}

static const char *shown(const struct site *site)
{
    return json_string_value(json_object_get(json_object_get(site->state, "of"), "digest"));
}

static void a_good_state_is_shown_once_a_plan_after_its_receipt(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    good_plan(&site);
    sleep_agent(&site);
    wake_every(&site, 50 * NS_PER_MS);
    turn(&site, 300);
    assert_int_equal(site.states, 0); /* the receipt of the start is not told yet */
    acknowledge(&site);
    int receipts = site.receipts;
    turn(&site, 300);
    assert_int_equal(site.states, 1);
    assert_int_equal(site.receipts, receipts); /* no news of its own */
    assert_string_equal(shown(&site), json_string_value(json_object_get(site.receipt, "digest")));
    assert_true(json_array_size(json_object_get(site.state, "knobs")) > 0);
    uint64_t checks = agent_stats(site.agent)->checks;
    turn(&site, 300);
    assert_true(agent_stats(site.agent)->checks > checks);
    assert_int_equal(site.states, 1); /* once */
    assert_true(send_plan(&site, NODE, 2, plan_b));
    turn(&site, 300);
    assert_int_equal(site.states, 1);
    acknowledge(&site);
    turn(&site, 300);
    assert_int_equal(site.states, 2);
    assert_string_equal(shown(&site), json_string_value(json_object_get(site.receipt, "digest")));
    agent_reload(site.agent); /* "unchanged" again */
    acknowledge(&site);
    turn(&site, 300);
    assert_int_equal(site.states, 3);
    site_close(&site);
}

static void another_store_of_the_server_is_told_everything_again(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    good_plan(&site);
    sleep_agent(&site);
    wake_every(&site, 50 * NS_PER_MS);
    site.events.store(site.events.arg, "a");
    acknowledge(&site);
    turn(&site, 300);
    assert_int_equal(site.states, 1);
    int receipts = site.receipts, chains = site.chain_reports, inventories = site.inventories;
    site.events.store(site.events.arg, "a");
    turn(&site, 300);
    assert_int_equal(site.states, 1); /* the same one: no news */
    assert_int_equal(site.receipts, receipts);
    site.events.store(site.events.arg, "b");
    turn(&site, 300);
    acknowledge(&site);
    turn(&site, 300);
    assert_int_equal(site.states, 2);
    assert_int_equal(site.receipts, receipts + 1);
    assert_string_equal(last_result(&site), "unchanged");
    assert_string_equal(shown(&site), json_string_value(json_object_get(site.receipt, "digest")));
    assert_int_equal(site.chain_reports, chains + 1);
    assert_int_equal(site.inventories, inventories + 1);
    uint64_t checks = agent_stats(site.agent)->checks;
    turn(&site, 300);
    assert_true(agent_stats(site.agent)->checks > checks);
    assert_int_equal(site.states, 2); /* once */
    assert_int_equal(site.receipts, receipts + 1);
    assert_int_equal(site.inventories, inventories + 1);
    site_close(&site);
}

static void no_state_is_shown_while_a_newer_plan_stands_refused(void **state)
{
    (void)state;
    struct site site;
    struct err err = ERR_INIT;
    site_open(&site);
    good_plan(&site);
    sleep_agent(&site);
    wake_every(&site, 50 * NS_PER_MS); /* its state is owed */
    assert_ok(dp_sim_fault(site.dp, "refuse:link.mtu", &err));
    assert_true(send_plan(&site, NODE, 2, plan_b));
    acknowledge(&site); /* of the start */
    assert_string_equal(last_result(&site), "refused");
    acknowledge(&site);
    uint64_t checks = agent_stats(site.agent)->checks;
    int receipts = site.receipts, states = site.states;
    assert_int_equal(states, 1); /* by the refused plan, which it is not */
    assert_string_equal(shown(&site), json_string_value(json_object_get(site.receipt, "digest")));
    turn(&site, 400);
    assert_true(agent_stats(site.agent)->checks > checks + 1);
    assert_int_equal(site.receipts, receipts); /* the plan that stands is found good, no news */
    assert_int_equal(site.states, states);
    dp_sim_fault_clear(site.dp);
    assert_true(send_plan(&site, NODE, 3, plan_a)); /* the newer one is taken back */
    acknowledge(&site);
    turn(&site, 300);
    assert_int_equal(site.states, states + 1);
    assert_string_equal(shown(&site), json_string_value(json_object_get(site.receipt, "digest")));
    site_close(&site);
}

static void observe_only_drift_is_told_once_and_not_repaired(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    static const struct row rows[] = {
        {"link.mtu", "sim.0/0", "", "1500", false, true},
        {NULL, NULL, NULL, NULL, false, false},
    };
    assert_true(send_plan(&site, NODE, 1, rows));
    acknowledge(&site);
    poke(site.dp, "link.mtu", "sim.0/0", "", "9000");
    turn(&site, 250);
    assert_string_equal(last_result(&site), "drift");
    assert_string_equal(found_by(&site), "event");
    int receipts = site.receipts;
    poke(site.dp, "dcb.app", "sim.0/0", "", "[]"); /* an event for nothing */
    turn(&site, 250);
    assert_int_equal(site.receipts, receipts);
    assert_int_equal(dp_sim_apply_count(site.dp), 0);
    site_close(&site);
}

static void a_fight_is_paused_and_said(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    good_plan(&site);
    for (int i = 0; i <= AGENT_FIGHT_MAX; i++) {
        poke(site.dp, "link.mtu", "sim.0/0", "", "1500");
        turn(&site, 200);
        acknowledge(&site);
        clock_fake_advance(&site.clock, NS_PER_S);
    }
    assert_int_equal(agent_stats(site.agent)->results[RECEIPT_DRIFT], AGENT_FIGHT_MAX + 1);
    assert_contains(last_problem(&site), "something else changes it");
    poke(site.dp, "link.mtu", "sim.0/0", "", "1500");
    turn(&site, 200);
    assert_int_equal(agent_stats(site.agent)->results[RECEIPT_DRIFT], AGENT_FIGHT_MAX + 1);
    clock_fake_advance(&site.clock, AGENT_FIGHT_PAUSE_NS);
    poke(site.dp, "link.mtu", "sim.0/0", "", "1501");
    turn(&site, 200);
    assert_int_equal(agent_stats(site.agent)->results[RECEIPT_DRIFT], AGENT_FIGHT_MAX + 2);
    site_close(&site);
}

static void slow_drift_is_no_fight(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    good_plan(&site);
    for (int i = 0; i < 2 * AGENT_FIGHT_MAX; i++) {
        poke(site.dp, "link.mtu", "sim.0/0", "", "1500");
        turn(&site, 150);
        acknowledge(&site);
        assert_string_equal(last_problem(&site), "");
        clock_fake_advance(&site.clock, AGENT_FIGHT_WINDOW_NS / AGENT_FIGHT_MAX);
    }
    assert_int_equal(agent_stats(site.agent)->results[RECEIPT_DRIFT], 2 * AGENT_FIGHT_MAX);
    site_close(&site);
}

static void the_time_from_the_first_event_to_the_look_is_told(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    good_plan(&site);
    turn(&site, 250);
    poke(site.dp, "link.mtu", "sim.0/0", "", "1500");
    turn(&site, 30);
    clock_fake_advance(&site.clock, 700 * NS_PER_MS);
    poke(site.dp, "link.mtu", "sim.0/0", "", "1600"); /* the first one counts */
    turn(&site, 300);
    assert_string_equal(last_result(&site), "drift");
    assert_string_equal(found_by(&site), "event");
    assert_int_equal(found_ms(&site), 700);
    site_close(&site);
}

/* No byte of any file can be written: were the checks to get rarer and rarer, the node would be
 * wrong long after there is room again. */
static void a_full_disk_makes_checks_no_rarer_for_long(void **state)
{
    (void)state;
    struct site site;
    struct rlimit before, none;
    site_open(&site);
    sleep_agent(&site);
    wake_every(&site, 5 * NS_PER_MS);
    good_plan(&site);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    void (*was)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    poke(site.dp, "link.mtu", "sim.0/0", "", "1500");
    uint64_t checks = agent_stats(site.agent)->checks;
    for (int i = 0; i < 200 && agent_stats(site.agent)->checks < checks + 20; i++)
        turn(&site, 50);
    uint64_t done = agent_stats(site.agent)->checks - checks;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, was);
    assert_true(done >= 20);
    for (int i = 0; i < 200 && strcmp(last_result(&site), "drift") != 0; i++) {
        turn(&site, 50);
        acknowledge(&site);
    }
    assert_string_equal(last_result(&site), "drift");
    site_close(&site);
}

static void drift_without_an_event_is_found_by_the_timed_check(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    good_plan(&site);
    sleep_agent(&site);
    wake_every(&site, 100 * NS_PER_MS);
    acknowledge(&site); /* "unchanged", of the start */
    turn(&site, 30);
    poke(site.dp, "link.mtu", "sim.0/0", "", "1500");
    bool changed;
    struct err err = ERR_INIT;
    assert_ok(dp_drain(site.dp, &changed, &err)); /* the event is lost */
    turn(&site, 300);
    assert_string_equal(last_result(&site), "drift");
    assert_string_equal(found_by(&site), "check");
    assert_null(json_object_get(json_object_get(site.receipt, "found"), "ms"));
    site_close(&site);
}

static void a_repair_that_keeps_failing_is_told_once_and_its_end_too(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    good_plan(&site);
    dp_sim_fail_all(site.dp, true);
    poke(site.dp, "link.mtu", "sim.0/0", "", "1500");
    turn(&site, 200);
    assert_string_equal(last_result(&site), "rolled-back");
    acknowledge(&site);
    int receipts = site.receipts;
    poke(site.dp, "link.mtu", "sim.0/0", "", "1500");
    turn(&site, 200);
    assert_int_equal(site.receipts, receipts);
    poke(site.dp, "link.mtu", "sim.0/0", "", "4200"); /* somebody put it right by hand */
    turn(&site, 200);
    assert_int_equal(site.receipts, receipts + 1);
    assert_string_equal(last_result(&site), "unchanged");
    site_close(&site);
}

static void an_unreadable_port_is_tried_again_by_the_timer(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    sleep_agent(&site);
    wake_every(&site, 50 * NS_PER_MS);
    static const struct row rows[] = {
        {"link.mtu", "sim.9/0", "", "4200", false, false},
        {NULL, NULL, NULL, NULL, false, false},
    };
    assert_true(send_plan(&site, NODE, 1, rows));
    assert_string_equal(last_result(&site), "refused");
    acknowledge(&site);
    int receipts = site.receipts;
    turn(&site, 200);
    assert_int_equal(site.receipts, receipts); /* tried, and nothing new to say */
    struct dp_sim_config config = {.port_count = 10};
    struct dp *more = NULL;
    struct err err = ERR_INIT;
    assert_ok(dp_sim_new(&config, &more, &err));
    sleep_agent(&site);
    dp_free(site.dp);
    site.dp = more;
    wake(&site);
    assert_true(send_plan(&site, NODE, 1, rows));
    assert_string_equal(last_result(&site), "applied");
    site_close(&site);
}

static void undelivered_receipts_are_delivered_after_a_restart_in_order(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    assert_true(send_plan(&site, NODE, 1, plan_a));
    assert_true(send_plan(&site, NODE, 2, plan_b));
    assert_int_equal(site.receipts, 1); /* the second waits for the first */
    assert_true(kept(site.dir, OUTBOX_FILE));
    sleep_agent(&site);
    wake(&site);
    assert_int_equal(json_integer_value(json_object_get(site.receipt, "generation")), 1);
    acknowledge(&site);
    assert_int_equal(json_integer_value(json_object_get(site.receipt, "generation")), 2);
    acknowledge(&site);
    assert_string_equal(last_result(&site), "unchanged"); /* of the start */
    acknowledge(&site);
    assert_false(kept(site.dir, OUTBOX_FILE));
    site_close(&site);
}

static void the_outbox_is_bounded(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    for (int64_t i = 1; i <= 3 * OUTBOX_MAX; i++)
        assert_true(send_plan(&site, NODE, i, i % 2 ? plan_a : plan_b));
    int left = 0;
    while (kept(site.dir, OUTBOX_FILE)) {
        acknowledge(&site);
        left++;
    }
    assert_int_equal(left, OUTBOX_MAX);
    assert_int_equal(json_integer_value(json_object_get(site.receipt, "generation")),
                     3 * OUTBOX_MAX);
    site_close(&site);
}

static void a_corrupt_outbox_is_set_aside(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "{]", "{\"version\":1,\"receipts\":[{}]}"};
    struct site site;
    site_open(&site);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        sleep_agent(&site);
        scribble(site.dir, OUTBOX_FILE, texts[i]);
        clock_fake_advance(&site.clock, NS_PER_S);
        wake(&site);
        assert_false(kept(site.dir, OUTBOX_FILE));
        assert_int_equal(count_files(site.dir, "receipt.json.corrupt-"), (int)i + 1);
    }
    site_close(&site);
}

/* The folder of a node that was renamed: its server would refuse them for ever, and the node's own
 * receipts would wait behind them. */
static void receipts_of_another_node_are_not_sent(void **state)
{
    (void)state;
    static const char head[] = "{\"version\":1,\"receipts\":[{\"apply_ns\":1,\"digest\":\"sha256:";
    static const char tail[] = "\",\"generation\":1,\"node\":\"other\",\"result\":\"applied\","
                               "\"steps\":[],\"time_us\":1,\"version\":1}]}";
    char text[512];
    snprintf(text, sizeof(text), "%s%064d%s", head, 0, tail);
    struct site site;
    site_open(&site);
    sleep_agent(&site);
    scribble(site.dir, OUTBOX_FILE, text);
    wake(&site);
    assert_true(send_plan(&site, NODE, 7, plan_a));
    assert_string_equal(json_string_value(json_object_get(site.receipt, "node")), NODE);
    assert_int_equal(count_files(site.dir, "receipt.json.corrupt-"), 0);
    site_close(&site);
}

static void killed_anywhere_the_next_agent_converges_with_the_server(void **state)
{
    (void)state;
    bool killed = true;
    for (int k = 1; killed; k++) {
        struct site site;
        site_open(&site);
        good_plan(&site);
        site.asked = 0;
        site.kill_at = k;
        send_plan(&site, NODE, 2, plan_b);
        killed = site.asked >= k;
        sleep_agent(&site);
        wake(&site);
        send_plan(&site, NODE, 2, plan_b); /* what the server does when another digest is known */
        struct plan *wanted = make_plan(2, plan_b);
        assert_string_equal(site.known, wanted->digest);
        plan_free(wanted);
        while (kept(site.dir, OUTBOX_FILE))
            acknowledge(&site);
        assert_string_equal(site.known,
                            json_string_value(json_object_get(site.receipt, "observed")));
        site_close(&site);
    }
}

static void once_makes_the_node_what_the_last_good_plan_wants(void **state)
{
    (void)state;
    struct site site;
    struct err err = ERR_INIT;
    site_open(&site);
    good_plan(&site);
    char *wanted = picture(site.dp);
    sleep_agent(&site);
    dp_free(site.dp);
    site.dp = make_sim();
    struct agent_config config = {
        .node = NODE, .state_dir = site.dir, .boot_id = "", .clock = &site.clock.base};
    assert_ok(agent_new(site.loop, &config, site.dp, NULL, &site.agent, &err));
    assert_ok(agent_once(site.agent, &err));
    assert_picture(site.dp, wanted);
    poke(site.dp, "link.mtu", "sim.0/0", "", "1500");
    dp_sim_fail_all(site.dp, true);
    assert_fails(agent_once(site.agent, &err), ERR_UNAVAILABLE);
    assert_contains(err.text, "link.mtu");
    free(wanted);
    site_close(&site);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_sends_the_inventory_and_asks_for_any_plan),
        cmocka_unit_test(another_inventory_is_told_by_its_event),
        cmocka_unit_test(a_flapping_inventory_is_told_at_a_bounded_rate),
        cmocka_unit_test(tellings_refill_with_time),
        cmocka_unit_test(what_changes_while_a_node_works_is_no_part_of_its_identity),
        cmocka_unit_test(a_plan_is_applied_receipted_and_known),
        cmocka_unit_test(hostile_answers_are_refused_and_the_good_plan_stays),
        cmocka_unit_test(marks_are_followed_at_each_check_and_told_when_they_change),
        cmocka_unit_test(a_failed_plan_is_known_and_tried_again_on_reload),
        cmocka_unit_test(drift_is_seen_by_its_event_repaired_and_told),
        cmocka_unit_test(a_deviation_seen_at_the_start_is_told_with_its_state),
        cmocka_unit_test(a_good_state_is_shown_once_a_plan_after_its_receipt),
        cmocka_unit_test(another_store_of_the_server_is_told_everything_again),
        cmocka_unit_test(no_state_is_shown_while_a_newer_plan_stands_refused),
        cmocka_unit_test(observe_only_drift_is_told_once_and_not_repaired),
        cmocka_unit_test(a_fight_is_paused_and_said),
        cmocka_unit_test(slow_drift_is_no_fight),
        cmocka_unit_test(the_time_from_the_first_event_to_the_look_is_told),
        cmocka_unit_test(a_full_disk_makes_checks_no_rarer_for_long),
        cmocka_unit_test(drift_without_an_event_is_found_by_the_timed_check),
        cmocka_unit_test(a_repair_that_keeps_failing_is_told_once_and_its_end_too),
        cmocka_unit_test(an_unreadable_port_is_tried_again_by_the_timer),
        cmocka_unit_test(undelivered_receipts_are_delivered_after_a_restart_in_order),
        cmocka_unit_test(the_outbox_is_bounded),
        cmocka_unit_test(a_corrupt_outbox_is_set_aside),
        cmocka_unit_test(receipts_of_another_node_are_not_sent),
        cmocka_unit_test(killed_anywhere_the_next_agent_converges_with_the_server),
        cmocka_unit_test(once_makes_the_node_what_the_last_good_plan_wants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
