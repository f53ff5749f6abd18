#include "tests/unit/test.h"

#include "base/clock.h"

static void check(int64_t wall_us, const char *wanted)
{
    char text[CLOCK_TEXT_MAX];
    clock_format(wall_us, text);
    assert_string_equal(text, wanted);
}

static void times_are_rfc_3339_in_utc(void **state)
{
    (void)state;
    check(0, "1970-01-01T00:00:00.000000Z");
    check(INT64_C(1767323045000006), "2026-01-02T03:04:05.000006Z");
    check(-1, "1969-12-31T23:59:59.999999Z");
    check(INT64_C(951782400000000), "2000-02-29T00:00:00.000000Z");
}

static void extreme_times_fit_the_buffer(void **state)
{
    (void)state;
    check(INT64_MAX, "294247-01-10T04:00:54.775807Z");
    check(INT64_MIN, "-290308-12-21T19:59:05.224192Z");
}

static void fake_clock_moves_only_by_hand(void **state)
{
    (void)state;
    struct clock_fake fake;
    clock_fake_init(&fake, 1000);
    int64_t start = fake.base.mono_ns(&fake.base);
    assert_int_equal(fake.base.wall_us(&fake.base), 1000);
    for (int i = 0; i < 4; i++)
        clock_fake_advance(&fake, 500);
    assert_int_equal(fake.base.mono_ns(&fake.base), start + 2000);
    assert_int_equal(fake.base.wall_us(&fake.base), 1002);
    clock_fake_advance(&fake, 3 * NS_PER_S);
    assert_int_equal(fake.base.wall_us(&fake.base), 3001002);
}

static void system_clock_goes_forward(void **state)
{
    (void)state;
    struct clock *clock = clock_system();
    int64_t first = clock->mono_ns(clock);
    assert_true(clock->mono_ns(clock) >= first);
    assert_true(clock->wall_us(clock) > INT64_C(1600000000000000));
}

static void a_time_is_read_as_it_is_written(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t us;
    } good[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2026-02-28T23:59:59.5Z", 1772323199500000},
        {"2024-02-29T00:00:00.000001Z", 1709164800000001},
        {"1969-12-31T23:59:59.999999Z", -1},
    };
    static const char *const bad[] = {
        "",
        "2026-01-01",
        "2026-01-01T00:00:00",
        "2026-01-01T00:00:00.Z",
        "2026-01-01T00:00:00.1234567Z",
        "2026-01-01T00:00:00+01:00",
        "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:00:60Z",
        "2026-01-01T00:00:00ZZ",
        " 026-01-01T00:00:00Z",
        "2026-1-01T00:00:000Z",
    };
    int64_t us = -7;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(clock_parse(bad[i], &us));
    assert_int_equal(us, -7);
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(clock_parse(good[i].text, &us));
        assert_int_equal(us, good[i].us);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_is_read_as_it_is_written),
        cmocka_unit_test(times_are_rfc_3339_in_utc),
        cmocka_unit_test(extreme_times_fit_the_buffer),
        cmocka_unit_test(fake_clock_moves_only_by_hand),
        cmocka_unit_test(system_clock_goes_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
