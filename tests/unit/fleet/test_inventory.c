/*
 * tests/unit/fleet/test_inventory.c - the parts of an inventory that people and hardware rules look
 * at: what is kept, what is bounded, and that reports of older agents stay good.
 */
#include "fleet_test.h"

#include "fleet/compat.h"
#include "fleet/inventory.h"

static struct inventory *read_inventory(const char *text)
{
    struct err err = ERR_INIT;
    struct inventory *inventory = NULL;
    OWN(json) json_t *document = json_of(text);
    assert_ok(inventory_from_json(document, &inventory, NULL, &err));
    return inventory;
}

static void everything_of_a_port_is_kept(void **unused)
{
    (void)unused;
    OWN(inventory)
    struct inventory *inventory = read_inventory(
        "{'kernel':'6.1.0-57-amd64','ports':[{'id':'0000:1a:00.0/0','part_number':'MCX75310AAS',"
        "'serial':'MT7413J99248','mac':'94:6d:ae:00:00:01','pci_id':'15b3:1021','numa_node':1,"
        "'link':{'state':'up','lanes':4},'fec':{'active':'rs','configured':['auto','rs']},"
        "'ptp':{'index':0},'irq':{'vectors':64,'affinity':[{'cpus':'0-3','vectors':64}]},"
        "'sriov':{'total':16,'enabled':1,'functions':[{'index':0,'address':'0000:1a:00.2'}]},"
        "'neighbour':{'system':'leaf1','port':'Ethernet8'},"
        "'pcie':{'current_gen':5,'aer':true}}]}");
    const struct port *port = &inventory->ports[0];
    assert_string_equal(inventory->kernel, "6.1.0-57-amd64");
    assert_string_equal(port->part_number, "MCX75310AAS");
    assert_string_equal(port->serial, "MT7413J99248");
    assert_string_equal(port->mac, "94:6d:ae:00:00:01");
    assert_string_equal(port->pci_id, "15b3:1021");
    assert_string_equal(port->link_state, "up");
    assert_string_equal(port->fec, "rs");
    assert_string_equal(port->switch_name, "leaf1");
    assert_string_equal(port->switch_port, "Ethernet8");
    assert_int_equal(port->numa_node, 1);
    assert_int_equal(port->ptp_index, 0);
    assert_int_equal(port->irq_vectors, 64);
    assert_int_equal(port->sriov_total, 16);
    assert_int_equal(port->sriov_enabled, 1);
    assert_true(port->pcie.aer);
}

static void absent_parts_are_unknown(void **unused)
{
    (void)unused;
    OWN(inventory)
    struct inventory *inventory = read_inventory("{'ports':[{'id':'a/0'}],'gpus':[{'id':'g'}]}");
    const struct port *port = &inventory->ports[0];
    assert_string_equal(port->link_state, "");
    assert_string_equal(port->fec, "");
    assert_int_equal(port->numa_node, -1);
    assert_int_equal(port->ptp_index, -1);
    assert_int_equal(port->irq_vectors, -1);
    assert_int_equal(port->sriov_total, -1);
    assert_int_equal(port->sriov_enabled, -1);
    assert_int_equal(inventory->gpus[0].nvlink_bps, -1);
    assert_int_equal(inventory->gpus[0].nvlinks_active, -1);
    assert_int_equal(inventory->gpus[0].numa_node, -1);
    assert_int_equal(inventory->cpu.threads, -1);
    assert_int_equal(inventory->path_count, 0);
}

static void paths_are_kept_in_their_order(void **unused)
{
    (void)unused;
    OWN(inventory)
    struct inventory *inventory =
        read_inventory("{'ports':[],'paths':[{'nic':'b','gpu':'g','path':'sys'},"
                       "{'nic':'a','gpu':'g','path':'pix'}]}");
    assert_int_equal(inventory->path_count, 2);
    assert_string_equal(inventory->paths[1].nic, "a");
    assert_string_equal(path_kind_name((enum path_kind)inventory->paths[1].kind), "pix");
    assert_string_equal(path_kind_name((enum path_kind)inventory->paths[0].kind), "sys");
}

/* As the agent of the first version wrote it. */
static void reports_of_older_agents_stay_good(void **unused)
{
    (void)unused;
    OWN(inventory)
    struct inventory *inventory = read_inventory(
        "{'kernel':'6.1.0-57-amd64','node':'n1','ports':[{'id':'solar_rdma.0/0','ifname':'solar0',"
        "'driver':'solar_rdma','serial':'SOLAR0000','firmware':'2.1.8','firmware_stored':'2.1.8',"
        "'devlink':{'fixed':{'fw.psid':'N/A'},'running':{'fw':'2.1.8'},'stored':{}},'psid':'',"
        "'rdma_device':'rxe0','rdma_software':true,'speed_bps':100000000000,'mtu_bytes':4200,"
        "'caps':{'dcb_app':true,'tc':true},'pcie':{'current_gen':4,'current_width':16}}],"
        "'rdma_devices':[{'name':'rxe0','fw_version':'0.0.0','max_sge':32,'max_qp':1048560,"
        "'ports':[{'port':1,'gids':[{'index':0,'gid':'fe80::1','type':'rocev2'}]}],"
        "'netdev':'solar0'}],'problems':[{'subject':'x','problem':'y'}]}");
    assert_string_equal(inventory->ports[0].serial, "SOLAR0000");
}

static void wrong_parts_are_refused(void **unused)
{
    (void)unused;
    static const char *const parts[] = {
        "'numa_node':-1",
        "'numa_node':1024",
        "'numa_node':'0'",
        "'serial':7",
        "'mac':'\\n'",
        "'pci_id':'0123456789abcdef'",
        "'link':'up'",
        "'link':{'state':'UP'}",
        "'link':{'lanes':0}",
        "'link':{'lanes':65}",
        "'link':{'colour':1}",
        "'fec':{'active':'0123456789abcdef'}",
        "'fec':{'configured':[1]}",
        "'fec':{'configured':['a','a','a','a','a','a','a','a','a']}",
        "'ptp':{'index':-1}",
        "'irq':{'vectors':65536}",
        "'irq':{'affinity':[{'cpus':'0','vectors':0}]}",
        "'irq':{'affinity':{}}",
        "'sriov':{'enabled':-1}",
        "'sriov':{'functions':[7]}",
        "'representors':[{'ifname':'x','mtu':1}]",
        "'module':{'kind':[]}",
        "'neighbour':{'system':'\\u200b'}",
        "'pcie':{'aer':1}",
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        char text[256];
        OWN(inventory) struct inventory *inventory = NULL;
        snprintf(text, sizeof(text), "{'ports':[{'id':'a/0',%s}]}", parts[i]);
        OWN(json) json_t *document = json_of(text);
        if (inventory_from_json(document, &inventory, NULL, NULL) != ERR_INVALID)
            fail_msg("accepted: %s", parts[i]);
    }
    static const char *const wholes[] = {
        "{'ports':[],'numa':[{'cpus':'0'}]}",
        "{'ports':[],'numa':[{'node':0,'memory_bytes':0}]}",
        "{'ports':[],'paths':[{'nic':'a','gpu':'b'}]}",
        "{'ports':[],'paths':[{'nic':'a','gpu':'b','path':'far'}]}",
        "{'ports':[],'paths':[{'nic':'','gpu':'b','path':'pix'}]}",
        "{'ports':[],'kernel':7}",
        "{'ports':[],'gpus':[{'id':'g','nvlink_bps':-1}]}",
        "{'ports':[],'gpus':[{'id':'g','nvlinks':257}]}",
        "{'ports':[],'cpu':{'threads':0}}",
        "{'ports':[],'cpu':{'smt':1}}",
    };
    for (size_t i = 0; i < sizeof(wholes) / sizeof(wholes[0]); i++) {
        OWN(inventory) struct inventory *inventory = NULL;
        OWN(json) json_t *document = json_of(wholes[i]);
        if (inventory_from_json(document, &inventory, NULL, NULL) != ERR_INVALID)
            fail_msg("accepted: %s", wholes[i]);
    }
}

/* `count` copies of `item` as the member of a port, or of the whole when `of_port` is false. */
static enum err_code with_items(const char *list, const char *item, int count, bool of_port)
{
    OWN(inventory) struct inventory *inventory = NULL;
    OWN(json) json_t *document = json_of("{'ports':[{'id':'a/0'}]}");
    json_t *array = json_array(), *target = document;
    for (int i = 0; i < count; i++)
        json_array_append_new(array, json_of(item));
    if (of_port)
        target = json_array_get(json_object_get(document, "ports"), 0);
    const char *dot = strchr(list, '.');
    if (dot == NULL) {
        json_object_set_new(target, list, array);
    } else {
        char part[32];
        snprintf(part, sizeof(part), "%.*s", (int)(dot - list), list);
        json_object_set_new(target, part, json_pack("{s:o}", dot + 1, array));
    }
    return inventory_from_json(document, &inventory, NULL, NULL);
}

static void every_list_has_a_maximum(void **unused)
{
    (void)unused;
    static const struct {
        const char *list, *item;
        int max;
        bool of_port;
    } lists[] = {
        {"irq.affinity", "{'cpus':'0','vectors':1}", INVENTORY_AFFINITY_MAX, true},
        {"sriov.functions", "{'index':0}", INVENTORY_FUNCTIONS_MAX, true},
        {"representors", "{'ifname':'x'}", INVENTORY_FUNCTIONS_MAX, true},
        {"fec.configured", "'rs'", INVENTORY_FEC_MAX, true},
        {"numa", "{'node':0}", INVENTORY_NUMA_MAX, false},
        {"paths", "{'nic':'a','gpu':'b','path':'pix'}", INVENTORY_PATHS_MAX, false},
    };
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        assert_int_equal(with_items(lists[i].list, lists[i].item, lists[i].max, lists[i].of_port),
                         ERR_OK);
        if (with_items(lists[i].list, lists[i].item, lists[i].max + 1, lists[i].of_port) !=
            ERR_INVALID)
            fail_msg("%s has no maximum", lists[i].list);
    }
}

static const char *findings_of(const char *text)
{
    static char out[2048];
    struct err err = ERR_INIT;
    OWN(compat) struct compat *compat = NULL;
    OWN(inventory) struct inventory *inventory = read_inventory(text);
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    assert_ok(compat_builtin(&compat, &err));
    compat_check_node(compat, "n1", inventory, &findings);
    out[0] = '\0';
    for (size_t i = 0; i < findings.count; i++) {
        const struct finding *f = &findings.items[i];
        size_t used = strlen(out);
        snprintf(out + used, sizeof(out) - used, "%s %s %s; ", f->rule,
                 finding_severity_name(f->severity), f->observed);
    }
    return out;
}

static void a_virtual_function_of_unknown_width_raises_nothing(void **unused)
{
    (void)unused;
    assert_string_equal(findings_of("{'ports':[{'id':'0000:1a:00.2/0','driver':'mlx5_core',"
                                    "'rdma_device':'mlx5_8','virtual_function':true,"
                                    "'physical_function':'0000:1a:00.0'}]}"),
                        "");
}

static void nvlinks_that_are_all_down_are_no_unknown(void **unused)
{
    (void)unused;
#define A100 "'id':'g','model':'NVIDIA A100-SXM4-80GB','pcie':{'current_gen':4,'current_width':16}"
    assert_string_equal(findings_of("{'ports':[],'gpus':[{" A100
                                    ",'nvlinks':12,'nvlinks_active':0,'nvlink_bps':0}]}"),
                        "compat-gpu-nvlink warning 0bps; ");
    /* eight links of 25 GB/s, both ways: 400 GB/s */
    assert_string_equal(findings_of("{'ports':[],'gpus':[{" A100 ",'nvlink_bps':3200000000000}]}"),
                        "compat-gpu-nvlink warning 3200Gbps; ");
    assert_string_equal(findings_of("{'ports':[],'gpus':[{" A100 ",'nvlink_bps':4800000000000}]}"),
                        "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_of_a_port_is_kept),
        cmocka_unit_test(absent_parts_are_unknown),
        cmocka_unit_test(paths_are_kept_in_their_order),
        cmocka_unit_test(reports_of_older_agents_stay_good),
        cmocka_unit_test(wrong_parts_are_refused),
        cmocka_unit_test(every_list_has_a_maximum),
        cmocka_unit_test(a_virtual_function_of_unknown_width_raises_nothing),
        cmocka_unit_test(nvlinks_that_are_all_down_are_no_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
