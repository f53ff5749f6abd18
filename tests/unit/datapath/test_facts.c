/*
 * tests/unit/datapath/test_facts.c - what sysfs, procfs and the cards' own data say, over made-up
 * hosts with the values of real ones.
 */
#include "tests/unit/datapath/host_test.h"

#include "base/own.h"
#include "datapath/facts.h"
#include "datapath/sys/cpu.h"
#include "datapath/sys/device.h"
#include "datapath/sys/gpu.h"
#include "datapath/sys/host.h"
#include "datapath/sys/irq.h"
#include "datapath/sys/rdma_class.h"
#include "datapath/sys/topology.h"
#include "datapath/sys/vpd.h"
#include "fleet/inventory.h"

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

static void assert_json(const json_t *value, const char *wanted)
{
    OWN(str) char *text = json_dumps(value, JSON_SORT_KEYS | JSON_COMPACT | JSON_ENCODE_ANY);
    assert_string_equal(text == NULL ? "nothing" : text, wanted);
}

/* Placeholders -------------------------------------------------------------------------------- */

static void placeholders_are_unknown(void **state)
{
    (void)state;
    static const char *const placeholders[] = {"",
                                               " ",
                                               "N/A",
                                               "n/a",
                                               "None",
                                               "Unknown",
                                               "Default string",
                                               "To Be Filled By O.E.M.",
                                               "0",
                                               "0.0.0",
                                               "255.255.65535",
                                               "0000:0000:0000:0000",
                                               "00:00:00:00:00:00",
                                               "ff:ff:ff:ff:ff:ff",
                                               "FFFFFFFF",
                                               "00-01-00-ff-ff-00-00-00"};
    for (size_t i = 0; i < sizeof(placeholders) / sizeof(placeholders[0]); i++)
        if (!fact_is_placeholder(placeholders[i]))
            fail_msg("'%s' is a placeholder", placeholders[i]);
    static const char *const values[] = {"2.1.8",        "00-01-ab-ff-ff-c7-41-93",
                                         "MT2116X09299", "1",
                                         "0.0.1",        "0x80008e6a",
                                         "ff",           "F0F",
                                         "none-01",      "428d:5cff:fe86:00a1"};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        if (fact_is_placeholder(values[i]))
            fail_msg("'%s' is no placeholder", values[i]);
}

static void texts_of_devices_are_made_harmless(void **state)
{
    (void)state;
    OWN(json) json_t *object = json_object();
    char longest[300];
    fact_text(object, "a", "  NX-4 \n");
    fact_text(object, "b", "x\x1b[31my\xff");
    fact_text(object, "c", NULL);
    fact_text(object, "d", " N/A ");
    fact_int(object, "e", -1, 0);
    fact_int(object, "f", 0, 0);
    assert_json(object, "{\"a\":\"NX-4\",\"b\":\"x?[31my?\",\"f\":0}");
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    fact_text(object, "g", longest);
    assert_int_equal(json_string_length(json_object_get(object, "g")), INVENTORY_TEXT_MAX - 1);
}

/* Vital product data -------------------------------------------------------------------------- */

/* As lspci shows a ConnectX-7's: product name, then PN, EC, SN. */
static const char vpd_bytes[] = "\x82\x0a\x00"
                                "ConnectX-7"
                                "\x90\x2a\x00"
                                "PN\x10MCX75310AAS-NEAT"
                                "EC\x02"
                                "AA"
                                "SN\x0dMT7413J99248\0"
                                "RV\x00"
                                "\x78";

static void a_cards_own_data_tell_name_part_and_serial(void **state)
{
    (void)state;
    struct vpd vpd;
    vpd_decode(vpd_bytes, sizeof(vpd_bytes) - 1, &vpd);
    assert_string_equal(vpd.product, "ConnectX-7");
    assert_string_equal(vpd.part, "MCX75310AAS-NEAT");
    assert_string_equal(vpd.serial, "MT7413J99248");
}

static void broken_card_data_are_survived(void **state)
{
    (void)state;
    struct vpd vpd;
    for (size_t len = 0; len < sizeof(vpd_bytes); len++) {
        char *copy = malloc(len + 1);
        memcpy(copy, vpd_bytes, len);
        vpd_decode(copy, len, &vpd);
        free(copy);
    }
    for (size_t at = 0; at < sizeof(vpd_bytes) - 1; at++) {
        char *copy = malloc(sizeof(vpd_bytes) - 1);
        memcpy(copy, vpd_bytes, sizeof(vpd_bytes) - 1);
        copy[at] = (char)0xff;
        vpd_decode(copy, sizeof(vpd_bytes) - 1, &vpd);
        free(copy);
    }
    vpd_decode("\xff\xff\xff\xff", 4, &vpd); /* what a card that has gone reads as */
    assert_string_equal(vpd.serial, "");
}

/* Interrupts ---------------------------------------------------------------------------------- */

static void vectors_are_grouped_by_their_processors(void **state)
{
    (void)state;
    static const struct {
        const char *irq, *may, *effective;
    } vectors[] = {
        {"98", "0-15", "15"}, {"106", "0-15", "2"}, {"114", "0-15", "15"}, {"122", "2", NULL}};
    char path[128];
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof(path), "/sys/d/msi_irqs/%s", vectors[i].irq);
        root_file(root, path, "msix\n", 0444);
        snprintf(path, sizeof(path), "/proc/irq/%s/smp_affinity_list", vectors[i].irq);
        root_file(root, path, vectors[i].may, 0444);
        snprintf(path, sizeof(path), "/proc/irq/%s/effective_affinity_list", vectors[i].irq);
        if (vectors[i].effective != NULL)
            root_file(root, path, vectors[i].effective, 0444);
    }
    root_file(root, "/sys/d/msi_irqs/130", "msix\n", 0444); /* no affinity can be read */
    OWN(json) json_t *irq = irq_facts(root, "/sys/d");
    assert_json(irq, "{\"affinity\":[{\"cpus\":\"2\",\"vectors\":2},{\"cpus\":\"15\",\"vectors\":2}"
                     "],\"vectors\":5}");
    assert_null(irq_facts(root, "/sys/none"));
}

static void more_sets_of_processors_than_fit_are_cut(void **state)
{
    (void)state;
    for (int i = 0; i <= IRQ_GROUPS_MAX; i++) {
        char path[128], cpu[16];
        snprintf(path, sizeof(path), "/sys/d/msi_irqs/%d", i);
        root_file(root, path, "msix\n", 0444);
        snprintf(path, sizeof(path), "/proc/irq/%d/smp_affinity_list", i);
        snprintf(cpu, sizeof(cpu), "%d\n", i);
        root_file(root, path, cpu, 0444);
    }
    OWN(json) json_t *irq = irq_facts(root, "/sys/d");
    assert_int_equal(json_array_size(json_object_get(irq, "affinity")), IRQ_GROUPS_MAX);
    assert_true(json_is_true(json_object_get(irq, "truncated")));
    assert_int_equal(json_integer_value(json_object_get(irq, "vectors")), IRQ_GROUPS_MAX + 1);
}

/* CPU and host -------------------------------------------------------------------------------- */

static void an_iommu_is_known_by_its_name(void **state)
{
    (void)state;
    assert_string_equal(cpu_iommu_kind("dmar0"), "intel-vtd");
    assert_string_equal(cpu_iommu_kind("ivhd3"), "amd-vi");
    assert_string_equal(cpu_iommu_kind("smmu3.0x0000000005000000"), "smmuv3");
    assert_string_equal(cpu_iommu_kind("smmu.0x0000000005000000"), "smmuv2");
    assert_null(cpu_iommu_kind("virtio0"));
}

static void no_iommu_and_no_knowledge_of_one_differ(void **state)
{
    (void)state;
    OWN(json) json_t *unknown = cpu_facts(root);
    assert_null(json_object_get(unknown, "iommu"));
    root_folder(root, "/sys/class/iommu");
    OWN(json) json_t *none = cpu_facts(root);
    assert_json(json_object_get(none, "iommu"), "\"none\"");
    root_folder(root, "/sys/class/iommu/virtio0");
    OWN(json) json_t *other = cpu_facts(root);
    assert_null(json_object_get(other, "iommu"));
    root_folder(root, "/sys/class/iommu/smmu3.0x0000000005000000");
    OWN(json) json_t *smmu = cpu_facts(root);
    assert_json(json_object_get(smmu, "iommu"), "\"smmuv3\"");
}

static void processors_have_names_on_intel_and_on_arm(void **state)
{
    (void)state;
    root_file(root, "/proc/cpuinfo",
              "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel\t\t: 143\n"
              "model name\t: Intel(R) Xeon(R) Platinum 8480C\nmicrocode\t: 0x2b0004b1\n\n"
              "processor\t: 1\nmodel name\t: other\n",
              0444);
    OWN(json) json_t *intel = cpu_facts(root);
    json_object_del(intel, "architecture");
    assert_json(intel, "{\"firmware\":\"0x2b0004b1\",\"model\":\"Intel(R) Xeon(R) Platinum 8480C\","
                       "\"vendor\":\"GenuineIntel\"}");
    root_file(root, "/proc/cpuinfo",
              "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd4f\n",
              0444);
    OWN(json) json_t *grace = cpu_facts(root);
    assert_json(json_object_get(grace, "model"), "\"Neoverse-V2\"");
    root_file(root, "/proc/cpuinfo", "CPU implementer\t: 0x99\nCPU part\t: 0x001\n", 0444);
    OWN(json) json_t *other = cpu_facts(root);
    assert_json(json_object_get(other, "model"), "\"implementer 0x99 part 0x001\"");
}

static void a_hosts_settings_are_told(void **state)
{
    (void)state;
    static const char *const drivers[] = {"mlx5_core", "", "../x", "not_loaded", NULL};
    root_file(root, "/etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n",
              0444);
    root_file(root, "/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n",
              0444);
    root_file(root, "/proc/sys/kernel/numa_balancing", "0\n", 0644);
    root_file(root, "/sys/module/mlx5_core/version", "24.10-0.7.0\n", 0444);
    root_file(root, "/sys/module/mlx5_core/parameters/prof_sel", "2\n", 0444);
    root_file(root, "/sys/class/dmi/id/product_name", "DGX A100\n", 0444);
    root_file(root, "/sys/class/dmi/id/sys_vendor", "To Be Filled By O.E.M.\n", 0444);
    root_file(root, "/proc/meminfo",
              "MemTotal:       2113466372 kB\nHugePages_Total:      16\n"
              "Hugepagesize:       2048 kB\n",
              0444);
    OWN(json) json_t *host = host_facts(root, drivers);
    assert_json(json_object_get(host, "os"), "\"Debian GNU/Linux 12\"");
    assert_json(json_object_get(host, "thp"), "{\"enabled\":\"never\"}");
    assert_json(json_object_get(host, "sysctl"), "{\"kernel.numa_balancing\":\"0\"}");
    assert_json(
        json_object_get(host, "modules"),
        "{\"mlx5_core\":{\"parameters\":{\"prof_sel\":\"2\"},\"version\":\"24.10-0.7.0\"}}");
    assert_json(json_object_get(host, "host"), "{\"product\":\"DGX A100\"}");
    assert_json(json_object_get(host, "memory"),
                "{\"huge_page_bytes\":2097152,\"huge_pages\":16,\"total_bytes\":2164189564928}");
}

/* RDMA devices -------------------------------------------------------------------------------- */

/* As a BlueField-3 in a bond was recorded (leptonai/gpud, sys-class-infiniband-h100.0). */
static void an_rdma_device_is_read_from_its_folder(void **state)
{
    (void)state;
    static const char *const files[][2] = {{"board_id", "MT_0000000884"},
                                           {"fw_ver", "32.38.3056"},
                                           {"hca_type", "MT41692"},
                                           {"node_guid", "e8eb:d303:0072:6f4c"},
                                           {"ports/1/link_layer", "Ethernet"},
                                           {"ports/1/phys_state", "5: LinkUp"},
                                           {"ports/1/rate", "200 Gb/sec (2X NDR)"},
                                           {"ports/1/state", "4: ACTIVE"}};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char path[128];
        snprintf(path, sizeof(path), "/sys/class/infiniband/mlx5_bond_0/%s", files[i][0]);
        root_file(root, path, files[i][1], 0444);
    }
    root_link(root, "/sys/class/infiniband/mlx5_bond_0/device", "../../../0000:3b:00.0");
    OWN(json) json_t *device = rdma_class_facts(root, "mlx5_bond_0");
    assert_json(device,
                "{\"board_id\":\"MT_0000000884\",\"device\":\"0000:3b:00.0\",\"fw_version\":"
                "\"32.38.3056\",\"model\":\"MT41692\",\"name\":\"mlx5_bond_0\",\"node_guid\":"
                "\"e8eb:d303:0072:6f4c\",\"ports\":[{\"link_layer\":\"ethernet\",\"phys_state\":"
                "\"linkup\",\"port\":1,\"rate_bps\":200000000000,\"state\":\"active\"}],"
                "\"software\":false}");
}

static void a_software_device_and_a_port_that_is_down_claim_nothing(void **state)
{
    (void)state;
    root_file(root, "/sys/class/infiniband/rxe0/fw_ver", "0.0.0", 0444);
    root_file(root, "/sys/class/infiniband/rxe0/parent", "eth0", 0444);
    root_file(root, "/sys/class/infiniband/rxe0/sys_image_guid", "0000:0000:0000:0000", 0444);
    root_file(root, "/sys/class/infiniband/rxe0/ports/1/state", "1: DOWN", 0444);
    root_file(root, "/sys/class/infiniband/rxe0/ports/1/phys_state", "2: Polling", 0444);
    root_file(root, "/sys/class/infiniband/rxe0/ports/1/rate", "40 Gb/sec (4X QDR)", 0444);
    OWN(json) json_t *device = rdma_class_facts(root, "rxe0");
    assert_json(device, "{\"name\":\"rxe0\",\"ports\":[{\"phys_state\":\"polling\",\"port\":1,"
                        "\"state\":\"down\"}],\"software\":true}");
}

static void odd_rates_and_states_are_unknown(void **state)
{
    (void)state;
    char text[32];
    assert_int_equal(rdma_class_rate("2.5 Gb/sec (1X SDR)"), INT64_C(2500000000));
    assert_int_equal(rdma_class_rate("400 Gb/sec (4X NDR)"), INT64_C(400000000000));
    static const char *const wrong[] = {
        "", "fast", "400", "400 Mb/sec", "-1 Gb/sec", "0 Gb/sec", "99999999999999999999 Gb/sec"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(rdma_class_rate(wrong[i]), -1);
    assert_true(rdma_class_state("4: ACTIVE", text, sizeof(text)));
    assert_string_equal(text, "active");
    assert_false(rdma_class_state("ACTIVE", text, sizeof(text)));
    assert_false(rdma_class_state("4: <script>", text, sizeof(text)));
    assert_false(rdma_class_state("4: ", text, sizeof(text)));
    assert_false(rdma_class_state("4: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", text, 32));
}

/* Devices ------------------------------------------------------------------------------------- */

static void a_function_tells_link_card_and_children(void **state)
{
    (void)state;
    host_function(root, "/sys/devices/p", "0000:3b:00.0", "0x020000\n", "0x15b3\n", "0x101d\n", 1);
    host_pcie(root, "/sys/devices/p/0000:3b:00.0", "16.0 GT/s PCIe\n", "32.0 GT/s PCIe\n", "8\n");
    host_attr(root, "/sys/devices/p/0000:3b:00.0", "sriov_totalvfs", "8\n");
    host_attr(root, "/sys/devices/p/0000:3b:00.0", "sriov_numvfs", "2\n");
    root_folder(root, "/sys/devices/p/0000:3b:00.2");
    root_folder(root, "/sys/devices/p/0000:3b:00.3");
    root_link(root, "/sys/devices/p/0000:3b:00.0/virtfn0", "../0000:3b:00.2");
    root_link(root, "/sys/devices/p/0000:3b:00.0/virtfn1", "../0000:3b:00.3");
    root_link(root, "/sys/devices/p/0000:3b:00.3/driver", "../../../bus/pci/drivers/vfio-pci");
    OWN(json) json_t *facts = device_facts(root, "/sys/bus/pci/devices/0000:3b:00.0");
    assert_json(facts,
                "{\"numa_node\":1,\"pci_id\":\"15b3:101d\",\"pcie\":{\"aer\":true,\"current_gen\":4"
                ",\"current_width\":8,\"max_gen\":5,\"max_width\":16},\"sriov\":{\"enabled\":2,"
                "\"functions\":[{\"address\":\"0000:3b:00.2\",\"index\":0},{\"address\":"
                "\"0000:3b:00.3\",\"driver\":\"vfio-pci\",\"index\":1}],\"total\":8}}");
}

static void a_virtual_function_has_no_link_of_its_own(void **state)
{
    (void)state;
    host_function(root, "/sys/devices/p", "0000:3b:00.2", "0x020000\n", "0x15b3\n", "0x101e\n", -1);
    host_pcie(root, "/sys/devices/p/0000:3b:00.2", "Unknown\n", "Unknown\n", "0\n");
    root_folder(root, "/sys/devices/p/0000:3b:00.0");
    root_link(root, "/sys/devices/p/0000:3b:00.2/physfn", "../0000:3b:00.0");
    OWN(json) json_t *facts = device_facts(root, "/sys/bus/pci/devices/0000:3b:00.2");
    assert_json(facts, "{\"pci_id\":\"15b3:101e\",\"physical_function\":\"0000:3b:00.0\","
                       "\"virtual_function\":true}");
}

static void an_interface_tells_address_and_link(void **state)
{
    (void)state;
    root_file(root, "/sys/class/net/x/address", "94:6d:ae:00:00:01\n", 0444);
    root_file(root, "/sys/class/net/x/operstate", "up\n", 0444);
    root_file(root, "/sys/class/net/x/duplex", "full\n", 0444);
    OWN(json) json_t *facts = netdev_facts(root, "/sys/class/net/x");
    assert_json(facts, "{\"link\":{\"duplex\":\"full\",\"state\":\"up\"},"
                       "\"mac\":\"94:6d:ae:00:00:01\"}");
    root_file(root, "/sys/class/net/y/address", "00:00:00:00:00:00\n", 0444);
    root_file(root, "/sys/class/net/y/operstate", "unknown\n", 0444);
    OWN(json) json_t *other = netdev_facts(root, "/sys/class/net/y");
    assert_json(other, "{}");
}

/* A whole host -------------------------------------------------------------------------------- */

static json_t *topology_of_host(void)
{
    static struct topology_request request;
    struct err err = ERR_INIT;
    json_t *facts = NULL;
    memset(&request, 0, sizeof(request));
    topology_prepare(root);
    for (int i = 0; i < HOST_NICS; i++) {
        host_nic_address(i, request.nics[i]);
        host_gpu_address(i, request.gpus[i]);
    }
    strcpy(request.nics[HOST_NICS], "solar_rdma.0"); /* no PCI device: it has no place */
    request.nic_count = HOST_NICS + 1;
    request.gpu_count = HOST_NICS;
    assert_ok(topology_read(&request, &facts, &err));
    return facts;
}

static const char *path_between(const json_t *facts, int nic, int gpu)
{
    char from[32], to[32];
    size_t i;
    json_t *path;
    host_nic_address(nic, from);
    host_gpu_address(gpu, to);
    json_array_foreach(json_object_get(facts, "paths"), i, path)
    {
        if (strcmp(json_string_value(json_object_get(path, "nic")), from) == 0 &&
            strcmp(json_string_value(json_object_get(path, "gpu")), to) == 0)
            return json_string_value(json_object_get(path, "path"));
    }
    return "nothing";
}

static void each_gpu_is_near_the_nic_of_its_switch(void **state)
{
    (void)state;
    host_build(root, "0x15b3\n", "0x1021\n");
    OWN(json) json_t *facts = topology_of_host();
    assert_json(json_object_get(facts, "sockets"), "2");
    assert_json(json_object_get(facts, "cores"), "4");
    assert_json(json_object_get(facts, "threads"), "4");
    assert_json(json_object_get(facts, "numa"),
                "[{\"cpus\":\"0-1\",\"memory_bytes\":1073741824,\"node\":0},"
                "{\"cpus\":\"2-3\",\"memory_bytes\":1073741824,\"node\":1}]");
    assert_int_equal(json_array_size(json_object_get(facts, "paths")), HOST_NICS * HOST_NICS);
    for (int nic = 0; nic < HOST_NICS; nic++)
        for (int gpu = 0; gpu < HOST_NICS; gpu++)
            assert_string_equal(path_between(facts, nic, gpu), nic == gpu           ? "pix"
                                                               : nic / 4 == gpu / 4 ? "node"
                                                                                    : "sys");
}

static void accelerators_are_found_on_the_bus(void **state)
{
    (void)state;
    host_build(root, "0x8086\n", "0x1592\n"); /* E810 */
    host_function(root, "/sys/devices/v", "0000:f0:00.0", "0x030000\n", "0x10de\n", "0x1eb8\n", 0);
    host_function(root, "/sys/devices/v", "0000:f1:00.0", "0x120000\n", "0x1002\n", "0x74a1\n", 0);
    OWN(json) json_t *gpus = gpu_pci_list(root);
    assert_int_equal(json_array_size(gpus), HOST_NICS + 1); /* a display adapter is none */
    assert_json(json_array_get(gpus, 0),
                "{\"id\":\"0000:1a:00.0\",\"numa_node\":0,\"pci_id\":\"10de:20b2\",\"pcie\":{"
                "\"aer\":true,\"current_gen\":4,\"current_width\":16,\"max_gen\":4,"
                "\"max_width\":16},\"vendor\":\"NVIDIA\"}");
    assert_json(json_object_get(json_array_get(gpus, HOST_NICS), "vendor"), "\"AMD\"");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(placeholders_are_unknown),
        TEST(texts_of_devices_are_made_harmless),
        TEST(a_cards_own_data_tell_name_part_and_serial),
        TEST(broken_card_data_are_survived),
        TEST(vectors_are_grouped_by_their_processors),
        TEST(more_sets_of_processors_than_fit_are_cut),
        TEST(an_iommu_is_known_by_its_name),
        TEST(no_iommu_and_no_knowledge_of_one_differ),
        TEST(processors_have_names_on_intel_and_on_arm),
        TEST(a_hosts_settings_are_told),
        TEST(an_rdma_device_is_read_from_its_folder),
        TEST(a_software_device_and_a_port_that_is_down_claim_nothing),
        TEST(odd_rates_and_states_are_unknown),
        TEST(a_function_tells_link_card_and_children),
        TEST(a_virtual_function_has_no_link_of_its_own),
        TEST(an_interface_tells_address_and_link),
        TEST(each_gpu_is_near_the_nic_of_its_switch),
        TEST(accelerators_are_found_on_the_bus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
