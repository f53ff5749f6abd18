/*
 * tests/unit/fleet/test_nccl.c - the environment of NCCL: profile and inventory in, file out.
 */
#include "fleet_test.h"

#define PROFILE(nccl)                                                                              \
    "{'fabric_profile':{'priorities':[{'priority':0},{'priority':3,'dscps':[26]}],"                \
    "'roce':{'priority':3},'nccl':{" nccl "}}}"
#define PORT(n, more)                                                                              \
    "{'id':'0000:1a:00." #n "/0','ifname':'eth" #n "','rdma_device':'mlx5_" #n "'" more "}"
#define GID(index, gid, type) "{'index':" #index ",'gid':'" gid "','type':'" type "'}"
#define DEVICE(n, gids)       "{'name':'mlx5_" #n "','ports':[{'port':1,'gids':[" gids "]}]}"
#define MAPPED(index)         GID(index, "::ffff:10.9.0.1", "rocev2")
#define GIDS                                                                                       \
    GID(0, "fe80::1", "rocev1")                                                                    \
    "," GID(1, "fe80::1", "rocev2") "," GID(2, "::ffff:10.9.0.1", "rocev1") "," MAPPED(3)
#define TWO                                                                                        \
    "{'ports':[" PORT(0, "") "," PORT(1, "") "],'rdma_devices':[" DEVICE(0, GIDS) "," DEVICE(      \
        1, GIDS) "]}"

static struct plan *plan_of(struct fleet *fleet, const char *profile, const char *node)
{
    struct plan *plan = NULL;
    struct err err = ERR_INIT;
    fleet_init(fleet);
    fleet_fabric(fleet, profile);
    fleet_node(fleet, "n1", node);
    assert_ok(compile_plan(&fleet->view, &fleet->nodes[0], 1, &plan, &fleet->findings, &err));
    return plan;
}

static void assert_file(const struct plan *plan, const char *want)
{
    const struct plan_knob *knob =
        plan_knob_get(plan, knob_kind_get("host.file"), "host", "nccl.env");
    if (want == NULL) {
        assert_null(knob);
        return;
    }
    assert_non_null(knob);
    OWN(json) json_t *wanted = json_of(want);
    OWN(str) char *a = json_canonical(knob->want, NULL);
    OWN(str) char *b = json_canonical(wanted, NULL);
    assert_string_equal(a, b);
}

static bool says(const struct fleet *fleet, const char *text)
{
    for (size_t i = 0; i < fleet->findings.count; i++)
        if (strstr(fleet->findings.items[i].message, text) != NULL)
            return true;
    return false;
}

static void a_node_gets_its_devices_and_the_profiles_class(void **state)
{
    (void)state;
    struct fleet fleet;
    OWN(plan)
    struct plan *plan =
        plan_of(&fleet, PROFILE("'buffer_size':'32MB','socket_ifname':'=bond0'"), TWO);
    assert_file(plan, "{'NCCL_BUFFSIZE':'32000000','NCCL_IB_GID_INDEX':'3',"
                      "'NCCL_IB_HCA':'=mlx5_0:1,mlx5_1:1','NCCL_IB_TC':'106',"
                      "'NCCL_SOCKET_IFNAME':'=bond0'}");
    fleet_release(&fleet);
}

static void what_the_profile_gives_goes_before_what_is_found(void **state)
{
    (void)state;
    struct fleet fleet;
    OWN(plan)
    struct plan *plan = plan_of(
        &fleet,
        PROFILE("'gid_index':5,'traffic_class':0,'hca_list':['mlx5_1','mlx5_1:1','mlx5_9:1']"),
        TWO);
    assert_file(plan, "{'NCCL_IB_GID_INDEX':'5','NCCL_IB_HCA':'=mlx5_1,mlx5_1:1',"
                      "'NCCL_IB_TC':'0'}");
    assert_true(says(&fleet, "node n1: it has no RDMA device mlx5_9:1"));
    fleet_release(&fleet);
}

/* NCCL takes one index for all devices. */
static void indexes_that_differ_are_left_to_nccl(void **state)
{
    (void)state;
    struct fleet fleet;
    OWN(plan)
    struct plan *plan =
        plan_of(&fleet, PROFILE(""),
                "{'ports':[" PORT(0, "") "," PORT(1, "") "],'rdma_devices':[" DEVICE(
                    0, MAPPED(3)) "," DEVICE(1, MAPPED(5)) "]}");
    assert_file(plan, "{'NCCL_IB_ADDR_FAMILY':'AF_INET','NCCL_IB_HCA':'=mlx5_0:1,mlx5_1:1',"
                      "'NCCL_IB_ROCE_VERSION_NUM':'2','NCCL_IB_TC':'106'}");
    assert_true(says(&fleet, "index 3 on its first device and 5 on mlx5_1"));
    fleet_release(&fleet);
}

static void an_unknown_index_is_not_zero(void **state)
{
    (void)state;
    static const char *const nodes[] = {
        "{'ports':[" PORT(0, "") "]}",
        "{'ports':[" PORT(0, "") "],'rdma_devices':3}",
        "{'ports':[" PORT(0, "") "],'rdma_devices':[3,{'name':'mlx5_0','ports':[{'port':1,"
                                 "'gids':[" GID(0, "fe80::1", "rocev1") "]}]}]}",
        "{'ports':[" PORT(0, "") "],'rdma_devices':[{'name':'mlx5_0','ports':[{'port':1,"
                                 "'gids':[{'index':'3','type':'rocev2'},{'index':256,'type':"
                                 "'rocev2','gid':'::ffff:1.2.3.4'}]}]}]}",
    };
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        struct fleet fleet;
        OWN(plan) struct plan *plan = plan_of(&fleet, PROFILE(""), nodes[i]);
        assert_file(plan, "{'NCCL_IB_ADDR_FAMILY':'AF_INET','NCCL_IB_HCA':'=mlx5_0:1',"
                          "'NCCL_IB_ROCE_VERSION_NUM':'2','NCCL_IB_TC':'106'}");
        fleet_release(&fleet);
    }
}

static void the_better_address_is_taken(void **state)
{
    (void)state;
    static const struct {
        const char *gids;
        int index;
    } cases[] = {
        {GID(1, "fe80::1", "rocev2") "," GID(4, "fd00::1", "rocev2"), 4},
        {GID(4, "fd00::1", "rocev2") "," GID(7, "0000:0000:0000:0000:0000:ffff:0a09:0001",
                                             "rocev2"),
         7},
        {MAPPED(9) "," MAPPED(3), 3},
        {"{'index':2,'gid':'::ffff:1.2.3.4','type':'rocev2','netdev':'other'},"
         "{'index':6,'gid':'fe80::1','type':'rocev2','netdev':'eth0'}",
         6},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char node[1024];
        struct err err = ERR_INIT;
        OWN(inventory) struct inventory *inventory = NULL;
        snprintf(node, sizeof(node),
                 "{'ports':[" PORT(0, "") "],'rdma_devices':[{'name':'mlx5_0','ports':[{'port':2,"
                                          "'gids':[%s]}]}]}",
                 cases[i].gids);
        OWN(json) json_t *json = json_of(node);
        assert_ok(inventory_from_json(json, &inventory, NULL, &err));
        assert_int_equal(inventory->ports[0].gid_index, cases[i].index);
        assert_int_equal(inventory->ports[0].rdma_port, 2);
    }
}

static void software_counts_where_there_is_nothing_else(void **state)
{
    (void)state;
    struct fleet fleet;
    OWN(plan)
    struct plan *both = plan_of(&fleet, PROFILE("'gid_index':3"),
                                "{'ports':[" PORT(0, ",'rdma_software':true") "," PORT(1, "") "]}");
    assert_file(both, "{'NCCL_IB_GID_INDEX':'3','NCCL_IB_HCA':'=mlx5_1:1','NCCL_IB_TC':'106'}");
    fleet_release(&fleet);
    OWN(plan)
    struct plan *soft = plan_of(&fleet, PROFILE("'gid_index':3"),
                                "{'ports':[" PORT(0, ",'rdma_software':true") "]}");
    assert_file(soft, "{'NCCL_IB_GID_INDEX':'3','NCCL_IB_HCA':'=mlx5_0:1','NCCL_IB_TC':'106'}");
    fleet_release(&fleet);
}

static void a_node_without_rdma_gets_no_file(void **state)
{
    (void)state;
    struct fleet fleet;
    OWN(plan) struct plan *plan = plan_of(&fleet, PROFILE(""), "{'ports':[{'id':'x/0'}]}");
    assert_file(plan, NULL);
    assert_true(says(&fleet, "node n1: no RDMA device of it is known"));
    fleet_release(&fleet);
    OWN(plan)
    struct plan *unasked =
        plan_of(&fleet, "{'fabric_profile':{'priorities':[{'priority':0}]}}", TWO);
    assert_file(unasked, NULL);
    fleet_release(&fleet);
}

/* 100 devices of 25 bytes do not fit into one variable of 2047. */
static void too_many_devices_are_cut_between_two_and_named(void **state)
{
    (void)state;
    static char node[32768];
    size_t used = (size_t)snprintf(node, sizeof(node), "{'ports':[");
    for (int i = 0; i < 100; i++)
        used +=
            (size_t)snprintf(node + used, sizeof(node) - used,
                             "%s{'id':'0000:%02x:00.0/0','rdma_device':'a_rather_long_name_%03d'}",
                             i == 0 ? "" : ",", i, i);
    snprintf(node + used, sizeof(node) - used, "]}");
    struct fleet fleet;
    OWN(plan) struct plan *plan = plan_of(&fleet, PROFILE("'gid_index':3"), node);
    const struct plan_knob *knob =
        plan_knob_get(plan, knob_kind_get("host.file"), "host", "nccl.env");
    assert_non_null(knob);
    const char *list = json_string_value(json_object_get(knob->want, "NCCL_IB_HCA"));
    assert_true(strlen(list) <= 2047);
    assert_string_equal(list + strlen(list) - 2, ":1");
    assert_true(says(&fleet, "do not fit into one variable"));
    fleet_release(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_gets_its_devices_and_the_profiles_class),
        cmocka_unit_test(what_the_profile_gives_goes_before_what_is_found),
        cmocka_unit_test(indexes_that_differ_are_left_to_nccl),
        cmocka_unit_test(an_unknown_index_is_not_zero),
        cmocka_unit_test(the_better_address_is_taken),
        cmocka_unit_test(software_counts_where_there_is_nothing_else),
        cmocka_unit_test(a_node_without_rdma_gets_no_file),
        cmocka_unit_test(too_many_devices_are_cut_between_two_and_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
