/*
 * tests/unit/fleet/test_version.c - versions as tools print them.
 */
#include "../test.h"

#include "fleet/version.h"

static void versions_compare_field_by_field_as_numbers(void **unused)
{
    (void)unused;
    static const struct {
        const char *a, *b;
        int order;
    } cases[] = {
        {"2.1.10", "2.1.8", 1},
        {"2.1.8", "2.1.8", 0},
        {"2.1.7", "2.1.8", -1},
        {"2.1", "2.1.0", 0},
        {"22.41.1000", "22.5.9999", 1},
        {"16.28.2006", "16.35", -1},                      /* flint, ConnectX-5 */
        {"14.23.1020 (MT_2420110034)", "14.32.1010", -1}, /* ethtool -i, ConnectX-4 Lx */
        {"14.23.1020 (MT_2420110034)", "14.23.1020", 0},
        {"4.9.311.20", "4.9.311", 1},         /* ethtool -i, be2net */
        {"2.1.7", "6.1.5", -1},               /* devlink dev info, ice */
        {"3.10.2000-3.1e.0", "3.10.2000", 0}, /* ice netlist */
        {"v6.1.5", "6.1.5", 0},
        {"2.1.8-rc1", "2.1.8", -1},
        {"2.1.8-rc1", "2.1.7", 1},
        {"2.1.8~beta2", "2.1.8+build7", -1},
        {"2.1.8+build7", "2.1.8", 0},
        {"02.01.08", "2.1.8", 0},
        {"99999999999999999999.1", "99999999999999999998.2", 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int order = 7, back = 7;
        assert_true(version_order(cases[i].a, cases[i].b, &order));
        assert_true(version_order(cases[i].b, cases[i].a, &back));
        if (order != cases[i].order || back != -order)
            fail_msg("%s against %s gave %d and %d", cases[i].a, cases[i].b, order, back);
    }
}

static void what_says_nothing_is_unknown_and_compares_with_nothing(void **unused)
{
    (void)unused;
    static const char *const unknown[] = {
        "",
        "N/A",
        "unknown",
        "-",
        "0.0.0", /* ibv_devinfo, rxe */
        "0",
        "255.255.65535",
        "0x80008e6a",
        "FFV22.61.8",     /* lspci, Broadcom */
        "96.00.74.00.0D", /* nvidia-smi, VBIOS */
        "1..2",
        ".1",
        "v",
        "1.2\x01",
        "abc",
    };
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        int order = 7;
        if (version_is_known(unknown[i]) || version_order(unknown[i], "1.0", &order) ||
            version_order("1.0", unknown[i], &order) || order != 7)
            fail_msg("'%s' is taken for a version", unknown[i]);
    }
}

static void a_version_has_at_most_64_bytes_of_numbers(void **unused)
{
    (void)unused;
    char text[VERSION_TEXT_MAX + 2];
    memset(text, '1', sizeof(text));
    text[VERSION_TEXT_MAX] = '\0';
    assert_true(version_is_known(text));
    text[VERSION_TEXT_MAX] = '1';
    text[VERSION_TEXT_MAX + 1] = '\0';
    assert_false(version_is_known(text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_compare_field_by_field_as_numbers),
        cmocka_unit_test(what_says_nothing_is_unknown_and_compares_with_nothing),
        cmocka_unit_test(a_version_has_at_most_64_bytes_of_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
