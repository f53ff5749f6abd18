/*
 * tests/unit/agent/test_flash.c - the firmware worker: each way a task can end, what is written and
 * what is not, and what a crash at any moment leads to.
 */
#include "flash_test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/flash_judge.h"

static void a_device_gets_its_firmware_and_runs_it(void **state)
{
    (void)state;
    struct flash_site site;
    site_open(&site);
    assert_string_equal(site.known, "");
    struct flash_task task = make_task("t1");
    assert_true(give(&site, &task));
    assert_string_equal(site.known, "t1");
    const struct flash_report *end = run_to_end(&site);
    assert_int_equal(end->outcome, FLASH_SUCCESS);
    assert_int_equal(end->phase, FLASH_DONE);
    assert_string_equal(end->running, TARGET);
    assert_string_equal(end->problem, "");
    assert_versions(&site, TARGET, TARGET);
    assert_int_equal(site.rechecks, 1);
    assert_false(give(&site, &task));
    site_close(&site);
}

static void every_phase_is_told_in_order_with_progress(void **state)
{
    (void)state;
    struct flash_site site;
    site_open(&site);
    fault(&site, "flash:slow-20");
    struct flash_task task = make_task("t1");
    assert_true(give(&site, &task));
    run_to_end(&site);
    bool seen[FLASH_PHASE_COUNT] = {false};
    int figures = 0;
    for (size_t i = 0; i < site.report_count; i++) {
        const struct flash_report *report = &site.reports[i];
        seen[report->phase] = true;
        figures += report->phase == FLASH_FLASHING && report->percent > 0;
        if (i > 0)
            assert_true(site.reports[i - 1].phase <= report->phase);
    }
    for (int phase = 0; phase < FLASH_PHASE_COUNT; phase++)
        assert_true(seen[phase]);
    assert_true(figures > 1);
    site_close(&site);
}

/* What each fault or wish leads to. */
static const struct ending {
    const char *fault;  /* NULL = none */
    const char *device; /* NULL = DEVICE */
    const char *driver; /* NULL = SIM_DRIVER */
    const char *from;   /* NULL = any */
    enum flash_activate activate;
    enum flash_outcome outcome;
    enum flash_phase phase;
    const char *problem;
    const char *running, *stored;
} endings[] = {
    {NULL, NULL, NULL, NULL, FLASH_ACTIVATE_NONE, FLASH_PENDING_RESET, FLASH_FLASHED,
     "runs until a reset", SIM_FIRMWARE, TARGET},
    {NULL, NULL, NULL, NULL, FLASH_ACTIVATE_REBOOT, FLASH_PENDING_RESET, FLASH_FLASHED,
     "2.1.9 is stored, 2.1.8 runs", SIM_FIRMWARE, TARGET},
    {"flash:no-activate", NULL, NULL, NULL, FLASH_ACTIVATE_RELOAD, FLASH_PENDING_RESET,
     FLASH_ACTIVATING, "cannot activate", SIM_FIRMWARE, TARGET},
    {"flash:fail-50", NULL, NULL, NULL, FLASH_ACTIVATE_RELOAD, FLASH_FAILED, FLASH_FLASHING,
     "programming failed at 50 %", SIM_FIRMWARE, SIM_FIRMWARE},
    {"flash:ignore", NULL, NULL, NULL, FLASH_ACTIVATE_RELOAD, FLASH_FAILED, FLASH_FLASHING,
     "took the image, but stores 2.1.8", SIM_FIRMWARE, SIM_FIRMWARE},
    {"flash:psid", NULL, NULL, NULL, FLASH_ACTIVATE_RELOAD, FLASH_ABORTED, FLASH_OFFERED,
     "SIM_9999999999; the image is not for it", SIM_FIRMWARE, SIM_FIRMWARE},
    {NULL, NULL, "mlx5_core", NULL, FLASH_ACTIVATE_RELOAD, FLASH_ABORTED, FLASH_OFFERED,
     "the image is for mlx5_core", SIM_FIRMWARE, SIM_FIRMWARE},
    {NULL, NULL, NULL, "2.1.7", FLASH_ACTIVATE_RELOAD, FLASH_ABORTED, FLASH_OFFERED,
     "for devices that run 2.1.7", SIM_FIRMWARE, SIM_FIRMWARE},
    {NULL, NULL, NULL, "2.1.8", FLASH_ACTIVATE_RELOAD, FLASH_SUCCESS, FLASH_DONE, "", TARGET,
     TARGET},
    {NULL, "sim.9", NULL, NULL, FLASH_ACTIVATE_RELOAD, FLASH_ABORTED, FLASH_OFFERED,
     "sim.9 is not there", SIM_FIRMWARE, SIM_FIRMWARE},
    {"flash:users", NULL, NULL, NULL, FLASH_ACTIVATE_RELOAD, FLASH_ABORTED, FLASH_DRAINING,
     "3 queue pairs", SIM_FIRMWARE, SIM_FIRMWARE},
};

static void a_task_ends_as_its_device_lets_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        const struct ending *want = &endings[i];
        struct flash_site site;
        site_open(&site);
        if (want->fault != NULL)
            fault(&site, want->fault);
        struct flash_task task = make_task("t1");
        task.activate = want->activate;
        if (want->device != NULL)
            snprintf(task.device, sizeof(task.device), "%s", want->device);
        if (want->driver != NULL)
            snprintf(task.image.component, sizeof(task.image.component), "%s", want->driver);
        if (want->from != NULL)
            snprintf(task.from_version, sizeof(task.from_version), "%s", want->from);
        assert_true(give(&site, &task));
        const struct flash_report *end = run_to_end(&site);
        if (end->outcome != want->outcome || end->phase != want->phase)
            fail_msg("ending %zu is %s in %s: %s", i, flash_outcome_name(end->outcome),
                     flash_phase_name(end->phase), end->problem);
        assert_contains(end->problem, want->problem);
        assert_versions(&site, want->running, want->stored);
        assert_string_equal(flash_held(site.flash), "");
        assert_int_equal(count_files(site.dir, "flash.json"), 1);
        site_close(&site);
    }
}

static void an_image_that_changed_on_disk_is_never_written(void **state)
{
    (void)state;
    struct flash_site site;
    site_open(&site);
    struct flash_task task = make_task("t1");
    memset(task.image.sha256, 'a', 64);
    task.deadline_s = 1;
    assert_true(give(&site, &task));
    const struct flash_report *end = run_to_end(&site); /* nobody gives the right one */
    assert_int_equal(end->outcome, FLASH_ABORTED);
    assert_contains(end->problem, "deadline");
    assert_versions(&site, SIM_FIRMWARE, SIM_FIRMWARE);
    site_close(&site);
}

static void the_device_refuses_what_is_no_image(void **state)
{
    (void)state;
    static const char garbage[] = "garbage";
    struct flash_site site;
    site_open(&site);
    struct flash_task task = make_task("t1");
    sha256_of(garbage, task.image.sha256);
    site_put_image(&site, garbage);
    assert_true(give(&site, &task));
    const struct flash_report *end = run_to_end(&site);
    assert_int_equal(end->outcome, FLASH_FAILED);
    assert_contains(end->problem, "refuses the image");
    assert_versions(&site, SIM_FIRMWARE, SIM_FIRMWARE);
    site_close(&site);
}

static void what_runs_already_is_a_success_without_work(void **state)
{
    (void)state;
    struct flash_site site;
    site_open(&site);
    fault(&site, "flash:fail-0");
    struct flash_task task = make_task("t1");
    snprintf(task.image.version, sizeof(task.image.version), "%s", "02.01.08");
    assert_true(give(&site, &task));
    assert_int_equal(run_to_end(&site)->outcome, FLASH_SUCCESS);
    assert_int_equal(site.rechecks, 0);
    site_close(&site);
}

static void what_is_stored_already_is_only_activated(void **state)
{
    (void)state;
    struct flash_site site;
    site_open(&site);
    struct flash_task task = make_task("t1");
    task.activate = FLASH_ACTIVATE_NONE;
    assert_true(give(&site, &task));
    assert_int_equal(run_to_end(&site)->outcome, FLASH_PENDING_RESET);
    flash_reported(site.flash);
    fault(&site, "flash:fail-0");
    struct flash_task next = make_task("t2");
    site.report_count = 0;
    assert_true(give(&site, &next));
    assert_int_equal(run_to_end(&site)->outcome, FLASH_SUCCESS);
    assert_versions(&site, TARGET, TARGET);
    site_close(&site);
}

static bool is_draining(const struct flash_site *site)
{
    return site->report_count > 0 && last(site)->phase == FLASH_DRAINING;
}

static bool is_flashing(const struct flash_site *site)
{
    return site->report_count > 0 && last(site)->phase == FLASH_FLASHING && last(site)->percent > 0;
}

/* Queue pairs stay: "flash:no-users" ends it. */
static struct flash_task begin_drain(struct flash_site *site)
{
    fault(site, "flash:users");
    struct flash_task task = make_task("t1");
    task.drain_timeout_s = 3600;
    assert_true(give(site, &task));
    assert_true(until(site, is_draining));
    return task;
}

static void it_can_be_cancelled_until_the_write_begins(void **state)
{
    (void)state;
    struct flash_site site;
    site_open(&site);
    struct flash_task task = begin_drain(&site);
    task.cancelled = true;
    assert_true(give(&site, &task));
    assert_string_equal(site.known, "t1~cancelled");
    const struct flash_report *end = run_to_end(&site);
    assert_int_equal(end->outcome, FLASH_CANCELLED);
    assert_int_equal(end->phase, FLASH_DRAINING);
    assert_versions(&site, SIM_FIRMWARE, SIM_FIRMWARE);
    site_close(&site);
}

/* The simulator would take the other image: it is one for this board. */
static void an_image_that_changed_during_the_drain_is_never_written(void **state)
{
    (void)state;
    struct flash_site site;
    site_open(&site);
    (void)begin_drain(&site);
    site_put_image(&site, "sim-firmware 6.6.6 " SIM_PSID "\n");
    fault(&site, "flash:no-users");
    const struct flash_report *end = run_to_end(&site);
    assert_int_equal(end->outcome, FLASH_FAILED);
    assert_contains(end->problem, "nothing was written: image " IMAGE_ID " has the SHA-256");
    assert_versions(&site, SIM_FIRMWARE, SIM_FIRMWARE);
    site_close(&site);
}

/* Nothing can be renamed over a folder. */
static void deny_record(const struct flash_site *site)
{
    char path[KEEP_PATH_MAX];
    struct err err = ERR_INIT;
    assert_ok(keep_path(site->dir, FLASH_FILE, path, &err));
    (void)unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void what_cannot_be_remembered_is_not_begun(void **state)
{
    (void)state;
    struct flash_site site;
    site_open(&site);
    deny_record(&site);
    const struct flash_task task = make_task("t1");
    assert_true(give(&site, &task));
    const struct flash_report *end = run_to_end(&site);
    assert_int_equal(end->outcome, FLASH_ABORTED);
    assert_contains(end->problem, "the node's state cannot be kept: ");
    assert_contains(end->problem, FLASH_FILE);
    assert_versions(&site, SIM_FIRMWARE, SIM_FIRMWARE);
    site_close(&site);
}

static void a_write_that_cannot_be_remembered_is_not_begun(void **state)
{
    (void)state;
    struct flash_site site;
    site_open(&site);
    (void)begin_drain(&site);
    deny_record(&site);
    fault(&site, "flash:no-users");
    const struct flash_report *end = run_to_end(&site);
    assert_int_equal(end->outcome, FLASH_ABORTED);
    assert_int_equal(end->phase, FLASH_DRAINING);
    assert_contains(end->problem, "the node's state cannot be kept: ");
    assert_versions(&site, SIM_FIRMWARE, SIM_FIRMWARE);
    site_close(&site);
}

static void after_the_point_of_no_return_a_cancel_changes_nothing(void **state)
{
    (void)state;
    struct flash_site site;
    site_open(&site);
    fault(&site, "flash:slow-20");
    struct flash_task task = make_task("t1");
    assert_true(give(&site, &task));
    assert_true(until(&site, is_flashing));
    assert_string_equal(flash_held(site.flash), DEVICE);
    task.cancelled = true;
    assert_true(give(&site, &task));
    assert_string_equal(site.known, "t1~cancelled");
    assert_int_equal(run_to_end(&site)->outcome, FLASH_SUCCESS);
    site_close(&site);
}

static void a_task_that_comes_cancelled_is_not_begun(void **state)
{
    (void)state;
    struct flash_site site;
    site_open(&site);
    struct flash_task task = make_task("t1");
    task.cancelled = true;
    assert_true(give(&site, &task));
    assert_int_equal(run_to_end(&site)->outcome, FLASH_CANCELLED);
    assert_versions(&site, SIM_FIRMWARE, SIM_FIRMWARE);
    site_close(&site);
}

static bool waits_for_link(const struct flash_site *site)
{
    return site->report_count > 0 && last(site)->phase == FLASH_VERIFYING &&
           strstr(last(site)->message, "link") != NULL;
}

static bool waits_for_policy(const struct flash_site *site)
{
    return site->rechecks > 3;
}

/* Each turn is a millisecond of the clock that is turned by hand. */
static void run_with_clock(struct flash_site *site, bool (*is)(const struct flash_site *site))
{
    struct clock *clock = clock_system();
    int64_t end_ns = clock->mono_ns(clock) + END_MS * NS_PER_MS;
    while (!is(site) && clock->mono_ns(clock) < end_ns) {
        clock_fake_advance(&site->fake, NS_PER_MS);
        turn_once(site);
    }
    assert_true(is(site));
}

/* The links have their minute. */
static void a_dead_link_after_the_activation_is_a_failure(void **state)
{
    (void)state;
    struct flash_site site;
    site_open(&site);
    clock_fake_init(&site.fake, 1700000000000000);
    site_sleep(&site);
    site.clock = &site.fake.base;
    site_wake(&site);
    fault(&site, "flash:dead-link");
    struct flash_task task = make_task("t1");
    task.deadline_s = 3600;
    assert_true(give(&site, &task));
    run_with_clock(&site, waits_for_link);
    clock_fake_advance(&site.fake, FLASH_VERIFY_NS);
    const struct flash_report *end = run_to_end(&site);
    assert_int_equal(end->outcome, FLASH_FAILED);
    assert_contains(end->problem, "link: port 0 was up before and is down");
    assert_string_equal(end->running, TARGET);
    site_close(&site);
}

static void a_policy_that_does_not_come_back_is_a_failure(void **state)
{
    (void)state;
    struct flash_site site;
    site_open(&site);
    clock_fake_init(&site.fake, 1700000000000000);
    site_sleep(&site);
    site.clock = &site.fake.base;
    site_wake(&site);
    site.out_of_sync = true;
    struct flash_task task = make_task("t1");
    task.deadline_s = 3600;
    assert_true(give(&site, &task));
    run_with_clock(&site, waits_for_policy);
    clock_fake_advance(&site.fake, FLASH_VERIFY_NS);
    const struct flash_report *end = run_to_end(&site);
    assert_int_equal(end->outcome, FLASH_FAILED);
    assert_contains(end->problem, "policy: dcb.pfc differs");
    site_close(&site);
}

/* Its deadline passes; the next task finds the device still busy. */
static void a_write_that_never_ends_is_a_failure_and_holds_the_device(void **state)
{
    (void)state;
    struct flash_site site;
    site_open(&site);
    clock_fake_init(&site.fake, 1700000000000000);
    site_sleep(&site);
    site.clock = &site.fake.base;
    site_wake(&site);
    fault(&site, "flash:stuck");
    struct flash_task task = make_task("t1");
    task.deadline_s = 600;
    assert_true(give(&site, &task));
    assert_true(until(&site, is_flashing));
    clock_fake_advance(&site.fake, 606 * NS_PER_S);
    const struct flash_report *end = run_to_end(&site);
    assert_int_equal(end->outcome, FLASH_FAILED);
    assert_contains(end->problem, "deadline");
    assert_string_equal(flash_held(site.flash), DEVICE);
    flash_reported(site.flash);
    struct flash_task next = make_task("t2");
    assert_true(give(&site, &next));
    assert_contains(last(&site)->message, "an earlier write has not come back yet");
    fault(&site, "flash:unstuck");
    run_with_clock(&site, ended);
    assert_int_equal(last(&site)->outcome, FLASH_SUCCESS);
    assert_string_equal(flash_held(site.flash), "");
    site_close(&site);
}

static void one_task_at_a_time(void **state)
{
    (void)state;
    struct flash_site site;
    site_open(&site);
    struct flash_task task = make_task("t1"), other = make_task("t2");
    assert_true(give(&site, &task));
    assert_false(give(&site, &other));
    assert_string_equal(site.known, "t1");
    run_to_end(&site);
    assert_false(give(&site, &other)); /* the server has not heard the end */
    flash_reported(site.flash);
    assert_true(give(&site, &other));
    run_to_end(&site);
    site_close(&site);
}

static void what_is_no_task_is_refused(void **state)
{
    (void)state;
    struct flash_site site;
    site_open(&site);
    static const char *const bodies[] = {"", "{", "[]", "{}", "{\"version\":1,\"id\":\"t1\"}"};
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
        assert_false(flash_take(site.flash, bodies[i], strlen(bodies[i])));
    char *big = calloc(1, FLASH_TASK_BYTES_MAX + 2);
    memset(big, ' ', FLASH_TASK_BYTES_MAX + 1);
    assert_false(flash_take(site.flash, big, FLASH_TASK_BYTES_MAX + 1));
    free(big);
    assert_string_equal(site.known, "");
    assert_int_equal(site.report_count, 0);
    site_close(&site);
}

static void an_outcome_is_told_until_it_was_heard(void **state)
{
    (void)state;
    struct flash_site site;
    site_open(&site);
    struct flash_task task = make_task("t1");
    assert_true(give(&site, &task));
    run_to_end(&site);
    site_sleep(&site);
    site.report_count = 0;
    site_wake(&site); /* after a restart, because nobody said that it arrived */
    assert_int_equal(run_to_end(&site)->outcome, FLASH_SUCCESS);
    assert_string_equal(site.known, "t1");
    flash_reported(site.flash);
    site_sleep(&site);
    site.report_count = 0;
    site_wake(&site);
    assert_int_equal(site.report_count, 0);
    assert_false(give(&site, &task)); /* the server lost it: told again, not done again */
    assert_int_equal(last(&site)->outcome, FLASH_SUCCESS);
    site_close(&site);
}

static void a_task_taken_back_after_its_end_is_answered_with_that(void **state)
{
    (void)state;
    struct flash_site site;
    site_open(&site);
    struct flash_task task = make_task("t1");
    assert_true(give(&site, &task));
    run_to_end(&site);
    flash_reported(site.flash);
    site.report_count = 0;
    task.cancelled = true; /* the server lost what it was told, and somebody cancels */
    assert_true(give(&site, &task));
    assert_int_equal(site.report_count, 1);
    assert_int_equal(last(&site)->outcome, FLASH_SUCCESS);
    site_close(&site);
}

/* A server whose image never ends. */
static void *drip(void *arg)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 50000000\r\n\r\n";
    static const char part[2000];
    int fd = accept(*(int *)arg, NULL, NULL);
    ssize_t n = fd < 0 ? -1 : send(fd, head, sizeof(head) - 1, MSG_NOSIGNAL);
    while (n > 0) {
        n = send(fd, part, sizeof(part), MSG_NOSIGNAL);
        usleep(300000); /* the download looks whether it is to stop once a part */
    }
    if (fd >= 0)
        close(fd);
    return NULL;
}

static bool is_fetching(const struct flash_site *site)
{
    return site->report_count > 0 && last(site)->phase == FLASH_FETCHING;
}

static void a_download_of_the_last_task_holds_up_no_other(void **state)
{
    (void)state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    struct flash_site site;
    pthread_t thread;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
    assert_int_equal(pthread_create(&thread, NULL, drip, &listener), 0);
    site_open(&site);
    snprintf(site.url, sizeof(site.url), "http://127.0.0.1:%u/", ntohs(address.sin_port));
    struct flash_task task = make_task("t1"), next = make_task("t2");
    memset(task.image.sha256, 'a', 64);
    task.image.size_bytes = 50000000;
    assert_true(give(&site, &task));
    assert_true(until(&site, is_fetching));
    for (int i = 0; i < 40; i++)
        turn_once(&site);
    task.cancelled = true;
    assert_true(give(&site, &task));
    assert_int_equal(last(&site)->outcome, FLASH_CANCELLED);
    flash_reported(site.flash);
    assert_true(give(&site, &next)); /* before the download has seen that it is to end */
    assert_int_equal(run_to_end(&site)->outcome, FLASH_SUCCESS);
    site_close(&site);
    shutdown(listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(listener);
}

static void a_record_that_does_not_read_back_is_set_aside(void **state)
{
    (void)state;
    struct flash_site site;
    site_open(&site);
    site_sleep(&site);
    scribble(site.dir, FLASH_FILE, "{\"task\":{}}");
    site_wake(&site);
    assert_int_equal(count_files(site.dir, "flash.json.corrupt-"), 1);
    struct flash_task task = make_task("t1");
    assert_true(give(&site, &task));
    assert_int_equal(run_to_end(&site)->outcome, FLASH_SUCCESS);
    site_close(&site);
}

/* A folder that was copied from another node, whose devices have the same addresses; and a file
 * whose halves are of two tasks. */
static void a_record_of_another_is_not_gone_on_with(void **state)
{
    (void)state;
    struct flash_site site;
    struct err err = ERR_INIT;
    site_open(&site);
    site_sleep(&site);
    struct flash_record record = {.task = make_task("t1"), .phase = FLASH_FLASHED};
    assert_ok(flash_record_write(site.dir, "n2", &record, &err));
    site_wake(&site);
    assert_int_equal(count_files(site.dir, "flash.json.corrupt-"), 1);
    assert_false(flash_is_busy(site.flash));
    assert_string_equal(site.known, "");
    site_sleep(&site);
    assert_ok(flash_record_write(site.dir, NODE, &record, &err));
    OWN(json) json_t *document = NULL;
    assert_ok(keep_read(site.dir, FLASH_FILE, &document, &err));
    json_object_set_new(json_object_get(document, "report"), "task", json_string("t2"));
    assert_ok(keep_write(site.dir, FLASH_FILE, document, &err));
    assert_fails(flash_record_read(site.dir, NODE, &record, &err), ERR_INVALID);
    site_wake(&site);
    assert_false(flash_is_busy(site.flash));
    for (int i = 0; i < 20; i++)
        turn_once(&site);
    assert_int_equal(site.report_count, 0);
    assert_versions(&site, SIM_FIRMWARE, SIM_FIRMWARE);
    site_close(&site);
}

static bool is_waiting(const struct flash_site *site)
{
    return site->report_count > 0 && strstr(last(site)->message, "queue pairs") != NULL;
}

/* Who came to the device after the drain, while there was no agent. */
static void what_a_crash_left_flashed_is_drained_again(void **state)
{
    (void)state;
    struct flash_site site;
    struct err err = ERR_INIT;
    site_open(&site);
    fault(&site, "flash:users");
    site_sleep(&site);
    struct flash_record record = {.task = make_task("t1"), .phase = FLASH_FLASHED};
    record.task.drain_timeout_s = 3600;
    assert_ok(flash_record_write(site.dir, NODE, &record, &err));
    site_wake(&site);
    assert_true(until(&site, is_waiting));
    assert_string_equal(flash_held(site.flash), DEVICE);
    assert_int_equal(last(&site)->phase, FLASH_FLASHED);
    site_sleep(&site);
    record.task.drain_timeout_s = 0;
    assert_ok(flash_record_write(site.dir, NODE, &record, &err));
    site_wake(&site);
    const struct flash_report *end = run_to_end(&site);
    assert_int_equal(end->outcome, FLASH_PENDING_RESET);
    assert_contains(end->problem, "3 queue pairs");
    site_close(&site);
}

static void run_until_dead_or_ended(struct flash_site *site)
{
    struct clock *clock = clock_system();
    int64_t end_ns = clock->mono_ns(clock) + END_MS * NS_PER_MS;
    while (!ended(site) && site->asked < site->kill_at && clock->mono_ns(clock) < end_ns)
        turn_once(site);
}

/* Killed around each change of disk in turn, then started again: the end is the truth about the
 * device, and nothing goes round in circles. */
static void a_kill_at_any_moment_ends_right(void **state)
{
    (void)state;
    for (int kill_at = 1;; kill_at++) {
        struct flash_site site;
        site_open(&site);
        site.kill_at = kill_at;
        struct flash_task task = make_task("t1");
        give(&site, &task);
        run_until_dead_or_ended(&site);
        bool survived = site.asked < kill_at;
        site_sleep(&site);
        site.kill_at = 0;
        site.report_count = 0;
        site_wake(&site);
        if (strcmp(site.known, "") == 0) /* killed before it was on disk */
            assert_true(give(&site, &task));
        const struct flash_report *end = run_to_end(&site);
        struct flash_identity is = {0};
        OWN(json) json_t *inventory = NULL;
        struct err err = ERR_INIT;
        assert_ok(dp_inventory(site.dp, &inventory, &err));
        const json_t *port = json_array_get(json_object_get(inventory, "ports"), 0);
        snprintf(is.running, sizeof(is.running), "%s",
                 json_string_value(json_object_get(port, "firmware")));
        snprintf(is.stored, sizeof(is.stored), "%s",
                 json_string_value(json_object_get(port, "firmware_stored")));
        assert_string_equal(end->running, is.running);
        assert_string_equal(end->stored, is.stored);
        if (end->outcome == FLASH_SUCCESS)
            assert_string_equal(is.running, TARGET);
        else if (end->outcome == FLASH_PENDING_RESET)
            assert_string_equal(is.stored, TARGET);
        else if (end->outcome == FLASH_FAILED)
            assert_contains(end->problem, "interrupted");
        else
            fail_msg("kill %d: %s: %s", kill_at, flash_outcome_name(end->outcome), end->problem);
        if (end->outcome != FLASH_SUCCESS)
            assert_string_equal(is.running, SIM_FIRMWARE);
        site_close(&site);
        if (survived) {
            assert_true(kill_at > 10);
            return;
        }
    }
}

/* Recovery ------------------------------------------------------------------------------------- */

static const struct leftover {
    enum flash_phase phase;
    bool stored, running; /* the device has the target there */
    enum flash_outcome outcome;
    const char *problem;
} leftovers[] = {
    {FLASH_FLASHING, false, false, FLASH_FAILED, "interrupted"},
    {FLASH_FLASHING, true, false, FLASH_PENDING_RESET, "2.1.9 is stored, 2.1.8 runs"},
    {FLASH_FLASHING, true, true, FLASH_SUCCESS, ""},
    {FLASH_FLASHED, true, false, FLASH_SUCCESS, ""},
    {FLASH_ACTIVATING, true, false, FLASH_PENDING_RESET, "ended during the activation"},
    {FLASH_ACTIVATING, true, true, FLASH_SUCCESS, ""},
    {FLASH_ACTIVATING, false, false, FLASH_FAILED, "ended during the activation"},
    {FLASH_VERIFYING, true, true, FLASH_SUCCESS, ""},
    {FLASH_DRAINING, false, false, FLASH_SUCCESS, ""},
    {FLASH_CHECKING, false, false, FLASH_SUCCESS, ""},
    {FLASH_OFFERED, false, false, FLASH_SUCCESS, ""},
};

static void bring_to(struct flash_site *site, bool stored, bool running)
{
    struct flash_task task = make_task("before");
    task.activate = running ? FLASH_ACTIVATE_RELOAD : FLASH_ACTIVATE_NONE;
    if (!stored && !running)
        return;
    assert_true(give(site, &task));
    run_to_end(site);
    flash_reported(site->flash);
    site->report_count = 0;
}

static void what_a_crash_left_is_found_out_by_reading(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(leftovers) / sizeof(leftovers[0]); i++) {
        const struct leftover *left = &leftovers[i];
        struct flash_site site;
        struct err err = ERR_INIT;
        site_open(&site);
        bring_to(&site, left->stored, left->running);
        site_sleep(&site);
        struct flash_record record = {.task = make_task("t1"), .phase = left->phase};
        assert_ok(flash_record_write(site.dir, NODE, &record, &err));
        site_put_image(&site, IMAGE);
        site_wake(&site);
        assert_string_equal(site.known, "t1");
        const struct flash_report *end = run_to_end(&site);
        if (end->outcome != left->outcome)
            fail_msg("leftover %zu: %s in %s: %s", i, flash_outcome_name(end->outcome),
                     flash_phase_name(end->phase), end->problem);
        assert_contains(end->problem, left->problem);
        site_close(&site);
    }
}

/* Judgement ------------------------------------------------------------------------------------ */

static void a_device_that_does_not_say_who_it_is_gets_nothing(void **state)
{
    (void)state;
    char why[ERR_TEXT_MAX];
    struct flash_task task = make_task("t1");
    struct flash_identity is = {
        .driver = SIM_DRIVER, .psid = SIM_PSID, .running = "2.1.8", .stored = "2.1.8"};
    assert_int_equal(flash_judge(&task, &is, why), FLASH_GO);
    is.psid[0] = '\0';
    assert_int_equal(flash_judge(&task, &is, why), FLASH_STRANGER);
    assert_contains(why, "does not say its id");
    task.image.psid_count = 0;
    assert_int_equal(flash_judge(&task, &is, why), FLASH_GO);
    is.running[0] = '\0';
    assert_int_equal(flash_judge(&task, &is, why), FLASH_STRANGER);
    is = (struct flash_identity){.running = "2.1.8"};
    assert_int_equal(flash_judge(&task, &is, why), FLASH_STRANGER);
    assert_contains(why, "(none)");
}

static void versions_are_the_same_by_their_fields(void **state)
{
    (void)state;
    assert_true(flash_same_version("2.1.8", "02.1.8"));
    assert_true(flash_same_version("16.35.2000 (MT_1)", "16.35.2000"));
    assert_false(flash_same_version("2.1.8", "2.1.80"));
    assert_false(flash_same_version("2.1.8", "2.1.8-rc1"));
    assert_true(flash_same_version("0x80008e6a", "0x80008e6a"));
    assert_false(flash_same_version("0x80008e6a", "0x80008e6b"));
    assert_false(flash_same_version("", ""));
    assert_false(flash_same_version("", "2.1.8"));
}

static void only_links_that_were_up_must_be_up(void **state)
{
    (void)state;
    char why[ERR_TEXT_MAX] = "";
    struct flash_links before = {.count = 2, .items = {{0, true}, {1, false}}};
    struct flash_links now = {.count = 2, .items = {{0, true}, {1, false}}};
    assert_true(flash_links_kept(&before, &now, why));
    now.items[0].up = false;
    assert_false(flash_links_kept(&before, &now, why));
    now = (struct flash_links){.count = 1, .items = {{1, true}}}; /* port 0 is gone */
    assert_false(flash_links_kept(&before, &now, why));
    assert_contains(why, "port 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_gets_its_firmware_and_runs_it),
        cmocka_unit_test(every_phase_is_told_in_order_with_progress),
        cmocka_unit_test(a_task_ends_as_its_device_lets_it),
        cmocka_unit_test(an_image_that_changed_on_disk_is_never_written),
        cmocka_unit_test(the_device_refuses_what_is_no_image),
        cmocka_unit_test(what_runs_already_is_a_success_without_work),
        cmocka_unit_test(what_is_stored_already_is_only_activated),
        cmocka_unit_test(it_can_be_cancelled_until_the_write_begins),
        cmocka_unit_test(an_image_that_changed_during_the_drain_is_never_written),
        cmocka_unit_test(what_cannot_be_remembered_is_not_begun),
        cmocka_unit_test(a_write_that_cannot_be_remembered_is_not_begun),
        cmocka_unit_test(after_the_point_of_no_return_a_cancel_changes_nothing),
        cmocka_unit_test(a_task_that_comes_cancelled_is_not_begun),
        cmocka_unit_test(a_dead_link_after_the_activation_is_a_failure),
        cmocka_unit_test(a_policy_that_does_not_come_back_is_a_failure),
        cmocka_unit_test(a_write_that_never_ends_is_a_failure_and_holds_the_device),
        cmocka_unit_test(one_task_at_a_time),
        cmocka_unit_test(what_is_no_task_is_refused),
        cmocka_unit_test(an_outcome_is_told_until_it_was_heard),
        cmocka_unit_test(a_task_taken_back_after_its_end_is_answered_with_that),
        cmocka_unit_test(a_download_of_the_last_task_holds_up_no_other),
        cmocka_unit_test(a_record_that_does_not_read_back_is_set_aside),
        cmocka_unit_test(a_record_of_another_is_not_gone_on_with),
        cmocka_unit_test(what_a_crash_left_flashed_is_drained_again),
        cmocka_unit_test(a_kill_at_any_moment_ends_right),
        cmocka_unit_test(what_a_crash_left_is_found_out_by_reading),
        cmocka_unit_test(a_device_that_does_not_say_who_it_is_gets_nothing),
        cmocka_unit_test(versions_are_the_same_by_their_fields),
        cmocka_unit_test(only_links_that_were_up_must_be_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
