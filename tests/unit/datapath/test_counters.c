/*
 * tests/unit/datapath/test_counters.c - counters of a made-up root, labels of control groups, and
 * messages of nl/rdma_stat.
 */
#include "tests/unit/datapath/nl_test.h"

#include <sys/stat.h>
#include <unistd.h>

#include <rdma/rdma_netlink.h>

#include "base/file.h"
#include "datapath/counters.h"
#include "datapath/nl/rdma_stat.h"

static void labels_stand_in_control_groups(void **state)
{
    (void)state;
    assert_int_equal(counters_label("0::/kubepods.slice/stellar-job-7.slice/pod1\n"), 7);
    assert_int_equal(counters_label("0::/stellar-job-65533\n"), 65533);
    assert_int_equal(counters_label("1:cpu:/a\n0::/x/stellar-job-12.scope\n"), 12);
    assert_int_equal(counters_label("0::/stellar-job-4.service/init"), 4);
    assert_int_equal(counters_label("0::/stellar-job-4294967295"), 4294967295u);
    assert_int_equal(counters_label("0::/stellar-job-4294967296"), 0);
    static const char *const none[] = {"",
                                       "0::/\n",
                                       "0::/stellar-job-\n",
                                       "0::/stellar-job-0\n",
                                       "0::/stellar-job--7\n",
                                       "0::/stellar-job-+7\n",
                                       "0::/stellar-job-7x\n",
                                       "0::/stellar-job-7.slic\n",
                                       "0::/my-stellar-job-7\n",
                                       "0::/stellar-job-99999999999999999999999\n"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        assert_int_equal(counters_label(none[i]), 0);
}

/* What a look told ------------------------------------------------------------------------------
 */

struct told {
    char text[8192];
    char row[256];
};

static void on_row(void *arg, enum telemetry_kind kind, const char *device,
                   const struct telemetry_subject *subject)
{
    struct told *told = arg;
    snprintf(told->row, sizeof(told->row), "%s %s %u", telemetry_kind_name(kind), device,
             subject->number);
}

static void on_value(void *arg, const struct telemetry_name *name, int64_t value)
{
    struct told *told = arg;
    size_t len = strlen(told->text);
    snprintf(told->text + len, sizeof(told->text) - len, "%s %s/%u=%lld\n", told->row, name->text,
             name->width, (long long)value);
}

static void put_file(const char *root, const char *path, const char *text)
{
    char full[TEST_PATH_MAX + 256], *slash;
    struct err err = ERR_INIT;
    snprintf(full, sizeof(full), "%s%s", root, path);
    slash = strrchr(full, '/');
    *slash = '\0';
    assert_ok(file_mkdirs(full, 0700, &err));
    *slash = '/';
    assert_ok(file_write_atomic(full, text, strlen(text), 0600, &err));
}

static void ports_are_read_from_sysfs(void **state)
{
    (void)state;
    char root[TEST_PATH_MAX], link_path[TEST_PATH_MAX + 64], command[TEST_PATH_MAX + 16];
    struct err err = ERR_INIT;
    struct counters *counters = NULL;
    static struct told told;
    const struct counters_sink sink = {&told, on_row, on_value};
    test_folder(root);
    put_file(root, "/sys/class/net/eth0/statistics/rx_bytes", "18446744073709551615\n");
    put_file(root, "/sys/class/net/eth0/statistics/tx_bytes", "4711\n");
    put_file(root, "/sys/class/net/eth0/statistics/rx_crc_errors", "3\n");
    put_file(root, "/sys/class/net/eth0/statistics/rx_packets", "N/A\n");
    put_file(root, "/sys/class/net/eth0/dev_port", "1\n");
    put_file(root, "/sys/class/net/lo/statistics/tx_bytes", "9\n");
    put_file(root, "/sys/bus/0000:3b:00.0/here", "");
    snprintf(link_path, sizeof(link_path), "%s/sys/class/net/eth0/device", root);
    assert_int_equal(symlink("../../../bus/0000:3b:00.0", link_path), 0);
    const struct counters_linux_config config = {.root = root};
    assert_ok(counters_linux_new(&config, &counters, &err));
    if (counters->ops->read(counters, 0, &sink, &err) != ERR_OK)
        assert_int_not_equal(err.code, ERR_OK); /* this host's RDMA is its own */
    assert_contains(told.text, "port 0000:3b:00.0/1 0 tx_bytes/0=4711\n");
    assert_contains(told.text, "port 0000:3b:00.0/1 0 rx_crc_errors/0=3\n");
    assert_null(strstr(told.text, "rx_bytes"));   /* no number that can be told */
    assert_null(strstr(told.text, "rx_packets")); /* no number */
    assert_null(strstr(told.text, "lo"));         /* no device */
    counters_free(counters);
    snprintf(command, sizeof(command), "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

static void the_simulator_is_the_same_at_the_same_time(void **state)
{
    (void)state;
    static struct told a, b;
    const struct counters_sink to_a = {&a, on_row, on_value}, to_b = {&b, on_row, on_value};
    struct err err = ERR_INIT;
    struct counters *counters = NULL;
    assert_ok(counters_sim_new(1, &counters, &err));
    assert_ok(counters->ops->read(counters, 5000000000, &to_a, &err));
    assert_ok(counters->ops->read(counters, 5000000000, &to_b, &err));
    assert_string_equal(a.text, b.text);
    assert_contains(a.text, "qp sim0 17 tx_bytes/0=20480000\n");
    counters_free(counters);
}

/* Messages --------------------------------------------------------------------------------------
 */

static void requests_hold_what_the_kernel_asks_for(void **state)
{
    (void)state;
    OWN(nl_msg) struct nl_msg *stats = rdma_encode_stats(3);
    OWN(nl_msg) struct nl_msg *set = rdma_encode_stat_auto(3, 1);
    assert_non_null(stats);
    assert_non_null(set);
    assert_int_equal(nlmsg_hdr(stats)->nlmsg_type,
                     RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_STAT_GET));
    assert_int_equal(nlmsg_hdr(set)->nlmsg_type,
                     RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_STAT_SET));
    assert_payload(set, "08000100 03000000");
}

static void put_u64(struct nl_msg *msg, int type, uint64_t value)
{
    assert_int_equal(nla_put(msg, type, sizeof(value), &value), 0);
}

/* One set of two queue pairs with one counter. */
static struct nl_msg *stat_reply(void)
{
    struct nl_msg *msg = nlx_msg_new(5, 0, NULL, 0, 1024);
    assert_non_null(msg);
    struct nlattr *table = nla_nest_start(msg, RDMA_NLDEV_ATTR_STAT_COUNTER);
    struct nlattr *entry = nla_nest_start(msg, RDMA_NLDEV_ATTR_STAT_COUNTER_ENTRY);
    nla_put_u32(msg, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
    nla_put_u32(msg, RDMA_NLDEV_ATTR_STAT_COUNTER_ID, 5);
    nla_put_u32(msg, RDMA_NLDEV_ATTR_RES_PID, 4711);
    struct nlattr *qps = nla_nest_start(msg, RDMA_NLDEV_ATTR_RES_QP);
    for (uint32_t number = 17; number < 19; number++) {
        struct nlattr *qp = nla_nest_start(msg, RDMA_NLDEV_ATTR_RES_QP_ENTRY);
        nla_put_u32(msg, RDMA_NLDEV_ATTR_RES_LQPN, number);
        nla_nest_end(msg, qp);
    }
    nla_nest_end(msg, qps);
    struct nlattr *values = nla_nest_start(msg, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
    struct nlattr *value = nla_nest_start(msg, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
    nla_put_string(msg, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, "tx_bytes");
    put_u64(msg, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, 123456789012);
    nla_nest_end(msg, value);
    nla_nest_end(msg, values);
    nla_nest_end(msg, entry);
    nla_nest_end(msg, table);
    return msg;
}

static bool on_stat(void *arg, const struct rdma_stat *stat)
{
    *(struct rdma_stat *)arg = *stat;
    return true;
}

static void counters_of_queue_pairs_are_read(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    static struct rdma_stat stat;
    OWN(nl_msg) struct nl_msg *msg = stat_reply();
    assert_ok(rdma_decode_stats(nlmsg_hdr(msg), on_stat, &stat, &err));
    assert_int_equal(stat.port, 1);
    assert_int_equal(stat.pid, 4711);
    assert_int_equal(stat.qp_count, 2);
    assert_int_equal(stat.qps[1], 18);
    assert_int_equal(stat.value_count, 1);
    assert_string_equal(stat.values[0].name, "tx_bytes");
    assert_true(stat.values[0].value == 123456789012);
}

static void queue_pairs_of_programs_are_read(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    static struct rdma_qp_list list;
    OWN(nl_msg) struct nl_msg *msg = nlx_msg_new(5, 0, NULL, 0, 1024);
    assert_non_null(msg);
    struct nlattr *table = nla_nest_start(msg, RDMA_NLDEV_ATTR_RES_QP);
    for (uint32_t number = 1; number < 4; number++) {
        struct nlattr *entry = nla_nest_start(msg, RDMA_NLDEV_ATTR_RES_QP_ENTRY);
        nla_put_u32(msg, RDMA_NLDEV_ATTR_RES_LQPN, number);
        if (number == 1)
            nla_put_string(msg, RDMA_NLDEV_ATTR_RES_KERN_NAME, "ib_core");
        else
            nla_put_u32(msg, RDMA_NLDEV_ATTR_RES_PID, 100 + number);
        nla_nest_end(msg, entry);
    }
    nla_nest_end(msg, table);
    assert_ok(rdma_decode_qps(nlmsg_hdr(msg), &list, &err));
    assert_int_equal(list.count, 2); /* the kernel's own is none */
    assert_int_equal(list.items[0].number, 2);
    assert_int_equal(list.items[0].pid, 102);
    assert_false(list.truncated);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_stand_in_control_groups),
        cmocka_unit_test(ports_are_read_from_sysfs),
        cmocka_unit_test(the_simulator_is_the_same_at_the_same_time),
        cmocka_unit_test(requests_hold_what_the_kernel_asks_for),
        cmocka_unit_test(counters_of_queue_pairs_are_read),
        cmocka_unit_test(queue_pairs_of_programs_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
