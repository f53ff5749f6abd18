/*
 * tests/unit/agent/test_reboot.c - agent/reboot: what waits for a boot, and whether the node may be
 * rebooted for it; and an agent that does.
 */
#include "tests/unit/agent/agent_site.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/reboot.h"

#define PARAM   "solar_rdma.max_sge"
#define NOON_US (INT64_C(19675) * REBOOT_DAY_US + 12 * HOUR_US) /* of some day, UTC */
#define HOUR_US INT64_C(3600000000)

struct fixture {
    char dir[TEST_PATH_MAX];
    struct clock_fake clock;
    struct reboot reboot;
};

static void open_fixture(struct fixture *f, const char *boot, struct reboot_rules allowed)
{
    struct err err = ERR_INIT;
    f->reboot = (struct reboot){
        .node = NODE, .state_dir = f->dir, .boot = boot, .clock = &f->clock.base, .rules = allowed};
    assert_ok(reboot_load(&f->reboot, &err));
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    test_folder(f->dir);
    clock_fake_init(&f->clock, NOON_US);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    remove_folder(f->dir);
    free(f);
    return 0;
}

static const struct reboot_rules always = {.mode = REBOOT_WINDOW, .a_day = 1};

static struct reboot_wait waits_for(const char *digest)
{
    struct reboot_wait wait = {.count = 1, .first = "x"};
    snprintf(wait.digest, sizeof(wait.digest), "%s", digest);
    return wait;
}

static bool is_due(const struct fixture *f, const char *digest)
{
    char why[ERR_TEXT_MAX];
    struct reboot_wait wait = waits_for(digest);
    bool due = reboot_is_due(&f->reboot, &wait, why);
    assert_int_equal(due, why[0] == '\0');
    return due;
}

static void begin(struct fixture *f, const char *digest)
{
    struct err err = ERR_INIT;
    struct reboot_wait wait = waits_for(digest);
    assert_ok(reboot_begin(&f->reboot, &wait, &err));
}

/* An agent that was killed behind the command must not begin to write firmware. */
static void a_node_that_goes_down_is_known_to_the_next_agent(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct reboot_wait reload = waits_for("d2");
    open_fixture(f, "a", always);
    assert_int_equal(reboot_down_ns(&f->reboot), 0);
    reload.reloads = reload.count;
    assert_ok(reboot_begin(&f->reboot, &reload, &err));
    assert_int_equal(reboot_down_ns(&f->reboot), 0);
    begin(f, "d1");
    open_fixture(f, "a", always);
    assert_int_equal(reboot_down_ns(&f->reboot), REBOOT_DOWN_NS);
    clock_fake_init(&f->clock, NOON_US + 599000000);
    assert_int_equal(reboot_down_ns(&f->reboot), NS_PER_S);
    clock_fake_init(&f->clock, NOON_US - HOUR_US);
    assert_int_equal(reboot_down_ns(&f->reboot), REBOOT_DOWN_NS);
    clock_fake_init(&f->clock, NOON_US + 600000000);
    assert_int_equal(reboot_down_ns(&f->reboot), 0);
    clock_fake_init(&f->clock, NOON_US);
    open_fixture(f, "b", always);
    assert_int_equal(reboot_down_ns(&f->reboot), 0);
    begin(f, "d3");
    reboot_stays_up(&f->reboot);
    open_fixture(f, "b", always);
    assert_int_equal(reboot_down_ns(&f->reboot), 0);
}

static void a_window_has_ends(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *window;
        int minute; /* of the day */
        bool inside;
    } rows[] = {
        {"02:00-04:30", 119, false}, {"02:00-04:30", 120, true},  {"02:00-04:30", 269, true},
        {"02:00-04:30", 270, false}, {"23:00-01:00", 0, true},    {"23:00-01:00", 59, true},
        {"23:00-01:00", 60, false},  {"23:00-01:00", 1380, true}, {"23:00-01:00", 1379, false},
        {"00:00-00:00", 700, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = ERR_INIT;
        struct reboot_rules allowed = always;
        assert_ok(reboot_window_parse(rows[i].window, &allowed, &err));
        clock_fake_init(&f->clock, NOON_US - 12 * HOUR_US + rows[i].minute * INT64_C(60000000));
        open_fixture(f, "a", allowed);
        assert_int_equal(is_due(f, "d1"), rows[i].inside);
    }
}

static void what_is_no_window_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "2:00-4:00",
                                        "02:00",
                                        "24:00-01:00",
                                        "02:60-03:00",
                                        "02:00 03:00",
                                        "02:00-03:000",
                                        "0a:00-03:00"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct err err = ERR_INIT;
        struct reboot_rules allowed = always;
        assert_fails(reboot_window_parse(wrong[i], &allowed, &err), ERR_INVALID);
    }
}

static void who_may_not_is_never_due(void **state)
{
    struct fixture *f = *state;
    open_fixture(f, "a", (struct reboot_rules){.mode = REBOOT_NEVER, .a_day = 1});
    assert_false(is_due(f, "d1"));
    open_fixture(f, "a", (struct reboot_rules){.mode = REBOOT_ASK, .a_day = 1});
    assert_false(is_due(f, "d1"));
    open_fixture(f, "a", always);
    assert_true(is_due(f, "d1"));
    char why[ERR_TEXT_MAX];
    assert_false(reboot_is_due(&f->reboot, &(struct reboot_wait){.count = 0}, why));
}

static void one_thing_is_tried_once(void **state)
{
    struct fixture *f = *state;
    open_fixture(f, "a", (struct reboot_rules){.mode = REBOOT_WINDOW, .a_day = REBOOTS_A_DAY_MAX});
    begin(f, "d1");
    assert_false(is_due(f, "d1"));
    assert_true(is_due(f, "d2"));
    open_fixture(f, "b", f->reboot.rules); /* it booted, and the same still waits */
    assert_false(is_due(f, "d1"));
    clock_fake_init(&f->clock, NOON_US + 30 * 24 * HOUR_US);
    assert_false(is_due(f, "d1")); /* no loop, however long it takes */
    assert_true(is_due(f, "d2"));
}

static void a_day_has_a_limit_of_reboots(void **state)
{
    struct fixture *f = *state;
    char digest[16];
    for (int a_day = 1; a_day <= REBOOTS_A_DAY_MAX; a_day++) {
        clock_fake_init(&f->clock, NOON_US + a_day * 100 * 24 * HOUR_US);
        open_fixture(f, "a", (struct reboot_rules){.mode = REBOOT_WINDOW, .a_day = a_day});
        for (int i = 0; i < a_day; i++) {
            snprintf(digest, sizeof(digest), "d%d-%d", a_day, i);
            assert_true(is_due(f, digest));
            begin(f, digest);
        }
        assert_false(is_due(f, "more"));
        open_fixture(f, "b", f->reboot.rules);
        assert_false(is_due(f, "more")); /* it is on disk */
        clock_fake_init(&f->clock, NOON_US + (a_day * 100 * 24 + 24) * HOUR_US - 1);
        assert_false(is_due(f, "more"));
        clock_fake_init(&f->clock, NOON_US + (a_day * 100 * 24 + 24) * HOUR_US);
        assert_true(is_due(f, "more"));
    }
}

static void a_clock_that_was_set_back_counts_from_now(void **state)
{
    struct fixture *f = *state;
    const int64_t back_us = NOON_US - 400 * 24 * HOUR_US;
    open_fixture(f, "a", always);
    begin(f, "d1");
    reboot_mind_clock(&f->reboot);
    clock_fake_init(&f->clock, NOON_US + 24 * HOUR_US);
    assert_true(is_due(f, "d2")); /* a clock that is right changes nothing */
    clock_fake_init(&f->clock, back_us);
    open_fixture(f, "a", always);
    reboot_mind_clock(&f->reboot);
    assert_false(is_due(f, "d2"));
    clock_fake_init(&f->clock, back_us + 24 * HOUR_US);
    open_fixture(f, "a", always); /* it is on disk */
    reboot_mind_clock(&f->reboot);
    assert_true(is_due(f, "d2"));
}

static void who_asks_begins_only_what_was_approved(void **state)
{
    struct fixture *f = *state;
    static const struct reboot_rules ask = {.mode = REBOOT_ASK, .a_day = REBOOTS_A_DAY_MAX};
    struct err err = ERR_INIT;
    char why[ERR_TEXT_MAX];
    struct reboot_wait first = waits_for("d1"), second = waits_for("d2");
    open_fixture(f, "a", ask);
    assert_false(reboot_is_due(&f->reboot, &first, why));
    assert_contains(why, "stellarctl node reboot " NODE);
    assert_ok(reboot_approve(&f->reboot, "d1", &err));
    assert_true(is_due(f, "d1"));
    assert_true(reboot_is_approved(&f->reboot, &first));
    assert_false(reboot_is_due(&f->reboot, &second, why)); /* stale */
    assert_contains(why, "what was approved is not what waits now");
    open_fixture(f, "a", ask); /* the agent's restart forgets none */
    assert_true(is_due(f, "d1"));
    assert_ok(reboot_approve(&f->reboot, "d2", &err)); /* the last one counts */
    assert_false(is_due(f, "d1"));
    assert_true(is_due(f, "d2"));
    begin(f, "d2");
    assert_false(reboot_is_approved(&f->reboot, &second));
    open_fixture(f, "b", ask);
    assert_false(is_due(f, "d2")); /* it was for one */
    assert_ok(reboot_approve(&f->reboot, "d2", &err));
    assert_false(is_due(f, "d2")); /* and was tried */
    struct reboot_wait none = {.count = 0};
    assert_false(reboot_is_approved(&f->reboot, &none));
}

static void a_reboot_that_cannot_be_remembered_is_not_begun(void **state)
{
    struct fixture *f = *state;
    char path[KEEP_PATH_MAX];
    struct err err = ERR_INIT;
    struct reboot_wait wait = waits_for("d1");
    open_fixture(f, "a", always);
    assert_true(is_due(f, "d1"));
    assert_ok(keep_path(f->dir, REBOOT_FILE, path, &err));
    assert_int_equal(mkdir(path, 0700), 0); /* nothing can be renamed over it */
    assert_fails(reboot_begin(&f->reboot, &wait, &err), ERR_IO);
    assert_contains(err.text, REBOOT_FILE);
    assert_int_equal(reboot_down_ns(&f->reboot), 0);
    assert_true(is_due(f, "d1")); /* once it can be */
    assert_int_equal(rmdir(path), 0);
    begin(f, "d1");
    assert_false(is_due(f, "d1"));
}

static void a_broken_file_counts_as_a_reboot(void **state)
{
    struct fixture *f = *state;
    char path[KEEP_PATH_MAX];
    struct err err = ERR_INIT;
    static const char *const texts[] = {"{", "{}",
                                        "{\"begun_us\":[1],\"node\":\"n2\",\"version\":1}",
                                        "{\"begun_us\":[-1],\"node\":\"n1\",\"version\":1}"};
    assert_ok(keep_path(f->dir, REBOOT_FILE, path, &err));
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_ok(file_write_atomic(path, texts[i], strlen(texts[i]), 0600, &err));
        open_fixture(f, "a", always);
        assert_false(is_due(f, "d1"));
        open_fixture(f, "a", always);
        assert_false(is_due(f, "d1"));
    }
}

/* No byte of any file can be written. */
static void an_agent_starts_although_a_broken_file_cannot_be_replaced(void **state)
{
    struct fixture *f = *state;
    struct rlimit before, none;
    scribble(f->dir, REBOOT_FILE, "{");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    void (*was)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    struct err err = ERR_INIT;
    f->reboot = (struct reboot){
        .node = NODE, .state_dir = f->dir, .boot = "a", .clock = &f->clock.base, .rules = always};
    enum err_code code = reboot_load(&f->reboot, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, was);
    assert_int_equal(code, ERR_OK);
    assert_false(is_due(f, "d1")); /* and reboots nothing */
}

static struct reboot_wait look(const struct fixture *f, const char *want, const char *live,
                               const char *next)
{
    struct err err = ERR_INIT;
    struct reboot_wait wait;
    const struct row rows[] = {{"host.modparam", "host", PARAM, want, false, false},
                               {NULL, NULL, NULL, NULL, false, false}};
    OWN(plan) struct plan *plan = make_plan(1, rows);
    OWN_STATE struct state state;
    struct state_knob knob = {
        .kind = knob_kind_get("host.modparam"), .subject = "host", .id = PARAM};
    state_init(&state);
    knob.live = live == NULL ? NULL : json_string(live);
    knob.next_boot = next == NULL ? NULL : json_string(next);
    assert_ok(state_add(&state, &knob, &err));
    state_seal(&state);
    assert_ok(reboot_waits(&f->reboot, plan, &state, &wait, &err));
    assert_int_equal(wait.count > 0, wait.digest[0] != '\0');
    return wait;
}

static void what_the_next_load_brings_waits(void **state)
{
    struct fixture *f = *state;
    open_fixture(f, "a", always);
    assert_int_equal(look(f, "\"256\"", "32", "256").count, 1);
    assert_contains(look(f, "\"256\"", "32", "256").first, PARAM);
    assert_int_equal(look(f, "\"256\"", "256", "256").count, 0);
    assert_int_equal(look(f, "\"256\"", NULL, "256").count, 0); /* the module is not loaded */
    assert_int_equal(look(f, "\"256\"", "32", "64").count, 0);  /* nor would a boot bring it */
    assert_int_equal(look(f, "\"256\"", "32", NULL).count, 0);
    assert_string_not_equal(look(f, "\"256\"", "32", "256").digest,
                            look(f, "\"128\"", "32", "128").digest);
}

static struct receipt *receipt_of(enum disruption disruption, bool done, bool undone)
{
    struct receipt *receipt = calloc(1, sizeof(*receipt));
    assert_non_null(receipt);
    receipt->steps = calloc(1, sizeof(*receipt->steps));
    assert_non_null(receipt->steps);
    receipt->step_count = 1;
    receipt->steps[0].disruption = disruption;
    receipt->steps[0].done = done;
    receipt->steps[0].undone = undone;
    snprintf(receipt->steps[0].text, sizeof(receipt->steps[0].text), "change devlink.param x");
    return receipt;
}

static void a_step_that_takes_a_boot_waits_until_there_was_one(void **state)
{
    struct fixture *f = *state;
    static const struct {
        enum disruption disruption;
        bool done, undone, waits;
    } rows[] = {{DISRUPTION_DRIVER_RELOAD, true, false, false},
                {DISRUPTION_REBOOT, false, false, false},
                {DISRUPTION_REBOOT, true, true, false},
                {DISRUPTION_REBOOT, true, false, true}};
    open_fixture(f, "a", always);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        OWN(receipt)
        struct receipt *receipt = receipt_of(rows[i].disruption, rows[i].done, rows[i].undone);
        reboot_note(&f->reboot, receipt);
        assert_int_equal(look(f, "\"256\"", "256", "256").count, rows[i].waits);
    }
    open_fixture(f, "a", always);
    assert_int_equal(look(f, "\"256\"", "256", "256").count,
                     1); /* the agent's restart is no boot */
    open_fixture(f, "b", always);
    assert_int_equal(look(f, "\"256\"", "256", "256").count, 0);
}

static void note(struct fixture *f, const char *subject, const char *text)
{
    OWN(receipt) struct receipt *receipt = receipt_of(DISRUPTION_DRIVER_RELOAD, true, false);
    snprintf(receipt->steps[0].subject, sizeof(receipt->steps[0].subject), "%s", subject);
    snprintf(receipt->steps[0].text, sizeof(receipt->steps[0].text), "%s", text);
    reboot_note(&f->reboot, receipt);
}

static struct reboot_wait what_waits(const struct fixture *f)
{
    return look(f, "\"256\"", "256", "256");
}

static void a_step_that_takes_a_reload_waits_for_its_device(void **state)
{
    struct fixture *f = *state;
    struct err why = ERR_INIT;
    open_fixture(f, "a", always);
    note(f, "0000:3b:00.0/0", "a to b");
    note(f, "0000:3b:00.0/1", "c to d");
    note(f, "0000:3b:00.1/0", "a to b");
    open_fixture(f, "a", always); /* it is on disk */
    struct reboot_wait wait = what_waits(f);
    assert_int_equal(wait.count, 2);
    assert_true(reboot_is_reload(&wait));
    assert_contains(wait.first, "driver of 0000:3b:00.0,");
    struct reboot_wait mixed = look(f, "\"256\"", "32", "256");
    assert_false(reboot_is_reload(&mixed)); /* the boot does both */
    assert_true(is_due(f, wait.digest));
    begin(f, wait.digest);
    reboot_reloaded(&f->reboot, NULL);
    open_fixture(f, "a", always);
    wait = what_waits(f);
    assert_int_equal(wait.count, 1);
    assert_contains(wait.first, "driver of 0000:3b:00.1,");
    assert_int_equal(err_set(&why, ERR_IO, "no"), ERR_IO);
    reboot_reloaded(&f->reboot, &why);
    assert_int_equal(what_waits(f).count, 1);
    assert_contains(f->reboot.failed, "0000:3b:00.1: no");
    open_fixture(f, "b", always);
    assert_int_equal(what_waits(f).count, 0); /* a boot brought it */
}

static void the_same_change_back_and_forth_is_another_thing(void **state)
{
    struct fixture *f = *state;
    open_fixture(f, "a", always);
    note(f, "0000:3b:00.0/0", "a to b");
    struct reboot_wait first = what_waits(f);
    begin(f, first.digest);
    assert_string_equal(what_waits(f).digest, first.digest); /* until it is through */
    reboot_reloaded(&f->reboot, NULL);
    note(f, "0000:3b:00.0/0", "a to b");
    assert_string_not_equal(what_waits(f).digest, first.digest);
}

static void more_devices_than_are_reloaded_wait_for_a_boot(void **state)
{
    struct fixture *f = *state;
    char subject[PORT_ID_SIZE];
    open_fixture(f, "a", always);
    for (int i = 0; i <= REBOOT_RELOADS_MAX; i++) {
        struct reboot_wait wait = what_waits(f);
        assert_int_equal(reboot_is_reload(&wait), i > 0);
        snprintf(subject, sizeof(subject), "0000:%02x:00.0/0", (unsigned)i);
        note(f, subject, "a to b");
    }
    struct reboot_wait wait = what_waits(f);
    assert_int_equal(wait.count, REBOOT_RELOADS_MAX + 1);
    assert_int_equal(wait.reloads, REBOOT_RELOADS_MAX);
    assert_false(reboot_is_reload(&wait));
    open_fixture(f, "a", always);
    assert_int_equal(what_waits(f).count, REBOOT_RELOADS_MAX + 1);
}

/* An agent ------------------------------------------------------------------------------------ */

static atomic_int users_now, users_wait, asks, reboots, reloads, reload_fails;
static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;
#define NO_DEVICE (-2)                                   /* of users_now */
static char asked[PORT_ID_SIZE], reloaded[PORT_ID_SIZE]; /* devices, last */

static void note_device(char *last, const char *device)
{
    pthread_mutex_lock(&device_lock);
    snprintf(last, PORT_ID_SIZE, "%s", device);
    pthread_mutex_unlock(&device_lock);
}

static void assert_device(const char *last, const char *wanted)
{
    char device[PORT_ID_SIZE];
    pthread_mutex_lock(&device_lock);
    memcpy(device, last, sizeof(device));
    pthread_mutex_unlock(&device_lock);
    assert_string_equal(device, wanted);
}

static enum err_code count_users(void *arg, const char *device, int *out_count, struct err *err)
{
    (void)arg;
    if (device != NULL)
        note_device(asked, device);
    atomic_fetch_add(&asks, 1);
    while (atomic_load(&users_wait) != 0)
        usleep(1000);
    int count = atomic_load(&users_now);
    if (count == NO_DEVICE)
        return err_set(err, ERR_NOT_FOUND, "the device is not there");
    if (count < 0)
        return err_set(err, ERR_IO, "the kernel does not say");
    *out_count = count;
    return ERR_OK;
}

static enum err_code count_reboot(void *arg, struct err *err)
{
    (void)arg;
    (void)err;
    atomic_fetch_add(&reboots, 1);
    return ERR_OK;
}

static enum err_code count_reload(void *arg, const char *device, struct err *err)
{
    (void)arg;
    note_device(reloaded, device);
    atomic_fetch_add(&reloads, 1);
    return atomic_load(&reload_fails) ? err_set(err, ERR_IO, "the driver says no") : ERR_OK;
}

static void an_agent_reboots_once_when_nobody_uses_rdma(void **state)
{
    (void)state;
    static const struct row rows[] = {{"host.modparam", "host", PARAM, "\"256\"", false, false},
                                      {NULL, NULL, NULL, NULL, false, false}};
    static const struct agent_reboot how = {
        .rules = {.mode = REBOOT_WINDOW, .a_day = 1}, .users = count_users, .reboot = count_reboot};
    struct site site;
    site_open(&site);
    sleep_agent(&site);
    site.reboot = &how;
    wake_every(&site, 20 * NS_PER_MS);
    atomic_store(&users_now, 3);
    atomic_store(&reboots, 0);
    assert_true(send_trial(&site, 1, rows, "r-1", 600));
    acknowledge(&site);
    atomic_store(&users_now, 0);
    turn(&site, 300);
    assert_int_equal(atomic_load(&reboots), 0); /* on trial */
    atomic_store(&users_now, 3);
    assert_true(send_plan(&site, NODE, 2, rows));
    acknowledge(&site);
    turn(&site, 300);
    assert_int_equal(atomic_load(&reboots), 0); /* programs have queue pairs */
    atomic_store(&users_now, -1);
    turn(&site, 300);
    assert_int_equal(atomic_load(&reboots), 0); /* unknown is not nobody */
    atomic_store(&users_now, 0);
    for (int i = 0; i < 100 && atomic_load(&reboots) == 0; i++)
        turn(&site, 50);
    assert_int_equal(atomic_load(&reboots), 1);
    turn(&site, 300);
    assert_int_equal(atomic_load(&reboots), 1);
    site_close(&site);
}

static void send_approval(struct site *site, const struct row *rows, int64_t attempt,
                          const char *digest)
{
    OWN(plan) struct plan *plan = make_plan(1, rows);
    plan->attempt = attempt;
    snprintf(plan->approved, sizeof(plan->approved), "%s", digest);
    OWN(json) json_t *json = plan_to_json(plan);
    assert_true(send_json(site, json));
    acknowledge(site);
}

static void an_agent_that_asks_reboots_when_that_is_approved(void **state)
{
    (void)state;
    static const struct row rows[] = {{"host.modparam", "host", PARAM, "\"256\"", false, false},
                                      {NULL, NULL, NULL, NULL, false, false}};
    static const struct agent_reboot how = {
        .rules = {.mode = REBOOT_ASK, .a_day = 1}, .users = count_users, .reboot = count_reboot};
    static const char other[] =
        "sha256:1111111111111111111111111111111111111111111111111111111111111111";
    struct site site;
    char digest[DIGEST_TEXT_MAX];
    const json_t *told;
    site_open(&site);
    sleep_agent(&site);
    site.reboot = &how;
    wake_every(&site, 20 * NS_PER_MS);
    atomic_store(&users_now, 0);
    atomic_store(&reboots, 0);
    assert_null(json_object_get(site.inventory, "reboot"));
    assert_true(send_plan(&site, NODE, 1, rows));
    acknowledge(&site);
    turn(&site, 300);
    assert_int_equal(atomic_load(&reboots), 0);
    told = json_object_get(site.inventory, "reboot");
    assert_true(json_is_false(json_object_get(told, "approved")));
    assert_contains(json_string_value(json_object_get(told, "first")), PARAM);
    assert_contains(json_string_value(json_object_get(told, "why")), "has to approve it");
    snprintf(digest, sizeof(digest), "%s", json_string_value(json_object_get(told, "digest")));
    send_approval(&site, rows, 1, other); /* of what waited when somebody looked */
    turn(&site, 300);
    assert_int_equal(atomic_load(&reboots), 0);
    atomic_store(&users_now, 2);
    send_approval(&site, rows, 2, digest);
    turn(&site, 300);
    assert_int_equal(atomic_load(&reboots), 0); /* not under programs */
    told = json_object_get(site.inventory, "reboot");
    assert_true(json_is_true(json_object_get(told, "approved")));
    assert_contains(json_string_value(json_object_get(told, "why")), "queue pairs");
    atomic_store(&users_now, 0);
    for (int i = 0; i < 100 && atomic_load(&reboots) == 0; i++)
        turn(&site, 50);
    assert_int_equal(atomic_load(&reboots), 1);
    send_approval(&site, rows, 3, digest);
    turn(&site, 300);
    assert_int_equal(atomic_load(&reboots), 1); /* once */
    site_close(&site);
}

static void begin_site(struct site *site, const struct agent_reboot *how)
{
    site_open(site);
    sleep_agent(site);
    site->reboot = how;
    wake_every(site, 20 * NS_PER_MS);
    atomic_store(&users_now, 0);
    atomic_store(&asks, 0);
    atomic_store(&reboots, 0);
    atomic_store(&reloads, 0);
    atomic_store(&reload_fails, 0);
    note_device(asked, "");
    note_device(reloaded, "");
}

static const struct row no_roce[] = {
    {"devlink.param", "sim.1/0", "enable_roce", "{\"driverinit\":false}", false, false},
    {NULL, NULL, NULL, NULL, false, false}};

static void an_agent_reloads_just_the_device_that_waits(void **state)
{
    (void)state;
    static const struct agent_reboot how = {.rules = {.mode = REBOOT_ASK, .a_day = 1},
                                            .users = count_users,
                                            .reboot = count_reboot,
                                            .reload = count_reload};
    struct site site;
    char digest[DIGEST_TEXT_MAX];
    begin_site(&site, &how);
    assert_true(send_plan(&site, NODE, 1, no_roce));
    acknowledge(&site);
    turn(&site, 300);
    assert_int_equal(atomic_load(&reloads), 0);
    const json_t *told = json_object_get(site.inventory, "reboot");
    assert_contains(json_string_value(json_object_get(told, "first")), "driver of sim.1");
    assert_contains(json_string_value(json_object_get(told, "why")), "has to approve it");
    snprintf(digest, sizeof(digest), "%s", json_string_value(json_object_get(told, "digest")));
    atomic_store(&users_now, 1);
    send_approval(&site, no_roce, 1, digest);
    turn(&site, 300);
    assert_int_equal(atomic_load(&reloads), 0); /* not under programs */
    assert_device(asked, "sim.1");
    atomic_store(&users_now, 0);
    for (int i = 0; i < 100 && atomic_load(&reloads) == 0; i++)
        turn(&site, 50);
    turn(&site, 300);
    assert_int_equal(atomic_load(&reloads), 1);
    assert_device(reloaded, "sim.1");
    assert_int_equal(atomic_load(&reboots), 0);
    assert_null(json_object_get(site.inventory, "reboot")); /* nothing waits any more */
    site_close(&site);
}

static void a_reload_that_fails_is_told_and_not_tried_again(void **state)
{
    (void)state;
    static const struct agent_reboot how = {
        .rules = {.mode = REBOOT_WINDOW, .a_day = REBOOTS_A_DAY_MAX},
        .users = count_users,
        .reboot = count_reboot,
        .reload = count_reload};
    struct site site;
    begin_site(&site, &how);
    atomic_store(&reload_fails, 1);
    assert_true(send_plan(&site, NODE, 1, no_roce));
    acknowledge(&site);
    for (int i = 0; i < 100 && atomic_load(&reloads) == 0; i++)
        turn(&site, 50);
    turn(&site, 500);
    assert_int_equal(atomic_load(&reloads), 1);
    const json_t *told = json_object_get(site.inventory, "reboot");
    assert_contains(json_string_value(json_object_get(told, "why")), "the driver says no");
    sleep_agent(&site);
    wake_every(&site, 20 * NS_PER_MS); /* a restart forgets nothing */
    turn(&site, 500);
    assert_int_equal(atomic_load(&reloads), 1);
    site_close(&site);
}

static const struct agent_reboot asks_first = {.rules = {.mode = REBOOT_ASK, .a_day = 1},
                                               .users = count_users,
                                               .reboot = count_reboot,
                                               .reload = count_reload};
static const struct row sge_256[] = {{"host.modparam", "host", PARAM, "\"256\"", false, false},
                                     {NULL, NULL, NULL, NULL, false, false}};
static const struct row sge_128[] = {{"host.modparam", "host", PARAM, "\"128\"", false, false},
                                     {NULL, NULL, NULL, NULL, false, false}};

/* As the server hears it. */
static const json_t *told_of(const struct site *site)
{
    const json_t *told = json_object_get(site->inventory, "reboot");
    assert_non_null(told);
    return told;
}

static void copy_digest(const struct site *site, char out[DIGEST_TEXT_MAX])
{
    snprintf(out, DIGEST_TEXT_MAX, "%s",
             json_string_value(json_object_get(told_of(site), "digest")));
}

static void what_is_told_is_what_waits_now(void **state)
{
    (void)state;
    struct site site;
    char first[DIGEST_TEXT_MAX], second[DIGEST_TEXT_MAX];
    begin_site(&site, &asks_first);
    assert_true(send_plan(&site, NODE, 1, sge_256));
    acknowledge(&site);
    turn(&site, 300);
    copy_digest(&site, first);
    assert_true(send_plan(&site, NODE, 2, sge_128)); /* the same parameter, in the same words */
    acknowledge(&site);
    turn(&site, 300);
    copy_digest(&site, second);
    assert_string_not_equal(first, second);
    send_approval(&site, sge_128, 1, second);
    for (int i = 0; i < 100 && atomic_load(&reboots) == 0; i++)
        turn(&site, 50);
    assert_int_equal(atomic_load(&reboots), 1);
    site_close(&site);
}

static void another_order_takes_an_approval_back(void **state)
{
    (void)state;
    struct site site;
    char digest[DIGEST_TEXT_MAX];
    begin_site(&site, &asks_first);
    assert_true(send_plan(&site, NODE, 1, sge_256));
    acknowledge(&site);
    turn(&site, 300);
    copy_digest(&site, digest);
    atomic_store(&users_now, 2);
    send_approval(&site, sge_256, 1, digest);
    turn(&site, 300);
    assert_true(json_is_true(json_object_get(told_of(&site), "approved")));
    send_approval(&site, sge_256, 2, ""); /* to try again, say */
    turn(&site, 300);
    assert_true(json_is_false(json_object_get(told_of(&site), "approved")));
    atomic_store(&users_now, 0);
    turn(&site, 300);
    sleep_agent(&site);
    wake_every(&site, 20 * NS_PER_MS);
    turn(&site, 300);
    assert_int_equal(atomic_load(&reboots), 0);
    site_close(&site);
}

static void what_comes_while_the_kernel_is_asked_counts(void **state)
{
    (void)state;
    struct site site;
    char digest[DIGEST_TEXT_MAX];
    begin_site(&site, &asks_first);
    assert_true(send_plan(&site, NODE, 1, sge_256));
    acknowledge(&site);
    turn(&site, 300);
    copy_digest(&site, digest);
    atomic_store(&users_wait, 1);
    send_approval(&site, sge_256, 1, digest);
    for (int i = 0; i < 100 && atomic_load(&asks) == 0; i++)
        turn(&site, 50);
    assert_int_equal(atomic_load(&asks), 1);
    OWN(plan) struct plan *plan = make_plan(2, sge_128); /* with the order of its time */
    plan->attempt = 1;
    snprintf(plan->approved, sizeof(plan->approved), "%s", digest);
    OWN(json) json_t *json = plan_to_json(plan);
    assert_true(send_json(&site, json));
    acknowledge(&site);
    atomic_store(&users_wait, 0);
    turn(&site, 500);
    assert_int_equal(atomic_load(&reboots), 0);
    assert_contains(json_string_value(json_object_get(told_of(&site), "why")),
                    "what was approved is not what waits now");
    site_close(&site);
}

static void a_device_that_is_gone_waits_for_no_reload(void **state)
{
    (void)state;
    static const struct agent_reboot how = {.rules = {.mode = REBOOT_WINDOW, .a_day = 1},
                                            .users = count_users,
                                            .reboot = count_reboot,
                                            .reload = count_reload};
    struct site site;
    begin_site(&site, &how);
    atomic_store(&users_now, -1);
    assert_true(send_plan(&site, NODE, 1, no_roce));
    acknowledge(&site);
    turn(&site, 300);
    assert_contains(json_string_value(json_object_get(told_of(&site), "why")),
                    "cannot be asked: the kernel does not say");
    atomic_store(&users_now, NO_DEVICE);
    turn(&site, 500);
    assert_null(json_object_get(site.inventory, "reboot"));
    sleep_agent(&site);
    atomic_store(&users_now, 0);
    wake_every(&site, 20 * NS_PER_MS); /* for good */
    turn(&site, 300);
    assert_int_equal(atomic_load(&reloads), 0);
    site_close(&site);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_node_that_goes_down_is_known_to_the_next_agent),
        TEST(a_window_has_ends),
        TEST(what_is_no_window_is_refused),
        TEST(who_may_not_is_never_due),
        TEST(one_thing_is_tried_once),
        TEST(a_day_has_a_limit_of_reboots),
        TEST(a_clock_that_was_set_back_counts_from_now),
        TEST(who_asks_begins_only_what_was_approved),
        TEST(a_reboot_that_cannot_be_remembered_is_not_begun),
        TEST(a_broken_file_counts_as_a_reboot),
        TEST(an_agent_starts_although_a_broken_file_cannot_be_replaced),
        TEST(what_the_next_load_brings_waits),
        TEST(a_step_that_takes_a_boot_waits_until_there_was_one),
        TEST(a_step_that_takes_a_reload_waits_for_its_device),
        TEST(the_same_change_back_and_forth_is_another_thing),
        TEST(more_devices_than_are_reloaded_wait_for_a_boot),
        TEST(an_agent_reboots_once_when_nobody_uses_rdma),
        TEST(an_agent_that_asks_reboots_when_that_is_approved),
        TEST(an_agent_reloads_just_the_device_that_waits),
        TEST(a_reload_that_fails_is_told_and_not_tried_again),
        TEST(what_is_told_is_what_waits_now),
        TEST(another_order_takes_an_approval_back),
        TEST(what_comes_while_the_kernel_is_asked_counts),
        TEST(a_device_that_is_gone_waits_for_no_reload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
