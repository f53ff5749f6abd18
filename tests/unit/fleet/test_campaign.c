/*
 * The state machine of firmware campaigns: waves, limits, windows, halts, every move, what hostile
 * agents say, and random walks in which nothing that must hold is ever hurt.
 */
#include "tests/unit/test.h"

#include "base/clock.h"
#include "base/text.h"
#include "fleet/campaign_private.h"

#define NODES   4
#define DEVICES (2 * NODES)
#define TARGET  "2.0.0"

static struct campaign *c;
static struct campaign_actions actions;
static struct campaign_now now;
static const char *busy_node;

static bool is_busy_node(void *arg, const char *node)
{
    (void)arg;
    return busy_node != NULL && strcmp(node, busy_node) == 0;
}

static void settings_of(struct campaign_settings *settings)
{
    campaign_settings_init(settings);
    settings->canary = 1;
    settings->percent = 50;
    settings->max_unavailable = 2;
    settings->deadline_ns = 1000 * NS_PER_S;
    settings->phase_deadline_ns = 60 * NS_PER_S;
    settings->drain_timeout_ns = 30 * NS_PER_S;
}

/* n1..n4 with devices "a" and "b"; n4's "b" runs the target already. */
static void make(const struct campaign_settings *settings)
{
    struct err err = ERR_INIT;
    struct campaign_device devices[DEVICES] = {{.wave = 0}};
    const struct flash_image image = {
        .id = "0123456789abcdef", .component = "nic", .version = TARGET, .size_bytes = 10};
    for (size_t i = 0; i < DEVICES; i++) {
        const char *runs = i == DEVICES - 1 ? TARGET : "1.0.0";
        snprintf(devices[i].node, NAME_SIZE, "n%zu", i / 2 + 1);
        snprintf(devices[i].device, PORT_ID_SIZE, "%c", i % 2 == 0 ? 'a' : 'b');
        snprintf(devices[i].from, INVENTORY_TEXT_MAX, "%s", runs);
        snprintf(devices[i].running, INVENTORY_TEXT_MAX, "%s", runs);
    }
    campaign_free(c);
    c = NULL;
    campaign_actions_release(&actions);
    busy_node = NULL;
    now = (struct campaign_now){.mono_ns = 1000 * NS_PER_S, .wall_us = 1, .is_busy = is_busy_node};
    const struct campaign_device_list list = {devices, DEVICES};
    assert_ok(campaign_new(settings, &image, &list, &c, &err));
    c->number = 7;
}

static void say(enum campaign_verb verb)
{
    struct err err = ERR_INIT;
    bool unchanged;
    assert_ok(campaign_command(c, verb, &actions, &unchanged, &err));
    assert_false(unchanged);
    campaign_step(c, &now, &actions);
}

static void begin(void)
{
    struct campaign_settings settings;
    settings_of(&settings);
    make(&settings);
    say(CAMPAIGN_START);
}

static int teardown(void **state)
{
    (void)state;
    campaign_free(c);
    c = NULL;
    campaign_actions_release(&actions);
    return 0;
}

static void later(int64_t ns)
{
    now.mono_ns += ns;
    now.wall_us += ns / 1000;
    campaign_step(c, &now, &actions);
}

static int64_t clock_us;

static bool tell(size_t i, enum flash_phase phase, enum flash_outcome outcome, const char *version)
{
    struct flash_report report = {
        .phase = phase, .outcome = outcome, .percent = -1, .at_us = ++clock_us};
    snprintf(report.running, sizeof(report.running), "%s",
             outcome == FLASH_PENDING_RESET ? "1.0.0" : version);
    snprintf(report.stored, sizeof(report.stored), "%s", version);
    bool new = campaign_report(c, i, &report, &now, &actions);
    campaign_step(c, &now, &actions);
    return new;
}

static bool succeed(size_t i)
{
    return tell(i, FLASH_DONE, FLASH_SUCCESS, TARGET);
}

static size_t count(enum campaign_device_state state)
{
    size_t n = 0;
    for (size_t i = 0; i < c->device_count; i++)
        n += c->devices[i].state == state;
    return n;
}

static size_t count_actions(enum campaign_action_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < actions.count; i++)
        n += actions.items[i].kind == kind;
    return n;
}

static void first_devices_of_all_nodes_come_before_second_ones(void **state)
{
    struct campaign_settings settings;
    (void)state;
    settings_of(&settings);
    make(&settings);
    assert_int_equal(c->wave_count, 3); /* 1, then 4 of 7, then the rest */
    static const uint32_t waves[DEVICES] = {0, 1, 1, 2, 1, 2, 1, 0};
    for (size_t i = 0; i < DEVICES; i++)
        assert_int_equal(c->devices[i].wave, waves[i]);
    assert_int_equal(c->devices[DEVICES - 1].state, CAMPAIGN_DEVICE_UNCHANGED);
    settings.canary = 0;
    settings.percent = 100;
    make(&settings);
    assert_int_equal(c->wave_count, 1);
    settings.percent = 1;
    make(&settings);
    assert_int_equal(c->wave_count, 7); /* a share is never none */
}

static void it_goes_wave_by_wave_to_its_end(void **state)
{
    (void)state;
    begin();
    assert_int_equal(count(CAMPAIGN_DEVICE_OFFERED), 1); /* the canary alone */
    assert_int_equal(c->devices[0].state, CAMPAIGN_DEVICE_OFFERED);
    assert_true(succeed(0));
    assert_int_equal(c->wave, 1);
    assert_int_equal(count(CAMPAIGN_DEVICE_OFFERED), 2); /* max_unavailable */
    for (int rounds = 0; rounds < DEVICES && c->state == CAMPAIGN_RUNNING; rounds++)
        for (size_t i = 0; i < DEVICES; i++)
            if (campaign_device_is_active(c->devices[i].state))
                succeed(i);
    assert_int_equal(c->state, CAMPAIGN_DONE);
    assert_int_equal(count(CAMPAIGN_DEVICE_SUCCESS), DEVICES - 1);
    assert_int_equal(count_actions(CAMPAIGN_TASK), DEVICES - 1);
    assert_int_equal(count_actions(CAMPAIGN_TASK_END), DEVICES - 1);
    assert_false(campaign_is_due(c, &now));
}

static void one_device_of_a_node_is_at_work_at_a_time(void **state)
{
    struct campaign_settings settings;
    (void)state;
    settings_of(&settings);
    settings.canary = 0;
    settings.percent = 100;
    settings.max_unavailable = 100;
    make(&settings);
    say(CAMPAIGN_START);
    assert_int_equal(count(CAMPAIGN_DEVICE_OFFERED), NODES);
    assert_int_equal(campaign_active_on(c, "n2"), 2);
    assert_true(succeed(2));
    assert_int_equal(campaign_active_on(c, "n2"), 3); /* its next one at once */
    assert_int_equal(campaign_active_on(c, "nobody"), SIZE_MAX);
    assert_true(campaign_has_node(c, "n4"));
    assert_false(campaign_has_node(c, "n5"));
}

static void a_failure_halts_it_until_it_is_resumed(void **state)
{
    (void)state;
    begin();
    tell(0, FLASH_FLASHING, FLASH_FAILED, "1.0.0");
    assert_int_equal(c->state, CAMPAIGN_HALTED);
    assert_contains(c->problem, "n1 a failed");
    assert_int_equal(count(CAMPAIGN_DEVICE_OFFERED), 0);
    later(100000 * NS_PER_S);
    assert_int_equal(count(CAMPAIGN_DEVICE_OFFERED), 0);
    say(CAMPAIGN_RESUME);
    assert_string_equal(c->problem, "");
    assert_int_equal(count(CAMPAIGN_DEVICE_OFFERED), 2);
    assert_int_equal(c->devices[0].state, CAMPAIGN_DEVICE_FAILED);
}

/* Two and three bytes each, and an odd byte before, so that every cut goes through a character. */
static void what_a_node_says_is_cut_on_a_character(void **state)
{
    static const struct {
        size_t ascii;
        const char *letter;
    } cases[] = {{0, "\u00e9"}, {1, "\u00e9"}, {0, "\u20ac"}, {1, "\u20ac"}, {2, "\u20ac"}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct flash_report report = {.phase = FLASH_FLASHING, .outcome = FLASH_FAILED};
        size_t len = cases[i].ascii, step = strlen(cases[i].letter);
        begin();
        memset(report.problem, 'x', len);
        for (; len + step < 250; len += step)
            memcpy(report.problem + len, cases[i].letter, step);
        snprintf(report.running, sizeof(report.running), "%s", "1.0.0");
        assert_true(campaign_report(c, 0, &report, &now, &actions));
        campaign_step(c, &now, &actions);
        assert_int_equal(c->state, CAMPAIGN_HALTED);
        assert_false(text_find_hidden(c->problem, strlen(c->problem), NULL));
        assert_string_equal(c->devices[0].problem, report.problem);
        for (size_t a = 0; a < actions.count; a++)
            assert_false(
                text_find_hidden(actions.items[a].text, strlen(actions.items[a].text), NULL));
    }
}

static void an_abort_halts_when_the_settings_say_so(void **state)
{
    struct campaign_settings settings;
    (void)state;
    begin();
    tell(0, FLASH_CHECKING, FLASH_ABORTED, "1.0.0");
    assert_int_equal(c->state, CAMPAIGN_HALTED);
    settings_of(&settings);
    settings.halt_on_aborted = false;
    make(&settings);
    say(CAMPAIGN_START);
    tell(0, FLASH_CHECKING, FLASH_ABORTED, "1.0.0");
    assert_int_equal(c->state, CAMPAIGN_RUNNING);
    assert_int_equal(c->wave, 1);
}

static void a_pending_reset_is_no_failure(void **state)
{
    (void)state;
    begin();
    tell(0, FLASH_FLASHED, FLASH_PENDING_RESET, TARGET);
    assert_int_equal(c->state, CAMPAIGN_RUNNING);
    assert_int_equal(c->devices[0].state, CAMPAIGN_DEVICE_PENDING_RESET);
    assert_string_equal(c->devices[0].running, "1.0.0");
    assert_string_equal(c->devices[0].stored, TARGET);
}

static void a_success_that_does_not_run_the_version_is_a_failure(void **state)
{
    static const char *const versions[] = {"1.0.0", "", "2.0.1"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        begin();
        assert_true(tell(0, FLASH_DONE, FLASH_SUCCESS, versions[i]));
        assert_int_equal(c->devices[0].state, CAMPAIGN_DEVICE_FAILED);
        assert_int_equal(c->state, CAMPAIGN_HALTED);
    }
    begin();
    tell(0, FLASH_FLASHED, FLASH_PENDING_RESET, "1.0.0"); /* and has not stored it */
    assert_int_equal(c->devices[0].state, CAMPAIGN_DEVICE_FAILED);
}

static void a_cancelling_that_nobody_asked_for_is_an_abort(void **state)
{
    (void)state;
    begin();
    tell(0, FLASH_DRAINING, FLASH_CANCELLED, "1.0.0");
    assert_int_equal(c->devices[0].state, CAMPAIGN_DEVICE_ABORTED);
}

static void reports_go_forward_only(void **state)
{
    (void)state;
    begin();
    assert_true(tell(0, FLASH_DRAINING, FLASH_OPEN, "1.0.0"));
    assert_false(tell(0, FLASH_FETCHING, FLASH_OPEN, "1.0.0"));
    assert_int_equal(c->devices[0].state, CAMPAIGN_DEVICE_DRAINING);
    struct flash_report report = {.phase = FLASH_DRAINING, .percent = 10, .at_us = clock_us - 1};
    assert_false(campaign_report(c, 0, &report, &now, &actions)); /* the same moment */
    report.at_us = ++clock_us;
    assert_true(campaign_report(c, 0, &report, &now, &actions));
    assert_int_equal(c->devices[0].percent, 10);
    assert_false(tell(1, FLASH_FLASHING, FLASH_OPEN, "1.0.0")); /* it was not offered */
    assert_false(tell(1, FLASH_DONE, FLASH_SUCCESS, TARGET));
    assert_true(succeed(0));
    assert_false(succeed(0));
    assert_false(tell(0, FLASH_FLASHING, FLASH_FAILED, TARGET)); /* an outcome is final */
    assert_int_equal(c->devices[0].state, CAMPAIGN_DEVICE_SUCCESS);
}

static void a_node_that_vanishes_is_lost_and_halts_it(void **state)
{
    (void)state;
    begin();
    later(60 * NS_PER_S - 1);
    assert_int_equal(c->state, CAMPAIGN_RUNNING);
    now.mono_ns += 1;
    assert_true(campaign_is_due(c, &now));
    later(0);
    assert_int_equal(c->state, CAMPAIGN_HALTED);
    assert_int_equal(c->devices[0].state, CAMPAIGN_DEVICE_LOST);
    assert_contains(c->devices[0].problem, "offered");
    assert_true(c->devices[0].cancel); /* should it come back, it is told to stop */
}

static void draining_has_its_own_time(void **state)
{
    (void)state;
    begin();
    tell(0, FLASH_DRAINING, FLASH_OPEN, "1.0.0");
    later(90 * NS_PER_S - 1);
    assert_int_equal(c->state, CAMPAIGN_RUNNING);
    later(1);
    assert_int_equal(c->state, CAMPAIGN_HALTED);
}

static void a_figure_that_moves_is_progress_and_the_whole_has_an_end(void **state)
{
    (void)state;
    begin();
    tell(0, FLASH_FLASHING, FLASH_OPEN, "1.0.0");
    int percent = 0;
    for (int minutes = 0; c->state == CAMPAIGN_RUNNING; minutes++) {
        const struct flash_report report = {
            .phase = FLASH_FLASHING, .percent = ++percent % 100, .at_us = ++clock_us};
        assert_true(campaign_report(c, 0, &report, &now, &actions));
        later(59 * NS_PER_S);
        assert_true(minutes < 60);
    }
    assert_int_equal(now.mono_ns / NS_PER_S, 1000 + 59 * 35); /* two deadlines and a phase */
    begin();
    tell(0, FLASH_FLASHING, FLASH_OPEN, "1.0.0");
    later(30 * NS_PER_S);
    tell(0, FLASH_FLASHING, FLASH_OPEN, "1.0.0"); /* no figure: no progress */
    later(30 * NS_PER_S);
    assert_int_equal(c->state, CAMPAIGN_HALTED);
}

static void one_that_was_lost_may_come_back(void **state)
{
    (void)state;
    begin();
    tell(0, FLASH_FLASHING, FLASH_OPEN, "1.0.0");
    later(60 * NS_PER_S);
    assert_int_equal(c->devices[0].state, CAMPAIGN_DEVICE_LOST);
    assert_true(tell(0, FLASH_FLASHED, FLASH_OPEN, "1.0.0"));
    assert_int_equal(c->state, CAMPAIGN_HALTED); /* that is an operator's to judge */
    assert_true(succeed(0));
    assert_int_equal(c->devices[0].state, CAMPAIGN_DEVICE_SUCCESS);
}

static void other_devices_of_a_lost_node_are_left_alone(void **state)
{
    struct campaign_settings settings;
    (void)state;
    settings_of(&settings);
    settings.canary = 0;
    settings.percent = 100;
    make(&settings);
    say(CAMPAIGN_START);
    succeed(2);
    later(60 * NS_PER_S);
    say(CAMPAIGN_RESUME);
    assert_int_equal(c->devices[0].state, CAMPAIGN_DEVICE_LOST);
    assert_int_equal(c->devices[1].state, CAMPAIGN_DEVICE_CANCELLED);
    assert_contains(c->devices[1].problem, "lost");
}

static void cancelling_waits_for_what_cannot_be_stopped(void **state)
{
    struct campaign_settings settings;
    (void)state;
    settings_of(&settings);
    settings.canary = 0;
    settings.percent = 100;
    make(&settings);
    say(CAMPAIGN_START);
    tell(0, FLASH_FLASHING, FLASH_OPEN, "1.0.0");
    tell(2, FLASH_DRAINING, FLASH_OPEN, "1.0.0");
    say(CAMPAIGN_CANCEL);
    assert_int_equal(c->state, CAMPAIGN_CANCELLING);
    assert_false(c->devices[0].cancel);
    assert_true(c->devices[2].cancel);
    assert_int_equal(count(CAMPAIGN_DEVICE_CANCELLED), DEVICES - 3);
    tell(2, FLASH_DRAINING, FLASH_CANCELLED, "1.0.0");
    assert_int_equal(c->state, CAMPAIGN_CANCELLING);
    succeed(0);
    assert_int_equal(c->state, CAMPAIGN_CANCELLED);
    assert_int_equal(c->devices[2].state, CAMPAIGN_DEVICE_CANCELLED);
}

static void a_cancelled_node_that_vanishes_does_not_hang_it(void **state)
{
    (void)state;
    begin();
    say(CAMPAIGN_CANCEL);
    later(60 * NS_PER_S);
    assert_int_equal(c->state, CAMPAIGN_CANCELLED);
    assert_int_equal(c->devices[0].state, CAMPAIGN_DEVICE_LOST);
    assert_false(tell(0, FLASH_CHECKING, FLASH_OPEN, "1.0.0")); /* over */
    assert_true(tell(0, FLASH_CHECKING, FLASH_CANCELLED, "1.0.0"));
    assert_int_equal(c->devices[0].state, CAMPAIGN_DEVICE_CANCELLED);
}

static void a_pause_lets_those_at_work_go_on(void **state)
{
    (void)state;
    begin();
    say(CAMPAIGN_PAUSE);
    succeed(0);
    later(NS_PER_S);
    assert_int_equal(c->state, CAMPAIGN_PAUSED);
    assert_int_equal(count(CAMPAIGN_DEVICE_OFFERED), 0);
    say(CAMPAIGN_RESUME);
    assert_int_equal(count(CAMPAIGN_DEVICE_OFFERED), 2);
    say(CAMPAIGN_PAUSE);
    tell(2, FLASH_FLASHING, FLASH_FAILED, "1.0.0");
    assert_int_equal(c->state, CAMPAIGN_HALTED); /* also out of a pause */
}

static void a_busy_node_is_passed_over(void **state)
{
    (void)state;
    struct campaign_settings settings;
    settings_of(&settings);
    make(&settings);
    busy_node = "n1";
    say(CAMPAIGN_START);
    assert_int_equal(count(CAMPAIGN_DEVICE_OFFERED), 0);
    assert_false(campaign_is_due(c, &now));
    busy_node = NULL;
    assert_true(campaign_is_due(c, &now));
    later(0);
    assert_int_equal(count(CAMPAIGN_DEVICE_OFFERED), 1);
}

static void what_a_device_runs_by_then_decides(void **state)
{
    (void)state;
    begin();
    campaign_heard(c, 2, TARGET);  /* somebody else was faster */
    campaign_heard(c, 4, "3.0.0"); /* and went further */
    campaign_heard(c, 6, "");
    campaign_heard(c, 0, "9.9.9"); /* at work: what it says itself counts */
    succeed(0);
    assert_int_equal(c->devices[2].state, CAMPAIGN_DEVICE_UNCHANGED);
    assert_int_equal(c->devices[4].state, CAMPAIGN_DEVICE_CANCELLED);
    assert_contains(c->devices[4].problem, "newer");
    assert_int_equal(c->devices[6].state, CAMPAIGN_DEVICE_CANCELLED);
    assert_contains(c->devices[6].problem, "unknown");
    assert_int_equal(c->state, CAMPAIGN_RUNNING);
}

static void what_leaves_the_fleet_is_cancelled_or_lost(void **state)
{
    (void)state;
    begin();
    campaign_gone(c, 1, &actions);
    assert_int_equal(c->devices[1].state, CAMPAIGN_DEVICE_CANCELLED);
    assert_int_equal(c->state, CAMPAIGN_RUNNING);
    campaign_gone(c, 0, &actions);
    assert_int_equal(c->devices[0].state, CAMPAIGN_DEVICE_LOST);
    assert_int_equal(c->state, CAMPAIGN_HALTED);
    campaign_gone(c, 7, &actions); /* it has ended */
    assert_int_equal(c->devices[7].state, CAMPAIGN_DEVICE_UNCHANGED);
}

/* Windows ------------------------------------------------------------------------------------- */

static int64_t at(const char *text)
{
    int64_t wall_us;
    assert_true(clock_parse(text, &wall_us));
    return wall_us;
}

static void weekly_windows_open_and_close_to_the_minute(void **state)
{
    struct campaign_settings settings;
    (void)state;
    campaign_settings_init(&settings);
    assert_true(campaign_window_is_open(&settings, at("2026-01-05T00:00:00Z")));
    settings.window_count = 1;
    /* Monday 22:00 until Tuesday 04:00 */
    settings.windows[0] =
        (struct campaign_window){.days = 1, .from_min = 22 * 60, .until_min = 4 * 60};
    assert_false(campaign_window_is_open(&settings, at("2026-01-05T21:59:59.999999Z")));
    assert_true(campaign_window_is_open(&settings, at("2026-01-05T22:00:00Z")));
    assert_true(campaign_window_is_open(&settings, at("2026-01-06T03:59:59.999999Z")));
    assert_false(campaign_window_is_open(&settings, at("2026-01-06T04:00:00Z")));
    assert_false(campaign_window_is_open(&settings, at("2026-01-06T23:00:00Z"))); /* Tuesday */
    assert_true(campaign_window_next(&settings, at("2026-01-06T04:00:00Z")) ==
                at("2026-01-12T22:00:00Z"));
    settings.windows[0].until_min = settings.windows[0].from_min; /* a whole day */
    assert_true(campaign_window_is_open(&settings, at("2026-01-06T21:59:59Z")));
    assert_false(campaign_window_is_open(&settings, at("2026-01-06T22:00:00Z")));
}

static void a_window_of_points_of_time_opens_once(void **state)
{
    struct campaign_settings settings;
    (void)state;
    campaign_settings_init(&settings);
    settings.window_count = 1;
    settings.windows[0] = (struct campaign_window){.from_us = at("2026-01-05T22:00:00Z"),
                                                   .until_us = at("2026-01-06T04:00:00Z")};
    assert_true(campaign_window_next(&settings, at("2026-01-01T00:00:00Z")) ==
                at("2026-01-05T22:00:00Z"));
    assert_true(campaign_window_is_open(&settings, at("2026-01-05T22:00:00Z")));
    assert_false(campaign_window_is_open(&settings, at("2026-01-06T04:00:00Z")));
    assert_true(campaign_window_next(&settings, at("2026-01-06T04:00:00Z")) == -1);
}

static void no_device_starts_outside_a_window(void **state)
{
    struct campaign_settings settings;
    (void)state;
    settings_of(&settings);
    settings.window_count = 1;
    settings.windows[0] =
        (struct campaign_window){.from_us = 10 * 1000000, .until_us = 100 * 1000000};
    make(&settings);
    say(CAMPAIGN_START);
    assert_int_equal(count(CAMPAIGN_DEVICE_OFFERED), 0);
    now.wall_us = 10 * 1000000;
    assert_true(campaign_is_due(c, &now));
    later(0);
    assert_int_equal(count(CAMPAIGN_DEVICE_OFFERED), 1);
    now.wall_us = 100 * 1000000;
    succeed(0); /* one at work goes on */
    assert_int_equal(c->devices[0].state, CAMPAIGN_DEVICE_SUCCESS);
    assert_int_equal(count(CAMPAIGN_DEVICE_OFFERED), 0);
}

/* Documents ----------------------------------------------------------------------------------- */

static void requests_that_are_wrong_are_refused(void **state)
{
    static const struct {
        const char *text, *problem; /* NULL = right */
    } cases[] = {
        {"{'image':'i','all':true}", NULL},
        {"{'image':'i','nodes':['n1'],'devices':['0000:3b:00.0'],'canary':0,'percent':100}", NULL},
        {"{'image':'i','selector':{'rack':'a'},'windows':[{'days':['mon','fri'],'from':'22:00',"
         "'until':'04:00'},{'from':'2026-01-02T22:00:00Z','until':'2026-01-03T22:00:00Z'}]}",
         NULL},
        {"{'all':true}", "image"},
        {"{'image':'i'}", "one of nodes"},
        {"{'image':'i','all':true,'nodes':['n1']}", "one of nodes"},
        {"{'image':'i','all':true,'canary':-1}", "canary"},
        {"{'image':'i','all':true,'canary':1001}", "canary"},
        {"{'image':'i','all':true,'percent':0}", "percent"},
        {"{'image':'i','all':true,'percent':101}", "percent"},
        {"{'image':'i','all':true,'max_unavailable':0}", "max_unavailable"},
        {"{'image':'i','all':true,'max_unavailable':1001}", "max_unavailable"},
        {"{'image':'i','all':true,'activate':'now'}", "activate"},
        {"{'image':'i','all':true,'deadline':'1500ms'}", "whole seconds"},
        {"{'image':'i','all':true,'deadline':'0s'}", "not from"},
        {"{'image':'i','all':true,'phase_deadline':'25h'}", "not from"},
        {"{'image':'i','all':true,'devices':[]}", "no device"},
        {"{'image':'i','all':true,'devices':[7]}", "bus address"},
        {"{'image':'i','all':true,'speed':1}", "unknown"},
        {"{'image':'i','all':true,'windows':[{'from':'22:00','until':'04:00'}]}", "days"},
        {"{'image':'i','all':true,'windows':[{'days':[],'from':'22:00','until':'04:00'}]}",
         "no day"},
        {"{'image':'i','all':true,'windows':[{'days':['xmas'],'from':'22:00','until':'04:00'}]}",
         "none of"},
        {"{'image':'i','all':true,'windows':[{'days':['mon'],'from':'24:00','until':'04:00'}]}",
         "time of a day"},
        {"{'image':'i','all':true,'windows':[{'days':['mon'],'from':'2:00','until':'04:60'}]}",
         "time of a day"},
        {"{'image':'i','all':true,'windows':[{'from':'2026-01-02T22:00:00Z',"
         "'until':'2026-01-02T22:00:00Z'}]}",
         "later"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = ERR_INIT;
        struct campaign_request request;
        OWN(str) char *text = strdup(cases[i].text);
        for (char *p = text; *p != '\0'; p++)
            *p = *p == '\'' ? '"' : *p;
        OWN(json) json_t *document = json_loads(text, 0, NULL);
        assert_non_null(document);
        enum err_code code = campaign_request_from_json(document, &request, NULL, &err);
        if (cases[i].problem == NULL) {
            assert_int_equal(code, ERR_OK);
            continue;
        }
        assert_int_equal(code, ERR_INVALID);
        if (strstr(err.text, cases[i].problem) == NULL &&
            strstr(err.pointer, cases[i].problem) == NULL)
            fail_msg("%s: %s %s", cases[i].text, err.pointer, err.text);
    }
}

static void what_is_stored_is_what_is_read(void **state)
{
    struct err err = ERR_INIT;
    (void)state;
    struct campaign_settings settings;
    settings_of(&settings);
    settings.window_count = 2;
    settings.windows[0] = (struct campaign_window){.days = 0x7f, .from_min = 1, .until_min = 0};
    settings.windows[1] = (struct campaign_window){.from_us = 1, .until_us = 2};
    make(&settings);
    c->image.psid_count = 2;
    snprintf(c->image.psids[0], PSID_SIZE, "MT_1");
    snprintf(c->image.psids[1], PSID_SIZE, "MT_2");
    snprintf(c->image.sha256, sizeof(c->image.sha256), "%064d", 7);
    OWN(json) json_t *head = campaign_head_to_json(c);
    struct campaign again = {.number = 7};
    assert_ok(campaign_head_from_json(&again, head, &err));
    OWN(json) json_t *twice = NULL;
    again.device_count = c->device_count;
    twice = campaign_head_to_json(&again);
    assert_true(json_equal(head, twice));
    assert_memory_equal(&again.settings, &c->settings, sizeof(c->settings));
    begin();
    c->devices[0].percent = 42;
    OWN(json) json_t *body = campaign_device_to_json(&c->devices[0], now.mono_ns);
    struct campaign_device device = {.wave = 0};
    assert_ok(campaign_device_from_json(&device, body, 5, &err));
    assert_int_equal(device.percent, 42);
    assert_true(device.deadline_ns == 5 + 60 * NS_PER_S); /* what remains, on another clock */
    json_object_set_new(body, "more", json_true());
    assert_fails(campaign_device_from_json(&device, body, 5, &err), ERR_INVALID);
}

static void a_task_is_what_the_contract_says(void **state)
{
    struct err err = ERR_INIT;
    struct flash_task task, read;
    struct campaign_task_name name;
    (void)state;
    begin();
    c->created_us = 0x62c2b9c0e5d40;
    snprintf(c->image.sha256, sizeof(c->image.sha256), "%064d", 7);
    campaign_task(c, 3, &task);
    assert_string_equal(task.id, "c-7-4-62c2b9c0e5d40");
    OWN(json) json_t *document = flash_task_to_json(&task);
    assert_ok(flash_task_from_json(document, &read, &err));
    assert_string_equal(read.campaign, "c-7");
    assert_string_equal(read.device, "b");
    assert_string_equal(read.from_version, "1.0.0");
    assert_int_equal(read.drain_timeout_s, 30);
    assert_true(campaign_task_parse(task.id, &name) && name.number == 7 && name.index == 3 &&
                name.created_us == c->created_us);
    static const char *const wrong[] = {
        "c-7",        "c-7-4",     "c-7-0-1",  "c-07-1-1",
        "c-7-4x-1",   "r-7-4-1",   "",         "c--7-4-1",
        "c-7-4097-1", "c-7--1-1",  " c-7-4-1", "c-7-4-",
        "c-7-4-01",   "c-7-4-0x1", "c-7-4-A",  "c-7-4-8000000000000000",
        "c-7-4-1 ",   "c-7-4--1"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_false(campaign_task_parse(wrong[i], &name));
}

/* Moves --------------------------------------------------------------------------------------- */

static void a_command_in_the_wrong_state_names_the_state(void **state)
{
    struct err err = ERR_INIT;
    bool unchanged;
    (void)state;
    begin();
    assert_ok(campaign_command(c, CAMPAIGN_START, &actions, &unchanged, &err));
    assert_true(unchanged);
    say(CAMPAIGN_PAUSE);
    assert_fails(campaign_command(c, CAMPAIGN_START, &actions, &unchanged, &err), ERR_CONFLICT);
    assert_contains(err.text, "paused");
    say(CAMPAIGN_CANCEL);
    assert_fails(campaign_command(c, CAMPAIGN_RESUME, &actions, &unchanged, &err), ERR_CONFLICT);
    assert_ok(campaign_command(c, CAMPAIGN_CANCEL, &actions, &unchanged, &err));
    assert_true(unchanged);
}

static bool names_it(const char *list, const char *name)
{
    char padded[256], wanted[64];
    snprintf(padded, sizeof(padded), " %s ", list);
    snprintf(wanted, sizeof(wanted), " %s ", name);
    return strstr(padded, wanted) != NULL;
}

/* The moves, written once more as the document has them. */
static void only_the_moves_of_the_document_are_allowed(void **state)
{
    static const char *const moves[CAMPAIGN_STATE_COUNT] = {
        [CAMPAIGN_DRAFT] = "running cancelling",
        [CAMPAIGN_RUNNING] = "paused halted cancelling done",
        [CAMPAIGN_PAUSED] = "running halted cancelling",
        [CAMPAIGN_HALTED] = "running cancelling",
        [CAMPAIGN_CANCELLING] = "cancelled",
        [CAMPAIGN_DONE] = "",
        [CAMPAIGN_CANCELLED] = "",
    };
    (void)state;
    for (int from = 0; from < CAMPAIGN_STATE_COUNT; from++)
        for (int to = 0; to < CAMPAIGN_STATE_COUNT; to++)
            assert_int_equal(campaign_may_move((enum campaign_state)from, (enum campaign_state)to),
                             names_it(moves[from], campaign_state_name((enum campaign_state)to)));
    for (int from = 0; from < CAMPAIGN_DEVICE_STATE_COUNT; from++)
        for (int to = 0; to < CAMPAIGN_DEVICE_STATE_COUNT; to++) {
            bool active = campaign_device_is_active((enum campaign_device_state)from);
            bool wanted = active && to > from; /* forward, and to every end */
            if (from == CAMPAIGN_DEVICE_WAITING)
                wanted = to == CAMPAIGN_DEVICE_OFFERED || to == CAMPAIGN_DEVICE_UNCHANGED ||
                         to == CAMPAIGN_DEVICE_CANCELLED;
            if (from == CAMPAIGN_DEVICE_LOST)
                wanted = to > CAMPAIGN_DEVICE_OFFERED && to != CAMPAIGN_DEVICE_LOST;
            assert_int_equal(campaign_device_may_move((enum campaign_device_state)from,
                                                      (enum campaign_device_state)to),
                             wanted);
        }
}

static uint64_t seed;
static uint32_t dice(uint32_t sides)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % sides;
}

static void random_event(void)
{
    static const char *const versions[] = {TARGET, TARGET, TARGET, "1.0.0", ""};
    size_t i = dice(DEVICES);
    bool unchanged;
    struct err err = ERR_INIT;
    switch (dice(10)) {
    case 0:
    case 1:
    case 2:
        tell(i, (enum flash_phase)dice(FLASH_PHASE_COUNT), FLASH_OPEN, versions[dice(5)]);
        break;
    case 3:
    case 4:
        succeed(i);
        break;
    case 5:
        tell(i, (enum flash_phase)dice(FLASH_PHASE_COUNT),
             (enum flash_outcome)dice(FLASH_OUTCOME_COUNT), versions[dice(5)]);
        break;
    case 6:
        now.mono_ns += dice(30) * NS_PER_S;
        break;
    case 7:
        if (dice(20) == 0)
            campaign_gone(c, i, &actions);
        else
            campaign_heard(c, i, versions[2 + dice(3)]);
        break;
    case 8:
        busy_node = dice(2) ? "n2" : NULL;
        break;
    default: {
        enum campaign_verb verb = dice(40) == 0 ? CAMPAIGN_CANCEL : (enum campaign_verb)dice(3);
        enum err_code code = campaign_command(c, verb, &actions, &unchanged, &err);
        assert_true(code == ERR_OK || code == ERR_CONFLICT);
    }
    }
}

static void nothing_that_must_hold_is_hurt_on_random_walks(void **state)
{
    unsigned ends[CAMPAIGN_STATE_COUNT] = {0};
    (void)state;
    for (uint64_t walk = 0; walk < 3000; walk++) {
        begin();
        seed = walk;
        c->settings.halt_on_aborted = dice(2);
        for (int step = 0; step < 200; step++) {
            struct err err = ERR_INIT;
            bool over = campaign_is_over(c->state);
            random_event();
            campaign_step(c, &now, &actions);
            assert_ok(campaign_check(c, &err));
            assert_false(over && !campaign_is_over(c->state));
            actions.count = 0;
        }
        ends[c->state]++;
    }
    assert_true(ends[CAMPAIGN_DONE] > 20);
    assert_true(ends[CAMPAIGN_CANCELLED] > 20); /* the walks come everywhere */
    assert_true(ends[CAMPAIGN_HALTED] > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(first_devices_of_all_nodes_come_before_second_ones, teardown),
        cmocka_unit_test_teardown(it_goes_wave_by_wave_to_its_end, teardown),
        cmocka_unit_test_teardown(one_device_of_a_node_is_at_work_at_a_time, teardown),
        cmocka_unit_test_teardown(a_failure_halts_it_until_it_is_resumed, teardown),
        cmocka_unit_test_teardown(what_a_node_says_is_cut_on_a_character, teardown),
        cmocka_unit_test_teardown(an_abort_halts_when_the_settings_say_so, teardown),
        cmocka_unit_test_teardown(a_pending_reset_is_no_failure, teardown),
        cmocka_unit_test_teardown(a_success_that_does_not_run_the_version_is_a_failure, teardown),
        cmocka_unit_test_teardown(a_cancelling_that_nobody_asked_for_is_an_abort, teardown),
        cmocka_unit_test_teardown(reports_go_forward_only, teardown),
        cmocka_unit_test_teardown(a_node_that_vanishes_is_lost_and_halts_it, teardown),
        cmocka_unit_test_teardown(draining_has_its_own_time, teardown),
        cmocka_unit_test_teardown(a_figure_that_moves_is_progress_and_the_whole_has_an_end,
                                  teardown),
        cmocka_unit_test_teardown(one_that_was_lost_may_come_back, teardown),
        cmocka_unit_test_teardown(other_devices_of_a_lost_node_are_left_alone, teardown),
        cmocka_unit_test_teardown(cancelling_waits_for_what_cannot_be_stopped, teardown),
        cmocka_unit_test_teardown(a_cancelled_node_that_vanishes_does_not_hang_it, teardown),
        cmocka_unit_test_teardown(a_pause_lets_those_at_work_go_on, teardown),
        cmocka_unit_test_teardown(a_busy_node_is_passed_over, teardown),
        cmocka_unit_test_teardown(what_a_device_runs_by_then_decides, teardown),
        cmocka_unit_test_teardown(what_leaves_the_fleet_is_cancelled_or_lost, teardown),
        cmocka_unit_test_teardown(weekly_windows_open_and_close_to_the_minute, teardown),
        cmocka_unit_test_teardown(a_window_of_points_of_time_opens_once, teardown),
        cmocka_unit_test_teardown(no_device_starts_outside_a_window, teardown),
        cmocka_unit_test_teardown(requests_that_are_wrong_are_refused, teardown),
        cmocka_unit_test_teardown(what_is_stored_is_what_is_read, teardown),
        cmocka_unit_test_teardown(a_task_is_what_the_contract_says, teardown),
        cmocka_unit_test_teardown(a_command_in_the_wrong_state_names_the_state, teardown),
        cmocka_unit_test_teardown(only_the_moves_of_the_document_are_allowed, teardown),
        cmocka_unit_test_teardown(nothing_that_must_hold_is_hurt_on_random_walks, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
