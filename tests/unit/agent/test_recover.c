/*
 * tests/unit/agent/test_recover.c - killed between any two changes: the next agent on the same node
 * and state folder converges, with and without a server. Corrupt and foreign files.
 */
#include "agent_test.h"

#include "agent/reconcile.h"

struct life {
    char dir[TEST_PATH_MAX];
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

static void wake(struct life *life, int kill_at, const char *boot)
{
    struct err err = ERR_INIT;
    life->asked = 0;
    life->kill_at = kill_at;
    struct reconcile_config config = {
        .node = NODE,
        .state_dir = life->dir,
        .boot_id = boot,
        .dp = life->dp,
        .clock = clock_system(),
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
    wake(life, 0, "boot");
}

static void end(struct life *life)
{
    die(life);
    dp_free(life->dp);
    remove_folder(life->dir);
}

/* False: killed. */
static bool pass(struct life *life, enum reconcile_cause cause, enum receipt_result *out_result)
{
    struct err err = ERR_INIT;
    struct outcome out = {0};
    enum err_code code = reconcile_run(life->r, cause, &out, &err);
    if (code != ERR_OK)
        assert_contains(err.text, "stopped in the middle");
    if (code == ERR_OK && out_result != NULL)
        *out_result = out.receipt->result;
    outcome_release(&out);
    return code == ERR_OK;
}

static bool apply(struct life *life, int64_t generation, const struct row *rows)
{
    reconcile_take(life->r, make_plan(generation, rows));
    return pass(life, RECONCILE_PLAN, NULL);
}

static bool recover(struct life *life)
{
    struct err err = ERR_INIT;
    struct outcome out;
    enum err_code code = reconcile_recover(life->r, &out, &err);
    if (code == ERR_OK)
        assert_null(out.receipt);
    return code == ERR_OK;
}

/* What a start does without a server. */
static bool restart(struct life *life, int kill_at)
{
    die(life);
    wake(life, kill_at, "boot");
    if (!recover(life))
        return false;
    return reconcile_good(life->r) == NULL || pass(life, RECONCILE_START, NULL);
}

static char *picture_after(const struct row *first, const struct row *second)
{
    struct life life;
    begin(&life);
    if (first != NULL)
        assert_true(apply(&life, 1, first));
    if (second != NULL)
        assert_true(apply(&life, 2, second));
    char *text = picture(life.dp);
    end(&life);
    return text;
}

/*
 * Plan `first` stands (NULL = none), plan b is being applied, with apply number `fail` failing,
 * when the agent is killed at the kth question. Returns false once k is past the last one.
 */
static bool killed_at(int k, const struct row *first, int fail)
{
    char *before = picture_after(first, NULL), *after = picture_after(first, plan_b);
    struct life life;
    begin(&life);
    if (first != NULL)
        assert_true(apply(&life, 1, first));
    life.asked = 0;
    life.kill_at = k;
    if (fail != 0)
        dp_sim_fail_apply(life.dp, fail, true);
    bool lived = apply(&life, 2, plan_b);
    dp_sim_fail_apply(life.dp, 0, false);

    /* Without a server: one of the two plans, wholly. */
    assert_true(restart(&life, 0));
    char *now = picture(life.dp);
    const struct plan *good = reconcile_good(life.r);
    assert_string_equal(now, good != NULL && good->generation == 2 ? after : before);
    assert_false(kept(life.dir, JOURNAL_FILE));
    free(now);

    /* With one: it sends the plan again. */
    assert_true(apply(&life, 2, plan_b));
    assert_picture(life.dp, after);
    assert_int_equal(reconcile_good(life.r)->generation, 2);
    end(&life);
    free(before);
    free(after);
    return !lived;
}

static void killed_anywhere_in_a_plan_the_node_converges(void **state)
{
    (void)state;
    int k = 1;
    while (killed_at(k, plan_a, 0))
        k++;
    assert_true(k > 15);
}

static void killed_anywhere_in_the_first_plan_the_node_converges(void **state)
{
    (void)state;
    int k = 1;
    while (killed_at(k, NULL, 0))
        k++;
    assert_true(k > 12);
}

static void killed_anywhere_in_a_roll_back_the_node_converges(void **state)
{
    (void)state;
    for (int fail = 1; fail <= 14; fail += 3) {
        int k = 1;
        while (killed_at(k, plan_a, fail))
            k++;
        assert_true(k > 2);
    }
}

static void killed_again_while_recovering_the_node_converges(void **state)
{
    (void)state;
    char *before = picture_after(plan_a, NULL);
    for (int first = 2; first <= 14; first += 2) {
        bool killed = true;
        for (int second = 1; killed; second++) {
            struct life life;
            begin(&life);
            assert_true(apply(&life, 1, plan_a));
            life.asked = 0;
            life.kill_at = first;
            assert_false(apply(&life, 2, plan_b));
            killed = !restart(&life, second);
            assert_true(restart(&life, 0));
            assert_picture(life.dp, before);
            assert_false(kept(life.dir, JOURNAL_FILE));
            end(&life);
        }
    }
    free(before);
}

static void killed_while_repairing_drift_the_plan_is_asserted_again(void **state)
{
    (void)state;
    char *wanted = picture_after(plan_a, NULL);
    for (int k = 1; k <= 4; k++) {
        struct life life;
        begin(&life);
        assert_true(apply(&life, 1, plan_a));
        poke(life.dp, "link.mtu", "sim.0/0", "", "1500");
        poke(life.dp, "dcb.app", "sim.0/0", "", "[]");
        life.asked = 0;
        life.kill_at = k;
        pass(&life, RECONCILE_CHECK, NULL);
        assert_true(restart(&life, 0));
        assert_picture(life.dp, wanted);
        end(&life);
    }
    free(wanted);
}

/* The kernel is new: its live values are gone, files are not. */
static void after_a_reboot_only_what_outlives_one_is_taken_back(void **state)
{
    (void)state;
    struct life life;
    begin(&life);
    char *before = picture(life.dp);
    life.kill_at = 8;
    assert_false(apply(&life, 1, plan_b));
    struct dp *rebooted = make_sim();
    poke(rebooted, "host.modparam", "host", "solar_rdma.max_sge", "\"256\"");
    dp_free(life.dp);
    life.dp = rebooted;
    die(&life);
    wake(&life, 0, "another boot");
    assert_true(recover(&life));
    assert_picture(life.dp, before);
    assert_false(kept(life.dir, JOURNAL_FILE));
    end(&life);
    free(before);
}

static void the_last_good_plan_is_put_back_after_a_reboot_without_a_server(void **state)
{
    (void)state;
    char *wanted = picture_after(plan_a, NULL);
    struct life life;
    begin(&life);
    assert_true(apply(&life, 1, plan_a));
    dp_free(life.dp);
    life.dp = make_sim();
    die(&life);
    wake(&life, 0, "another boot");
    assert_true(recover(&life));
    enum receipt_result result;
    assert_true(pass(&life, RECONCILE_START, &result));
    assert_int_equal(result, RECEIPT_APPLIED);
    assert_picture(life.dp, wanted);
    end(&life);
    free(wanted);
}

static void corrupt_files_are_set_aside(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "{\"version\":1}",
        "\xff\xfe\x00garbage",
        "{\"version\":1,\"node\":\"n1\",\"generation\":1,\"digest\":\"x\",\"boot\":\"b\","
        "\"steps\":[{\"op\":\"add\",\"kind\":\"no.such\",\"subject\":\"host\",\"disruption\":"
        "\"none\",\"to\":1}]}",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct life life;
        begin(&life);
        assert_true(apply(&life, 1, plan_a));
        die(&life);
        scribble(life.dir, PLAN_FILE, texts[i]);
        scribble(life.dir, JOURNAL_FILE, texts[i]);
        wake(&life, 0, "boot");
        assert_null(reconcile_good(life.r));
        assert_true(recover(&life));
        assert_false(kept(life.dir, PLAN_FILE));
        assert_false(kept(life.dir, JOURNAL_FILE));
        assert_int_equal(count_files(life.dir, "plan.json.corrupt-"), 1);
        assert_int_equal(count_files(life.dir, "journal.json.corrupt-"), 1);
        assert_true(apply(&life, 2, plan_b));
        end(&life);
    }
}

static void a_journal_cut_anywhere_is_set_aside(void **state)
{
    (void)state;
    struct life life;
    begin(&life);
    assert_true(apply(&life, 1, plan_a));
    life.asked = 0;
    life.kill_at = 3;
    assert_false(apply(&life, 2, plan_b));
    char path[KEEP_PATH_MAX];
    size_t len;
    struct err err = ERR_INIT;
    assert_ok(keep_path(life.dir, JOURNAL_FILE, path, &err));
    char *whole = test_load_path(path, &len);
    for (size_t cut = 1; cut < len; cut += 97) {
        char *text = strdup(whole);
        text[cut] = '\0';
        scribble(life.dir, JOURNAL_FILE, text);
        free(text);
        assert_true(restart(&life, 0));
        assert_false(kept(life.dir, JOURNAL_FILE));
    }
    free(whole);
    end(&life);
}

static void a_plan_of_another_node_is_set_aside(void **state)
{
    (void)state;
    struct life life;
    struct err err = ERR_INIT;
    begin(&life);
    struct plan *plan = make_plan_of("n2", 1, plan_a);
    json_t *json = plan_to_json(plan);
    assert_ok(keep_write(life.dir, PLAN_FILE, json, &err));
    json_decref(json);
    plan_free(plan);
    assert_true(restart(&life, 0));
    assert_null(reconcile_good(life.r));
    assert_int_equal(dp_sim_apply_count(life.dp), 0);
    assert_int_equal(count_files(life.dir, "plan.json.corrupt-"), 1);
    end(&life);
}

/* The state folder of an image that many nodes begin with. */
static void a_journal_of_another_node_is_set_aside(void **state)
{
    (void)state;
    struct life life;
    begin(&life);
    assert_true(apply(&life, 1, plan_a));
    char *before = picture(life.dp);
    life.kill_at = life.asked + 8;
    assert_false(apply(&life, 2, plan_b));
    assert_true(kept(life.dir, JOURNAL_FILE));
    struct err err = ERR_INIT;
    OWN(json) json_t *journal = NULL;
    assert_ok(keep_read(life.dir, JOURNAL_FILE, &journal, &err));
    assert_int_equal(json_object_set_new(journal, "node", json_string("n2")), 0);
    assert_ok(keep_write(life.dir, JOURNAL_FILE, journal, &err));
    assert_true(restart(&life, 0)); /* and what stands is put back */
    assert_false(kept(life.dir, JOURNAL_FILE));
    assert_int_equal(count_files(life.dir, "journal.json.corrupt-"), 1);
    assert_picture(life.dp, before);
    end(&life);
    free(before);
}

static void a_journal_that_cannot_be_undone_is_stuck_and_stays(void **state)
{
    (void)state;
    struct life life;
    struct err err = ERR_INIT;
    struct outcome out;
    begin(&life);
    char *before = picture(life.dp);
    life.kill_at = 6;
    assert_false(apply(&life, 1, plan_b));
    die(&life);
    wake(&life, 0, "boot");
    dp_sim_fail_all(life.dp, true);
    assert_ok(reconcile_recover(life.r, &out, &err));
    assert_int_equal(out.receipt->result, RECEIPT_STUCK);
    assert_int_equal(out.receipt->generation, 1);
    assert_contains(out.receipt->problem, "injected fault");
    outcome_release(&out);
    assert_true(kept(life.dir, JOURNAL_FILE));
    dp_sim_fail_all(life.dp, false);
    assert_true(restart(&life, 0));
    assert_picture(life.dp, before);
    end(&life);
    free(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_anywhere_in_a_plan_the_node_converges),
        cmocka_unit_test(killed_anywhere_in_the_first_plan_the_node_converges),
        cmocka_unit_test(killed_anywhere_in_a_roll_back_the_node_converges),
        cmocka_unit_test(killed_again_while_recovering_the_node_converges),
        cmocka_unit_test(killed_while_repairing_drift_the_plan_is_asserted_again),
        cmocka_unit_test(after_a_reboot_only_what_outlives_one_is_taken_back),
        cmocka_unit_test(the_last_good_plan_is_put_back_after_a_reboot_without_a_server),
        cmocka_unit_test(corrupt_files_are_set_aside),
        cmocka_unit_test(a_journal_cut_anywhere_is_set_aside),
        cmocka_unit_test(a_plan_of_another_node_is_set_aside),
        cmocka_unit_test(a_journal_of_another_node_is_set_aside),
        cmocka_unit_test(a_journal_that_cannot_be_undone_is_stuck_and_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
