/*
 * tests/unit/agent/test_trial.c - an agent with a plan on trial: its timer on the loop, what is
 * told and asked for, restarts.
 */
#include "agent_site.h"

#include "agent/confirm.h"

#define TIMEOUT_S 600

static const char *text_of(const struct site *site, const char *key)
{
    const char *text = json_string_value(json_object_get(site->receipt, key));
    return text == NULL ? "" : text;
}

static void begin_trial(struct site *site)
{
    site_open(site);
    good_plan(site);
    assert_true(send_trial(site, 2, plan_b, "r-1", TIMEOUT_S));
    assert_string_equal(last_result(site), "applied");
    assert_string_equal(text_of(site, "rollout"), "r-1");
    acknowledge(site);
}

static void a_trial_is_known_by_its_rollout(void **state)
{
    (void)state;
    struct site site;
    char wanted[PLAN_TAG_SIZE];
    begin_trial(&site);
    snprintf(wanted, sizeof(wanted), "%s+r-1", text_of(&site, "digest"));
    assert_string_equal(site.known, wanted);
    assert_false(send_trial(&site, 2, plan_b, "r-1", TIMEOUT_S)); /* no news */
    assert_true(send_trial(&site, 2, plan_b, "r-2", TIMEOUT_S));  /* another rollout */
    assert_string_equal(last_result(&site), "unchanged");
    assert_string_equal(text_of(&site, "rollout"), "r-2");
    site_close(&site);
}

static void a_node_on_trial_is_heard_again_after_its_receipt(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    good_plan(&site);
    int inventories = site.inventories;
    assert_true(send_trial(&site, 2, plan_b, "r-1", TIMEOUT_S));
    assert_int_equal(site.inventories, inventories); /* not before */
    acknowledge(&site);
    assert_int_equal(site.inventories, inventories + 1);
    assert_true(send_plan(&site, NODE, 2, plan_b));
    acknowledge(&site);
    assert_int_equal(site.inventories, inventories + 1); /* nor when it is final */
    site_close(&site);
}

static void a_confirmation_is_told_and_the_timer_ends(void **state)
{
    (void)state;
    struct site site;
    begin_trial(&site);
    assert_true(send_plan(&site, NODE, 2, plan_b));
    assert_string_equal(last_result(&site), "unchanged");
    assert_string_equal(text_of(&site, "rollout"), "");
    assert_string_equal(site.known, text_of(&site, "digest"));
    int receipts = site.receipts;
    acknowledge(&site);
    clock_fake_advance(&site.clock, 2 * TIMEOUT_S * NS_PER_S);
    turn(&site, 60);
    assert_int_equal(site.receipts, receipts);
    assert_int_equal(agent_stats(site.agent)->results[RECEIPT_EXPIRED], 0);
    site_close(&site);
}

static void an_unconfirmed_plan_expires_on_time_and_not_before(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    good_plan(&site);
    char *wanted = picture(site.dp);
    char known[PLAN_TAG_SIZE];
    assert_true(send_trial(&site, 2, plan_b, "r-1", TIMEOUT_S));
    acknowledge(&site);
    memcpy(known, site.known, sizeof(known));
    clock_fake_advance(&site.clock, TIMEOUT_S * NS_PER_S - 1);
    turn(&site, 60);
    assert_string_equal(last_result(&site), "applied");
    clock_fake_advance(&site.clock, 1);
    turn(&site, 60);
    assert_string_equal(last_result(&site), "expired");
    assert_string_equal(text_of(&site, "rollout"), "r-1");
    assert_picture(site.dp, wanted);
    assert_string_equal(site.known, known); /* not asked for again */
    assert_false(send_trial(&site, 2, plan_b, "r-1", TIMEOUT_S));
    assert_false(send_trial(&site, 9, plan_b, "r-1", TIMEOUT_S)); /* whatever its generation */
    acknowledge(&site);
    int receipts = site.receipts;
    poke(site.dp, "dcb.app", "sim.0/0", "",
         "[{\"dscp\":26,\"priority\":3}]"); /* an event for nothing */
    turn(&site, 250);
    assert_int_equal(site.receipts, receipts);      /* "unchanged" would hide it */
    assert_true(send_plan(&site, NODE, 2, plan_b)); /* a late confirmation */
    assert_string_equal(last_result(&site), "applied");
    free(wanted);
    site_close(&site);
}

static void drift_after_the_return_is_held_to_the_good_plan(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    good_plan(&site);
    char *wanted = picture(site.dp);
    assert_true(send_trial(&site, 2, plan_b, "r-1", 1));
    acknowledge(&site);
    clock_fake_advance(&site.clock, NS_PER_S);
    turn(&site, 250);
    acknowledge(&site);
    poke(site.dp, "link.mtu", "sim.0/0", "", "1500");
    turn(&site, 250);
    assert_string_equal(last_result(&site), "drift");
    assert_picture(site.dp, wanted);
    free(wanted);
    site_close(&site);
}

static void a_trial_that_ended_while_the_agent_was_away_is_taken_back_at_its_start(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    good_plan(&site);
    char *wanted = picture(site.dp);
    assert_true(send_trial(&site, 2, plan_b, "r-1", TIMEOUT_S));
    acknowledge(&site);
    sleep_agent(&site);
    assert_true(kept(site.dir, CONFIRM_FILE));
    clock_fake_advance(&site.clock, TIMEOUT_S * NS_PER_S);
    wake(&site);
    assert_string_equal(last_result(&site), "expired");
    assert_picture(site.dp, wanted);
    acknowledge(&site);
    int receipts = site.receipts;
    sleep_agent(&site);
    wake(&site);
    assert_int_equal(site.receipts, receipts); /* and is not hidden by "unchanged" */
    free(wanted);
    site_close(&site);
}

static void a_restart_in_the_window_asserts_the_trial_and_keeps_its_time(void **state)
{
    (void)state;
    struct site site;
    begin_trial(&site);
    char *standing = picture(site.dp);
    clock_fake_advance(&site.clock, (TIMEOUT_S - 1) * NS_PER_S);
    sleep_agent(&site);
    wake(&site);
    assert_string_equal(last_result(&site), "unchanged");
    assert_string_equal(text_of(&site, "rollout"), "r-1");
    acknowledge(&site);
    assert_picture(site.dp, standing);
    assert_contains(site.known, "+r-1");
    turn(&site, 40);
    assert_string_equal(last_result(&site), "unchanged");
    clock_fake_advance(&site.clock, NS_PER_S);
    turn(&site, 40);
    assert_string_equal(last_result(&site), "expired");
    free(standing);
    site_close(&site);
}

static void without_a_server_the_timer_fires_all_the_same(void **state)
{
    (void)state;
    struct site site;
    begin_trial(&site);
    poke(site.dp, "link.mtu", "sim.0/0", "", "1500"); /* repairs are paused or not: no matter */
    clock_fake_advance(&site.clock, TIMEOUT_S * NS_PER_S);
    turn(&site, 60); /* nothing is acknowledged, nothing comes */
    assert_int_equal(agent_stats(site.agent)->results[RECEIPT_EXPIRED], 1);
    assert_true(kept(site.dir, OUTBOX_FILE)); /* told when there is one again */
    site_close(&site);
}

static void a_stop_saves_the_time_that_is_left(void **state)
{
    (void)state;
    struct site site;
    begin_trial(&site);
    clock_fake_advance(&site.clock, 7 * NS_PER_S); /* less than the save period */
    sleep_agent(&site);
    char path[KEEP_PATH_MAX];
    size_t len;
    struct err err = ERR_INIT;
    assert_ok(keep_path(site.dir, CONFIRM_FILE, path, &err));
    char *text = test_load_path(path, &len);
    assert_contains(text, "\"left_ns\":593000000000");
    free(text);
    site_close(&site);
}

static void a_confirmation_and_a_return_in_one_life(void **state)
{
    (void)state;
    struct site site;
    begin_trial(&site);
    assert_true(send_plan(&site, NODE, 2, plan_b));
    acknowledge(&site);
    char *wanted = picture(site.dp);
    assert_true(send_trial(&site, 3, plan_a, "r-2", TIMEOUT_S));
    acknowledge(&site);
    clock_fake_advance(&site.clock, TIMEOUT_S * NS_PER_S);
    turn(&site, 60);
    assert_string_equal(last_result(&site), "expired");
    assert_picture(site.dp, wanted);
    free(wanted);
    site_close(&site);
}

static json_t *first_probe(const struct site *site)
{
    return json_array_get(json_object_get(site->receipt, "probes"), 0);
}

#define ONE_TO_ONE ETS("[10,20,30,40,0,0,0,0]")
#define BUFFERS(size)                                                                              \
    "{\"prio_buffer\":[0,0,0,1,0,0,0,0],\"size_bytes\":[20480," size ",0,0,0,0,0,0]}"

static void the_self_test_follows_the_marks(void **state)
{
    (void)state;
    struct row rows[] = {
        {"roce.tos", "sim.0/0", "", "{\"mode\":\"RoCE v2\",\"tos\":106}", false, false},
        {"dcb.app", "sim.0/0", "", "[{\"dscp\":26,\"priority\":3}]", false, false},
        {"dcb.ets", "sim.0/0", "", ONE_TO_ONE, false, false},
        {"dcb.pfc", "sim.0/0", "", "{\"delay\":0,\"priorities\":[3]}", false, false},
        {"dcb.buffer", "sim.0/0", "", BUFFERS("40960"), false, false},
        {NULL, NULL, NULL, NULL, false, false},
    };
    struct site site;
    site_open(&site);
    assert_true(send_plan(&site, NODE, 1, rows));
    json_t *probe = json_array_get(json_object_get(site.receipt, "probes"), 1);
    assert_string_equal(json_string_value(json_object_get(probe, "name")), "marking");
    assert_true(json_is_true(json_object_get(probe, "ok")));
    assert_string_equal(json_string_value(json_object_get(probe, "detail")),
                        "marks of flows: 1 whole, 0 broken, 0 unknown");
    acknowledge(&site);
    rows[4].want = BUFFERS("0"); /* the plan itself leaves the lossless priority no room */
    assert_true(send_plan(&site, NODE, 2, rows));
    probe = json_array_get(json_object_get(site.receipt, "probes"), 1);
    assert_true(json_is_false(json_object_get(probe, "ok")));
    assert_contains(json_string_value(json_object_get(probe, "detail")),
                    "sim.0/0 roce.tos at buffer: buffer 1 of lossless priority 3 has 0 bytes");
    site_close(&site);
}

static void the_self_test_says_whether_links_stayed_up(void **state)
{
    (void)state;
    struct site site;
    struct err err = ERR_INIT;
    site_open(&site);
    good_plan(&site);
    assert_string_equal(json_string_value(json_object_get(first_probe(&site), "name")), "links");
    assert_true(json_is_true(json_object_get(first_probe(&site), "ok")));
    assert_ok(dp_sim_fault(site.dp, "link-down:dcb.maxrate", &err));
    assert_true(send_trial(&site, 2, plan_b, "r-1", TIMEOUT_S));
    assert_string_equal(last_result(&site), "applied"); /* what to do about it is the server's */
    assert_true(json_is_false(json_object_get(first_probe(&site), "ok")));
    assert_contains(json_string_value(json_object_get(first_probe(&site), "detail")), "sim.0/0");
    acknowledge(&site);
    assert_true(send_plan(&site, NODE, 3, plan_a)); /* down before: not this plan's doing */
    assert_true(json_is_true(json_object_get(first_probe(&site), "ok")));
    site_close(&site);
}

static void send_with_peer(struct site *site, int64_t generation, const struct row *rows,
                           const char *address)
{
    struct plan *plan = make_plan_of(NODE, generation, rows);
    plan->peers.count = 1;
    snprintf(plan->peers.items[0].port, PORT_ID_SIZE, "sim.0/0");
    snprintf(plan->peers.items[0].node, NAME_SIZE, "n2");
    snprintf(plan->peers.items[0].address, INVENTORY_ADDRESS_MAX, "%s", address);
    json_t *json = plan_to_json(plan);
    assert_true(send_json(site, json));
    json_decref(json);
    plan_free(plan);
}

/* 'p'assed, 'f'ailed, '-' = not possible */
static char peers_said(const struct site *site)
{
    const json_t *probe = json_array_get(json_object_get(site->receipt, "probes"), 2);
    assert_string_equal(json_string_value(json_object_get(probe, "name")), "peers");
    if (json_is_true(json_object_get(probe, "not_possible")))
        return json_is_false(json_object_get(probe, "ok")) ? '-' : '?';
    return json_is_true(json_object_get(probe, "ok")) ? 'p' : 'f';
}

static void the_self_test_asks_peers_before_and_after(void **state)
{
    (void)state;
    struct site site;
    struct err err = ERR_INIT;
    site_open(&site);
    good_plan(&site);
    acknowledge(&site);
    send_with_peer(&site, 2, plan_b, "10.1.0.2");
    assert_int_equal(peers_said(&site), 'p');
    acknowledge(&site);
    send_with_peer(&site, 3, plan_a, DP_SIM_SILENT_PEER);
    assert_int_equal(peers_said(&site), '-'); /* silent before, too */
    acknowledge(&site);
    assert_true(send_plan(&site, NODE, 4, plan_b));
    assert_int_equal(peers_said(&site), '-'); /* nobody to ask */
    acknowledge(&site);
    assert_true(send_plan(&site, NODE, 5, plan_a));
    acknowledge(&site);
    assert_ok(dp_sim_fault(site.dp, "peers-silent:dcb.maxrate", &err));
    send_with_peer(&site, 6, plan_b, "10.1.0.2");
    assert_string_equal(last_result(&site), "applied"); /* what to do about it is the server's */
    assert_int_equal(peers_said(&site), 'f');
    site_close(&site);
}

static void drift_and_refusals_have_no_self_test(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    good_plan(&site);
    poke(site.dp, "link.mtu", "sim.0/0", "", "1500");
    turn(&site, 250);
    assert_string_equal(last_result(&site), "drift");
    assert_null(json_object_get(site.receipt, "probes"));
    acknowledge(&site);
    dp_sim_fail_apply(site.dp, 3, false);
    assert_true(send_plan(&site, NODE, 2, plan_b));
    assert_string_equal(last_result(&site), "rolled-back");
    assert_null(json_object_get(site.receipt, "probes"));
    site_close(&site);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trial_is_known_by_its_rollout),
        cmocka_unit_test(a_node_on_trial_is_heard_again_after_its_receipt),
        cmocka_unit_test(a_confirmation_is_told_and_the_timer_ends),
        cmocka_unit_test(an_unconfirmed_plan_expires_on_time_and_not_before),
        cmocka_unit_test(drift_after_the_return_is_held_to_the_good_plan),
        cmocka_unit_test(a_trial_that_ended_while_the_agent_was_away_is_taken_back_at_its_start),
        cmocka_unit_test(a_restart_in_the_window_asserts_the_trial_and_keeps_its_time),
        cmocka_unit_test(without_a_server_the_timer_fires_all_the_same),
        cmocka_unit_test(a_stop_saves_the_time_that_is_left),
        cmocka_unit_test(the_self_test_says_whether_links_stayed_up),
        cmocka_unit_test(the_self_test_asks_peers_before_and_after),
        cmocka_unit_test(the_self_test_follows_the_marks),
        cmocka_unit_test(drift_and_refusals_have_no_self_test),
        cmocka_unit_test(a_confirmation_and_a_return_in_one_life),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
