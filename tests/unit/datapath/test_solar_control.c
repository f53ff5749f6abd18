/*
 * tests/unit/datapath/test_solar_control.c - contexts under a control page, and the agent's side
 * that divides a line among them. The page is written as the agent writes it; what is sent is
 * counted on the receiver's side.
 */
#include "tests/unit/datapath/solar_pair.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/duration.h"
#include "datapath/counters_solar.h"
#include "datapath/solar/board.h"
#include "datapath/solar/control.h"
#include "datapath/solar/page.h"
#include "datapath/solar/report.h"
#include "datapath/solar/share.h"
#include "datapath/solar_node.h"

#define MBPS INT64_C(1000000)

static char folder[] = "/tmp/stellar-control-XXXXXX";
static char path[512];

static const char *at(const char *name)
{
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(mkdir(at("jobs"), 0755), 0);
    assert_int_equal(mkdir(at("jobs/7"), 0755), 0);
    assert_int_equal(mkdir(at("jobs/8"), 0755), 0);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(at("lo.page"));
    unlink(at("lo.shares"));
    rmdir(at("jobs/7"));
    rmdir(at("jobs/8"));
    rmdir(at("jobs"));
    return rmdir(folder);
}

static struct page page_of(int64_t line_bps, int64_t limit_bps)
{
    return (struct page){.line_bps = line_bps,
                         .ifname = "lo",
                         .count = 2,
                         .labels = {{.label = 7,
                                     .weight = 2,
                                     .dscp = 26,
                                     .priority = 3,
                                     .limit_bps = limit_bps,
                                     .eta_micro = 40000,
                                     .beta_micro = 400000},
                                    {.label = 8, .weight = 1}}};
}

static void write_page(const struct page *page)
{
    struct err err = ERR_INIT;
    struct board board = BOARD_INIT;
    uint8_t bytes[PAGE_BYTES_MAX];
    assert_ok(board_create(at("lo.page"), BOARD_PAGE, PAGE_BYTES_MAX, 0644, &board, &err));
    assert_ok(board_publish(&board, bytes, page_encode(page, bytes), &err));
    board_release(&board);
}

static void pass(struct pair *p, int64_t ns)
{
    for (int64_t end_ns = context_now_ns() + ns; context_now_ns() < end_ns;)
        both(p);
}

static const struct solar_config controlled = {.control = folder, .spin_ns = -1};

static void a_context_without_a_page_is_as_if_alone(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct pair p;
    struct solar_share share = {.weight = 5, .dscp = 1};
    open_pair(&p, &controlled);
    assert_ok(solar_label_set(p.a.context, PAIR_LABEL, &share, &err));
    assert_ok(solar_label_get(p.a.context, PAIR_LABEL, &share, &err));
    assert_int_equal(share.weight, 5);
    assert_fails(solar_label_get(p.a.context, 99, &share, &err), ERR_NOT_FOUND);
    close_pair(&p);
}

static void a_page_is_taken_live_and_gone_with_its_file(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct pair p;
    struct solar_share share;
    struct page page = page_of(1000 * MBPS, 300 * MBPS);
    write_page(&page);
    open_pair(&p, &controlled);
    pass(&p, 20 * MS_NS);
    assert_ok(solar_label_get(p.a.context, PAIR_LABEL, &share, &err));
    assert_int_equal(share.limit_bps, 300 * MBPS);
    assert_int_equal(share.weight, 2);
    assert_int_equal(share.dscp, 26);
    assert_int_equal(share.priority, 3);
    assert_true(p.a.qp->pump.cc.params.eta == 0.04 && p.a.qp->pump.cc.params.beta == 0.4);
    assert_fails(solar_label_set(p.a.context, PAIR_LABEL, &share, &err), ERR_DENIED);
    page.labels[0].limit_bps = 200 * MBPS;
    page.labels[0].eta_micro = 50000;
    write_page(&page);
    pass(&p, 20 * MS_NS);
    assert_ok(solar_label_get(p.a.context, PAIR_LABEL, &share, &err));
    assert_int_equal(share.limit_bps, 200 * MBPS);
    assert_true(p.a.qp->pump.cc.params.eta == 0.05);
    /* A page that makes no sense changes nothing. */
    struct board board = BOARD_INIT;
    assert_ok(board_create(at("lo.page"), BOARD_PAGE, PAGE_BYTES_MAX, 0644, &board, &err));
    assert_ok(board_publish(&board, "nonsense", 8, &err));
    board_release(&board);
    pass(&p, 20 * MS_NS);
    assert_ok(solar_label_get(p.a.context, PAIR_LABEL, &share, &err));
    assert_int_equal(share.limit_bps, 200 * MBPS);
    assert_int_equal(unlink(at("lo.page")), 0);
    pass(&p, CONTROL_RETRY_NS + 100 * MS_NS);
    assert_ok(solar_label_get(p.a.context, PAIR_LABEL, &share, &err));
    assert_int_equal(share.limit_bps, 0);
    assert_int_equal(share.weight, 1);
    close_pair(&p);
}

static void a_page_of_another_interface_does_not_count(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct pair p;
    struct solar_share share;
    struct page page = page_of(1000 * MBPS, 300 * MBPS);
    snprintf(page.ifname, sizeof(page.ifname), "eth99");
    write_page(&page);
    open_pair(&p, &controlled);
    pass(&p, 20 * MS_NS);
    assert_ok(solar_label_get(p.a.context, PAIR_LABEL, &share, &err));
    assert_int_equal(share.limit_bps, 0);
    close_pair(&p);
    struct solar_config named = controlled;
    named.interface = "eth99";
    open_pair(&p, &named);
    pass(&p, 20 * MS_NS);
    assert_ok(solar_label_get(p.a.context, PAIR_LABEL, &share, &err));
    assert_int_equal(share.limit_bps, 300 * MBPS);
    close_pair(&p);
    struct solar_context *context;
    named.interface = "a-name-that-is-too-long";
    assert_fails(solar_context_new(&named, &context, &err), ERR_INVALID);
    char text[CONTROL_FOLDER_MAX + 1];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    named = (struct solar_config){.control = text};
    assert_fails(solar_context_new(&named, &context, &err), ERR_INVALID);
    unlink(at("lo.page"));
}

/* Reports ------------------------------------------------------------------------------------- */

struct seen {
    int count;
    uint32_t label;
    struct report report;
};

static void see(void *arg, uint32_t label, const struct report *report)
{
    struct seen *seen = arg;
    seen->count++;
    if (report->count > 0 && report->qps[0].sent_packets > 0) {
        seen->label = label;
        seen->report = *report;
    }
}

/* What a look of the node's counters tells of queue pairs. */
struct told {
    int rows;
    bool is_sender;
    int64_t sent_bytes, operations;
    uint32_t number;
};

static void see_row(void *arg, enum telemetry_kind kind, const char *device,
                    const struct telemetry_subject *subject)
{
    struct told *told = arg;
    told->is_sender = kind == TELEMETRY_QP && strcmp(device, "solar/lo") == 0 &&
                      subject->label == PAIR_LABEL && (subject->number & 0xffff) == told->number;
    told->rows += told->is_sender;
}

static void see_value(void *arg, const struct telemetry_name *name, int64_t value)
{
    struct told *told = arg;
    size_t bucket;
    if (told->is_sender && strcmp(name->text, "sent_bytes") == 0)
        told->sent_bytes += value;
    if (told->is_sender && histogram_column_find("latency", name->text, &bucket))
        told->operations += value;
}

/* The root of the counters is a folder with ours in its place. */
static void assert_rows_of_telemetry(const struct pair *p)
{
    char root[] = "/tmp/stellar-root-XXXXXX", place[128];
    struct told told = {.number = p->a.qp->number};
    const struct counters_sink sink = {.arg = &told, .row = see_row, .value = see_value};
    assert_non_null(mkdtemp(root));
    for (const char *name = "/run\0/run/stellar\0"; *name != '\0'; name += strlen(name) + 1) {
        snprintf(place, sizeof(place), "%s%s", root, name);
        assert_int_equal(mkdir(place, 0755), 0);
    }
    snprintf(place, sizeof(place), "%s/run/stellar/solar", root);
    assert_int_equal(symlink(folder, place), 0);
    counters_tell_solar(root, &sink);
    assert_true(told.rows >= 1); /* both sides may have the number */
    assert_int_equal(told.sent_bytes, 100000);
    assert_int_equal(told.operations, 1);
    assert_int_equal(unlink(place), 0);
    for (const char *name = "/run/stellar\0/run\0\0"; *name != '\0'; name += strlen(name) + 1) {
        snprintf(place, sizeof(place), "%s%s", root, name);
        assert_int_equal(rmdir(place), 0);
    }
    assert_int_equal(rmdir(root), 0);
}

static void the_agent_reads_what_each_queue_pair_did(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct pair p;
    static struct seen seen;
    seen = (struct seen){.count = 0};
    open_pair(&p, &controlled);
    const struct solar_work work = {
        .id = 1, .mr = p.a.mr, .length = 100000, .remote_key = solar_mr_key(p.b.mr), .tensor = 1};
    assert_ok(solar_post(p.a.qp, SOLAR_WRITE, &work, &err));
    assert_int_equal(await(&p, &p.a).status, ERR_OK);
    pass(&p, 50 * MS_NS);
    assert_int_equal(solar_reports(folder, see, &seen), 2);
    assert_int_equal(seen.label, PAIR_LABEL);
    assert_string_equal(seen.report.ifname, "lo");
    assert_int_equal(seen.report.pid, getpid());
    assert_int_equal(seen.report.count, 1);
    assert_int_equal(seen.report.qps[0].number, p.a.qp->number);
    assert_int_equal(seen.report.qps[0].sent_bytes, 100000);
    assert_true(seen.report.sent_bytes > 100000);
    assert_int_equal(histogram_count(&seen.report.qps[0].latency), 1);
    assert_rows_of_telemetry(&p);
    assert_true(seen.report.qps[0].rate_bps > 0 && seen.report.qps[0].window_bytes > 0);
    close_pair(&p);
    assert_int_equal(solar_reports(folder, see, &seen), 0);
}

static void what_a_dead_process_left_is_removed_and_garbage_is_passed_over(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct seen seen = {.count = 0};
    struct board board = BOARD_INIT;
    static const char *const garbage[] = {"jobs/7/a.report", "jobs/7/b.report", "jobs/7/c.report"};
    static struct report report;
    static uint8_t bytes[REPORT_BYTES_MAX];
    report = (struct report){.process = 1};
    assert_int_equal(mkfifo(at(garbage[0]), 0644), 0);
    assert_int_equal(symlink("/etc/passwd", at(garbage[1])), 0);
    int fd = open(at(garbage[2]), O_CREAT | O_WRONLY, 0644);
    assert_int_equal(write(fd, "garbage", 7), 7);
    close(fd);
    assert_int_equal(mkdir(at("jobs/07"), 0755), 0); /* no label: a job has one folder */
    assert_ok(
        board_create(at("jobs/8/d.report"), BOARD_REPORT, REPORT_BYTES_MAX, 0644, &board, &err));
    assert_ok(board_publish(&board, bytes, report_encode(&report, bytes), &err));
    assert_int_equal(flock(board.fd, LOCK_EX), 0);
    assert_int_equal(solar_reports(folder, see, &seen), 1);
    board_release(&board); /* as the kernel does when its process ends */
    struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    assert_int_equal(utimensat(AT_FDCWD, at("jobs/8/d.report"), old, 0), 0);
    assert_int_equal(solar_reports(folder, see, &seen), 0);
    assert_int_not_equal(access(at("jobs/8/d.report"), F_OK), 0);
    for (size_t i = 0; i < 3; i++)
        unlink(at(garbage[i]));
    rmdir(at("jobs/07"));
}

/* Shares -------------------------------------------------------------------------------------- */

static void wait_for_limit(struct pair *p, struct solar_node *node, const struct side *side,
                           int64_t least, int64_t most)
{
    struct err err = ERR_INIT;
    struct solar_share share = {.limit_bps = -1};
    for (int64_t end_ns = context_now_ns() + LONG_NS; context_now_ns() < end_ns;) {
        pass(p, 10 * MS_NS);
        solar_node_look(node, context_now_ns());
        assert_ok(solar_label_get(side->context, PAIR_LABEL, &share, &err));
        if (share.limit_bps >= least && share.limit_bps <= most)
            return;
    }
    fail_msg("the limit stays %lld", (long long)share.limit_bps);
}

/* Both sides of the pair are processes of one label to the agent: they share its limit. */
static void processes_of_a_label_share_its_limit_and_get_it_back(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    OWN(solar_node) struct solar_node *node = NULL;
    struct pair p;
    struct page page = page_of(1000 * MBPS, 300 * MBPS);
    write_page(&page);
    open_pair(&p, &controlled);
    assert_ok(solar_node_new(folder, &node, &err));
    wait_for_limit(&p, node, &p.a, 140 * MBPS, 160 * MBPS);
    wait_for_limit(&p, node, &p.b, 140 * MBPS, 160 * MBPS);
    page.labels[0].limit_bps = 100 * MBPS;
    write_page(&page);
    wait_for_limit(&p, node, &p.a, 40 * MBPS, 60 * MBPS);
    /* Without an agent each holds itself to what the page says. */
    pass(&p, CONTROL_STALE_NS + 200 * MS_NS);
    struct solar_share share;
    assert_ok(solar_label_get(p.a.context, PAIR_LABEL, &share, &err));
    assert_int_equal(share.limit_bps, 100 * MBPS);
    close_pair(&p);
    unlink(at("lo.page"));
}

/* As a process writes it, without its lock: a file is let be while it is new. */
static void tell_report(const char *name, uint64_t process, int64_t made_ns)
{
    static struct report report;
    static uint8_t bytes[REPORT_BYTES_MAX];
    struct err err = ERR_INIT;
    struct board board = BOARD_INIT;
    report = (struct report){.process = process, .made_ns = made_ns, .pid = 1, .waits = true};
    snprintf(report.ifname, sizeof(report.ifname), "lo");
    assert_ok(board_create(at(name), BOARD_REPORT, REPORT_HEAD_SIZE, 0644, &board, &err));
    assert_ok(board_publish(&board, bytes, report_encode(&report, bytes), &err));
    board_release(&board);
}

static enum err_code share_of(uint64_t process)
{
    static uint8_t bytes[SHARE_BYTES_MAX];
    struct err err = ERR_INIT;
    struct board board = BOARD_INIT;
    size_t len = 0;
    int64_t may_bps;
    assert_ok(board_open(at("lo.shares"), BOARD_SHARES, &board, &err));
    assert_ok(board_read(&board, bytes, sizeof(bytes), &len, &err));
    board_release(&board);
    return share_find(bytes, len, process, &may_bps, NULL);
}

/* The same files with another process in each look: more in the time that one counts than all jobs
 * together may have. */
static void a_job_that_reports_many_processes_leaves_the_others_their_room(void **state)
{
    (void)state;
    OWN(solar_node) struct solar_node *node = NULL;
    struct err err = ERR_INIT;
    struct page page = page_of(100 * MBPS, 0);
    char name[64];
    int64_t now_ns = NS_PER_S;
    const uint64_t looks = SHARE_PROCESSES_MAX / SOLAR_NODE_FILES_MAX + 4, other = 1000000;
    write_page(&page);
    assert_ok(solar_node_new(folder, &node, &err));
    for (uint64_t look = 0; look < looks; look++) {
        for (uint64_t i = 0; i < SOLAR_NODE_FILES_MAX; i++) {
            snprintf(name, sizeof(name), "jobs/7/%d" BOARD_REPORT_END, (int)i);
            tell_report(name, 1 + look * SOLAR_NODE_FILES_MAX + i, now_ns);
        }
        solar_node_look(node, now_ns);
        now_ns += NS_PER_MS;
    }
    tell_report("jobs/8/0" BOARD_REPORT_END, other, now_ns);
    solar_node_look(node, now_ns);
    assert_int_equal(share_of(other), ERR_OK);
    unlink(at("jobs/8/0" BOARD_REPORT_END));
    for (int i = 0; i < SOLAR_NODE_FILES_MAX; i++) {
        snprintf(name, sizeof(name), "jobs/7/%d" BOARD_REPORT_END, i);
        unlink(at(name));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_context_without_a_page_is_as_if_alone),
        cmocka_unit_test(a_page_is_taken_live_and_gone_with_its_file),
        cmocka_unit_test(a_page_of_another_interface_does_not_count),
        cmocka_unit_test(the_agent_reads_what_each_queue_pair_did),
        cmocka_unit_test(what_a_dead_process_left_is_removed_and_garbage_is_passed_over),
        cmocka_unit_test(processes_of_a_label_share_its_limit_and_get_it_back),
        cmocka_unit_test(a_job_that_reports_many_processes_leaves_the_others_their_room),
    };
    return cmocka_run_group_tests_name("solar_control", tests, make_folder, remove_folder);
}
