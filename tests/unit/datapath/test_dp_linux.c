/*
 * tests/unit/datapath/test_dp_linux.c - the Linux provider against this machine's kernel, in a
 * network namespace of its own (veth pairs over a made-up /sys): what needs no NIC. Skipped without
 * root.
 */
#include "tests/unit/datapath/dp_test.h"
#include "tests/unit/datapath/root_test.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/utsname.h>

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>

#include "datapath/dp_sim.h"
#include "datapath/linux.h"
#include "datapath/nl/tc_flower.h"
#include "datapath/nl/tc_qdisc.h"
#include "fleet/inventory.h"

#define P0 "0000:3b:00.0/0"
#define P1 "0000:3b:00.1/1"

struct node {
    char root[TEST_PATH_MAX];
    struct nlx *route; /* somebody else on the node */
    struct dp *dp;
};

static bool have_namespace;
static const char *skip_reason = "";

static void make_veth(struct nlx *nlx, const char *name, const char *peer)
{
    struct err err = ERR_INIT;
    const struct ifinfomsg header = {0};
    OWN(nl_msg)
    struct nl_msg *msg =
        nlx_msg_new(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &header, sizeof(header), 512);
    nla_put_string(msg, IFLA_IFNAME, name);
    struct nlattr *info = nla_nest_start(msg, IFLA_LINKINFO);
    nla_put_string(msg, IFLA_INFO_KIND, "veth");
    struct nlattr *data = nla_nest_start(msg, IFLA_INFO_DATA);
    struct nlattr *other = nla_nest_start(msg, VETH_INFO_PEER);
    assert_int_equal(nlmsg_append(msg, (void *)(uintptr_t)&header, sizeof(header), 4), 0);
    nla_put_string(msg, IFLA_IFNAME, peer);
    nla_nest_end(msg, other);
    nla_nest_end(msg, data);
    nla_nest_end(msg, info);
    assert_ok(nlx_txn(nlx, msg, NULL, NULL, &err));
}

static int ifindex_of(struct nlx *nlx, const char *name)
{
    struct err err = ERR_INIT;
    OWN_LINKS struct link_list links = {0};
    assert_ok(link_list(nlx, &links, &err));
    for (size_t i = 0; i < links.count; i++)
        if (strcmp(links.items[i].name, name) == 0)
            return links.items[i].ifindex;
    fail_msg("no interface %s", name);
    return 0;
}

static void delete_link(struct nlx *nlx, const char *name)
{
    struct err err = ERR_INIT;
    OWN(nl_msg) struct nl_msg *msg = link_encode(RTM_DELLINK, ifindex_of(nlx, name));
    assert_ok(nlx_txn(nlx, msg, NULL, NULL, &err));
}

/* va and vb are "ports" of two PCI functions. */
static int setup(void **state)
{
    static struct node node;
    static const char *const devices[] = {"va", "vb", NULL};
    struct err err = ERR_INIT;
    *state = &node;
    if (!have_namespace)
        return 0;
    test_folder(node.root);
    root_folder(node.root, "/sys/class/net/va");
    root_folder(node.root, "/sys/class/net/vb");
    root_link(node.root, "/sys/class/net/va/device", "../../../devices/pci/0000:3b:00.0");
    root_link(node.root, "/sys/class/net/vb/device", "../../../devices/pci/0000:3b:00.1");
    root_file(node.root, "/sys/class/net/vb/dev_port", "1\n", 0444);
    assert_ok(nlx_open(NETLINK_ROUTE, &node.route, &err));
    make_veth(node.route, "va", "vb");
    assert_ok(dp_linux_new(&(struct dp_linux_config){.devices = devices, .root = node.root},
                           &node.dp, &err));
    return 0;
}

static int teardown(void **state)
{
    struct node *node = *state;
    if (!have_namespace)
        return 0;
    dp_free(node->dp);
    delete_link(node->route, "va"); /* and its peer */
    nlx_free(node->route);
    root_remove(node->root);
    return 0;
}

static struct node *need(void **state)
{
    if (!have_namespace) {
        print_message("skipped: %s\n", skip_reason);
        skip();
    }
    return *state;
}

static void ports_are_keyed_by_bus_address(void **state)
{
    struct node *node = need(state);
    OWN(json) json_t *json = NULL;
    OWN(inventory) struct inventory *inventory = NULL;
    struct err err = ERR_INIT;
    assert_ok(dp_inventory(node->dp, &json, &err));
    assert_ok(inventory_from_json(json, &inventory, NULL, &err));
    assert_int_equal(inventory->port_count, 2);
    const struct port *port = inventory_port_get(inventory, P1);
    assert_non_null(port);
    assert_string_equal(port->ifname, "vb");
    assert_int_equal(port->mtu_bytes, 1500);
    assert_false(port->caps.dcb_ets || port->caps.dcb_app || port->caps.flower_hw);
    assert_true(port->caps.tc);
}

/* A card's name as VPD: the product string, and the end. */
static void write_vpd(const struct node *node, const char *name)
{
    char path[2 * TEST_PATH_MAX];
    root_folder(node->root, "/sys/devices/pci/0000:3b:00.0");
    snprintf(path, sizeof(path), "%s/sys/devices/pci/0000:3b:00.0/vpd", node->root);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    const uint8_t head[] = {0x82, (uint8_t)strlen(name), 0};
    assert_int_equal(fwrite(head, 1, sizeof(head), file), sizeof(head));
    assert_true(fputs(name, file) >= 0 && fputc(0x78, file) == 0x78);
    assert_int_equal(fclose(file), 0);
}

static void assert_product(const struct node *node, const char *want)
{
    OWN(json) json_t *json = NULL;
    struct err err = ERR_INIT;
    assert_ok(dp_inventory(node->dp, &json, &err));
    const json_t *port = json_array_get(json_object_get(json, "ports"), 0);
    const char *product = json_string_value(json_object_get(port, "product"));
    assert_string_equal(json_string_value(json_object_get(port, "ifname")), "va");
    assert_string_equal(product == NULL ? "" : product, want);
}

static void what_a_card_says_of_itself_is_read_again_when_something_is_announced(void **state)
{
    struct node *node = need(state);
    struct err err = ERR_INIT;
    bool changed;
    write_vpd(node, "first");
    assert_ok(dp_drain(node->dp, &changed, &err)); /* of making the interfaces */
    assert_product(node, "first");
    write_vpd(node, "other");
    assert_product(node, "first");
    assert_false(dp_inventory_stale(node->dp));
    assert_ok(link_set_mtu(node->route, ifindex_of(node->route, "va"), 1600, &err));
    assert_ok(dp_drain(node->dp, &changed, &err));
    assert_true(dp_inventory_stale(node->dp));
    assert_product(node, "other");
}

static void a_link_is_its_carrier(void **state)
{
    struct node *node = need(state);
    struct err err = ERR_INIT;
    bool up = true;
    assert_ok(dp_link(node->dp, P1, &up, &err)); /* unreadable, as of a port that is set down */
    assert_false(up);
    root_file(node->root, "/sys/class/net/vb/carrier", "1\n", 0644);
    assert_ok(dp_link(node->dp, P1, &up, &err));
    assert_true(up);
    root_file(node->root, "/sys/class/net/vb/carrier", "0\n", 0644);
    assert_ok(dp_link(node->dp, P1, &up, &err));
    assert_false(up);
    assert_fails(dp_link(node->dp, "0000:99:00.0/0", &up, &err), ERR_NOT_FOUND);
}

static void two_interfaces_with_one_id_are_told(void **state)
{
    struct node *node = need(state);
    struct err err = ERR_INIT;
    OWN(json) json_t *json = NULL;
    char path[2 * TEST_PATH_MAX];
    snprintf(path, sizeof(path), "%s/sys/class/net/vb/device", node->root);
    assert_int_equal(unlink(path), 0);
    root_link(node->root, "/sys/class/net/vb/device", "../../../devices/pci/0000:3b:00.0");
    root_file(node->root, "/sys/class/net/vb/dev_port", "0\n", 0444);
    assert_ok(dp_inventory(node->dp, &json, &err));
    assert_int_equal(json_array_size(json_object_get(json, "ports")), 1);
    OWN(str) char *problems = json_dumps(json_object_get(json, "problems"), 0);
    assert_contains(problems, "same bus address");
}

static void an_mtu_is_set_and_read_back(void **state)
{
    struct node *node = need(state);
    struct err err = ERR_INIT;
    assert_ok(check_step(node->dp, "link.mtu", P0, "", "4200", &err));
    assert_shows(node->dp, "link.mtu", P0, "", "1500"); /* a check changes nothing */
    assert_ok(apply_step(node->dp, "link.mtu", P0, "", "4200", &err));
    assert_shows(node->dp, "link.mtu", P0, "", "4200");
    assert_shows(node->dp, "link.mtu", P1, "", "1500");
    assert_ok(apply_step(node->dp, "link.mtu", P0, "", "4200", &err));
}

static void a_renamed_interface_is_the_same_port(void **state)
{
    struct node *node = need(state);
    struct err err = ERR_INIT;
    assert_ok(apply_step(node->dp, "link.mtu", P0, "", "4200", &err));
    OWN(nl_msg) struct nl_msg *msg = link_encode(RTM_NEWLINK, ifindex_of(node->route, "vb"));
    nla_put_string(msg, IFLA_IFNAME, "vx");
    assert_ok(nlx_txn(node->route, msg, NULL, NULL, &err));
    /* vb was named and is gone; a port that vanished is a problem, not an absence */
    OWN(str) char *shown = observed_as(node->dp, "link.mtu", P1, "", "4200");
    assert_contains(shown, "problem:");
    assert_fails(apply_step(node->dp, "link.mtu", P1, "", "4200", &err), ERR_NOT_FOUND);
    assert_contains(err.text, P1);
}

static void dcb_is_unsupported_here(void **state)
{
    struct node *node = need(state);
    struct err err = ERR_INIT;
    const char *pfc = "{\"delay\":0,\"priorities\":[3]}";
    assert_shows(node->dp, "dcb.pfc", P0, "", "absent");
    assert_fails(check_step(node->dp, "dcb.pfc", P0, "", pfc, &err), ERR_UNSUPPORTED);
    assert_contains(err.text, P0);
    assert_contains(err.text, "va");
    assert_contains(err.text, "dcb.pfc");
    assert_fails(apply_step(node->dp, "dcb.pfc", P0, "", pfc, &err), ERR_UNSUPPORTED);
    assert_fails(
        check_step(node->dp, "tc.flower", P0, "ingress/1", FLOWER("00000001", "only"), &err),
        ERR_UNSUPPORTED);
    assert_contains(err.text, "hw-tc-offload");
}

static void the_hook_comes_and_goes(void **state)
{
    struct node *node = need(state);
    struct err err = ERR_INIT;
    assert_ok(apply_step(node->dp, "tc.clsact", P0, "", "true", &err));
    assert_shows(node->dp, "tc.clsact", P0, "", "true");
    assert_ok(apply_step(node->dp, "tc.clsact", P0, "", "true", &err));
    assert_shows(node->dp, "tc.clsact", P1, "", "absent");
    assert_ok(apply_step(node->dp, "tc.clsact", P0, "", NULL, &err));
    assert_shows(node->dp, "tc.clsact", P0, "", "absent");
    assert_ok(apply_step(node->dp, "tc.clsact", P0, "", NULL, &err));
}

/* What the hook holds that is not ours keeps it: a u32 or bpf filter would do, this kernel may have
 * none. */
static void an_ingress_qdisc_of_somebody_else_is_a_conflict(void **state)
{
    struct node *node = need(state);
    struct err err = ERR_INIT;
    const struct tcmsg header = {.tcm_ifindex = ifindex_of(node->route, "va"),
                                 .tcm_handle = 0xffff0000,
                                 .tcm_parent = 0xfffffff1};
    OWN(nl_msg)
    struct nl_msg *msg =
        nlx_msg_new(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, &header, sizeof(header), 64);
    nla_put_string(msg, TCA_KIND, "ingress");
    assert_ok(nlx_txn(node->route, msg, NULL, NULL, &err));
    assert_fails(check_step(node->dp, "tc.clsact", P0, "", "true", &err), ERR_CONFLICT);
}

static void the_scheduler_is_made_changed_and_removed(void **state)
{
    struct node *node = need(state);
    struct err err = ERR_INIT;
    struct dp *dp = node->dp;
    enum err_code code = apply_step(dp, "tc.qdisc", P0, "root", QDISC, &err);
    if (code == ERR_UNSUPPORTED) {
        print_message("skipped: %s\n", err.text);
        skip();
    }
    assert_int_equal(code, ERR_OK);
    assert_shows(dp, "tc.qdisc", P0, "root", QDISC);
    assert_ok(apply_step(dp, "tc.class", P0, "5e11:fffe", CLASS("100000000000", "5e11:"), &err));
    assert_ok(apply_step(dp, "tc.class", P0, "5e11:1a", CLASS("40000000000", "5e11:fffe"), &err));
    assert_shows(dp, "tc.class", P0, "5e11:1a", CLASS("40000000000", "5e11:fffe"));
    assert_ok(apply_step(dp, "tc.class", P0, "5e11:1a", CLASS("8000", "5e11:fffe"), &err));
    assert_shows(dp, "tc.class", P0, "5e11:1a", CLASS("8000", "5e11:fffe"));
    assert_fails(apply_step(dp, "tc.class", P0, "5e11:1a", CLASS("8000", "5e11:"), &err),
                 ERR_CONFLICT);
    assert_fails(apply_step(dp, "tc.class", P0, "5e11:fffe", NULL, &err), ERR_CONFLICT);
    assert_ok(apply_step(dp, "tc.class", P0, "5e11:1a", NULL, &err));
    assert_shows(dp, "tc.class", P0, "5e11:1a", "absent");
    assert_ok(apply_step(dp, "tc.qdisc", P0, "root", NULL, &err));
    assert_shows(dp, "tc.qdisc", P0, "root", "absent");
    assert_shows(dp, "tc.class", P0, "5e11:fffe", "absent");
}

static void odd_rates_are_told_as_wanted(void **state)
{
    struct node *node = need(state);
    struct err err = ERR_INIT;
    const char *odd = CLASS("12345679", "5e11:");
    if (apply_step(node->dp, "tc.qdisc", P0, "root", QDISC, &err))
        skip();
    assert_ok(apply_step(node->dp, "tc.class", P0, "5e11:1", odd, &err));
    assert_shows(node->dp, "tc.class", P0, "5e11:1", CLASS("12345672", "5e11:")); /* bytes */
    OWN(str) char *shown = observed_as(node->dp, "tc.class", P0, "5e11:1", odd);
    assert_string_equal(shown, odd);
}

static void another_root_qdisc_is_a_conflict(void **state)
{
    struct node *node = need(state);
    struct err err = ERR_INIT;
    const struct qdisc_value other = {.handle = 0x70000, .default_class = 0x70001};
    if (tc_qdisc_add_root(node->route, ifindex_of(node->route, "va"), &other, &err))
        skip();
    assert_shows(node->dp, "tc.qdisc", P0, "root", "{\"handle\":\"7:\",\"kind\":\"htb\"}");
    assert_fails(check_step(node->dp, "tc.qdisc", P0, "root", QDISC, &err), ERR_CONFLICT);
    assert_fails(apply_step(node->dp, "tc.qdisc", P0, "root", QDISC, &err), ERR_CONFLICT);
    assert_fails(apply_step(node->dp, "tc.qdisc", P0, "root", NULL, &err), ERR_CONFLICT);
    assert_shows(node->dp, "tc.qdisc", P0, "root", "{\"handle\":\"7:\",\"kind\":\"htb\"}");
}

static void a_class_needs_its_parent(void **state)
{
    struct node *node = need(state);
    struct err err = ERR_INIT;
    if (apply_step(node->dp, "tc.qdisc", P0, "root", QDISC, &err))
        skip();
    assert_fails(apply_step(node->dp, "tc.class", P0, "5e11:1", CLASS("8000", "5e11:abcd"), &err),
                 ERR_IO);
    assert_contains(err.text, "but shows");
}

static void what_a_plan_dropped_is_found(void **state)
{
    struct node *node = need(state);
    struct err err = ERR_INIT;
    OWN(plan) struct plan *plan = NULL;
    OWN_STATE struct state seen;
    OWN_STEPS struct plan_steps steps = {0};
    state_init(&seen);
    assert_ok(apply_step(node->dp, "tc.clsact", P1, "", "true", &err));
    assert_ok(plan_new("n1", 1, &plan, &err));
    assert_ok(plan_seal(plan, &err));
    assert_ok(dp_observe(node->dp, plan, &seen, &err));
    assert_ok(plan_diff(plan, &seen, &steps, &err));
    assert_int_equal(steps.count, 1);
    assert_int_equal(steps.items[0].op, STEP_REMOVE);
    assert_ok(dp_apply(node->dp, &steps.items[0], &err));
    assert_shows(node->dp, "tc.clsact", P1, "", "absent");
}

static bool changed_within(struct dp *dp, int wait_ms)
{
    struct err err = ERR_INIT;
    struct pollfd pfd = {.fd = dp_event_fd(dp), .events = POLLIN};
    bool changed = false;
    while (!changed && poll(&pfd, 1, wait_ms) > 0)
        assert_ok(dp_drain(dp, &changed, &err));
    return changed;
}

static void others_changes_are_announced(void **state)
{
    struct node *node = need(state);
    struct err err = ERR_INIT;
    bool changed;
    assert_ok(apply_step(node->dp, "tc.clsact", P0, "", "true", &err));
    usleep(50000);
    assert_ok(dp_drain(node->dp, &changed, &err));
    assert_false(changed); /* our own */
    assert_ok(tc_qdisc_del_clsact(node->route, ifindex_of(node->route, "va"), &err));
    assert_true(changed_within(node->dp, 2000));
    assert_ok(link_set_mtu(node->route, ifindex_of(node->route, "vb"), 3000, &err));
    assert_true(changed_within(node->dp, 2000));
    assert_false(changed_within(node->dp, 50));
}

static void a_change_has_its_writer_until_it_was_looked_at(void **state)
{
    struct node *node = need(state);
    struct err err = ERR_INIT;
    char writer[DP_WRITER_SIZE], want[DP_WRITER_SIZE];
    OWN(plan) struct plan *plan = NULL;
    assert_ok(plan_new("n1", 1, &plan, &err));
    assert_ok(plan_seal(plan, &err));
    assert_ok(apply_step(node->dp, "tc.clsact", P0, "", "true", &err));
    assert_ok(tc_qdisc_del_clsact(node->route, ifindex_of(node->route, "va"), &err));
    assert_true(changed_within(node->dp, 2000));
    /* The made-up root has no processes. */
    snprintf(want, sizeof(want), "netlink port %u", (unsigned)nlx_port(node->route));
    dp_writer(node->dp, "tc.clsact", P0, writer);
    assert_string_equal(writer, want);
    dp_writer(node->dp, "tc.clsact", P1, writer);
    assert_string_equal(writer, "");
    dp_writer(node->dp, "dcb.pfc", P0, writer);
    assert_string_equal(writer, "");
    for (int look = 0; look < 2; look++) {
        OWN_STATE struct state seen;
        state_init(&seen);
        dp_writer(node->dp, "tc.clsact", P0, writer);
        assert_string_equal(writer, want);
        assert_ok(dp_observe(node->dp, plan, &seen, &err));
    }
    dp_writer(node->dp, "tc.clsact", P0, writer);
    assert_string_equal(writer, "");
}

static void a_file_that_was_written_is_an_event(void **state)
{
    struct node *node = need(state);
    const char *path = "/proc/sys/net/solar/flow_steering";
    root_file(node->root, path, "0\n", 0644);
    OWN(str)
    char *shown = observed_as(node->dp, "host.sysctl", "host", "net.solar.flow_steering", "\"2\"");
    assert_string_equal(shown, "\"0\"");
    while (changed_within(node->dp, 50))
        ;
    root_file(node->root, path, "1\n", 0644);
    assert_true(changed_within(node->dp, 2000));
    assert_false(changed_within(node->dp, 50));
}

static void lost_announcements_count_as_a_change(void **state)
{
    struct node *node = need(state);
    struct err err = ERR_INIT;
    int ifindex = ifindex_of(node->route, "vb"), size = 0;
    bool changed;
    int fd = linux_watch_route_fd(((struct dp_linux *)node->dp)->watch);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
    for (uint32_t mtu = 2000; mtu < 2100; mtu++)
        assert_ok(link_set_mtu(node->route, ifindex, mtu, &err));
    assert_ok(dp_drain(node->dp, &changed, &err));
    assert_true(changed);
    assert_ok(dp_drain(node->dp, &changed, &err));
    assert_false(changed);
}

/* A plan for one of them would make the node run a program of its maker's. */
static void settings_that_do_not_tune_are_refused(void **state)
{
    struct node *node = need(state);
    static const char *const others[] = {
        "kernel.core_pattern",
        "kernel.modprobe",
        "kernel.randomize_va_space",
        "fs.suid_dumpable",
        "net.ipv4/../../fs/nr_open",
        "net..core",
        "../../etc/x",
        "kernel",
        "",
        "net.core.",
    };
    root_file(node->root, "/proc/sys/kernel/core_pattern", "core\n", 0644);
    root_file(node->root, "/proc/sys/kernel/numa_balancing", "1\n", 0644);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct err err = ERR_INIT;
        assert_fails(check_step(node->dp, "host.sysctl", "host", others[i], "\"|/x\"", &err),
                     ERR_DENIED);
        assert_contains(err.text, "is not for plans");
    }
    struct err err = ERR_INIT;
    assert_fails(apply_step(node->dp, "host.sysctl", "host", others[0], "\"|/x\"", &err),
                 ERR_DENIED);
    OWN(str) char *shown = observed_as(node->dp, "host.sysctl", "host", others[0], "\"core\"");
    assert_string_equal(shown, "\"core\"");
    assert_ok(apply_step(node->dp, "host.sysctl", "host", "kernel.numa_balancing", "\"0\"", &err));
}

/* Host knobs, under the made-up root. */
static void host_knobs_are_set(void **state)
{
    struct node *node = need(state);
    struct err err = ERR_INIT;
    struct dp *dp = node->dp;
    const char *steering = "net.solar.flow_steering";
    root_file(node->root, "/proc/sys/net/solar/flow_steering", "0\n", 0644);
    root_file(node->root, "/proc/sys/net/solar/fixed", "0\n", 0444);
    root_file(node->root, "/sys/module/solar_rdma/parameters/max_sge", "32\n", 0444);
    assert_ok(apply_step(dp, "host.sysctl", "host", steering, "\"2\"", &err));
    OWN(str) char *shown = observed_as(dp, "host.sysctl", "host", steering, "\"2\"");
    assert_string_equal(shown, "\"2\"");
    assert_fails(check_step(dp, "host.sysctl", "host", "net.solar.none", "\"1\"", &err),
                 ERR_UNSUPPORTED);
    assert_contains(err.text, "net.solar.none");
    assert_fails(check_step(dp, "host.sysctl", "host", "net.solar.fixed", "\"1\"", &err),
                 ERR_UNSUPPORTED);
    const char *param = "solar_rdma.max_sge";
    assert_ok(apply_step(dp, "host.modparam", "host", param, "\"256\"", &err));
    OWN(str) char *next = observed_as(dp, "host.modparam", "host", param, "\"256\"");
    assert_string_equal(next, "\"256\"");
    assert_ok(apply_step(dp, "host.modparam", "host", param, NULL, &err));
    OWN(str) char *gone = observed_as(dp, "host.modparam", "host", param, "\"256\"");
    assert_string_equal(gone, "absent");
    assert_fails(check_step(dp, "host.modparam", "host", "solar_rdma.none", "\"1\"", &err),
                 ERR_UNSUPPORTED);
    assert_fails(check_step(dp, "host.modparam", "host", "none.x", "\"1\"", &err), ERR_UNSUPPORTED);
    assert_fails(check_step(dp, "host.modparam", "host", param, "\"1 install=x\"", &err),
                 ERR_INVALID);
    assert_fails(check_step(dp, "host.thp", "host", "", "\"never\"", &err), ERR_UNSUPPORTED);
    assert_fails(check_step(dp, "host.thp", "host", "", "\"maybe\"", &err), ERR_INVALID);
}

#define PAGE_LABEL                                                                                 \
    "{\"beta_micro\":null,\"dscp\":26,\"eta_micro\":50000,\"guarantee_bps\":40000000000,"          \
    "\"label\":7,\"limit_bps\":null,\"priority\":3,\"weight\":1}"
#define PAGE(labels) "{\"labels\":[" labels "],\"line_bps\":100000000000}"

static void assert_page(struct dp *dp, const char *want)
{
    OWN(str) char *shown = observed_as(dp, "solar.page", P1, "", PAGE(PAGE_LABEL));
    assert_string_equal(shown, want);
}

/* What the file holds is asserted by a reader of its own in the lab (knobs_port.sh). */
static void a_control_page_is_written_read_back_and_removed(void **state)
{
    struct node *node = need(state);
    struct err err = ERR_INIT;
    struct dp *dp = node->dp;
    char path[2 * TEST_PATH_MAX];
    struct stat st;
    snprintf(path, sizeof(path), "%s/run/stellar/solar/0000:3b:00.1-1.page", node->root);
    assert_page(dp, "absent");
    mode_t mask = umask(0077); /* as the service has it */
    assert_ok(apply_step(dp, "solar.page", P1, "", PAGE(PAGE_LABEL), &err));
    umask(mask);
    assert_page(dp, PAGE(PAGE_LABEL));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
    snprintf(path, sizeof(path), "%s/run/stellar/solar/jobs", node->root);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0755);
    assert_ok(apply_step(dp, "solar.page", P1, "", PAGE(""), &err));
    assert_page(dp, PAGE(""));
    /* A page of the name that the port had before is a deviation, and can be given back. */
    const char *before = "{\"interface\":\"old0\",\"labels\":[],\"line_bps\":100000000000}";
    assert_ok(apply_step(dp, "solar.page", P1, "", before, &err));
    assert_page(dp, before);
    /* One that is damaged is none, and is written anew. */
    root_file(node->root, "/run/stellar/solar/0000:3b:00.1-1.page", "nonsense", 0644);
    assert_page(dp, "absent");
    assert_ok(apply_step(dp, "solar.page", P1, "", PAGE(PAGE_LABEL), &err));
    assert_page(dp, PAGE(PAGE_LABEL));
    assert_ok(apply_step(dp, "solar.page", P1, "", NULL, &err));
    assert_page(dp, "absent");
    assert_ok(apply_step(dp, "solar.page", P1, "", NULL, &err));
}

static void a_control_page_that_makes_no_sense_is_refused(void **state)
{
    struct node *node = need(state);
    struct err err = ERR_INIT;
    static const char *const bad[] = {
        "{}",
        "{\"labels\":[],\"line_bps\":999999}",
        "{\"labels\":{},\"line_bps\":100000000000}",
        "{\"labels\":[],\"line_bps\":100000000000,\"rate\":1}",
        "{\"interface\":\"a-name-of-sixteen\",\"labels\":[],\"line_bps\":100000000000}",
        PAGE("{}"),
        PAGE(PAGE_LABEL "," PAGE_LABEL),
        PAGE("{\"beta_micro\":null,\"dscp\":64,\"eta_micro\":null,\"guarantee_bps\":null,"
             "\"label\":7,\"limit_bps\":null,\"priority\":3,\"weight\":1}"),
        PAGE("{\"beta_micro\":null,\"dscp\":6,\"eta_micro\":null,\"guarantee_bps\":2,"
             "\"label\":7,\"limit_bps\":1,\"priority\":3,\"weight\":1}"),
        PAGE("{\"beta_micro\":null,\"dscp\":6,\"eta_micro\":null,\"guarantee_bps\":0,"
             "\"label\":7,\"limit_bps\":null,\"priority\":3,\"weight\":1}"),
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (check_step(node->dp, "solar.page", P1, "", bad[i], &err) != ERR_INVALID)
            fail_msg("taken: %s", bad[i]);
    OWN(dp) struct dp *sim = NULL;
    assert_ok(dp_sim_new(&(struct dp_sim_config){.port_count = 1}, &sim, &err));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (check_step(sim, "solar.page", "sim.0/0", "", bad[i], &err) != ERR_INVALID)
            fail_msg("taken by the simulator: %s", bad[i]);
    assert_ok(apply_step(sim, "solar.page", "sim.0/0", "", PAGE(PAGE_LABEL), &err));
    OWN(str) char *shown = observed_as(sim, "solar.page", "sim.0/0", "", NULL);
    assert_string_equal(shown, PAGE(PAGE_LABEL));
    assert_ok(apply_step(sim, "solar.page", "sim.0/0", "", NULL, &err));
}

static void a_setting_that_does_not_take_is_noticed(void **state)
{
    struct node *node = need(state);
    struct err err = ERR_INIT;
    /* /dev/null swallows what is written, as a driver may */
    root_folder(node->root, "/proc/sys/net/solar");
    root_link(node->root, "/proc/sys/net/solar/flow_steering", "/dev/null");
    assert_fails(
        apply_step(node->dp, "host.sysctl", "host", "net.solar.flow_steering", "\"2\"", &err),
        ERR_IO);
    assert_contains(err.text, "kernel took \"2\" but shows \"\"");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ports_are_keyed_by_bus_address),
        TEST(what_a_card_says_of_itself_is_read_again_when_something_is_announced),
        TEST(a_link_is_its_carrier),
        TEST(two_interfaces_with_one_id_are_told),
        TEST(an_mtu_is_set_and_read_back),
        TEST(a_renamed_interface_is_the_same_port),
        TEST(dcb_is_unsupported_here),
        TEST(the_hook_comes_and_goes),
        TEST(an_ingress_qdisc_of_somebody_else_is_a_conflict),
        TEST(the_scheduler_is_made_changed_and_removed),
        TEST(odd_rates_are_told_as_wanted),
        TEST(another_root_qdisc_is_a_conflict),
        TEST(a_class_needs_its_parent),
        TEST(what_a_plan_dropped_is_found),
        TEST(others_changes_are_announced),
        TEST(a_change_has_its_writer_until_it_was_looked_at),
        TEST(a_file_that_was_written_is_an_event),
        TEST(lost_announcements_count_as_a_change),
        TEST(settings_that_do_not_tune_are_refused),
        TEST(host_knobs_are_set),
        TEST(a_control_page_is_written_read_back_and_removed),
        TEST(a_control_page_that_makes_no_sense_is_refused),
        TEST(a_setting_that_does_not_take_is_noticed),
    };
    have_namespace = unshare(CLONE_NEWNET) == 0;
    if (!have_namespace)
        skip_reason = strerror(errno);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
