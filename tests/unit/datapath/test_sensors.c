/*
 * tests/unit/datapath/test_sensors.c - sensors over trees of files as machines have them and a
 * stand-in of NVIDIA's library; what hangs keeps nobody waiting twice.
 */
#include "tests/unit/datapath/root_test.h"

#include <unistd.h>

#include <linux/ptp_clock.h>

#include "datapath/sensor.h"
#include "datapath/sensors.h"
#include "datapath/sys/irq_spread.h"

/* Texts ---------------------------------------------------------------------------------------- */

/* tests/data/evidence/interrupts: serverfault question 254355; columns were removed. */
static void columns_are_those_of_the_header(void **state)
{
    (void)state;
    static struct irq_columns columns;
    const char *counts;
    uint32_t number = 0;
    uint64_t sums[3] = {0};
    assert_true(irq_columns_parse("           CPU0       CPU1      CPU15\n", &columns));
    assert_int_equal(columns.count, 3);
    assert_int_equal(columns.cpus[2], 15);
    assert_true(irq_number_parse(" 98:         35          0    2902361       PCI-MSI-X  eth1-0\n",
                                 &number, &counts));
    assert_int_equal(number, 98);
    assert_true(irq_counts_add(counts, columns.count, sums));
    assert_int_equal(sums[0], 35);
    assert_int_equal(sums[2], 2902361);
    assert_false(irq_number_parse("NMI:       7615       2989       2931\n", &number, &counts));
    assert_true(irq_number_parse("0: 1 2", &number, &counts));
    assert_false(irq_counts_add(counts, 3, sums)); /* fewer than processors */
    assert_false(irq_columns_parse("  0:  600299726  0  0  IO-APIC-edge  timer\n", &columns));
    assert_false(irq_columns_parse("", &columns));
    assert_false(irq_columns_parse("CPU0 CPU65536", &columns));
}

static void a_spread_needs_enough_interrupts(void **state)
{
    (void)state;
    static const struct irq_columns columns = {.cpus = {0, 4}, .count = 2};
    const uint64_t before[2] = {1000, 5000}, enough[2] = {1010, 5090}, few[2] = {1000, 5099},
                   fell[2] = {999, 6000};
    struct irq_spread spread;
    assert_true(irq_spread_between(&columns, before, enough, &spread));
    assert_true(spread.known);
    assert_int_equal(spread.interrupts, 100);
    assert_int_equal(spread.cpu, 4);
    assert_int_equal(spread.share_permyriad, 9000);
    assert_true(irq_spread_between(&columns, before, few, &spread));
    assert_false(spread.known);
    assert_false(irq_spread_between(&columns, before, fell, &spread));
}

static void aer_counts_are_totals(void **state)
{
    (void)state;
    int64_t value = -1;
    const char *text = "RxErr 3\nBadTLP 0\nTOTAL_ERR_COR 5\n";
    assert_true(sensor_aer_value(text, "TOTAL_ERR_COR", &value));
    assert_int_equal(value, 5);
    assert_true(sensor_aer_value("TOTAL_ERR_FATAL 0", "TOTAL_ERR_FATAL", &value));
    assert_int_equal(value, 0);
    assert_false(sensor_aer_value(text, "TOTAL_ERR_FATAL", &value));
    assert_false(sensor_aer_value("TOTAL_ERR_COR\n", "TOTAL_ERR_COR", &value));
    assert_false(sensor_aer_value("TOTAL_ERR_COR x\n", "TOTAL_ERR_COR", &value));
    assert_false(sensor_aer_value("TOTAL_ERR_COR -1\n", "TOTAL_ERR_COR", &value));
    assert_false(sensor_aer_value("NOT_TOTAL_ERR_COR 1\n", "TOTAL_ERR_COR", &value));
}

static void the_limit_of_locked_memory_is_the_one_in_force(void **state)
{
    (void)state;
    int64_t limit = -1;
    assert_true(
        sensor_memlock("Limit                     Soft Limit           Hard Limit     Units\n"
                       "Max locked memory         8388608              unlimited      bytes\n",
                       &limit));
    assert_int_equal(limit, 8388608);
    assert_true(
        sensor_memlock("Max locked memory         unlimited   unlimited   bytes\n", &limit));
    assert_true(limit == SENSOR_UNLIMITED);
    assert_false(sensor_memlock("Max open files            1024\n", &limit));
    assert_false(sensor_memlock("Max locked memory", &limit));
    assert_false(sensor_memlock("Max locked memory   -1   -1   bytes\n", &limit));
    assert_false(sensor_memlock("My Max locked memory   1   1   bytes\n", &limit));
}

static void look_at_clock(struct ptp_sys_offset *looks, unsigned n, int64_t before_ns,
                          int64_t clock_ns)
{
    looks->ts[2 * n].sec = before_ns / 1000000000;
    looks->ts[2 * n].nsec = (uint32_t)(before_ns % 1000000000);
    looks->ts[2 * n + 1].sec = clock_ns / 1000000000;
    looks->ts[2 * n + 1].nsec = (uint32_t)(clock_ns % 1000000000);
}

static void the_shortest_look_at_a_clock_counts(void **state)
{
    (void)state;
    const int64_t t = INT64_C(1790000000000000000);
    struct ptp_sys_offset looks = {.n_samples = 2};
    int64_t offset_ns = 0, window_ns = 0;
    look_at_clock(&looks, 0, t, t + 90000); /* 40 us long */
    look_at_clock(&looks, 1, t + 40000, t + 41250);
    look_at_clock(&looks, 2, t + 42000, 0); /* 2 us long */
    assert_true(sensor_ptp_offset(&looks, 37, &offset_ns, &window_ns));
    assert_int_equal(window_ns, 2000);
    assert_int_equal(offset_ns, 250);
    looks.ts[3].sec += 37; /* the clock runs on TAI */
    assert_true(sensor_ptp_offset(&looks, 37, &offset_ns, &window_ns));
    assert_int_equal(offset_ns, 250);
    looks.n_samples = 0;
    assert_false(sensor_ptp_offset(&looks, 37, &offset_ns, &window_ns));
    looks.n_samples = 1000; /* more than there is room for */
    assert_true(sensor_ptp_offset(&looks, 37, &offset_ns, &window_ns));
}

static void a_clock_is_steered_by_whom_its_process_is_named(void **state)
{
    (void)state;
    char root[TEST_PATH_MAX];
    test_folder(root);
    assert_false(sensor_ptp_is_steered(root)); /* no /proc */
    root_file(root, "/proc/1/comm", "systemd\n", 0600);
    root_file(root, "/proc/12/comm", "ptp4l-not\n", 0600);
    root_file(root, "/proc/self/comm", "ptp4l\n", 0600);
    assert_false(sensor_ptp_is_steered(root));
    root_file(root, "/proc/812/comm", "phc2sys\n", 0600);
    assert_true(sensor_ptp_is_steered(root));
    root_remove(root);
}

/* A machine ------------------------------------------------------------------------------------ */

struct told {
    char text[16384];
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
    assert_true(telemetry_name_is_valid(name->text));
    if (value != TELEMETRY_ABSENT)
        snprintf(told->text + len, sizeof(told->text) - len, "%s %s=%lld\n", told->row, name->text,
                 (long long)value);
}

#define NIC "/sys/bus/pci/devices/0000:3b:00.0"

/* A NIC that runs at half its width, with two vectors on one processor of two. */
static void make_machine(char root[TEST_PATH_MAX])
{
    test_folder(root);
    root_file(root, NIC "/current_link_speed", "16.0 GT/s PCIe\n", 0600);
    root_file(root, NIC "/max_link_speed", "16.0 GT/s PCIe\n", 0600);
    root_file(root, NIC "/current_link_width", "8\n", 0600);
    root_file(root, NIC "/max_link_width", "16\n", 0600);
    root_file(root, NIC "/aer_dev_correctable", "RxErr 7\nTOTAL_ERR_COR 7\n", 0600);
    root_file(root, NIC "/aer_dev_fatal", "TOTAL_ERR_FATAL 0\n", 0600);
    root_file(root, NIC "/msi_irqs/41", "msix\n", 0600);
    root_file(root, NIC "/msi_irqs/42", "msix\n", 0600);
    root_file(root, "/sys/class/net/eth0/dev_port", "0\n", 0600);
    root_link(root, "/sys/class/net/eth0/device", "../../../bus/pci/devices/0000:3b:00.0");
    root_file(root, "/sys/bus/pci/devices/0000:3b:00.1/physfn/here", "", 0600);
    root_file(root, "/sys/class/net/vf0/dev_port", "0\n", 0600);
    root_link(root, "/sys/class/net/vf0/device", "../../../bus/pci/devices/0000:3b:00.1");
    root_file(root, "/sys/class/hwmon/hwmon3/temp1_input", "61000\n", 0600);
    root_file(root, "/sys/class/hwmon/hwmon3/temp1_crit", "105000\n", 0600);
    root_file(root, "/sys/class/hwmon/hwmon3/temp2_input", "2147483647\n", 0600);
    root_link(root, "/sys/class/hwmon/hwmon3/device", "../../../bus/pci/devices/0000:3b:00.0");
    root_file(root, "/sys/class/hwmon/hwmon4/temp1_input", "50000\n", 0600); /* nobody's */
    root_file(root, "/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n",
              0600);
    root_file(root, "/proc/interrupts",
              "            CPU0       CPU2\n  9:  5  5  IO-APIC  9-fasteoi  acpi\n"
              " 41:  100  1  IR-PCI-MSI-edge  mlx5_comp0\n 42:  50  0  IR-PCI-MSI-edge\n"
              "NMI:  0  0  Non-maskable interrupts\n",
              0600);
}

static struct sensors *sensors_of(const char *root, const char *nvml)
{
    struct err err = ERR_INIT;
    struct sensors *sensors = NULL;
    assert_ok(sensors_new(root, nvml, &sensors, &err));
    return sensors;
}

static enum err_code look(struct sensors *sensors, struct told *told)
{
    struct err err = ERR_INIT;
    const struct counters_sink sink = {told, on_row, on_value};
    memset(told, 0, sizeof(*told));
    return sensors_tell(sensors, &sink, &err);
}

static void a_machine_is_told(void **state)
{
    (void)state;
    static struct told told;
    char root[TEST_PATH_MAX];
    make_machine(root);
    OWN(sensors) struct sensors *sensors = sensors_of(root, "libno-such-nvml.so.1");
    assert_int_equal(look(sensors, &told), ERR_OK);
    assert_string_equal(told.text,
                        "node  0 thp_mode=1\n"
                        "irq 0000:3b:00.0 0 vectors=2\n"
                        "irq 0000:3b:00.0 0 interrupts=151\n"
                        "pcie 0000:3b:00.0 0 link_gen=4\n"
                        "pcie 0000:3b:00.0 0 link_gen_max=4\n"
                        "pcie 0000:3b:00.0 0 link_width_lanes=8\n"
                        "pcie 0000:3b:00.0 0 link_width_max_lanes=16\n"
                        "pcie 0000:3b:00.0 0 aer_correctable=7\n"
                        "pcie 0000:3b:00.0 0 aer_fatal=0\n"
                        "temperature 0000:3b:00.0 1 temperature_millicelsius=61000\n"
                        "temperature 0000:3b:00.0 1 temperature_critical_millicelsius=105000\n");
    root_remove(root);
}

static void an_accelerator_is_told_to_idle(void **state)
{
    (void)state;
    static struct told told;
    char root[TEST_PATH_MAX];
    make_machine(root);
    root_file(root, "/sys/bus/pci/devices/0000:9b:00.0/vendor", "0x10de\n", 0600);
    root_file(root, "/sys/bus/pci/devices/0000:9b:00.0/device", "0x2330\n", 0600);
    root_file(root, "/sys/bus/pci/devices/0000:9b:00.0/class", "0x030200\n", 0600);
    root_file(root, "/sys/bus/pci/devices/0000:9b:00.0/current_link_speed", "2.5 GT/s PCIe\n",
              0600);
    root_file(root, NIC "/class", "0x020000\n", 0600);
    OWN(sensors) struct sensors *sensors = sensors_of(root, "libno-such-nvml.so.1");
    assert_int_equal(look(sensors, &told), ERR_OK);
    assert_contains(told.text, "pcie 0000:9b:00.0 0 link_gen=1\n"
                               "pcie 0000:9b:00.0 0 link_gen_idles=1\n");
    assert_null(strstr(told.text, "pcie 0000:3b:00.0 0 link_gen_idles"));
    root_remove(root);
}

static void interrupts_between_two_looks_are_spread(void **state)
{
    (void)state;
    static struct told told;
    char root[TEST_PATH_MAX];
    make_machine(root);
    OWN(sensors) struct sensors *sensors = sensors_of(root, "libno-such-nvml.so.1");
    assert_int_equal(look(sensors, &told), ERR_OK);
    root_file(root, "/proc/interrupts",
              "            CPU0       CPU2\n 41:  110  1  IR-PCI-MSI-edge  mlx5_comp0\n"
              " 42:  50  190  IR-PCI-MSI-edge\n",
              0600);
    assert_int_equal(look(sensors, &told), ERR_OK);
    assert_contains(told.text, "irq 0000:3b:00.0 0 busiest_cpu_share_permyriad=9500\n");
    assert_contains(told.text, "irq 0000:3b:00.0 0 busiest_cpu=2\n");
    /* A processor came: where the new interrupts went is not known. */
    root_file(root, "/proc/interrupts",
              "   CPU0  CPU1  CPU2\n 41:  910  0  1  IR-PCI-MSI-edge\n 42:  50  0  190  IR\n",
              0600);
    assert_int_equal(look(sensors, &told), ERR_OK);
    assert_contains(told.text, "irq 0000:3b:00.0 0 interrupts=1151\n");
    assert_null(strstr(told.text, "busiest"));
    root_remove(root);
}

static void a_machine_without_anything_tells_nothing(void **state)
{
    (void)state;
    static struct told told;
    char root[TEST_PATH_MAX];
    test_folder(root);
    OWN(sensors) struct sensors *sensors = sensors_of(root, "libno-such-nvml.so.1");
    assert_int_equal(look(sensors, &told), ERR_OK);
    assert_string_equal(told.text, "");
    root_remove(root);
}

/* GPUs ----------------------------------------------------------------------------------------- */

/* Beside this program. */
static const char *stub(const char *mode)
{
    static char path[TEST_PATH_MAX + 32];
    ssize_t n = readlink("/proc/self/exe", path, TEST_PATH_MAX - 1);
    assert_true(n > 0);
    path[n] = '\0';
    strcpy(strrchr(path, '/'), "/nvml_stub.so");
    assert_int_equal(access(path, R_OK), 0);
    setenv("STELLAR_NVML_STUB", mode, 1);
    return path;
}

static void a_sick_gpu_is_told_and_hides_no_other(void **state)
{
    (void)state;
    static struct told told;
    char root[TEST_PATH_MAX];
    test_folder(root);
    OWN(sensors) struct sensors *sensors = sensors_of(root, stub("sick"));
    assert_int_equal(look(sensors, &told), ERR_OK);
    assert_string_equal(told.text, "gpu 0000:1a:00.0 0 ecc_corrected=12\n"
                                   "gpu 0000:1a:00.0 0 ecc_uncorrected=2\n"
                                   "gpu 0000:1a:00.0 0 remapped_rows_corrected=4\n"
                                   "gpu 0000:1a:00.0 0 remapped_rows_uncorrected=1\n"
                                   "gpu 0000:1a:00.0 0 remap_pending=1\n"
                                   "gpu 0000:1a:00.0 0 remap_failed=0\n"
                                   "gpu 0000:1a:00.0 0 xid_events=2\n"
                                   "gpu 0000:1a:00.0 0 xid_last=79\n"
                                   "gpu 0000:1a:00.0 0 is_lost=0\n"
                                   "temperature 0000:1a:00.0 0 temperature_millicelsius=41000\n"
                                   "gpu 0000:2a:00.0 0 xid_events=0\n"
                                   "gpu 0000:2a:00.0 0 is_lost=1\n");
    root_remove(root);
}

static void a_library_that_hangs_keeps_nobody_waiting_twice(void **state)
{
    (void)state;
    static struct told told;
    char root[TEST_PATH_MAX];
    make_machine(root);
    OWN(sensors) struct sensors *sensors = sensors_of(root, stub("stuck"));
    struct err err = ERR_INIT;
    const struct counters_sink sink = {&told, on_row, on_value};
    assert_fails(sensors_tell(sensors, &sink, &err), ERR_UNAVAILABLE);
    assert_string_equal(err.text, "gpu did not answer within 400 ms");
    assert_contains(told.text, "link_width_lanes=8\n"); /* the others are told */
    memset(&told, 0, sizeof(told));
    assert_fails(sensors_tell(sensors, &sink, &err), ERR_UNAVAILABLE);
    assert_string_equal(err.text, "gpu still has not come back from an earlier read");
    assert_contains(told.text, "link_width_lanes=8\n");
    root_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_those_of_the_header),
        cmocka_unit_test(a_spread_needs_enough_interrupts),
        cmocka_unit_test(aer_counts_are_totals),
        cmocka_unit_test(the_limit_of_locked_memory_is_the_one_in_force),
        cmocka_unit_test(the_shortest_look_at_a_clock_counts),
        cmocka_unit_test(a_clock_is_steered_by_whom_its_process_is_named),
        cmocka_unit_test(a_machine_is_told),
        cmocka_unit_test(an_accelerator_is_told_to_idle),
        cmocka_unit_test(interrupts_between_two_looks_are_spread),
        cmocka_unit_test(a_machine_without_anything_tells_nothing),
        cmocka_unit_test(a_sick_gpu_is_told_and_hides_no_other),
        cmocka_unit_test(a_library_that_hangs_keeps_nobody_waiting_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
