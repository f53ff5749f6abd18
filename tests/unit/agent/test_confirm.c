/*
 * tests/unit/agent/test_confirm.c - a plan on trial: armed, confirmed, expired, returned, each
 * killed between any two changes; restarts, reboots and clocks that jump; what a node goes back to.
 */
#include "agent_test.h"

#include "agent/confirm.h"
#include "agent/reconcile.h"

#define TIMEOUT_S 600

struct life {
    char dir[TEST_PATH_MAX];
    struct clock_fake clock;
    struct dp *dp;
    struct reconcile *r;
    int asked, kill_at; /* 0 = never */
};

/* Sticky: the dead stay dead. */
static bool kill_now(void *arg)
{
    struct life *life = arg;
    life->asked++;
    return life->kill_at != 0 && life->asked >= life->kill_at;
}

static void wake(struct life *life, const char *boot)
{
    struct err err = ERR_INIT;
    life->asked = life->kill_at = 0;
    struct reconcile_config config = {
        .node = NODE,
        .state_dir = life->dir,
        .boot_id = boot,
        .dp = life->dp,
        .clock = &life->clock.base,
        .killed = kill_now,
        .killed_arg = life,
    };
    assert_ok(reconcile_new(&config, &life->r, &err));
}

static void die(struct life *life)
{
    reconcile_free(life->r);
    life->r = NULL;
}

static void begin(struct life *life)
{
    *life = (struct life){.dp = make_sim()};
    test_folder(life->dir);
    clock_fake_init(&life->clock, 1700000000000000);
    wake(life, "boot");
}

static void end(struct life *life)
{
    die(life);
    dp_free(life->dp);
    remove_folder(life->dir);
}

/* False: killed. out may be NULL. */
static bool pass(struct life *life, enum reconcile_cause cause, struct outcome *out)
{
    struct err err = ERR_INIT;
    struct outcome own;
    struct outcome *outcome = out == NULL ? &own : out;
    enum err_code code = reconcile_run(life->r, cause, outcome, &err);
    if (code != ERR_OK)
        assert_contains(err.text, "stopped in the middle");
    if (out == NULL)
        outcome_release(outcome);
    return code == ERR_OK;
}

static bool apply(struct life *life, struct plan *plan)
{
    reconcile_take(life->r, plan);
    return pass(life, RECONCILE_PLAN, NULL);
}

/* What a start does: settles, then asserts what stands or goes back. */
static void settle(struct life *life)
{
    struct err err = ERR_INIT;
    struct outcome out;
    assert_ok(reconcile_recover(life->r, &out, &err));
    assert_null(out.receipt);
    assert_true(
        pass(life, reconcile_left_ns(life->r) == 0 ? RECONCILE_RETURN : RECONCILE_START, NULL));
    assert_false(kept(life->dir, JOURNAL_FILE));
}

static void restart(struct life *life, const char *boot)
{
    die(life);
    wake(life, boot);
    settle(life);
}

static void reboot(struct life *life)
{
    dp_free(life->dp);
    life->dp = make_sim();
    life->clock.mono = 5 * NS_PER_S; /* the boot clock begins anew */
    restart(life, "another boot");
}

static char *picture_of(const struct row *rows)
{
    struct life life;
    begin(&life);
    if (rows != NULL)
        assert_true(apply(&life, make_plan(1, rows)));
    char *text = picture(life.dp);
    end(&life);
    return text;
}

static void assert_known(const struct life *life, const char *digest, const char *rollout)
{
    char known[PLAN_TAG_SIZE], wanted[PLAN_TAG_SIZE];
    reconcile_known(life->r, known);
    snprintf(wanted, sizeof(wanted), "%s%s%s", digest, rollout[0] == '\0' ? "" : "+", rollout);
    assert_string_equal(known, wanted);
}

static void digest_of(const struct row *rows, char out[DIGEST_TEXT_MAX])
{
    OWN(plan) struct plan *plan = make_plan(1, rows);
    memcpy(out, plan->digest, DIGEST_TEXT_MAX);
}

/* A node with plan a (good), then plan b on trial. */
static void begin_trial(struct life *life, const struct row *first)
{
    begin(life);
    if (first != NULL)
        assert_true(apply(life, make_plan(1, first)));
    assert_true(apply(life, make_trial(2, plan_b, "r-1", TIMEOUT_S)));
    assert_int_equal(reconcile_left_ns(life->r), TIMEOUT_S * NS_PER_S);
}

static void over(struct life *life)
{
    clock_fake_advance(&life->clock, TIMEOUT_S * NS_PER_S);
    assert_int_equal(reconcile_left_ns(life->r), 0);
}

/* Life of a trial ------------------------------------------------------------------------------ */

static void a_plan_on_trial_stands_and_the_good_one_stays(void **state)
{
    (void)state;
    struct life life;
    struct outcome out;
    char b[DIGEST_TEXT_MAX];
    digest_of(plan_b, b);
    begin(&life);
    assert_true(apply(&life, make_plan(1, plan_a)));
    reconcile_take(life.r, make_trial(2, plan_b, "r-1", TIMEOUT_S));
    assert_true(pass(&life, RECONCILE_PLAN, &out));
    assert_int_equal(out.receipt->result, RECEIPT_APPLIED);
    assert_string_equal(out.receipt->rollout, "r-1");
    outcome_release(&out);
    assert_int_equal(reconcile_good(life.r)->generation, 1);
    assert_int_equal(reconcile_standing(life.r)->generation, 2);
    assert_null(reconcile_latest(life.r));
    assert_known(&life, b, "r-1");
    poke(life.dp, "link.mtu", "sim.0/0", "", "1500");
    assert_true(pass(&life, RECONCILE_CHECK, &out)); /* drift holds to the plan on trial */
    assert_int_equal(out.receipt->result, RECEIPT_DRIFT);
    assert_string_equal(out.receipt->digest, b);
    outcome_release(&out);
    char *now = picture(life.dp);
    assert_contains(now, "9000");
    free(now);
    end(&life);
}

static void a_confirmation_makes_it_the_good_plan_without_a_step(void **state)
{
    (void)state;
    struct life life;
    struct outcome out;
    char b[DIGEST_TEXT_MAX];
    digest_of(plan_b, b);
    begin_trial(&life, plan_a);
    int calls = dp_sim_apply_count(life.dp);
    reconcile_take(life.r, make_plan(2, plan_b));
    assert_true(pass(&life, RECONCILE_PLAN, &out));
    assert_int_equal(out.receipt->result, RECEIPT_UNCHANGED);
    assert_string_equal(out.receipt->rollout, "");
    assert_string_equal(out.receipt->observed, b);
    outcome_release(&out);
    assert_int_equal(dp_sim_apply_count(life.dp), calls);
    assert_int_equal(reconcile_good(life.r)->generation, 2);
    assert_int_equal(reconcile_left_ns(life.r), -1);
    assert_false(kept(life.dir, CONFIRM_FILE));
    assert_known(&life, b, "");
    end(&life);
}

static void a_confirmation_counts_although_the_node_drifted_and_fails_to_repair(void **state)
{
    (void)state;
    struct life life;
    struct outcome out;
    begin_trial(&life, plan_a);
    poke(life.dp, "link.mtu", "sim.0/0", "", "1500");
    dp_sim_fail_apply(life.dp, 1, false);
    reconcile_take(life.r, make_plan(2, plan_b));
    assert_true(pass(&life, RECONCILE_PLAN, &out));
    assert_int_equal(out.receipt->result, RECEIPT_ROLLED_BACK);
    outcome_release(&out);
    assert_int_equal(reconcile_good(life.r)->generation, 2);
    assert_int_equal(reconcile_left_ns(life.r), -1);
    end(&life);
}

static void an_unconfirmed_plan_is_taken_back_wholly(void **state)
{
    (void)state;
    char *wanted = picture_of(plan_a);
    char a[DIGEST_TEXT_MAX], b[DIGEST_TEXT_MAX];
    struct life life;
    struct outcome out;
    digest_of(plan_a, a);
    digest_of(plan_b, b);
    begin_trial(&life, plan_a);
    over(&life);
    assert_true(pass(&life, RECONCILE_RETURN, &out));
    assert_int_equal(out.receipt->result, RECEIPT_EXPIRED);
    assert_int_equal(out.receipt->generation, 2);
    assert_string_equal(out.receipt->digest, b);
    assert_string_equal(out.receipt->observed, a);
    assert_string_equal(out.receipt->rollout, "r-1");
    assert_contains(out.receipt->problem, "r-1");
    outcome_release(&out);
    assert_picture(life.dp, wanted); /* the rate and the parameter that only b names, too */
    assert_false(kept(life.dir, JOURNAL_FILE));
    assert_int_equal(reconcile_standing(life.r)->generation, 1);
    assert_true(reconcile_has_expired(life.r));
    assert_known(&life, b, "r-1");
    restart(&life, "boot");
    assert_true(reconcile_has_expired(life.r)); /* and it is not asked for again */
    assert_known(&life, b, "r-1");
    assert_picture(life.dp, wanted);
    end(&life);
    free(wanted);
}

static void without_a_good_plan_the_node_is_as_before_the_trial(void **state)
{
    (void)state;
    struct life life;
    struct outcome out;
    begin(&life);
    poke(life.dp, "link.mtu", "sim.0/0", "", "2000");
    char *before = picture(life.dp);
    assert_true(apply(&life, make_trial(1, plan_a, "r-1", TIMEOUT_S)));
    assert_true(apply(&life, make_trial(2, plan_b, "r-2", TIMEOUT_S)));
    over(&life);
    assert_true(pass(&life, RECONCILE_RETURN, &out));
    assert_int_equal(out.receipt->result, RECEIPT_EXPIRED);
    assert_string_equal(out.receipt->rollout, "r-2");
    outcome_release(&out);
    assert_picture(life.dp, before);
    assert_null(reconcile_standing(life.r));
    end(&life);
    free(before);
}

static void what_the_trial_did_not_touch_is_left_alone(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"link.mtu", "sim.1/0", "", "4200", false, false},
        {"tc.clsact", "sim.1/0", "", "true", false, false},
        {NULL, NULL, NULL, NULL, false, false},
    };
    struct life life;
    begin(&life);
    poke(life.dp, "tc.clsact", "sim.1/0", "", "true"); /* ours, from a plan that was lost */
    char *before = picture(life.dp);
    assert_true(apply(&life, make_trial(1, rows, "r-1", TIMEOUT_S)));
    poke(life.dp, "dcb.pfc", "sim.0/0", "", "{\"delay\":0,\"priorities\":[1]}");
    over(&life);
    assert_true(pass(&life, RECONCILE_RETURN, NULL));
    poke(life.dp, "dcb.pfc", "sim.0/0", "", "{\"delay\":0,\"priorities\":[]}");
    assert_picture(life.dp, before);
    end(&life);
    free(before);
}

static void a_second_trial_keeps_the_first_backup(void **state)
{
    (void)state;
    char *wanted = picture_of(plan_a);
    static const struct row other[] = {
        {"link.mtu", "sim.0/0", "", "3000", false, false},
        {"host.modparam", "host", "solar_rdma.max_sge", "\"128\"", false, false},
        {NULL, NULL, NULL, NULL, false, false},
    };
    struct life life;
    begin_trial(&life, plan_a);
    clock_fake_advance(&life.clock, 400 * NS_PER_S);
    assert_true(apply(&life, make_trial(3, other, "r-2", 300)));
    assert_int_equal(reconcile_left_ns(life.r), 300 * NS_PER_S); /* a time of its own */
    assert_int_equal(reconcile_good(life.r)->generation, 1);
    clock_fake_advance(&life.clock, 300 * NS_PER_S);
    restart(&life, "boot");
    assert_picture(life.dp, wanted);
    end(&life);
    free(wanted);
}

static void a_trial_that_is_refused_or_rolled_back_arms_nothing(void **state)
{
    (void)state;
    static const struct row unheard[] = {
        {"host.sysctl", "host", "net.unheard.of", "\"1\"", false, false},
        {NULL, NULL, NULL, NULL, false, false},
    };
    struct life life;
    begin(&life);
    assert_true(apply(&life, make_plan(1, plan_a)));
    char *before = picture(life.dp);
    assert_true(apply(&life, make_trial(2, unheard, "r-1", TIMEOUT_S)));
    assert_int_equal(reconcile_left_ns(life.r), -1);
    dp_sim_fail_apply(life.dp, 5, true);
    assert_true(apply(&life, make_trial(2, plan_b, "r-2", TIMEOUT_S)));
    assert_int_equal(reconcile_left_ns(life.r), -1);
    assert_false(kept(life.dir, CONFIRM_FILE));
    assert_picture(life.dp, before);
    end(&life);
    free(before);
}

static void a_failing_second_trial_leaves_the_first_one_running(void **state)
{
    (void)state;
    char b[DIGEST_TEXT_MAX];
    struct life life;
    struct outcome out;
    digest_of(plan_b, b);
    begin_trial(&life, plan_a);
    char *before = picture(life.dp);
    clock_fake_advance(&life.clock, NS_PER_S);
    dp_sim_fail_apply(life.dp, 5, true);
    reconcile_take(life.r, make_trial(3, plan_a, "r-2", 60));
    assert_true(pass(&life, RECONCILE_PLAN, &out));
    assert_int_equal(out.receipt->result, RECEIPT_ROLLED_BACK);
    outcome_release(&out);
    assert_int_equal(reconcile_left_ns(life.r), (TIMEOUT_S - 1) * NS_PER_S);
    assert_string_equal(reconcile_standing(life.r)->digest, b);
    assert_picture(life.dp, before);
    end(&life);
    free(before);
}

static void a_trial_of_what_is_good_already_has_nothing_to_go_back_to(void **state)
{
    (void)state;
    char a[DIGEST_TEXT_MAX];
    struct life life;
    digest_of(plan_a, a);
    begin_trial(&life, plan_a);
    assert_true(apply(&life, make_trial(3, plan_a, "r-2", TIMEOUT_S)));
    assert_int_equal(reconcile_left_ns(life.r), -1);
    assert_known(&life, a, "r-2");
    restart(&life, "boot");
    assert_known(&life, a, "r-2");
    assert_int_equal(reconcile_good(life.r)->generation, 3);
    end(&life);
}

static void a_return_plan_takes_the_trial_back_wholly(void **state)
{
    (void)state;
    char *wanted = picture_of(plan_a);
    char a[DIGEST_TEXT_MAX];
    struct life life;
    struct outcome out;
    digest_of(plan_a, a);
    begin_trial(&life, plan_a);
    reconcile_take(life.r, make_plan(1, plan_a));
    assert_true(pass(&life, RECONCILE_PLAN, &out));
    assert_int_equal(out.receipt->result, RECEIPT_APPLIED);
    assert_string_equal(out.receipt->digest, a);
    assert_string_equal(out.receipt->observed, a);
    assert_string_equal(out.receipt->rollout, "");
    outcome_release(&out);
    assert_picture(life.dp, wanted); /* the rate and the parameter that only b names, too */
    assert_int_equal(reconcile_left_ns(life.r), -1);
    assert_false(kept(life.dir, CONFIRM_FILE));
    assert_int_equal(reconcile_standing(life.r)->generation, 1);
    end(&life);
    free(wanted);
}

static void a_return_plan_that_fails_leaves_the_trial_running(void **state)
{
    (void)state;
    struct life life;
    struct outcome out;
    begin_trial(&life, plan_a);
    char *standing = picture(life.dp);
    dp_sim_fail_apply(life.dp, 6, true);
    reconcile_take(life.r, make_plan(1, plan_a));
    assert_true(pass(&life, RECONCILE_PLAN, &out));
    assert_int_equal(out.receipt->result, RECEIPT_ROLLED_BACK);
    outcome_release(&out);
    assert_picture(life.dp, standing);
    assert_int_equal(reconcile_left_ns(life.r), TIMEOUT_S * NS_PER_S);
    end(&life);
    free(standing);
}

static void a_late_confirmation_applies_the_plan_again_for_good(void **state)
{
    (void)state;
    char *wanted = picture_of(plan_b);
    struct life life;
    struct outcome out;
    begin_trial(&life, plan_a);
    over(&life);
    assert_true(pass(&life, RECONCILE_RETURN, NULL));
    reconcile_take(life.r, make_plan(2, plan_b));
    assert_true(pass(&life, RECONCILE_PLAN, &out));
    assert_int_equal(out.receipt->result, RECEIPT_APPLIED);
    outcome_release(&out);
    assert_int_equal(reconcile_good(life.r)->generation, 2);
    assert_false(reconcile_has_expired(life.r));
    assert_false(kept(life.dir, CONFIRM_FILE));
    restart(&life, "boot");
    assert_int_equal(reconcile_standing(life.r)->generation, 2);
    end(&life);
    free(wanted);
}

static void a_way_back_that_fails_is_tried_again(void **state)
{
    (void)state;
    char *wanted = picture_of(plan_a);
    struct life life;
    struct outcome out;
    begin_trial(&life, plan_a);
    char *standing = picture(life.dp);
    over(&life);
    dp_sim_fail_apply(life.dp, 4, false);
    assert_true(pass(&life, RECONCILE_RETURN, &out));
    assert_int_equal(out.receipt->result, RECEIPT_ROLLED_BACK);
    assert_contains(out.receipt->problem, "the way back failed");
    outcome_release(&out);
    assert_picture(life.dp, standing); /* one of the two, wholly */
    assert_int_equal(reconcile_left_ns(life.r), 0);
    assert_true(pass(&life, RECONCILE_RETURN, &out));
    assert_int_equal(out.receipt->result, RECEIPT_EXPIRED);
    outcome_release(&out);
    assert_picture(life.dp, wanted);
    end(&life);
    free(standing);
    free(wanted);
}

static void a_timer_that_cannot_be_stored_takes_the_plan_back(void **state)
{
    (void)state;
    struct life life;
    struct outcome out;
    char path[KEEP_PATH_MAX];
    struct err err = ERR_INIT;
    begin(&life);
    assert_true(apply(&life, make_plan(1, plan_a)));
    char *before = picture(life.dp);
    assert_ok(keep_path(life.dir, CONFIRM_FILE, path, &err));
    assert_int_equal(mkdir(path, 0700), 0); /* no file can take its place */
    reconcile_take(life.r, make_trial(2, plan_b, "r-1", TIMEOUT_S));
    assert_true(pass(&life, RECONCILE_PLAN, &out));
    assert_int_equal(out.receipt->result, RECEIPT_ROLLED_BACK);
    assert_contains(out.receipt->problem, "timer cannot be stored");
    outcome_release(&out);
    assert_picture(life.dp, before);
    assert_int_equal(reconcile_left_ns(life.r), -1);
    end(&life);
    free(before);
}

/* Time ----------------------------------------------------------------------------------------- */

static void a_restart_in_the_window_keeps_the_exact_time(void **state)
{
    (void)state;
    struct life life;
    begin_trial(&life, plan_a);
    clock_fake_advance(&life.clock, 123456789012);
    restart(&life, "boot");
    assert_int_equal(reconcile_left_ns(life.r), TIMEOUT_S * NS_PER_S - 123456789012);
    clock_fake_advance(&life.clock, TIMEOUT_S * NS_PER_S - 123456789013);
    assert_int_equal(reconcile_left_ns(life.r), 1);
    clock_fake_advance(&life.clock, 1);
    assert_int_equal(reconcile_left_ns(life.r), 0);
    end(&life);
}

static void a_reboot_in_the_window_goes_on_with_the_time_that_was_saved(void **state)
{
    (void)state;
    char *b = picture_of(plan_b), *a = picture_of(plan_a);
    struct life life;
    begin_trial(&life, plan_a);
    clock_fake_advance(&life.clock, 100 * NS_PER_S);
    reconcile_save_left(life.r, false);
    clock_fake_advance(&life.clock, CONFIRM_SAVE_NS - 1);
    reconcile_save_left(life.r, false); /* not yet */
    reboot(&life);
    assert_int_equal(reconcile_left_ns(life.r), (TIMEOUT_S - 100) * NS_PER_S);
    assert_picture(life.dp, b); /* put back, and still on trial */
    clock_fake_advance(&life.clock, (TIMEOUT_S - 100) * NS_PER_S);
    restart(&life, "another boot");
    assert_true(reconcile_has_expired(life.r));
    struct plan *plan = make_plan(1, plan_a);
    OWN_STATE struct state seen;
    struct err err = ERR_INIT;
    char observed[DIGEST_TEXT_MAX];
    state_init(&seen);
    assert_ok(dp_observe(life.dp, plan, &seen, &err));
    assert_ok(plan_observed_digest(plan, &seen, observed, &err));
    assert_string_equal(observed, plan->digest);
    plan_free(plan);
    end(&life);
    free(a);
    free(b);
}

static void the_time_is_saved_each_save_period(void **state)
{
    (void)state;
    struct life life;
    begin_trial(&life, plan_a);
    clock_fake_advance(&life.clock, CONFIRM_SAVE_NS);
    reconcile_save_left(life.r, false);
    reboot(&life);
    assert_int_equal(reconcile_left_ns(life.r), TIMEOUT_S * NS_PER_S - CONFIRM_SAVE_NS);
    clock_fake_advance(&life.clock, 1);
    reconcile_save_left(life.r, true); /* at stop: at once */
    reboot(&life);
    assert_int_equal(reconcile_left_ns(life.r), TIMEOUT_S * NS_PER_S - CONFIRM_SAVE_NS - 1);
    end(&life);
}

static void a_boot_that_is_unknown_never_lengthens_the_time(void **state)
{
    (void)state;
    struct life life;
    begin_trial(&life, plan_a);
    clock_fake_advance(&life.clock, 100 * NS_PER_S);
    restart(&life, "");
    assert_int_equal(reconcile_left_ns(life.r), (TIMEOUT_S - 100) * NS_PER_S);
    life.clock.mono = NS_PER_S;
    restart(&life, "");
    assert_in_range(reconcile_left_ns(life.r), 1, TIMEOUT_S * NS_PER_S);
    end(&life);
}

static void a_wall_clock_that_jumps_changes_nothing(void **state)
{
    (void)state;
    struct life life;
    begin_trial(&life, plan_a);
    static const int64_t walls[] = {0, 1, INT64_C(4102444800000000), 1700000000000000};
    for (size_t i = 0; i < sizeof(walls) / sizeof(walls[0]); i++) {
        life.clock.wall = walls[i];
        assert_int_equal(reconcile_left_ns(life.r), TIMEOUT_S * NS_PER_S);
        restart(&life, "boot");
        assert_int_equal(reconcile_left_ns(life.r), TIMEOUT_S * NS_PER_S);
    }
    life.clock.wall = 0;
    over(&life);
    end(&life);
}

/* Crashes -------------------------------------------------------------------------------------- */

enum act { ACT_ARM, ACT_CONFIRM, ACT_RETURN_PLAN, ACT_EXPIRE, ACT_SECOND };

static bool act(struct life *life, enum act what)
{
    switch (what) {
    case ACT_ARM:
        return apply(life, make_trial(2, plan_b, "r-1", TIMEOUT_S));
    case ACT_CONFIRM:
        return apply(life, make_plan(2, plan_b));
    case ACT_RETURN_PLAN:
        return apply(life, make_plan(3, plan_a));
    case ACT_SECOND:
        return apply(life, make_trial(3, plan_a, "r-2", TIMEOUT_S));
    case ACT_EXPIRE:
        break;
    }
    return pass(life, RECONCILE_RETURN, NULL);
}

/* Killed at the kth question of the act; after a restart one of the two states stands wholly, and
 * what disk says is what the node is. False once k is past the last one. */
static bool killed_at(int k, const struct row *first, enum act what)
{
    char *a = picture_of(plan_a), *b = picture_of(plan_b);
    struct life life;
    if (what == ACT_ARM) {
        begin(&life);
        if (first != NULL)
            assert_true(apply(&life, make_plan(1, first)));
    } else {
        begin_trial(&life, first);
    }
    if (what == ACT_EXPIRE)
        over(&life);
    life.asked = 0;
    life.kill_at = k;
    bool lived = act(&life, what);
    restart(&life, "boot");

    char *now = picture(life.dp), *bare = picture_of(NULL);
    const struct plan *standing = reconcile_standing(life.r);
    char digest[DIGEST_TEXT_MAX];
    digest_of(plan_b, digest);
    if (standing == NULL)
        assert_string_equal(now, bare);
    else if (strcmp(standing->digest, digest) == 0)
        assert_string_equal(now, b);
    else if (first != NULL || what == ACT_ARM)
        assert_string_equal(now, a);
    else /* not a way back: a plan that leaves b's rate and parameter out leaves them as they are */
        assert_contains(now, "10.1.0.0/16");
    if (what == ACT_EXPIRE) {
        assert_true(reconcile_has_expired(life.r));
        assert_known(&life, digest, "r-1");
    }
    free(now);
    free(bare);

    /* The server asks again, and the end is the same as without the crash. */
    if (what != ACT_EXPIRE)
        assert_true(act(&life, what));
    if (what == ACT_ARM)
        assert_int_equal(reconcile_left_ns(life.r), TIMEOUT_S * NS_PER_S);
    if (what == ACT_CONFIRM || what == ACT_RETURN_PLAN) {
        assert_int_equal(reconcile_left_ns(life.r), -1);
        assert_int_equal(reconcile_good(life.r)->generation, what == ACT_CONFIRM ? 2 : 3);
        assert_false(kept(life.dir, CONFIRM_FILE));
    }
    if (what == ACT_SECOND && first == NULL)
        assert_int_equal(reconcile_left_ns(life.r), TIMEOUT_S * NS_PER_S);
    end(&life);
    free(a);
    free(b);
    return !lived;
}

static int sweep(const struct row *first, enum act what)
{
    int k = 1;
    while (killed_at(k, first, what))
        k++;
    return k;
}

static void killed_anywhere_while_arming_the_node_is_whole(void **state)
{
    (void)state;
    assert_true(sweep(plan_a, ACT_ARM) > 15);
    assert_true(sweep(NULL, ACT_ARM) > 12);
}

static void killed_anywhere_while_confirming_the_node_is_whole(void **state)
{
    (void)state;
    assert_true(sweep(plan_a, ACT_CONFIRM) > 2);
    assert_true(sweep(NULL, ACT_CONFIRM) > 2);
}

static void killed_anywhere_on_the_way_back_the_node_goes_back(void **state)
{
    (void)state;
    assert_true(sweep(plan_a, ACT_EXPIRE) > 15);
    assert_true(sweep(NULL, ACT_EXPIRE) > 12);
}

static void killed_anywhere_in_a_return_plan_the_node_is_whole(void **state)
{
    (void)state;
    assert_true(sweep(plan_a, ACT_RETURN_PLAN) > 12);
    assert_true(sweep(NULL, ACT_RETURN_PLAN) > 12);
}

static void killed_anywhere_in_a_second_trial_the_node_is_whole(void **state)
{
    (void)state;
    assert_true(sweep(plan_a, ACT_SECOND) > 12);
    assert_true(sweep(NULL, ACT_SECOND) > 12);
}

static void killed_on_the_way_back_and_rebooted_the_node_does_not_go_forward(void **state)
{
    (void)state;
    for (int k = 2; k < 20; k += 3) {
        struct life life;
        begin_trial(&life, plan_a);
        over(&life);
        life.asked = 0;
        life.kill_at = k;
        pass(&life, RECONCILE_RETURN, NULL);
        reboot(&life);
        assert_true(reconcile_has_expired(life.r));
        assert_int_equal(reconcile_standing(life.r)->generation, 1);
        end(&life);
    }
}

static void files_that_do_not_read_back_are_set_aside(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "{\"version\":1,\"state\":\"armed\",\"node\":\"n1\",\"tag\":\"x\"}",
        "{\"version\":1,\"state\":\"expired\",\"node\":\"n2\",\"tag\":\"x\"}",
        "{\"version\":1,\"state\":\"expired\",\"node\":\"n1\",\"tag\":\"x\",\"more\":1}",
        "{\"version\":2,\"state\":\"expired\",\"node\":\"n1\",\"tag\":\"x\"}",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct life life;
        begin_trial(&life, plan_a);
        scribble(life.dir, CONFIRM_FILE, texts[i]);
        restart(&life, "boot");
        assert_int_equal(reconcile_left_ns(life.r), -1);
        assert_int_equal(reconcile_standing(life.r)->generation, 1); /* the safe side */
        assert_int_equal(count_files(life.dir, "confirm.json.corrupt-"), 1);
        end(&life);
    }
}

static void a_trial_with_the_plan_of_another_node_is_set_aside(void **state)
{
    (void)state;
    struct life life;
    struct err err = ERR_INIT;
    OWN(json) json_t *trial = NULL;
    begin_trial(&life, plan_a);
    assert_ok(keep_read(life.dir, CONFIRM_FILE, &trial, &err));
    struct plan *other = make_plan_of("n2", 2, plan_b);
    json_t *plan = plan_to_json(other);
    plan_free(other);
    json_t *timer = json_deep_copy(json_object_get(json_object_get(trial, "plan"), "confirm"));
    assert_int_equal(json_object_set_new(plan, "confirm", timer), 0);
    assert_int_equal(json_object_set_new(trial, "plan", plan), 0);
    assert_ok(keep_write(life.dir, CONFIRM_FILE, trial, &err));
    restart(&life, "boot");
    assert_int_equal(reconcile_standing(life.r)->generation, 1);
    assert_int_equal(count_files(life.dir, "confirm.json.corrupt-"), 1);
    end(&life);
}

static void a_trial_outlives_a_good_plan_that_was_lost(void **state)
{
    (void)state;
    struct life life;
    begin_trial(&life, plan_a);
    scribble(life.dir, PLAN_FILE, "{");
    restart(&life, "boot");
    assert_int_equal(reconcile_standing(life.r)->generation, 2);
    over(&life);
    char *a = picture_of(plan_a);
    assert_true(pass(&life, RECONCILE_RETURN, NULL));
    assert_picture(life.dp, a); /* what stood before is in the trial's own file */
    end(&life);
    free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_on_trial_stands_and_the_good_one_stays),
        cmocka_unit_test(a_confirmation_makes_it_the_good_plan_without_a_step),
        cmocka_unit_test(a_confirmation_counts_although_the_node_drifted_and_fails_to_repair),
        cmocka_unit_test(an_unconfirmed_plan_is_taken_back_wholly),
        cmocka_unit_test(without_a_good_plan_the_node_is_as_before_the_trial),
        cmocka_unit_test(what_the_trial_did_not_touch_is_left_alone),
        cmocka_unit_test(a_second_trial_keeps_the_first_backup),
        cmocka_unit_test(a_trial_that_is_refused_or_rolled_back_arms_nothing),
        cmocka_unit_test(a_failing_second_trial_leaves_the_first_one_running),
        cmocka_unit_test(a_trial_of_what_is_good_already_has_nothing_to_go_back_to),
        cmocka_unit_test(a_return_plan_takes_the_trial_back_wholly),
        cmocka_unit_test(a_return_plan_that_fails_leaves_the_trial_running),
        cmocka_unit_test(a_late_confirmation_applies_the_plan_again_for_good),
        cmocka_unit_test(a_way_back_that_fails_is_tried_again),
        cmocka_unit_test(a_timer_that_cannot_be_stored_takes_the_plan_back),
        cmocka_unit_test(a_restart_in_the_window_keeps_the_exact_time),
        cmocka_unit_test(a_reboot_in_the_window_goes_on_with_the_time_that_was_saved),
        cmocka_unit_test(the_time_is_saved_each_save_period),
        cmocka_unit_test(a_boot_that_is_unknown_never_lengthens_the_time),
        cmocka_unit_test(a_wall_clock_that_jumps_changes_nothing),
        cmocka_unit_test(killed_anywhere_while_arming_the_node_is_whole),
        cmocka_unit_test(killed_anywhere_while_confirming_the_node_is_whole),
        cmocka_unit_test(killed_anywhere_on_the_way_back_the_node_goes_back),
        cmocka_unit_test(killed_anywhere_in_a_return_plan_the_node_is_whole),
        cmocka_unit_test(killed_anywhere_in_a_second_trial_the_node_is_whole),
        cmocka_unit_test(killed_on_the_way_back_and_rebooted_the_node_does_not_go_forward),
        cmocka_unit_test(files_that_do_not_read_back_are_set_aside),
        cmocka_unit_test(a_trial_with_the_plan_of_another_node_is_set_aside),
        cmocka_unit_test(a_trial_outlives_a_good_plan_that_was_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
