/*
 * tests/unit/fleet/test_evidence_gpu.c - what nvidia-smi prints, in each of its forms.
 */
#include "evidence_test.h"

#define A10   "gpu 0000:07:00.0"
#define H100  "gpu 0000:19:00.0"
#define CUT   "gpu 0000:53:00.0"
#define TITAN "gpu 0000:01:00.0"

static const struct expected_file files[] = {
    {"nvidia-smi/nvidia_smi_q_a10_remap_pending.txt",
     "nvidia-smi",
     {{"host", "driver_version", "535.129.03", 0},
      {"host", "attached_gpus", "1", 0},
      {A10, "product_name", "NVIDIA A10", 0},
      {A10, "remapped_rows.correctable_error", "0", 0},
      {A10, "remapped_rows.uncorrectable_error", "4", 0},
      {A10, "remapped_rows.pending", "Yes", 0},
      {A10, "remapped_rows.remapping_failure_occurred", "No", 0},
      {A10, "ecc_mode.pending", "Enabled", 0},
      {A10, "ecc_errors.volatile.sram_uncorrectable", "0", 0},
      {A10, "ecc_errors.volatile.dram_uncorrectable", "0", 0},
      {A10, "pci.gpu_link_info.link_width.current", "16", 0},
      {A10, "gpu_power_readings.power_draw", "43.89", 0},
      {A10, "fb_memory_usage.total", "23028", 0},
      {A10, "temperature.gpu_current_temp", "33", 0},
      {A10, "retired_pages.pending_page_blacklist", "?", 0}},
     {{"gpu-remap-pending", A10, 1}}},
    {"nvidia-smi/nvidia_smi_q_h100_2gpu_clean.txt",
     "nvidia-smi",
     {{"host", "attached_gpus", "8", 0},
      {H100, "ecc_errors.volatile.sram_uncorrectable_parity", "0", 0},
      {H100, "ecc_errors.volatile.sram_uncorrectable_sec_ded", "0", 0},
      {H100, "ecc_errors.aggregate.sram_threshold_exceeded", "No", 0},
      {H100, "remapped_rows.correctable_error", "0", 0},
      {H100, "remapped_rows.uncorrectable_error", "0", 0},
      {H100, "remapped_rows.pending", "No", 0},
      {H100, "remapped_rows.remapping_failure_occurred", "No", 0},
      {H100, "clocks_event_reasons.hw_power_brake_slowdown", "Active", 0},
      {H100, "temperature.gpu_shutdown_t.limit_temp", "-8", 0},
      {"gpu 0000:3b:00.0", "remapped_rows.pending", "No", 0}},
     {{"gpu-slowdown", H100, 2},
      {"gpu-slowdown", "gpu 0000:3b:00.0", 2},
      {"gpu-collection-partial", "host", 1}}},
    {"nvidia-smi/nvidia_smi_q_h100_truncated_error.txt",
     "nvidia-smi",
     {{"host", "attached_gpus", "8", 0},
      {CUT, "pci.replays_since_reset", "120", 0},
      {CUT, "clocks_event_reasons.hw_slowdown", NULL, 0},
      {CUT, "clocks_event_reasons.invalid_hw_slowdown", "Not Active", 0},
      {CUT, "ecc_errors.volatile.sram_uncorrectable", NULL, 0},
      {CUT, "remapped_rows.pending", NULL, 0}},
     {{"gpu-health-unknown", CUT, 1}, {"gpu-collection-partial", "host", 1}}},
    {"nvidia-smi/nvidia_smi_q_titanv_na.txt",
     "nvidia-smi",
     {{TITAN, "remapped_rows", "?", 0},
      {TITAN, "ecc_mode.current", "?", 0},
      {TITAN, "ecc_errors.volatile.double_bit.total", "?", 0},
      {TITAN, "pci.gpu_link_info.pcie_generation.current", "1", 0},
      {TITAN, "pci.gpu_link_info.pcie_generation.max", "3", 0}},
     {{NULL, NULL, 0}}},
    {"nvidia-smi-topo/topo_m_a800_nv8_9nics.txt",
     "nvidia-smi-topo",
     {{"gpu 0", "nvlink_links", "8", 0},
      {"gpu 0", "nvlink_bandwidth", "400", 0},
      {"gpu 0", "cpu_affinity", "0-47,96-143", 0},
      {"gpu 0", "numa_affinity", "0", 0},
      {"gpu 4", "numa_affinity", "1", 0},
      {"gpu 0 peer GPU1", "path", "NV8", 0},
      {"gpu 0 peer NIC2", "path", "PIX", 0},
      {"gpu 1 peer NIC4", "path", "PIX", 0},
      {"gpu 2 peer NIC6", "path", "PIX", 0},
      {"gpu 3 peer NIC8", "path", "PIX", 0},
      {"gpu 4 peer NIC1", "path", "PIX", 0},
      {"gpu 5 peer NIC3", "path", "PIX", 0},
      {"gpu 5 peer NIC8", "path", "SYS", 0}},
     {{"gpu-nvlink-narrow", "gpu 0", 1},
      {"gpu-nvlink-narrow", "gpu 1", 1},
      {"gpu-nvlink-narrow", "gpu 2", 1},
      {"gpu-nvlink-narrow", "gpu 3", 1},
      {"gpu-nvlink-narrow", "gpu 4", 1},
      {"gpu-nvlink-narrow", "gpu 5", 1}}},
    {"nvidia-smi-topo/topo_m_h100_single.txt",
     "nvidia-smi-topo",
     {{"gpu 0", "cpu_affinity", "0-19", 0},
      {"gpu 0", "numa_affinity", "0", 0},
      {"gpu 0", "gpu_numa_id", "?", 0}},
     {{NULL, NULL, 0}}},
    {"nvidia-smi-topo/topo_m_h200_single.txt",
     "nvidia-smi-topo",
     {{"gpu 0", "cpu_affinity", "0-23", 0}, {"gpu 0", "gpu_numa_id", "?", 0}},
     {{NULL, NULL, 0}}},
    {"nvidia-smi-topo/topo_mp_h20_14nics.txt",
     "nvidia-smi-topo",
     {{"gpu 0", "nvlink_links", "?", 0},
      {"gpu 0", "cpu_affinity", "0-47,96-143", 0},
      {"gpu 0 peer NIC0", "path", "PIX", 0},
      {"gpu 1 peer NIC1", "path", "PIX", 0},
      {"gpu 2 peer NIC2", "path", "PIX", 0},
      {"gpu 3 peer NIC7", "path", "PIX", 0},
      {"gpu 3 peer NIC13", "path", "SYS", 0},
      {"gpu 0 peer GPU1", "path", "NODE", 0}},
     {{NULL, NULL, 0}}},
};

static void each_file_says_what_it_says(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        check_file(&files[i]);
}

/* One GPU's block with one row under a title (NULL = none). */
static const struct {
    const char *title, *row, *rule; /* rule NULL = clean */
} rows[] = {
    {"ECC Errors\n        Volatile", "            DRAM Uncorrectable : 1", "gpu-ecc-uncorrected"},
    {"ECC Errors\n        Volatile", "            DRAM Correctable   : 1", NULL},
    {"ECC Errors\n        Aggregate", "            DRAM Uncorrectable : 1", "gpu-ecc-history"},
    {"ECC Errors\n        Volatile\n            Double Bit", "                Total : 2",
     "gpu-ecc-uncorrected"},
    {"Remapped Rows", "        Pending : Yes", "gpu-remap-pending"},
    {"Remapped Rows", "        Remapping Failure Occurred : Yes", "gpu-remap-failed"},
    {"Retired Pages", "        Pending Page Blacklist : Yes", "gpu-remap-pending"},
    {"MIG Mode", "        Pending : Yes", NULL},
    {"GPU Reset Status", "        Reset Required : Yes", "gpu-reset-required"},
    {"Clocks Throttle Reasons\n        HW Slowdown : Not Active",
     "            HW Thermal Slowdown : Active", "gpu-slowdown"},
    {"Clocks Throttle Reasons", "        SW Power Cap : Active", NULL},
    {"Fabric", "        State : In Progress", "gpu-fabric-down"},
    {"Fabric", "        State : Completed", NULL},
    {"Fabric", "        State : N/A", NULL},
    {"Fabric\n        State : Completed", "        Status : Failure", "gpu-fabric-down"},
    {"Fabric\n        State : Completed\n        Health", "            Bandwidth : Degraded",
     "gpu-fabric-down"},
    {"Fabric\n        State : Completed\n        Health", "            Bandwidth : N/A", NULL},
    {"Product Brand : x", "    GPU Recovery Action : Reset", "gpu-reset-required"},
    {"Product Brand : x", "    GPU Recovery Action : None", NULL},
    {"FB Memory Usage", "        Total : Unknown Error", "gpu-lost"},
    {"PCI\n        GPU Link Info\n            Link Width\n                Max : 16x",
     "                Current : 8x", "gpu-pcie-narrow"},
    {"PCI\n        GPU Link Info\n            Link Width\n                Max : 16x",
     "                Current : 16x", NULL},
};

static void each_row_of_a_gpu_is_its_finding(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[1024];
        snprintf(text, sizeof(text), "GPU 00000000:53:00.0\n    %s\n%s\n", rows[i].title,
                 rows[i].row);
        OWN(evidence) struct evidence *e = evidence_of_text(text);
        assert_string_equal(e->kind, "nvidia-smi");
        size_t wanted = rows[i].rule != NULL ? 1 : 0;
        if (e->findings.count != wanted ||
            (wanted == 1 && strcmp(e->findings.items[0].rule, rows[i].rule) != 0))
            fail_msg("'%s' %s gives %zu findings, wanted %s", rows[i].title, rows[i].row,
                     e->findings.count, rows[i].rule);
    }
}

static void the_table_with_frames_is_read(void **unused)
{
    (void)unused;
    OWN(evidence)
    struct evidence *e = evidence_of_text("Tue Dec  3 10:00:00 2024\n"
                                          "+-------------------------------------------------------"
                                          "--------------------------------+\n"
                                          "| NVIDIA-SMI 535.129.03             Driver Version: "
                                          "535.129.03   CUDA Version: 12.2     |\n"
                                          "|-----------------------------------------+-------------"
                                          "---------+----------------------+\n"
                                          "| GPU  Name                 Persistence-M | Bus-Id      "
                                          "  Disp.A | Volatile Uncorr. ECC |\n"
                                          "| Fan  Temp   Perf          Pwr:Usage/Cap |         "
                                          "Memory-Usage | GPU-Util  Compute M. |\n"
                                          "|=========================================+============="
                                          "=========+======================|\n"
                                          "|   0  NVIDIA A100-SXM4-80GB          On  | "
                                          "00000000:07:00.0 Off |                    3 |\n"
                                          "| N/A   30C    P0              54W / 400W |      4MiB / "
                                          "81920MiB |      7%      Default |\n"
                                          "|                                         |             "
                                          "         |             Disabled |\n"
                                          "+-----------------------------------------+-------------"
                                          "---------+----------------------+\n"
                                          "|   1  NVIDIA TITAN V                 Off | "
                                          "00000000:0B:00.0 Off |                  N/A |\n"
                                          "|ERR!  ERR!  ERR!             N/A /  N/A  |    290MiB / "
                                          "12288MiB |      0%      Default |\n"
                                          "+-----------------------------------------+-------------"
                                          "---------+----------------------+\n");
    static const struct expected_fact facts[] = {
        {"host", "driver_version", "535.129.03", 0},
        {"host", "cuda_version", "12.2", 0},
        {A10, "product_name", "NVIDIA A100-SXM4-80GB", 0},
        {A10, "persistence_mode", "On", 0},
        {A10, "ecc_errors.volatile.uncorrectable", "3", 0},
        {A10, "fan_speed", "?", 0},
        {A10, "temperature.gpu_current_temp", "30", 0},
        {A10, "gpu_power_readings.power_draw", "54", 0},
        {A10, "gpu_power_readings.current_power_limit", "400", 0},
        {A10, "fb_memory_usage.used", "4", 0},
        {A10, "fb_memory_usage.total", "81920", 0},
        {A10, "utilization.gpu", "7", 0},
        {"gpu 0000:0b:00.0", "product_name", "NVIDIA TITAN V", 0},
        {"gpu 0000:0b:00.0", "ecc_errors.volatile.uncorrectable", "?", 0},
        {"gpu 0000:0b:00.0", "temperature.gpu_current_temp", "?", 0},
    };
    static const struct expected_finding findings[] = {
        {"gpu-ecc-uncorrected", A10, 1}, {"gpu-lost", "gpu 0000:0b:00.0", 1}, {NULL, NULL, 0}};
    assert_string_equal(e->kind, "nvidia-smi");
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        check_fact("table", e, &facts[i]);
    check_findings("table", e, findings);
}

static void what_it_says_instead_of_a_table_is_a_finding(void **unused)
{
    (void)unused;
    OWN(evidence)
    struct evidence *e = evidence_of_text(
        "Unable to determine the device handle for GPU 0000:1A:00.0: GPU is lost.  Reboot the "
        "system to recover this GPU\n"
        "Failed to initialize NVML: Driver/library version mismatch\n"
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n");
    static const struct expected_finding findings[] = {{"gpu-lost", "gpu 0000:1a:00.0", 1},
                                                       {"gpu-driver-mismatch", "host", 1},
                                                       {"gpu-init-failed", "host", 1},
                                                       {NULL, NULL, 0}};
    assert_string_equal(e->kind, "nvidia-smi");
    check_findings("failures", e, findings);
}

static void columns_are_read_by_their_head(void **unused)
{
    (void)unused;
    OWN(evidence)
    struct evidence *e =
        evidence_of_text("index, name, pci.bus_id, memory.total [MiB], temperature.gpu, "
                         "ecc.errors.uncorrected.volatile.total, remapped_rows.pending\n"
                         "0, NVIDIA H100 80GB HBM3, 00000000:19:00.0, 81559 MiB, 29, 0, 0\n"
                         "1, NVIDIA H100 80GB HBM3, 00000000:3B:00.0, 81559, [N/A], [N/A], 1\n");
    static const struct expected_fact facts[] = {
        {H100, "product_name", "NVIDIA H100 80GB HBM3", 0},
        {H100, "fb_memory_usage.total", "81559", 0},
        {H100, "temperature.gpu_current_temp", "29", 0},
        {"gpu 0000:3b:00.0", "fb_memory_usage.total", "81559", 0},
        {"gpu 0000:3b:00.0", "temperature.gpu_current_temp", "?", 0},
        {"gpu 0000:3b:00.0", "ecc_errors.volatile.uncorrectable", "?", 0},
    };
    static const struct expected_finding findings[] = {{"gpu-remap-pending", "gpu 0000:3b:00.0", 1},
                                                       {NULL, NULL, 0}};
    assert_string_equal(e->kind, "nvidia-smi");
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        check_fact("columns", e, &facts[i]);
    check_findings("columns", e, findings);
}

static void xml_has_the_names_of_the_text(void **unused)
{
    (void)unused;
    OWN(evidence)
    struct evidence *e = evidence_of_text(
        "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n"
        "<nvidia_smi_log>\n\t<driver_version>535.129.03</driver_version>\n"
        "\t<attached_gpus>2</attached_gpus>\n\t<gpu id=\"00000000:19:00.0\">\n"
        "\t\t<product_name>NVIDIA H100</product_name>\n\t\t<ecc_errors>\n\t\t\t<volatile>\n"
        "\t\t\t\t<dram_uncorrectable>0</dram_uncorrectable>\n\t\t\t</volatile>\n"
        "\t\t</ecc_errors>\n\t\t<remapped_rows>\n"
        "\t\t\t<remapped_row_corr>0</remapped_row_corr>\n"
        "\t\t\t<remapped_row_pending>Yes</remapped_row_pending>\n\t\t</remapped_rows>\n"
        "\t\t<fb_memory_usage>\n\t\t\t<total>81559 MiB</total>\n\t\t</fb_memory_usage>\n"
        "\t</gpu>\n</nvidia_smi_log>\n");
    static const struct expected_fact facts[] = {
        {"host", "driver_version", "535.129.03", 0},
        {H100, "ecc_errors.volatile.dram_uncorrectable", "0", 0},
        {H100, "remapped_rows.correctable_error", "0", 0},
        {H100, "remapped_rows.pending", "Yes", 0},
        {H100, "fb_memory_usage.total", "81559", 0},
    };
    static const struct expected_finding findings[] = {
        {"gpu-remap-pending", H100, 1}, {"gpu-collection-partial", "host", 1}, {NULL, NULL, 0}};
    assert_string_equal(e->kind, "nvidia-smi");
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        check_fact("XML", e, &facts[i]);
    check_findings("XML", e, findings);
}

/* A mesh shares the links out, a switch gives all of them to each peer. */
static void links_of_a_mesh_add_up_and_those_of_a_switch_do_not(void **unused)
{
    (void)unused;
    OWN(evidence)
    struct evidence *mesh = evidence_of_text("\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\n"
                                             "GPU0\t X \tNV4\tNV4\tNV4\t0-15\n"
                                             "GPU1\tNV4\t X \tNV4\tNV4\t0-15\n");
    check_fact("mesh", mesh, &(struct expected_fact){"gpu 0", "nvlink_links", "12", 0});
    assert_int_equal(mesh->findings.count, 0);
    OWN(evidence)
    struct evidence *sw = evidence_of_text("\tGPU0\tGPU1\tGPU2\tmlx5_0\tCPU Affinity\n"
                                           "GPU0\t X \tNV12\tNV12\tPHB\t0-15\n"
                                           "mlx5_0\tPHB\tPHB\tPHB\t X \t\n");
    check_fact("switch", sw, &(struct expected_fact){"gpu 0", "nvlink_links", "12", 0});
    check_fact("switch", sw, &(struct expected_fact){"gpu 0 peer mlx5_0", "path", "PHB", 0});
    assert_non_null(evidence_finding(sw, "gpu-nic-far", "gpu 0"));
    assert_int_equal(sw->findings.count, 1);
}

static void a_row_with_a_column_less_is_not_read(void **unused)
{
    (void)unused;
    OWN(evidence)
    struct evidence *e = evidence_of_text("\tGPU0\tGPU1\tNIC0\tCPU Affinity\n"
                                          "GPU0\t X \tNV12\tPIX\t0-15\n"
                                          "GPU1\tNV12\t X \n"
                                          "NIC Legend:\n\n  NIC0: mlx5_0\n");
    check_fact("row", e, &(struct expected_fact){"gpu 0 peer NIC0", "path", "PIX", 0});
    check_fact("row", e, &(struct expected_fact){"gpu 1 peer GPU0", "path", NULL, 0});
    check_fact("row", e, &(struct expected_fact){"nic 0", "rdma_device", "mlx5_0", 0});
    assert_int_equal(e->unread_lines, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_file_says_what_it_says),
        cmocka_unit_test(each_row_of_a_gpu_is_its_finding),
        cmocka_unit_test(the_table_with_frames_is_read),
        cmocka_unit_test(what_it_says_instead_of_a_table_is_a_finding),
        cmocka_unit_test(columns_are_read_by_their_head),
        cmocka_unit_test(xml_has_the_names_of_the_text),
        cmocka_unit_test(links_of_a_mesh_add_up_and_those_of_a_switch_do_not),
        cmocka_unit_test(a_row_with_a_column_less_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
