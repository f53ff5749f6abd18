/*
 * tests/unit/datapath/test_roce.c - datapath/sys/roce_*: RoCE's type of service and congestion
 * control under a made-up root. The DCQCN values are those of a ConnectX-5, port 1, as its owner
 * posted them (GitHub ironcore-dev/dpservice issue #26).
 */
#include "tests/unit/datapath/root_test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/own.h"
#include "datapath/sys/roce_cc.h"
#include "datapath/sys/roce_tos_aside.h"

#define CM   "/sys/kernel/config/rdma_cm"
#define CM_P CM "/mlx5_0/ports/1"

static char root[TEST_PATH_MAX];

static int setup(void **state)
{
    (void)state;
    test_folder(root);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    root_remove(root);
    return 0;
}

/* Without the line's end, which a write of the same length leaves as it was. */
static void assert_text(const char *path, const char *want)
{
    OWN(str) char *text = root_text(root, path);
    size_t len = strlen(text);
    if (len > 0 && text[len - 1] == '\n')
        text[len - 1] = '\0';
    assert_string_equal(text, want);
}

/* Type of service ----------------------------------------------------------------------------- */

static void tos_is_read_and_written(void **state)
{
    (void)state;
    struct roce_tos is;
    struct err err = ERR_INIT;
    root_file(root, CM_P "/default_roce_tos", "0\n", 0644);
    root_file(root, CM_P "/default_roce_mode", "RoCE v1\n", 0644);
    assert_true(roce_tos_is_there(root));
    assert_ok(roce_tos_get(root, "mlx5_0", 1, &is, &err));
    assert_int_equal(is.tos, 0);
    assert_string_equal(is.mode, "RoCE v1");
    assert_ok(roce_tos_set(root, "mlx5_0", 1, &(struct roce_tos){106, "RoCE v2"}, &err));
    assert_text(CM_P "/default_roce_tos", "106");
    assert_ok(roce_tos_get(root, "mlx5_0", 1, &is, &err));
    assert_string_equal(is.mode, "RoCE v2");
}

/* A pipe without a writer hangs whoever opens it, as configfs does while rdma_cm's lock is held. */
static void tos_that_hangs_is_given_up_and_comes_back(void **state)
{
    (void)state;
    OWN(aside) struct aside *aside = NULL;
    const struct roce_tos want = {106, "RoCE v2"};
    struct roce_tos_port at = {.root = root, .device = "mlx5_0", .port = 1};
    struct roce_tos is = {0};
    struct err err = ERR_INIT;
    char pipe[2 * TEST_PATH_MAX];
    root_file(root, CM_P "/default_roce_mode", "RoCE v2\n", 0644);
    root_file(root, CM "/mlx5_1/ports/1/default_roce_tos", "7\n", 0644);
    root_file(root, CM "/mlx5_1/ports/1/default_roce_mode", "RoCE v2\n", 0644);
    snprintf(pipe, sizeof(pipe), "%s" CM_P "/default_roce_tos", root);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_ok(aside_new(&aside, &err));
    assert_fails(roce_tos_ask(aside, &at, NULL, &is, 20, &err), ERR_UNAVAILABLE);
    assert_contains(err.text, "type of service of mlx5_0 did not answer within 20 ms");
    assert_fails(roce_tos_ask(aside, &at, &want, NULL, 20, &err), ERR_UNAVAILABLE);
    assert_contains(err.text, "has not come back");
    at.device = "mlx5_1"; /* others are not touched by it */
    assert_ok(roce_tos_ask(aside, &at, NULL, &is, 5000, &err));
    assert_int_equal(is.tos, 7);
    assert_ok(roce_tos_ask(aside, &at, &want, NULL, 5000, &err));
    assert_text(CM "/mlx5_1/ports/1/default_roce_tos", "106");
    int fd = open(pipe, O_WRONLY | O_CLOEXEC); /* it comes back */
    assert_true(fd >= 0 && write(fd, "0\n", 2) == 2 && close(fd) == 0);
    for (int i = 0; i < 500 && !aside_drain(aside); i++)
        usleep(10000);
    assert_int_equal(unlink(pipe), 0);
    root_file(root, CM_P "/default_roce_tos", "0\n", 0644);
    at.device = "mlx5_0";
    assert_ok(roce_tos_ask(aside, &at, NULL, &is, 5000, &err));
    assert_int_equal(is.tos, 0);
}

static void tos_without_rdma_cm_says_what_to_load(void **state)
{
    (void)state;
    struct roce_tos is;
    struct err err = ERR_INIT;
    assert_false(roce_tos_is_there(root));
    assert_fails(roce_tos_get(root, "mlx5_0", 1, &is, &err), ERR_UNSUPPORTED);
    assert_contains(err.text, "load the module rdma_cm and mount configfs");
}

static void tos_of_a_port_that_is_not_there_is_unsupported(void **state)
{
    (void)state;
    struct roce_tos is;
    struct err err = ERR_INIT;
    root_folder(root, CM);
    assert_fails(roce_tos_get(root, "mlx5_9", 2, &is, &err), ERR_UNSUPPORTED);
    assert_contains(err.text, "port 2 of mlx5_9");
    assert_fails(roce_tos_get(root, "../x", 1, &is, &err), ERR_INVALID);
}

static void tos_that_is_no_byte_is_no_value(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "x", "256", "-1", "1 2", "99999999999999999999"};
    struct roce_tos is;
    struct err err = ERR_INIT;
    root_file(root, CM_P "/default_roce_mode", "RoCE v2\n", 0644);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        root_file(root, CM_P "/default_roce_tos", wrong[i], 0644);
        assert_fails(roce_tos_get(root, "mlx5_0", 1, &is, &err), ERR_IO);
    }
    root_file(root, CM_P "/default_roce_tos", "255\n", 0644);
    root_file(root, CM_P "/default_roce_mode", "a mode of 16 ch.", 0644);
    assert_fails(roce_tos_get(root, "mlx5_0", 1, &is, &err), ERR_IO);
}

/* Congestion control -------------------------------------------------------------------------- */

struct made {
    const char *name, *text;
};

#define DEBUGFS "/sys/kernel/debug/mlx5/0000:3b:00.0/cc_params/"
static const struct made cx5_debugfs[] = {
    {"rp_clamp_tgt_rate", "0\n"},
    {"rp_clamp_tgt_rate_ati", "1\n"},
    {"rp_time_reset", "300\n"},
    {"rp_byte_reset", "32767\n"},
    {"rp_threshold", "1\n"},
    {"rp_ai_rate", "5\n"},
    {"rp_max_rate", "0\n"},
    {"rp_hai_rate", "50\n"},
    {"rp_min_dec_fac", "50\n"},
    {"rp_min_rate", "1\n"},
    {"rp_rate_to_set_on_first_cnp", "0\n"},
    {"rp_dce_tcp_g", "1019\n"},
    {"rp_dce_tcp_rtt", "1\n"},
    {"rp_rate_reduce_monitor_period", "4\n"},
    {"rp_initial_alpha_value", "1023\n"},
    {"rp_gd", "11\n"},
    {"np_min_time_between_cnps", "4\n"},
    {"np_cnp_dscp", "48 \n"},
    {"np_cnp_prio_mode", "1\n"},
    {"np_cnp_prio", "6\n"},
};

#define ECN "/sys/class/net/ens1/ecn/"
static const struct made cx5_ofed[] = {
    {"roce_rp/clamp_tgt_rate", "0\n"},
    {"roce_rp/rpg_ai_rate", "5\n"},
    {"roce_rp/rpg_max_rate", "0\n"},
    {"roce_rp/dce_tcp_g", "1019\n"},
    {"roce_np/cnp_dscp", "48\n"},
    {"roce_np/cnp_802p_prio", "6\n"},
    {"roce_np/min_time_between_cnps", "4\n"},
};

#define BNXT_CC "/sys/kernel/config/bnxt_re/bnxt_re0/ports/1/cc/"
static const struct made bnxt_oot[] = {
    {"ecn_enable", "0x1\n"}, {"ecn_marking", "0x1\n"}, {"cc_mode", "0x1\n"}, {"cnp_dscp", "0x30\n"},
    {"cnp_prio", "0x7\n"},   {"roce_dscp", "0x1a\n"},  {"apply", "\n"},
};

static void make_files(const char *folder, const struct made *files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char path[256];
        snprintf(path, sizeof(path), "%s%s", folder, files[i].name);
        root_file(root, path, files[i].text, 0600);
    }
}
#define MAKE(folder, files) make_files(folder, files, sizeof(files) / sizeof((files)[0]))

static void make_masks(uint8_t notify, uint8_t react)
{
    for (int i = 0; i < 8; i++) {
        char path[128];
        snprintf(path, sizeof(path), ECN "roce_np/enable/%d", i);
        root_file(root, path, (notify >> i & 1) != 0 ? "1\n" : "0\n", 0644);
        snprintf(path, sizeof(path), ECN "roce_rp/enable/%d", i);
        root_file(root, path, (react >> i & 1) != 0 ? "1\n" : "0\n", 0644);
    }
}

static struct roce_cc_where at(const char *driver)
{
    return (struct roce_cc_where){.root = root,
                                  .driver = driver,
                                  .device = "0000:3b:00.0",
                                  .ifname = "ens1",
                                  .rdma = "bnxt_re0",
                                  .rdma_port = 1};
}

static const struct roce_cc_backend *found(const struct roce_cc_where *where, const char *name)
{
    const struct roce_cc_backend *backend = NULL;
    struct err err = ERR_INIT;
    assert_ok(roce_cc_find(where, &backend, &err));
    assert_string_equal(roce_cc_backend_name(backend), name);
    return backend;
}

static struct roce_cc cc_of(const char *text)
{
    struct roce_cc cc;
    struct err err = ERR_INIT;
    OWN(json) json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    assert_ok(roce_cc_from_json(json, &cc, &err));
    return cc;
}

static void assert_cc(const struct roce_cc *cc, const char *want)
{
    OWN(json) json_t *json = roce_cc_to_json(cc);
    OWN(str) char *text = json_canonical(json, NULL);
    assert_string_equal(text, want);
}

static void in_tree_mlx5_is_read_with_its_units(void **state)
{
    (void)state;
    struct roce_cc_where where = at("mlx5_core");
    struct roce_cc cc, probed;
    struct err err = ERR_INIT;
    MAKE(DEBUGFS, cx5_debugfs);
    const struct roce_cc_backend *backend = found(&where, "mlx5-debugfs");
    assert_ok(roce_cc_get(backend, &where, &cc, &err));
    assert_cc(&cc, "{\"parameters\":{\"clamp_tgt_rate\":0,\"clamp_tgt_rate_after_time_inc\":1,"
                   "\"cnp_dscp\":48,\"cnp_priority\":6,\"cnp_priority_mode\":1,\"dce_tcp_g\":1019,"
                   "\"dce_tcp_rtt_us\":1,\"initial_alpha_value\":1023,"
                   "\"min_time_between_cnps_us\":4,\"rate_reduce_monitor_period_us\":4,"
                   "\"rate_to_set_on_first_cnp_bps\":0,\"rpg_ai_rate_bps\":5000000,"
                   "\"rpg_byte_reset\":32767,\"rpg_gd\":11,\"rpg_hai_rate_bps\":50000000,"
                   "\"rpg_max_rate_bps\":0,\"rpg_min_dec_fac_percent\":50,"
                   "\"rpg_min_rate_bps\":1000000,\"rpg_threshold\":1,\"rpg_time_reset_us\":300}}");
    roce_cc_probe(backend, &where, &probed);
    assert_true(probed.present == cc.present && !probed.has_notify && !probed.has_react);
}

static void only_what_differs_is_written(void **state)
{
    (void)state;
    struct roce_cc_where where = at("mlx5_core");
    struct roce_cc want = cc_of("{\"parameters\":{\"rpg_ai_rate_bps\":20000000,\"cnp_dscp\":48}}");
    struct err err = ERR_INIT;
    MAKE(DEBUGFS, cx5_debugfs);
    assert_ok(roce_cc_set(found(&where, "mlx5-debugfs"), &where, &want, &err));
    assert_text(DEBUGFS "rp_ai_rate", "20");   /* Mb/s; a file is cut by what is written */
    assert_text(DEBUGFS "np_cnp_dscp", "48 "); /* untouched: the blank is still there */
}

static void a_vendors_package_wins_and_has_masks(void **state)
{
    (void)state;
    struct roce_cc_where where = at("mlx5_core");
    struct roce_cc cc, want = cc_of("{\"notify\":[3],\"react\":[2,3],"
                                    "\"parameters\":{\"min_time_between_cnps_us\":50}}");
    struct err err = ERR_INIT;
    MAKE(DEBUGFS, cx5_debugfs);
    MAKE(ECN, cx5_ofed);
    make_masks(0x80, 0x08);
    const struct roce_cc_backend *backend = found(&where, "mlx5-ofed");
    assert_ok(roce_cc_get(backend, &where, &cc, &err));
    assert_true(cc.has_notify && cc.has_react);
    assert_int_equal(cc.notify, 0x80);
    assert_int_equal(cc.react, 0x08);
    assert_false(roce_cc_covers(&cc, &want));
    assert_ok(roce_cc_set(backend, &where, &want, &err));
    assert_ok(roce_cc_get(backend, &where, &cc, &err));
    assert_true(roce_cc_covers(&cc, &want));
    assert_text(ECN "roce_np/enable/3", "1");
    assert_text(ECN "roce_np/enable/7", "0");
    assert_text(ECN "roce_np/min_time_between_cnps", "50");
    roce_cc_probe(backend, &where, &cc);
    assert_true(cc.has_notify && cc.has_react);
}

static void staged_values_are_committed(void **state)
{
    (void)state;
    struct roce_cc_where where = at("bnxt_en");
    struct roce_cc cc, want = cc_of("{\"parameters\":{\"cnp_dscp\":46,\"roce_dscp\":26}}");
    struct err err = ERR_INIT;
    MAKE(BNXT_CC, bnxt_oot);
    const struct roce_cc_backend *backend = found(&where, "bnxt-configfs");
    assert_ok(roce_cc_get(backend, &where, &cc, &err));
    assert_cc(&cc, "{\"parameters\":{\"cc_enable\":1,\"cc_mode\":1,\"cnp_dscp\":48,"
                   "\"cnp_priority\":7,\"ecn_marking\":1,\"roce_dscp\":26}}");
    assert_ok(roce_cc_set(backend, &where, &want, &err));
    assert_text(BNXT_CC "cnp_dscp", "0x2e"); /* older drivers read every number as hexadecimal */
    assert_text(BNXT_CC "apply", "0x1");
    root_file(root, BNXT_CC "apply", "\n", 0644);
    assert_ok(roce_cc_set(backend, &where, &want, &err));
    assert_text(BNXT_CC "apply", ""); /* nothing differed */
}

static void in_tree_bnxt_and_irdma_are_known(void **state)
{
    (void)state;
    struct roce_cc_where where = at("bnxt_en");
    struct roce_cc cc;
    struct err err = ERR_INIT;
    root_file(root, "/sys/kernel/debug/bnxt_re/0000:3b:00.0/cc_config/enable_cc", "1\n", 0400);
    root_file(root, "/sys/kernel/debug/bnxt_re/0000:3b:00.0/cc_config/alt_vlan_dscp", "48\n", 0400);
    assert_ok(roce_cc_get(found(&where, "bnxt-debugfs"), &where, &cc, &err));
    assert_cc(&cc, "{\"parameters\":{\"cc_enable\":1,\"cnp_dscp\":48}}");
    where = at("ice");
    root_file(root, "/sys/kernel/config/irdma/bnxt_re0/roce_dcqcn_enable", "off\n", 0644);
    root_file(root, "/sys/kernel/config/irdma/bnxt_re0/roce_timely_enable", "ON\n", 0644);
    assert_ok(roce_cc_get(found(&where, "irdma-configfs"), &where, &cc, &err));
    assert_cc(&cc, "{\"parameters\":{\"dcqcn_enable\":0,\"timely_enable\":1}}");
}

static void without_a_back_end_the_reason_is_told(void **state)
{
    (void)state;
    struct roce_cc_where where = at("hns3");
    const struct roce_cc_backend *backend = NULL;
    struct err err = ERR_INIT;
    assert_fails(roce_cc_find(&where, &backend, &err), ERR_UNSUPPORTED);
    assert_contains(err.text, "driver hns3");
    where = at("mlx5_core");
    assert_fails(roce_cc_find(&where, &backend, &err), ERR_UNSUPPORTED);
    assert_contains(err.text, "/sys/class/net/ens1/ecn");
    assert_contains(err.text, "/sys/kernel/debug/mlx5/0000:3b:00.0/cc_params");
    where.ifname = "../x"; /* names come from the kernel, and still are no paths */
    assert_fails(roce_cc_find(&where, &backend, &err), ERR_UNSUPPORTED);
    where = at("");
    assert_fails(roce_cc_find(&where, &backend, &err), ERR_UNSUPPORTED);
    assert_contains(err.text, "(unknown)");
}

static void what_the_device_cannot_take_is_named(void **state)
{
    (void)state;
    struct roce_cc_where where = at("mlx5_core");
    struct roce_cc is;
    struct err err = ERR_INIT;
    static const struct {
        const char *want;
        enum err_code code;
        const char *text;
    } cases[] = {
        {"{\"parameters\":{\"init_cr\":1}}", ERR_UNSUPPORTED, "no parameter init_cr"},
        {"{\"parameters\":{},\"react\":[]}", ERR_UNSUPPORTED, "a priority (back-end mlx5-debugfs)"},
        {"{\"parameters\":{\"dce_tcp_g\":1023}}", ERR_OK, ""},
        {"{\"parameters\":{\"dce_tcp_g\":1024}}", ERR_INVALID, "dce_tcp_g of 1024"},
        {"{\"parameters\":{\"rpg_gd\":9}}", ERR_INVALID, "range, 10 to 11"},
        {"{\"parameters\":{\"rpg_gd\":10}}", ERR_OK, ""},
        {"{\"parameters\":{\"rpg_ai_rate_bps\":1500000}}", ERR_INVALID, "whole number of 1000000"},
        {"{\"parameters\":{\"rpg_ai_rate_bps\":0}}", ERR_INVALID, "1000000 to"},
        {"{\"parameters\":{\"rpg_ai_rate_bps\":1000000}}", ERR_OK, ""},
    };
    MAKE(DEBUGFS, cx5_debugfs);
    const struct roce_cc_backend *backend = found(&where, "mlx5-debugfs");
    assert_ok(roce_cc_get(backend, &where, &is, &err));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct roce_cc want = cc_of(cases[i].want);
        if (cases[i].code == ERR_OK) {
            assert_ok(roce_cc_check(backend, &is, &want, &err));
            continue;
        }
        assert_fails(roce_cc_check(backend, &is, &want, &err), cases[i].code);
        assert_contains(err.text, cases[i].text);
    }
    /* What is there already is given back on undo, in range or not. */
    root_file(root, DEBUGFS "rp_gd", "0\n", 0600);
    assert_ok(roce_cc_get(backend, &where, &is, &err));
    assert_ok(roce_cc_check(backend, &is, &is, &err));
}

static void a_file_that_is_no_number_is_no_value(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "", "-1\n", "1 2\n", "maybe\n", "9223372036854775807\n", "99999999999999999999\n"};
    struct roce_cc_where where = at("mlx5_core");
    struct roce_cc cc;
    struct err err = ERR_INIT;
    MAKE(DEBUGFS, cx5_debugfs);
    const struct roce_cc_backend *backend = found(&where, "mlx5-debugfs");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        root_file(root, DEBUGFS "rp_ai_rate", wrong[i], 0600);
        assert_fails(roce_cc_get(backend, &where, &cc, &err), ERR_IO);
        assert_contains(err.text, "rp_ai_rate");
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tos_is_read_and_written),
        TEST(tos_that_hangs_is_given_up_and_comes_back),
        TEST(tos_without_rdma_cm_says_what_to_load),
        TEST(tos_of_a_port_that_is_not_there_is_unsupported),
        TEST(tos_that_is_no_byte_is_no_value),
        TEST(in_tree_mlx5_is_read_with_its_units),
        TEST(only_what_differs_is_written),
        TEST(a_vendors_package_wins_and_has_masks),
        TEST(staged_values_are_committed),
        TEST(in_tree_bnxt_and_irdma_are_known),
        TEST(without_a_back_end_the_reason_is_told),
        TEST(what_the_device_cannot_take_is_named),
        TEST(a_file_that_is_no_number_is_no_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
