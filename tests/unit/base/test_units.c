#include "tests/unit/test.h"

#include "base/units.h"

static struct err err;

static void check_share(const char *text, int32_t permyriad)
{
    struct bandwidth bw;
    assert_ok(bandwidth_parse(text, &bw, &err));
    assert_int_equal(bw.kind, BANDWIDTH_SHARE);
    assert_int_equal(bw.share_permyriad, permyriad);
}

static void check_rate(const char *text, int64_t bps)
{
    struct bandwidth bw;
    assert_ok(bandwidth_parse(text, &bw, &err));
    assert_int_equal(bw.kind, BANDWIDTH_RATE);
    assert_int_equal(bw.rate_bps, bps);
}

static void check_refused(const char *text, const char *part)
{
    struct bandwidth bw = {.kind = BANDWIDTH_RATE, .rate_bps = 42};
    assert_fails(bandwidth_parse(text, &bw, &err), ERR_INVALID);
    assert_contains(err.text, part);
    assert_int_equal(bw.rate_bps, 42);
}

static void shares_are_exact_in_steps_of_a_hundredth_percent(void **state)
{
    (void)state;
    check_share("40%", 4000);
    check_share("12.5%", 1250);
    check_share("0.01%", 1);
    check_share("0.10%", 10);
    check_share("100%", 10000);
    check_share("100.00%", 10000);
    check_share("99.99%", 9999);
    check_refused("100.01%", "at most 100%");
    check_refused("101%", "at most 100%");
    check_refused("99999999999999999999999999%", "at most 100%");
    check_refused("0.001%", "two decimals");
    check_refused("40.000%", "two decimals");
    check_refused("0%", "no limit");
    check_refused("0.00%", "no limit");
}

static void rates_are_exact_whole_bits(void **state)
{
    (void)state;
    check_rate("1bps", 1);
    check_rate("1.0bps", 1);
    check_rate("1500bps", 1500);
    check_rate("90Gbps", 90000000000);
    check_rate("2.5Gbit", 2500000000);
    check_rate("0.1Gbps", 100000000);
    check_rate("0.000000001Gbps", 1);
    check_rate("1.001Kbps", 1001);
    check_rate("3Mbit", 3000000);
    check_rate("7Kbit", 7000);
    check_rate("1.50000000000000000000000000000000Gbps", 1500000000);
    check_rate("1000000Gbps", RATE_BPS_MAX);
    check_rate("1000000000000000bps", RATE_BPS_MAX);
    check_refused("1000000000000001bps", "whole number of bits");
    check_refused("1000000.000000001Gbps", "whole number of bits");
    check_refused("0.0000000001Gbps", "whole number of bits");
    check_refused("0.5bps", "whole number of bits");
    check_refused("1.0001Kbps", "whole number of bits");
    check_refused("999999999999999999999999999999Gbps", "whole number of bits");
    check_refused("0Gbps", "no limit");
    check_refused("0.0bps", "no limit");
}

static void everything_outside_the_grammar_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",      "%",     "40",      "40 %",   " 40%",   "40% ",   "+40%",  "-40%",   "040%",
        "00.5%", ".5%",   "5.%",     "1.2.3%", "4,5%",   "1e2%",   "0x10%", "40%%",   "40pct",
        "Gbps",  "9gbps", "9GBPS",   "9Gb",    "9GiB",   "9 Gbps", "9Tbps", "NaN%",   "inf%",
        "9kbps", "9Bps",  "9Gbps\n", "１０%",  "４０％", "9bit",   "4\t%",  "40%\x01"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        check_refused(bad[i], "is no bandwidth");
}

static void format_is_the_shortest_exact_text_and_reads_back(void **state)
{
    (void)state;
    static const char *const texts[] = {"40%",     "12.5%",   "0.01%",      "100%",
                                        "90Gbps",  "1500bps", "2.5Gbps",    "1bps",
                                        "1001bps", "12Kbps",  "1000000Gbps"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct bandwidth bw;
        char out[BANDWIDTH_TEXT_MAX];
        assert_ok(bandwidth_parse(texts[i], &bw, &err));
        bandwidth_format(&bw, out);
        assert_string_equal(out, texts[i]);
    }
    char out[BANDWIDTH_TEXT_MAX];
    bandwidth_format(&(struct bandwidth){0}, out);
    assert_string_equal(out, "");
    share_format(11000, out);
    assert_string_equal(out, "110%");
    share_format(0, out);
    assert_string_equal(out, "0%");
    share_format(-150, out);
    assert_string_equal(out, "-1.5%");
    rate_format(INT64_MIN, out);
    assert_string_equal(out, "-9223372036854775808bps");
}

static void share_of_a_port_is_floored_and_never_overflows(void **state)
{
    (void)state;
    struct bandwidth bw = {.kind = BANDWIDTH_SHARE, .share_permyriad = 3333};
    assert_int_equal(bandwidth_on_port_bps(&bw, 10001), 3333);
    bw.share_permyriad = 10000;
    assert_int_equal(bandwidth_on_port_bps(&bw, RATE_BPS_MAX), RATE_BPS_MAX);
    bw = (struct bandwidth){.kind = BANDWIDTH_RATE, .rate_bps = 500};
    assert_int_equal(bandwidth_on_port_bps(&bw, 100), 500);
    bw = (struct bandwidth){0};
    assert_int_equal(bandwidth_on_port_bps(&bw, 100), 0);
    assert_int_equal(bandwidth_on_port_permyriad(&bw, 100), 0);
}

static void permyriad_of_a_rate_is_rounded_up(void **state)
{
    (void)state;
    struct bandwidth bw = {.kind = BANDWIDTH_RATE, .rate_bps = 1};
    assert_int_equal(bandwidth_on_port_permyriad(&bw, RATE_BPS_MAX), 1);
    bw.rate_bps = 50;
    assert_int_equal(bandwidth_on_port_permyriad(&bw, 100), 5000);
    bw.rate_bps = RATE_BPS_MAX;
    assert_int_equal(bandwidth_on_port_permyriad(&bw, RATE_BPS_MAX), 10000);
    assert_int_equal(bandwidth_on_port_permyriad(&bw, 1), INT64_MAX);
    bw = (struct bandwidth){.kind = BANDWIDTH_SHARE, .share_permyriad = 7};
    assert_int_equal(bandwidth_on_port_permyriad(&bw, 1), 7);
}

static void sizes_are_whole_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t bytes;
    } good[] = {{"1B", 1},
                {"512B", 512},
                {"1MB", 1000000},
                {"64KiB", 65536},
                {"0.5KiB", 512},
                {"1.5MB", 1500000},
                {"2GiB", 2147483648},
                {"1000000000GB", SIZE_BYTES_MAX}};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        int64_t bytes = 0;
        assert_ok(size_parse(good[i].text, &bytes, &err));
        assert_int_equal(bytes, good[i].bytes);
    }
    static const char *const bad[] = {
        "",     "0B",           "0.5B", "1.3KiB", "1",
        "1 MB", "1mb",          "-1MB", "01MB",   "1TB",
        "MB",   "1000000001GB", "1.MB", "1e3B",   "99999999999999999999999999B"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int64_t bytes = 7;
        assert_fails(size_parse(bad[i], &bytes, &err), ERR_INVALID);
        assert_int_equal(bytes, 7);
    }
}

static void versions_compare_part_by_part(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        int order;
    } cases[] = {
        {"2.1.8", "2.1.10", -1},
        {"2.1.8", "2.1.8", 0},
        {"2.1", "2.1.0", 0},
        {"2.1.0.1", "2.1", 1},
        {"10", "9.9.9", 1},
        {"02.1", "2.01", 0},
        {"2.1.7", "2.1.8", -1},
        {"16.28.2006", "16.35", -1},
        {"1.99999999999999999999999", "1.100000000000000000000000", -1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int order = 9;
        assert_ok(version_compare(cases[i].a, cases[i].b, &order, &err));
        assert_int_equal(order, cases[i].order);
        assert_ok(version_compare(cases[i].b, cases[i].a, &order, &err));
        assert_int_equal(order, -cases[i].order);
    }
    static const char *const bad[] = {"", ".", "1.", ".1", "1..2", "1.a", "v1", "1-2", "1 ", "P79"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int order = 9;
        assert_fails(version_compare(bad[i], "1", &order, &err), ERR_INVALID);
        assert_fails(version_compare("1", bad[i], &order, &err), ERR_INVALID);
        assert_int_equal(order, 9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_exact_in_steps_of_a_hundredth_percent),
        cmocka_unit_test(rates_are_exact_whole_bits),
        cmocka_unit_test(everything_outside_the_grammar_is_refused),
        cmocka_unit_test(format_is_the_shortest_exact_text_and_reads_back),
        cmocka_unit_test(share_of_a_port_is_floored_and_never_overflows),
        cmocka_unit_test(permyriad_of_a_rate_is_rounded_up),
        cmocka_unit_test(sizes_are_whole_bytes),
        cmocka_unit_test(versions_compare_part_by_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
