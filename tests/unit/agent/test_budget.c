/*
 * tests/unit/agent/test_budget.c - what fails again and again is tried so often and no more; what
 * ends a quarantine; how long nothing was in force.
 */
#include "agent_site.h"

#include "agent/budget.h"

#define DIGEST_A "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define DIGEST_B "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

struct home {
    char dir[TEST_PATH_MAX];
    struct clock_fake clock;
    struct budget budget;
};

static void home_load(struct home *home)
{
    struct err err = ERR_INIT;
    home->budget =
        (struct budget){.state_dir = home->dir, .node = NODE, .clock = &home->clock.base};
    assert_ok(budget_load(&home->budget, &err));
}

static void home_open(struct home *home)
{
    test_folder(home->dir);
    clock_fake_init(&home->clock, 1700000000000000);
    home_load(home);
}

static void tries_are_counted_before_they_begin_and_kept(void **state)
{
    (void)state;
    struct home home;
    struct err err = ERR_INIT;
    char why[ERR_TEXT_MAX];
    home_open(&home);
    for (int i = 0; i < BUDGET_TRIES; i++) {
        assert_true(budget_allows(&home.budget, BUDGET_PLAN, DIGEST_A, why));
        assert_ok(budget_begin(&home.budget, BUDGET_PLAN, DIGEST_A, &err));
        home_load(&home); /* killed in the try */
    }
    assert_false(budget_allows(&home.budget, BUDGET_PLAN, DIGEST_A, why));
    assert_contains(why, "the agent or the node ended in each try");
    assert_true(budget_allows(&home.budget, BUDGET_PLAN, DIGEST_B, why));
    assert_true(budget_allows(&home.budget, BUDGET_STANDING, DIGEST_A, why));
    remove_folder(home.dir);
}

static void a_good_try_begins_the_count_anew(void **state)
{
    (void)state;
    struct home home;
    struct err err = ERR_INIT;
    char why[ERR_TEXT_MAX];
    home_open(&home);
    for (int i = 0; i < BUDGET_TRIES - 1; i++) {
        assert_ok(budget_begin(&home.budget, BUDGET_PLAN, DIGEST_A, &err));
        assert_false(budget_failed(&home.budget, BUDGET_PLAN, "no"));
    }
    assert_ok(budget_begin(&home.budget, BUDGET_PLAN, DIGEST_A, &err));
    budget_good(&home.budget, BUDGET_PLAN);
    for (int i = 0; i < BUDGET_TRIES - 1; i++) {
        assert_ok(budget_begin(&home.budget, BUDGET_PLAN, DIGEST_A, &err));
        assert_false(budget_failed(&home.budget, BUDGET_PLAN, "no"));
    }
    assert_ok(budget_begin(&home.budget, BUDGET_PLAN, DIGEST_A, &err));
    assert_true(budget_failed(&home.budget, BUDGET_PLAN, "the device does not answer"));
    home_load(&home);
    assert_false(budget_allows(&home.budget, BUDGET_PLAN, DIGEST_A, why));
    assert_contains(why, "the device does not answer");
    budget_release(&home.budget, 1);
    home_load(&home);
    assert_true(budget_allows(&home.budget, BUDGET_PLAN, DIGEST_A, why));
    assert_int_equal(home.budget.attempt, 1);
    remove_folder(home.dir);
}

static void boots_without_rest_are_counted(void **state)
{
    (void)state;
    struct home home;
    struct err err = ERR_INIT;
    char why[ERR_TEXT_MAX], boot[16];
    bool rebooted;
    home_open(&home);
    assert_ok(budget_boot(&home.budget, "b", DIGEST_A, &rebooted, &err));
    assert_false(rebooted); /* the first one that is known */
    for (int i = 0; i < BUDGET_BOOTS; i++) {
        snprintf(boot, sizeof(boot), "b%d", i);
        assert_ok(budget_boot(&home.budget, boot, DIGEST_A, &rebooted, &err));
        assert_true(rebooted);
        assert_ok(budget_boot(&home.budget, boot, DIGEST_A, &rebooted, &err));
        assert_false(rebooted); /* the agent alone */
        home_load(&home);
        assert_true(budget_allows(&home.budget, BUDGET_STANDING, DIGEST_A, why));
    }
    struct budget rested = home.budget;
    budget_held(&rested);
    assert_int_equal(rested.boots, 0);
    assert_ok(budget_boot(&home.budget, "last", DIGEST_A, &rebooted, &err));
    home_load(&home);
    assert_false(budget_allows(&home.budget, BUDGET_STANDING, DIGEST_A, why));
    assert_contains(why, "booted 6 times in a row");
    assert_ok(budget_boot(&home.budget, "none", "", &rebooted, &err)); /* nothing stands */
    assert_int_equal(home.budget.boots, 0);
    remove_folder(home.dir);
}

static void a_subject_has_tries_of_its_own(void **state)
{
    (void)state;
    struct home home;
    struct err err = ERR_INIT;
    char why[ERR_TEXT_MAX];
    bool last;
    home_open(&home);
    for (int i = 0; i < BUDGET_TRIES; i++) {
        assert_true(budget_allows_subject(&home.budget, DIGEST_A, "p0", why));
        assert_true(budget_subject_failed(&home.budget, DIGEST_A, "p1", "slow", &last));
        budget_subject_good(&home.budget, "p1");
        assert_true(budget_subject_failed(&home.budget, DIGEST_A, "p0", "no answer", &last));
        assert_int_equal(last, i + 1 == BUDGET_TRIES);
        home_load(&home);
    }
    assert_false(budget_allows_subject(&home.budget, DIGEST_A, "p0", why));
    assert_contains(why, "p0 is not put back");
    assert_contains(why, "no answer");
    assert_true(budget_allows_subject(&home.budget, DIGEST_A, "p1", why));
    assert_true(budget_allows_subject(&home.budget, DIGEST_B, "p0", why));
    assert_true(budget_allows(&home.budget, BUDGET_STANDING, DIGEST_A, why));
    budget_release(&home.budget, 1);
    home_load(&home);
    assert_true(budget_allows_subject(&home.budget, DIGEST_A, "p0", why));
    assert_ok(budget_begin(&home.budget, BUDGET_STANDING, DIGEST_A, &err));
    remove_folder(home.dir);
}

static void at_most_so_many_subjects_are_counted(void **state)
{
    (void)state;
    struct home home;
    char name[PORT_ID_SIZE];
    bool last;
    home_open(&home);
    for (int i = 0; i < BUDGET_SUBJECTS_MAX; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        assert_true(budget_subject_failed(&home.budget, DIGEST_A, name, "no", &last));
    }
    assert_false(budget_subject_failed(&home.budget, DIGEST_A, "more", "no", &last));
    assert_true(budget_subject_failed(&home.budget, DIGEST_A, "p0", "no", &last));
    home_load(&home);
    assert_int_equal(home.budget.subject_count, BUDGET_SUBJECTS_MAX);
    assert_true(budget_subject_failed(&home.budget, DIGEST_B, "more", "no", &last));
    assert_int_equal(home.budget.subject_count, 1); /* of another plan */
    remove_folder(home.dir);
}

static void a_damaged_or_foreign_file_is_set_aside(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{",
        "{\"version\":2,\"node\":\"n1\",\"attempt\":0,\"boots\":0,\"tries\":{}}",
        "{\"version\":1,\"node\":\"n2\",\"attempt\":0,\"boots\":0,\"tries\":{}}",
        "{\"version\":1,\"node\":\"n1\",\"attempt\":-1,\"boots\":0,\"tries\":{}}",
        "{\"version\":1,\"node\":\"n1\",\"attempt\":0,\"boots\":7,\"tries\":{}}",
        "{\"version\":1,\"node\":\"n1\",\"attempt\":0,\"boots\":0,\"tries\":{\"x\":{}}}",
        "{\"version\":1,\"node\":\"n1\",\"attempt\":0,\"boots\":0,\"tries\":{\"plan\":{\"digest\":"
        "\"" DIGEST_A "\",\"count\":6}}}",
        "{\"version\":1,\"node\":\"n1\",\"attempt\":0,\"boots\":0,\"tries\":{},\"subjects\":{"
        "\"digest\":\"" DIGEST_A "\",\"tries\":[{\"subject\":\"p0\",\"count\":6}]}}",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct home home;
        home_open(&home);
        scribble(home.dir, BUDGET_FILE, texts[i]);
        home_load(&home);
        assert_int_equal(count_files(home.dir, BUDGET_FILE ".corrupt-"), 1);
        assert_int_equal(home.budget.attempt, 0);
        assert_int_equal(home.budget.boots, 0);
        remove_folder(home.dir);
    }
}

/* The agent ----------------------------------------------------------------------------------- */

static void send_attempt(struct site *site, int64_t generation, const struct row *rows,
                         int64_t attempt)
{
    struct plan *plan = make_plan(generation, rows);
    plan->attempt = attempt;
    json_t *json = plan_to_json(plan);
    assert_true(send_json(site, json));
    json_decref(json);
    plan_free(plan);
}

static void restart(struct site *site, const char *boot)
{
    sleep_agent(site);
    site->boot = boot;
    wake(site);
    for (int before = -1; before != site->receipts;) {
        before = site->receipts;
        acknowledge(site);
    }
}

static void quarantine(struct site *site)
{
    struct err err = ERR_INIT;
    site_open(site);
    good_plan(site);
    assert_ok(dp_sim_fault(site->dp, "fail:host.modparam", &err));
    for (int i = 0; i < BUDGET_TRIES; i++) {
        assert_true(send_plan(site, NODE, 2, plan_b));
        acknowledge(site);
        assert_string_equal(last_result(site),
                            i + 1 < BUDGET_TRIES ? "rolled-back" : "quarantined");
        restart(site, "boot"); /* or nothing would be tried again */
    }
}

static void a_plan_that_fails_is_tried_so_often_and_the_good_one_stays(void **state)
{
    (void)state;
    struct site site;
    quarantine(&site);
    char *good = picture(site.dp);
    int calls = dp_sim_apply_count(site.dp);
    assert_true(send_plan(&site, NODE, 2, plan_b));
    assert_string_equal(last_result(&site), "quarantined");
    assert_contains(last_problem(&site), "until another plan comes or the node is released");
    assert_int_equal(dp_sim_apply_count(site.dp), calls);
    acknowledge(&site);
    poke(site.dp, "link.mtu", "sim.0/0", "", "1500");
    turn(&site, 250);
    assert_string_equal(last_result(&site), "drift"); /* the good plan is held as before */
    assert_picture(site.dp, good);
    free(good);
    site_close(&site);
}

static void an_order_lets_it_be_tried_again(void **state)
{
    (void)state;
    struct site site;
    quarantine(&site);
    dp_sim_fault_clear(site.dp);
    assert_true(send_plan(&site, NODE, 2, plan_b));
    assert_string_equal(last_result(&site), "quarantined");
    acknowledge(&site);
    send_attempt(&site, 2, plan_b, 1);
    assert_string_equal(last_result(&site), "applied");
    assert_contains(site.known, "!1");
    acknowledge(&site);
    restart(&site, "boot");
    assert_contains(site.known, "!1");
    site_close(&site);
}

/* A server's database that was restored has counted fewer orders than the agent followed. */
static void a_count_of_orders_that_went_back_is_no_order(void **state)
{
    (void)state;
    struct site site;
    quarantine(&site);
    for (int i = 0; i < BUDGET_TRIES; i++) {
        send_attempt(&site, 2, plan_b, 7);
        acknowledge(&site);
        assert_string_equal(last_result(&site),
                            i + 1 < BUDGET_TRIES ? "rolled-back" : "quarantined");
        restart(&site, "boot");
    }
    dp_sim_fault_clear(site.dp);
    int calls = dp_sim_apply_count(site.dp);
    send_attempt(&site, 2, plan_b, 3);
    assert_string_equal(last_result(&site), "quarantined");
    assert_int_equal(dp_sim_apply_count(site.dp), calls);
    acknowledge(&site);
    restart(&site, "boot");
    send_attempt(&site, 2, plan_b, 4); /* the next one is */
    assert_string_equal(last_result(&site), "applied");
    site_close(&site);
}

static void another_plan_is_tried(void **state)
{
    (void)state;
    struct site site;
    quarantine(&site);
    dp_sim_fault_clear(site.dp);
    assert_true(send_plan(&site, NODE, 2, plan_b));
    assert_string_equal(last_result(&site), "quarantined");
    acknowledge(&site);
    assert_true(send_plan(&site, NODE, 3, plan_a));
    assert_string_equal(last_result(&site), "unchanged");
    acknowledge(&site);
    assert_true(send_plan(&site, NODE, 4, plan_b)); /* after another one it is new again */
    assert_string_equal(last_result(&site), "applied");
    site_close(&site);
}

static void what_stands_is_put_back_so_often_and_no_more(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    good_plan(&site);
    poke(site.dp, "link.mtu", "sim.0/0", "", "1500");
    dp_sim_fail_all(site.dp, true);
    for (int i = 0; i < 2 * BUDGET_TRIES; i++)
        restart(&site, "boot");
    assert_string_equal(last_result(&site), "quarantined");
    dp_sim_fail_all(site.dp, false);
    int calls = dp_sim_apply_count(site.dp);
    restart(&site, "boot");
    assert_int_equal(dp_sim_apply_count(site.dp), calls);
    assert_string_equal(last_result(&site), "quarantined");
    agent_reload(site.agent); /* tries again whatever was given up */
    acknowledge(&site);
    assert_string_equal(last_result(&site), "applied");
    site_close(&site);
}

static const char *gap_cause(const struct site *site)
{
    const char *cause =
        json_string_value(json_object_get(json_object_get(site->receipt, "gap"), "cause"));
    return cause == NULL ? "none" : cause;
}

static int64_t gap_ms(const struct site *site)
{
    return json_integer_value(json_object_get(json_object_get(site->receipt, "gap"), "ms"));
}

static void after_a_boot_the_gap_counts_from_it(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    good_plan(&site);
    restart(&site, "boot");
    assert_string_equal(gap_cause(&site), "none");
    sleep_agent(&site);
    poke(site.dp, "link.mtu", "sim.0/0", "", "1500"); /* as after a boot */
    site.clock.mono = 42 * NS_PER_S + 7 * NS_PER_MS;
    site.boot = "next";
    wake(&site);
    acknowledge(&site);
    assert_string_equal(last_result(&site), "applied");
    assert_string_equal(gap_cause(&site), "boot");
    assert_int_equal(gap_ms(&site), 42007);
    restart(&site, "next");
    assert_string_equal(gap_cause(&site), "none");
    site_close(&site);
}

static void a_device_that_comes_back_is_set_again_and_the_gap_told(void **state)
{
    (void)state;
    struct site site;
    site_open(&site);
    good_plan(&site);
    dp_sim_hide_port(site.dp, 0, true);
    turn(&site, 250);
    acknowledge(&site);
    assert_string_equal(last_result(&site), "refused");
    clock_fake_advance(&site.clock, 90 * NS_PER_S); /* nothing can be done meanwhile */
    dp_sim_hide_port(site.dp, 0, false);
    poke(site.dp, "link.mtu", "sim.0/0", "", "1500");
    turn(&site, 60);
    clock_fake_advance(&site.clock, 3 * NS_PER_S);
    turn(&site, 250);
    assert_string_equal(last_result(&site), "drift");
    assert_string_equal(gap_cause(&site), "device");
    assert_int_equal(gap_ms(&site), 3000);
    site_close(&site);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tries_are_counted_before_they_begin_and_kept),
        cmocka_unit_test(a_good_try_begins_the_count_anew),
        cmocka_unit_test(boots_without_rest_are_counted),
        cmocka_unit_test(a_subject_has_tries_of_its_own),
        cmocka_unit_test(at_most_so_many_subjects_are_counted),
        cmocka_unit_test(a_damaged_or_foreign_file_is_set_aside),
        cmocka_unit_test(a_plan_that_fails_is_tried_so_often_and_the_good_one_stays),
        cmocka_unit_test(an_order_lets_it_be_tried_again),
        cmocka_unit_test(a_count_of_orders_that_went_back_is_no_order),
        cmocka_unit_test(another_plan_is_tried),
        cmocka_unit_test(what_stands_is_put_back_so_often_and_no_more),
        cmocka_unit_test(after_a_boot_the_gap_counts_from_it),
        cmocka_unit_test(a_device_that_comes_back_is_set_again_and_the_gap_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
