/*
 * tests/unit/datapath/test_arp_conf.c - datapath/sys/arp_conf under a made-up root.
 */
#include "tests/unit/datapath/root_test.h"

#include "base/json.h"
#include "base/own.h"
#include "datapath/sys/arp_conf.h"

#define CONF "/proc/sys/net/ipv4/conf/"

static char root[TEST_PATH_MAX];

static void put(const char *ifname, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), CONF "%s/%s", ifname, name);
    root_file(root, path, text, 0644);
}

static int setup(void **state)
{
    (void)state;
    test_folder(root);
    for (int i = 0; i < ARP_IDS; i++) {
        put("all", arp_params[i].name, "0\n");
        put("eth0.5", arp_params[i].name, "0\n"); /* a name with a dot */
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    root_remove(root);
    return 0;
}

static struct arp_conf get(void)
{
    struct err err = ERR_INIT;
    struct arp_conf is;
    assert_ok(arp_conf_get(root, "eth0.5", &is, &err));
    return is;
}

static void assert_shows(const char *want)
{
    const struct arp_conf is = get();
    OWN(json) json_t *json = arp_conf_to_json(&is);
    OWN(str) char *text = json_canonical(json, NULL);
    assert_string_equal(text, want);
    struct err err = ERR_INIT;
    struct arp_conf again;
    assert_ok(arp_conf_from_json(json, &again, &err));
    assert_int_equal(again.own.present, is.own.present);
    assert_int_equal(again.effective.present, is.effective.present);
}

static void what_is_named_is_set(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct arp want = {.present = arp_bit(ARP_IGNORE), .values = {[ARP_IGNORE] = 1}};
    put("eth0.5", "arp_announce", "2\n");
    assert_ok(arp_conf_set(root, "eth0.5", &want, &err));
    assert_shows("{\"arp_announce\":2,\"arp_ignore\":1,\"rp_filter\":0}");
    const struct arp_conf is = get();
    assert_true(arp_conf_covers(&is, &want));
    want.values[ARP_IGNORE] = 2;
    assert_false(arp_conf_covers(&is, &want));
}

static void the_larger_of_both_is_in_effect(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    const struct arp want = {.present = arp_bit(ARP_RP_FILTER), .values = {[ARP_RP_FILTER] = 1}};
    put("eth0.5", "rp_filter", "1\n");
    put("all", "rp_filter", "1\n"); /* the same: no matter */
    assert_shows("{\"arp_announce\":0,\"arp_ignore\":0,\"rp_filter\":1}");
    struct arp_conf is = get();
    assert_true(arp_conf_covers(&is, &want));
    assert_ok(arp_conf_check(&is, "eth0.5", &want, &err));
    put("all", "rp_filter", "2\n");
    assert_shows("{\"arp_announce\":0,\"arp_ignore\":0,\"effective\":{\"rp_filter\":2},"
                 "\"rp_filter\":1}");
    is = get();
    assert_false(arp_conf_covers(&is, &want));
    assert_fails(arp_conf_check(&is, "eth0.5", &want, &err), ERR_CONFLICT);
    assert_contains(err.text, "net.ipv4.conf.all.rp_filter is 2");
}

/* What conf/all makes larger than the wanted value is a conflict, whatever the interface has. */
static void a_conflict_is_told_before_the_value_is_set(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    const struct arp want = {.present = arp_bit(ARP_RP_FILTER)};
    put("eth0.5", "rp_filter", "2\n");
    put("all", "rp_filter", "1\n");
    const struct arp_conf is = get();
    assert_int_equal(is.effective.present, 0);
    assert_fails(arp_conf_check(&is, "eth0.5", &want, &err), ERR_CONFLICT);
}

static void unreadable_settings_are_no_zero(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "x", "-1", "3", "1 2", "99999999999999999999"};
    struct err err = ERR_INIT;
    struct arp_conf is;
    assert_fails(arp_conf_get(root, "eth1", &is, &err), ERR_UNSUPPORTED);
    assert_contains(err.text, "eth1 has no IPv4 setting");
    assert_fails(arp_conf_get(root, "../all", &is, &err), ERR_INVALID);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        put("eth0.5", "rp_filter", wrong[i]);
        assert_fails(arp_conf_get(root, "eth0.5", &is, &err), ERR_IO);
    }
}

static void values_are_strict(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "{\"rp_filter\":3}",
        "{\"arp_ignore\":9}",
        "{\"arp_announce\":-1}",
        "{\"x\":1}",
        "[]",
        "{\"effective\":{\"x\":1}}",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct err err = ERR_INIT;
        struct arp_conf value;
        OWN(json) json_t *json = json_loads(wrong[i], 0, NULL);
        assert_non_null(json);
        assert_fails(arp_conf_from_json(json, &value, &err), ERR_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_named_is_set, setup, teardown),
        cmocka_unit_test_setup_teardown(the_larger_of_both_is_in_effect, setup, teardown),
        cmocka_unit_test_setup_teardown(a_conflict_is_told_before_the_value_is_set, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(unreadable_settings_are_no_zero, setup, teardown),
        cmocka_unit_test_setup_teardown(values_are_strict, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
