/*
 * tests/unit/datapath/test_solar_page.c - boards, the control page, shares and reports: what is
 * torn, short, too large or out of range is refused, and never blocks.
 */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "datapath/solar/board.h"
#include "datapath/solar/bytes.h"
#include "datapath/solar/page.h"
#include "datapath/solar/report.h"
#include "datapath/solar/share.h"

#define GBPS INT64_C(1000000000)

static char folder[] = "/tmp/stellar-page-XXXXXX";
static char path[128];

static int make_folder(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/x.page", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

/* Boards -------------------------------------------------------------------------------------- */

static size_t read_board(struct board *board, char *out, enum err_code wanted)
{
    struct err err = ERR_INIT;
    size_t len = 0;
    enum err_code code = board_read(board, out, 64, &len, &err);
    if (code != wanted)
        fail_msg("%s: %s", err_code_name(code), err.text);
    return len;
}

static void readers_see_the_newest_whole_value_once(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct board writer = BOARD_INIT, reader = BOARD_INIT;
    char text[64];
    unlink(path);
    assert_fails(board_open(path, BOARD_PAGE, &reader, &err), ERR_NOT_FOUND);
    assert_ok(board_create(path, BOARD_PAGE, 64, 0644, &writer, &err));
    assert_ok(board_open(path, BOARD_PAGE, &reader, &err));
    read_board(&reader, text, ERR_NOT_FOUND);
    assert_ok(board_publish(&writer, "one", 3, &err));
    assert_ok(board_publish(&writer, "three", 5, &err));
    assert_int_equal(read_board(&reader, text, ERR_OK), 5);
    assert_memory_equal(text, "three", 5);
    read_board(&reader, text, ERR_NOT_FOUND);
    size_t len;
    assert_fails(board_read(&reader, text, 63, &len, &err), ERR_LIMIT);
    struct stat st;
    assert_int_equal(fstat(writer.fd, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
    board_release(&reader);
    board_release(&writer);
}

static void a_writer_that_comes_again_goes_on_in_the_same_file(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct board writer = BOARD_INIT, reader = BOARD_INIT;
    char text[64];
    unlink(path);
    assert_ok(board_create(path, BOARD_PAGE, 64, 0644, &writer, &err));
    assert_ok(board_publish(&writer, "a", 1, &err));
    board_release(&writer);
    assert_ok(board_open(path, BOARD_PAGE, &reader, &err));
    assert_ok(board_create(path, BOARD_PAGE, 64, 0644, &writer, &err));
    assert_ok(board_publish(&writer, "b", 1, &err));
    assert_false(board_is_replaced(&reader, path));
    read_board(&reader, text, ERR_OK);
    assert_int_equal(text[0], 'b');
    board_release(&writer);
    /* Another size, another mode, or a file that is none: a new one, and readers see that. */
    assert_ok(board_create(path, BOARD_PAGE, 65, 0644, &writer, &err));
    assert_true(board_is_replaced(&reader, path));
    board_release(&writer);
    board_release(&reader);
    assert_ok(board_open(path, BOARD_PAGE, &reader, &err));
    assert_ok(board_create(path, BOARD_PAGE, 65, 0600, &writer, &err));
    assert_true(board_is_replaced(&reader, path));
    board_release(&writer);
    board_release(&reader);
    struct board other = BOARD_INIT;
    assert_fails(board_open(path, BOARD_SHARES, &other, &err), ERR_INVALID);
}

static void a_writer_that_dies_in_the_middle_leaves_what_was_whole(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct board writer = BOARD_INIT, reader = BOARD_INIT;
    char text[64];
    uint8_t number[8];
    unlink(path);
    assert_ok(board_create(path, BOARD_PAGE, 64, 0644, &writer, &err));
    assert_ok(board_publish(&writer, "whole", 5, &err));
    assert_ok(board_open(path, BOARD_PAGE, &reader, &err));
    /* Dead before it was announced: half of the other slot is written. */
    assert_int_equal(pwrite(writer.fd, "\0\0\0\0\0\0\0\2torn", 12, BOARD_HEAD_SIZE), 12);
    assert_int_equal(read_board(&reader, text, ERR_OK), 5);
    assert_memory_equal(text, "whole", 5);
    /* Announced, and not whole: it does not count, and nobody waits. */
    bytes_put(number, 2, 8);
    assert_int_equal(pwrite(writer.fd, number, 8, BOARD_HEAD_SIZE - 8), 8);
    read_board(&reader, text, ERR_UNAVAILABLE);
    /* The next writer goes on. */
    board_release(&writer);
    assert_ok(board_create(path, BOARD_PAGE, 64, 0644, &writer, &err));
    assert_ok(board_publish(&writer, "again", 5, &err));
    assert_int_equal(read_board(&reader, text, ERR_OK), 5);
    assert_memory_equal(text, "again", 5);
    board_release(&writer);
    board_release(&reader);
}

static void a_file_that_is_shortened_or_no_file_hurts_nobody(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct board writer = BOARD_INIT, reader = BOARD_INIT;
    char text[64];
    unlink(path);
    assert_ok(board_create(path, BOARD_PAGE, 64, 0644, &writer, &err));
    assert_ok(board_publish(&writer, "whole", 5, &err));
    assert_ok(board_open(path, BOARD_PAGE, &reader, &err));
    for (int len = BOARD_HEAD_SIZE + BOARD_SLOT_HEAD + 64; len >= 0; len -= 7) {
        assert_int_equal(ftruncate(writer.fd, len), 0);
        read_board(&reader, text, ERR_UNAVAILABLE);
    }
    board_release(&writer);
    board_release(&reader);
    unlink(path);
    assert_int_equal(mkfifo(path, 0644), 0);
    assert_fails(board_open(path, BOARD_PAGE, &reader, &err), ERR_INVALID);
    unlink(path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_fails(board_open(path, BOARD_PAGE, &reader, &err), ERR_IO);
    unlink(path);
}

/* A child writes as fast as it can and is killed in the middle, many times. */
static void readers_never_see_a_mixture_while_writers_are_killed(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct board reader = BOARD_INIT, writer = BOARD_INIT;
    uint8_t value[4096];
    size_t len;
    unsigned seen = 0;
    unlink(path);
    assert_ok(board_create(path, BOARD_PAGE, sizeof(value), 0644, &writer, &err));
    assert_ok(board_open(path, BOARD_PAGE, &reader, &err));
    board_release(&writer);
    for (int round = 0; round < 20; round++) {
        pid_t child = fork();
        if (child == 0) {
            if (board_create(path, BOARD_PAGE, sizeof(value), 0644, &writer, NULL) != ERR_OK)
                _exit(1);
            for (unsigned i = 0;; i++) {
                memset(value, (int)(i & 0xff), sizeof(value));
                if (board_publish(&writer, value, 1 + i % sizeof(value), NULL) != ERR_OK)
                    _exit(1);
            }
        }
        assert_true(child > 0);
        for (int i = 0; i < 2000; i++) {
            if (board_read(&reader, value, sizeof(value), &len, NULL) != ERR_OK)
                continue;
            seen++;
            for (size_t j = 1; j < len; j++)
                assert_int_equal(value[j], value[0]);
        }
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
    }
    assert_true(seen > 0);
    board_release(&reader);
}

/* Page ---------------------------------------------------------------------------------------- */

static struct page a_page(void)
{
    return (struct page){
        .line_bps = 100 * GBPS,
        .ifname = "eth0",
        .count = 2,
        .labels = {{.label = 7,
                    .weight = 1,
                    .dscp = 26,
                    .priority = 3,
                    .guarantee_bps = 40 * GBPS,
                    .eta_micro = 50000,
                    .beta_micro = 500000},
                   {.label = 4000000000, .weight = 10000, .dscp = 63, .limit_bps = GBPS}}};
}

static void a_page_comes_back_as_it_was(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct page page = a_page(), back;
    uint8_t bytes[PAGE_BYTES_MAX];
    size_t len = page_encode(&page, bytes);
    assert_int_equal(len, PAGE_HEAD_SIZE + 2 * PAGE_LABEL_SIZE);
    assert_ok(page_decode(bytes, len, &back, &err));
    assert_memory_equal(&page, &back, sizeof(page));
    assert_int_equal(page_find(&back, 4000000000)->limit_bps, GBPS);
    assert_null(page_find(&back, 8));
    for (size_t i = 0; i < len; i++)
        assert_fails(page_decode(bytes, i, &back, &err), ERR_INVALID);
}

static void each_number_out_of_range_is_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    static const struct {
        size_t offset;
        int size;
        int64_t good, bad;
    } cases[] = {
#define CASE(member, good, bad)                                                                    \
    {offsetof(struct page, member), (int)sizeof(((struct page *)0)->member), good, bad}
        CASE(line_bps, PAGE_LINE_MIN_BPS, PAGE_LINE_MIN_BPS - 1),
        CASE(line_bps, PAGE_LINE_MAX_BPS, PAGE_LINE_MAX_BPS + 1),
        CASE(labels[0].weight, 1, 0),
        CASE(labels[0].weight, 10000, 10001),
        CASE(labels[0].dscp, 63, 64),
        CASE(labels[0].dscp, 0, -1),
        CASE(labels[0].priority, 7, 8),
        CASE(labels[0].guarantee_bps, PAGE_LINE_MAX_BPS, PAGE_LINE_MAX_BPS + 1),
        CASE(labels[0].guarantee_bps, 0, -1),
        CASE(labels[0].limit_bps, 40 * GBPS, 40 * GBPS - 1),
        CASE(labels[0].limit_bps, 0, -1),
        CASE(labels[0].limit_bps, PAGE_LINE_MAX_BPS, PAGE_LINE_MAX_BPS + 1),
        CASE(labels[0].eta_micro, PAGE_ETA_MAX, PAGE_ETA_MAX + 1),
        CASE(labels[0].beta_micro, PAGE_BETA_MIN, PAGE_BETA_MIN - 1),
        CASE(labels[0].beta_micro, PAGE_BETA_MAX, PAGE_BETA_MAX + 1),
        CASE(labels[1].label, 8, 7),
        CASE(labels[1].label, 8, 6),
#undef CASE
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct page page = a_page();
        int32_t small = (int32_t)cases[i].good;
        void *at = (char *)&page + cases[i].offset;
        memcpy(at, cases[i].size == 4 ? (void *)&small : (void *)(uintptr_t)&cases[i].good,
               (size_t)cases[i].size);
        if (page_check(&page, &err) != ERR_OK)
            fail_msg("case %zu: %s", i, err.text);
        small = (int32_t)cases[i].bad;
        memcpy(at, cases[i].size == 4 ? (void *)&small : (void *)(uintptr_t)&cases[i].bad,
               (size_t)cases[i].size);
        if (page_check(&page, &err) != ERR_INVALID)
            fail_msg("case %zu was taken", i);
    }
    struct page page = a_page();
    memset(page.ifname, 'x', sizeof(page.ifname));
    assert_fails(page_check(&page, &err), ERR_INVALID);
    page.count = PAGE_LABELS_MAX + 1;
    memset(page.ifname, 0, sizeof(page.ifname));
    assert_fails(page_check(&page, &err), ERR_LIMIT);
}

/* Shares -------------------------------------------------------------------------------------- */

static struct page two_labels(int64_t line, int64_t guarantee, int64_t limit)
{
    return (struct page){.line_bps = line,
                         .count = 2,
                         .labels = {{.label = 1, .weight = 1, .guarantee_bps = guarantee},
                                    {.label = 2, .weight = 1, .limit_bps = limit}}};
}

static void while_nobody_is_in_the_way_the_page_alone_holds(void **state)
{
    (void)state;
    struct page page = two_labels(10 * GBPS, 4 * GBPS, 6 * GBPS);
    struct share_process p[] = {{.process = 1, .label = 1, .sends_bps = GBPS},
                                {.process = 2, .label = 2, .sends_bps = GBPS},
                                {.process = 3, .label = 9}};
    share_divide(&page, p, 3);
    assert_int_equal(p[0].may_bps, 0);
    assert_int_equal(p[1].may_bps, 6 * GBPS);
    assert_int_equal(p[2].may_bps, 0);
}

static void two_that_want_all_get_guarantee_and_half_of_the_rest(void **state)
{
    (void)state;
    struct page page = two_labels(10 * GBPS, 4 * GBPS, 0);
    struct share_process p[] = {{.process = 1, .label = 1, .waits = true},
                                {.process = 2, .label = 2, .waits = true}};
    share_divide(&page, p, 2);
    assert_in_range(p[0].may_bps, 7 * GBPS - 10, 7 * GBPS + 10);
    assert_in_range(p[1].may_bps, 3 * GBPS - 10, 3 * GBPS + 10);
}

static void a_limit_is_divided_among_the_processes_of_its_label(void **state)
{
    (void)state;
    struct page page = two_labels(100 * GBPS, 0, 6 * GBPS);
    struct share_process p[] = {{.process = 1, .label = 2, .waits = true},
                                {.process = 2, .label = 2, .waits = true},
                                {.process = 3, .label = 2, .sends_bps = GBPS}};
    share_divide(&page, p, 3);
    assert_in_range(p[0].may_bps + p[1].may_bps + p[2].may_bps, 6 * GBPS - 10, 6 * GBPS + 10);
    assert_int_equal(p[0].may_bps, p[1].may_bps);
    assert_in_range(p[2].may_bps, GBPS, 2 * GBPS);
}

static void one_that_idles_keeps_what_it_is_entitled_to(void **state)
{
    (void)state;
    struct page page = two_labels(10 * GBPS, 4 * GBPS, 0);
    struct share_process p[] = {{.process = 1, .label = 1},
                                {.process = 2, .label = 2, .waits = true},
                                {.process = 3, .label = 3, .waits = true}};
    share_divide(&page, p, 3);
    assert_in_range(p[0].may_bps, 6 * GBPS - 10, 6 * GBPS + 10);
    assert_in_range(p[1].may_bps, 4.9 * GBPS, 5 * GBPS);
    assert_int_equal(p[1].may_bps, p[2].may_bps);
}

static void one_that_lies_gets_no_more_than_its_label_may(void **state)
{
    (void)state;
    struct page page = two_labels(10 * GBPS, 4 * GBPS, 0);
    struct share_process p[] = {{.process = 1, .label = 1, .sends_bps = 4 * GBPS, .waits = true},
                                {.process = 2, .label = 2, .sends_bps = INT64_MAX, .waits = true},
                                {.process = 3, .label = 2, .sends_bps = INT64_MAX, .waits = true}};
    share_divide(&page, p, 3);
    assert_in_range(p[0].may_bps, 7 * GBPS - 10, 7 * GBPS + 10);
    assert_in_range(p[1].may_bps + p[2].may_bps, 3 * GBPS - 10, 3 * GBPS + 10);
}

static void guarantees_above_the_line_are_cut_in_proportion(void **state)
{
    (void)state;
    struct page page = two_labels(10 * GBPS, 15 * GBPS, 0);
    page.labels[1].guarantee_bps = 5 * GBPS;
    struct share_process p[] = {{.process = 1, .label = 1, .waits = true},
                                {.process = 2, .label = 2, .waits = true}};
    share_divide(&page, p, 2);
    assert_in_range(p[0].may_bps, 7.5 * GBPS - 10, 7.5 * GBPS + 10);
}

/* Whatever is asked: never above the line and the limits, but for the least that everybody gets. */
static void the_sum_never_exceeds_line_and_limits_when_all_wait(void **state)
{
    (void)state;
    uint32_t seed = 7;
    static struct share_process p[SHARE_PROCESSES_MAX];
    for (int round = 0; round < 200; round++) {
        struct page page = {.line_bps = 100 * GBPS, .count = 5};
        size_t count = 1 + (seed >> 16) % 60;
        for (uint32_t i = 0; i < 5; i++) {
            seed = seed * 1664525u + 1013904223u;
            page.labels[i] = (struct page_label){.label = i + 1, .weight = 1 + (int)(seed >> 28)};
            page.labels[i].guarantee_bps = (seed >> 8 & 15) * GBPS;
            page.labels[i].limit_bps = (seed & 1) != 0 ? page.labels[i].guarantee_bps + GBPS : 0;
        }
        for (size_t i = 0; i < count; i++)
            p[i] = (struct share_process){
                .process = i + 1, .label = 1 + (uint32_t)i % 5, .waits = true};
        share_divide(&page, p, count);
        int64_t sum = 0, of[5] = {0};
        for (size_t i = 0; i < count; i++) {
            int64_t may = p[i].may_bps == 0 ? page.line_bps : p[i].may_bps;
            of[p[i].label - 1] += may;
            sum += may;
        }
        const int64_t slack = (int64_t)count * (SHARE_RATE_MIN_BPS + 1);
        assert_true(sum <= page.line_bps + slack);
        for (int i = 0; i < 5; i++)
            assert_true(page.labels[i].limit_bps == 0 || of[i] <= page.labels[i].limit_bps + slack);
    }
}

static void shares_are_found_by_process_and_hostile_ones_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct share_process p[] = {{.process = 1, .may_bps = 5}, {.process = 9, .may_bps = GBPS}};
    uint8_t bytes[SHARE_BYTES_MAX];
    int64_t rate = 77;
    size_t len = share_encode(p, 2, bytes);
    assert_ok(share_find(bytes, len, 9, &rate, &err));
    assert_int_equal(rate, GBPS);
    assert_fails(share_find(bytes, len, 2, &rate, &err), ERR_NOT_FOUND);
    for (size_t i = 0; i < len; i++)
        assert_fails(share_find(bytes, i, 9, &rate, &err), ERR_INVALID);
    bytes_put(bytes + len - 8, UINT64_MAX, 8);
    assert_fails(share_find(bytes, len, 9, &rate, &err), ERR_INVALID);
    assert_int_equal(rate, GBPS);
}

/* Reports ------------------------------------------------------------------------------------- */

static void a_report_comes_back_as_it_was(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    static struct report report, back;
    static uint8_t bytes[REPORT_BYTES_MAX];
    report = (struct report){.process = 5,
                             .made_ns = 6,
                             .sent_bytes = 7,
                             .may_bps = 8,
                             .pid = 9,
                             .waits = true,
                             .ifname = "eth0",
                             .count = REPORT_QPS_MAX};
    for (size_t i = 0; i < REPORT_QPS_MAX; i++) {
        report.qps[i] = (struct report_qp){
            .number = (uint16_t)(i + 1), .paths = 4, .bad_paths = 1, .sent_bytes = 1000 + (int)i};
        histogram_add(&report.qps[i].latency, 5000);
    }
    size_t len = report_encode(&report, bytes);
    assert_int_equal(len, REPORT_BYTES_MAX);
    assert_ok(report_decode(bytes, len, &back, &err));
    assert_memory_equal(&report, &back, sizeof(report));
    assert_fails(report_decode(bytes, len - 1, &back, &err), ERR_INVALID);
    bytes_put(bytes + REPORT_HEAD_SIZE + 8, UINT64_MAX, 8);
    assert_fails(report_decode(bytes, len, &back, &err), ERR_INVALID);
    report.qps[1].number = report.qps[0].number;
    report_encode(&report, bytes);
    assert_fails(report_decode(bytes, len, &back, &err), ERR_INVALID);
    report.process = 0;
    report.count = 0;
    len = report_encode(&report, bytes);
    assert_fails(report_decode(bytes, len, &back, &err), ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_see_the_newest_whole_value_once),
        cmocka_unit_test(a_writer_that_comes_again_goes_on_in_the_same_file),
        cmocka_unit_test(a_writer_that_dies_in_the_middle_leaves_what_was_whole),
        cmocka_unit_test(a_file_that_is_shortened_or_no_file_hurts_nobody),
        cmocka_unit_test(readers_never_see_a_mixture_while_writers_are_killed),
        cmocka_unit_test(a_page_comes_back_as_it_was),
        cmocka_unit_test(each_number_out_of_range_is_refused),
        cmocka_unit_test(while_nobody_is_in_the_way_the_page_alone_holds),
        cmocka_unit_test(two_that_want_all_get_guarantee_and_half_of_the_rest),
        cmocka_unit_test(a_limit_is_divided_among_the_processes_of_its_label),
        cmocka_unit_test(one_that_idles_keeps_what_it_is_entitled_to),
        cmocka_unit_test(one_that_lies_gets_no_more_than_its_label_may),
        cmocka_unit_test(guarantees_above_the_line_are_cut_in_proportion),
        cmocka_unit_test(the_sum_never_exceeds_line_and_limits_when_all_wait),
        cmocka_unit_test(shares_are_found_by_process_and_hostile_ones_refused),
        cmocka_unit_test(a_report_comes_back_as_it_was),
    };
    return cmocka_run_group_tests_name("solar_page", tests, make_folder, remove_folder);
}
