/*
 * tests/unit/datapath/test_sys.c - datapath/sys: settings, module parameters, huge pages and PCIe
 * links under a made-up root.
 */
#include "tests/unit/datapath/root_test.h"

#include <sys/utsname.h>

#include "base/own.h"
#include "datapath/sys/modparam.h"
#include "datapath/sys/modparam_text.h"
#include "datapath/sys/sys.h"

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

/* Settings ------------------------------------------------------------------------------------ */

static void names_become_paths(void **state)
{
    (void)state;
    char path[SYS_PATH_MAX];
    struct err err = ERR_INIT;
    assert_ok(sysctl_path("net.solar.flow_steering", path, sizeof(path), &err));
    assert_string_equal(path, "/proc/sys/net/solar/flow_steering");
    static const char *const wrong[] = {
        "",           ".",        "..",  "net..solar",  ".net",        "net.",        "net/solar",
        "net.../etc", "a.b/../c", "a b", "net.solar\n", "/etc/passwd", "net.\xc3\xa4"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_fails(sysctl_path(wrong[i], path, sizeof(path), &err), ERR_INVALID);
    char longest[SYS_NAME_MAX + 1];
    memset(longest, 'a', sizeof(longest));
    longest[SYS_NAME_MAX] = '\0';
    assert_fails(sysctl_path(longest, path, sizeof(path), &err), ERR_INVALID);
    longest[SYS_NAME_MAX - 1] = '\0';
    assert_ok(sysctl_path(longest, path, sizeof(path), &err));
    assert_fails(sysctl_path("net.solar", path, 18, &err), ERR_INVALID);
}

static void settings_are_read_and_written(void **state)
{
    (void)state;
    char value[64];
    struct err err = ERR_INIT;
    root_file(root, "/proc/sys/net/ipv4/tcp_rmem", "4096\t131072  6291456\n", 0644);
    assert_ok(sysctl_get(root, "net.ipv4.tcp_rmem", value, sizeof(value), &err));
    assert_string_equal(value, "4096 131072 6291456");
    /* as long as what was there: an attribute is written in place, not replaced */
    assert_ok(sysctl_set(root, "net.ipv4.tcp_rmem", "1 2 3                  ", &err));
    assert_ok(sysctl_get(root, "net.ipv4.tcp_rmem", value, sizeof(value), &err));
    assert_string_equal(value, "1 2 3");
    assert_fails(sysctl_get(root, "net.no.such", value, sizeof(value), &err), ERR_NOT_FOUND);
    assert_fails(sysctl_set(root, "net.no.such", "1", &err), ERR_NOT_FOUND);
    assert_fails(sysctl_get(root, "net.ipv4.tcp_rmem", value, 5, &err), ERR_LIMIT);
}

static void writability_is_the_mode(void **state)
{
    (void)state;
    root_file(root, "/sys/a", "1", 0444);
    root_file(root, "/sys/b", "1", 0200);
    assert_false(sys_is_writable(root, "/sys/a"));
    assert_true(sys_is_writable(root, "/sys/b"));
    assert_false(sys_is_writable(root, "/sys/c"));
    assert_true(sys_exists(root, "/sys/a"));
    assert_false(sys_exists(root, "/sys/c"));
}

/* Huge pages ---------------------------------------------------------------------------------- */

static void the_choice_stands_in_brackets(void **state)
{
    (void)state;
    char value[16];
    struct err err = ERR_INIT;
    const char *path = "/sys/kernel/mm/transparent_hugepage/enabled";
    root_file(root, path, "always [madvise] never\n", 0644);
    assert_ok(thp_get(root, value, sizeof(value), &err));
    assert_string_equal(value, "madvise");
    assert_ok(thp_set(root, "never", &err));
    root_file(root, path, "always madvise never\n", 0644);
    assert_fails(thp_get(root, value, sizeof(value), &err), ERR_IO);
    assert_false(thp_choice("[]", value, sizeof(value)));
    assert_false(thp_choice("]never[", value, sizeof(value)));
    assert_false(thp_choice("[never]", value, 5));
    assert_true(thp_choice("[never]", value, 6));
    assert_string_equal(value, "never");
}

/* PCIe ---------------------------------------------------------------------------------------- */

static void link_speeds_are_generations(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int gen;
    } cases[] = {{"2.5 GT/s PCIe", 1},  {"5.0 GT/s PCIe", 2},  {"8.0 GT/s PCIe", 3},
                 {"16.0 GT/s PCIe", 4}, {"32.0 GT/s PCIe", 5}, {"64.0 GT/s PCIe", 6},
                 {"8 GT/s", 3},         {"Unknown", -1},       {"", -1},
                 {"128.0 GT/s", -1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(pci_gen_of_speed(cases[i].text), cases[i].gen);
}

static void an_absent_link_is_unknown(void **state)
{
    (void)state;
    struct pci_link link;
    pci_link_get(root, "/sys/d", &link);
    assert_int_equal(link.current_gen, -1);
    assert_int_equal(link.max_width, -1);
    root_file(root, "/sys/d/current_link_speed", "8.0 GT/s PCIe\n", 0444);
    root_file(root, "/sys/d/max_link_speed", "16.0 GT/s PCIe\n", 0444);
    root_file(root, "/sys/d/current_link_width", "0\n", 0444);
    root_file(root, "/sys/d/max_link_width", "16\n", 0444);
    pci_link_get(root, "/sys/d", &link);
    assert_int_equal(link.current_gen, 3);
    assert_int_equal(link.max_gen, 4);
    assert_int_equal(link.current_width, -1); /* 0 lanes is a link that is down */
    assert_int_equal(link.max_width, 16);
}

static void a_virtual_function_names_its_parent(void **state)
{
    (void)state;
    root_file(root, "/sys/pf/max_link_width", "16\n", 0444);
    root_file(root, "/sys/vf/physfn/max_link_width", "16\n", 0444);
    assert_false(pci_is_virtual(root, "/sys/pf"));
    assert_true(pci_is_virtual(root, "/sys/vf"));
    assert_false(pci_is_virtual(root, "/sys/nothing"));
}

/* An RDMA device: the PCI function that it stands on, which may be a virtual one of another. */
static bool is_of_card(const char *function, const char *physical, const char *device)
{
    static int number;
    char folder[64], path[128];
    snprintf(folder, sizeof(folder), "/sys/class/infiniband/r%d", number);
    root_folder(root, folder);
    snprintf(folder, sizeof(folder), "/sys/class/infiniband/r%d/device", number++);
    snprintf(path, sizeof(path), "/sys/devices/%s", function);
    root_folder(root, path);
    snprintf(path, sizeof(path), "../../../devices/%s", function);
    root_link(root, folder, path);
    if (physical != NULL) {
        snprintf(path, sizeof(path), "/sys/devices/%s/physfn", function);
        root_link(root, path, physical);
    }
    return pci_is_same_card(root, folder, device);
}

static void functions_of_one_card_have_one_firmware(void **state)
{
    (void)state;
    assert_true(is_of_card("0000:3b:00.0", NULL, "0000:3b:00.0"));
    assert_true(is_of_card("0000:3b:00.1", NULL, "0000:3b:00.0"));
    assert_false(is_of_card("0000:3c:00.0", NULL, "0000:3b:00.0"));
    assert_false(is_of_card("0001:3b:00.0", NULL, "0000:3b:00.0"));
    assert_true(is_of_card("0000:3b:01.2", "../0000:3b:00.1", "0000:3b:00.0"));
    assert_false(is_of_card("0000:3c:01.2", "../0000:3c:00.0", "0000:3b:00.0"));
    assert_true(is_of_card("solar_rdma.0", NULL, "solar_rdma.0")); /* its address is of no card */
    assert_false(is_of_card("solar_rdma.1", NULL, "solar_rdma.0"));
    assert_false(pci_is_same_card(root, "/sys/class/infiniband/rxe0/device", "0000:3b:00.0"));
}

/* Module parameters --------------------------------------------------------------------------- */

static const struct modparam_name max_sge = {"solar_rdma", "max_sge"};

static void parameter_names_are_checked(void **state)
{
    (void)state;
    struct modparam_name name;
    struct err err = ERR_INIT;
    assert_ok(modparam_parse("mlx5-core.prof_sel", &name, &err));
    assert_string_equal(name.module, "mlx5_core"); /* as sysfs has it */
    assert_string_equal(name.param, "prof_sel");
    static const char *const wrong[] = {"",       "a",     "a.",    ".b",   "a.b.c",
                                        "../x.y", "a.b/c", "a b.c", "a.b\n"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_fails(modparam_parse(wrong[i], &name, &err), ERR_INVALID);
}

static void the_last_option_counts(void **state)
{
    (void)state;
    char value[MODPARAM_VALUE_SIZE];
    static const char text[] = "# options solar_rdma max_sge=1\n"
                               "options other max_sge=2\n"
                               "options solar-rdma qp_mtu=4096 max_sge=3 max_sge_x=9\n"
                               "  options\tsolar_rdma\tmax_sge=4\n"
                               "optionsx solar_rdma max_sge=5\n"
                               "options solar_rdma name=\"a b max_sge=6\"";
    assert_true(modparam_find(text, "options", &max_sge, value, sizeof(value)));
    assert_string_equal(value, "4");
    const struct modparam_name qp_mtu = {"solar_rdma", "qp_mtu"};
    assert_true(modparam_find(text, "options", &qp_mtu, value, sizeof(value)));
    assert_string_equal(value, "4096");
    const struct modparam_name none = {"solar_rdma", "max"};
    assert_false(modparam_find(text, "options", &none, value, sizeof(value)));
    assert_false(modparam_find("", "options", &none, value, sizeof(value)));
}

static void other_peoples_lines_stay(void **state)
{
    (void)state;
    static const char text[] = "# by hand\n"
                               "options solar_rdma max_sge=1 qp_mtu=4096\n"
                               "options solar_rdma max_sge=2\n"
                               "blacklist nouveau";
    OWN(str) char *set = modparam_edit(text, &max_sge, "256", NULL);
    assert_string_equal(set, "# by hand\n"
                             "options solar_rdma max_sge=1 qp_mtu=4096\n"
                             "blacklist nouveau\n"
                             "options solar_rdma max_sge=256\n");
    OWN(str) char *noted = modparam_edit(set, &max_sge, "128", "32");
    assert_contains(noted, "# was solar_rdma max_sge=32\noptions solar_rdma max_sge=128\n");
    OWN(str) char *gone = modparam_edit(noted, &max_sge, NULL, NULL);
    assert_string_equal(gone, "# by hand\n"
                              "options solar_rdma max_sge=1 qp_mtu=4096\n"
                              "blacklist nouveau\n");
}

static void modules_are_listed_by_file_name(void **state)
{
    (void)state;
    static const char list[] = "kernel/a/mlx5_core.ko.xz: kernel/b/solar_rdma.ko\n"
                               "kernel/c/foo-bar.ko:\nextra/x.ko: kernel/y.ko";
    assert_true(modparam_listed(list, "mlx5_core"));
    assert_true(modparam_listed(list, "foo_bar"));
    assert_true(modparam_listed(list, "x"));
    assert_false(modparam_listed(list, "solar_rdma")); /* only a need of another */
    assert_false(modparam_listed(list, "y"));
    assert_false(modparam_listed("", "x"));
}

static void a_parameter_is_persisted_and_set_live(void **state)
{
    (void)state;
    struct modparam_state is;
    struct err err = ERR_INIT;
    const char *live = "/sys/module/solar_rdma/parameters/max_sge";
    root_file(root, live, "32\n", 0644);
    assert_ok(modparam_set(root, &max_sge, "256", &err));
    assert_ok(modparam_get(root, &max_sge, &is, &err));
    assert_true(is.module_known && is.has_live && is.live_writable && is.has_persisted);
    assert_true(is.has_next && is.next_is_ours);
    assert_string_equal(is.next, "256");
    assert_memory_equal(is.live, "256", 3);
    OWN(str) char *file = root_text(root, MODPARAM_FILE);
    assert_string_equal(file, "# was solar_rdma max_sge=32\noptions solar_rdma max_sge=256\n");
    /* a second change keeps the first note; the removal gives back what was before both */
    assert_ok(modparam_set(root, &max_sge, "128", &err));
    assert_ok(modparam_set(root, &max_sge, NULL, &err));
    OWN(str) char *after = root_text(root, MODPARAM_FILE);
    assert_string_equal(after, "");
    OWN(str) char *value = root_text(root, live);
    assert_memory_equal(value, "32", 2);
}

static void a_read_only_parameter_is_only_persisted(void **state)
{
    (void)state;
    struct modparam_state is;
    struct err err = ERR_INIT;
    root_file(root, "/sys/module/solar_rdma/parameters/max_sge", "32\n", 0444);
    assert_ok(modparam_set(root, &max_sge, "256", &err));
    assert_ok(modparam_get(root, &max_sge, &is, &err));
    assert_string_equal(is.live, "32");
    assert_string_equal(is.persisted, "256");
    OWN(str) char *file = root_text(root, MODPARAM_FILE);
    assert_string_equal(file, "options solar_rdma max_sge=256\n");
}

static void a_later_file_overrides_ours(void **state)
{
    (void)state;
    struct modparam_state is;
    struct err err = ERR_INIT;
    root_file(root, "/etc/modprobe.d/a.conf", "options solar_rdma max_sge=1\n", 0644);
    root_file(root, "/etc/modprobe.d/z.txt", "options solar_rdma max_sge=2\n", 0644);
    assert_ok(modparam_set(root, &max_sge, "256", &err));
    assert_ok(modparam_get(root, &max_sge, &is, &err));
    assert_string_equal(is.next, "256");
    root_file(root, "/etc/modprobe.d/z.conf", "options solar_rdma max_sge=3\n", 0644);
    assert_ok(modparam_get(root, &max_sge, &is, &err));
    assert_true(is.has_persisted && is.has_next && !is.next_is_ours);
    assert_string_equal(is.next, "3");
}

static void what_no_document_can_hold_is_no_absent_value(void **state)
{
    (void)state;
    struct modparam_state is;
    struct err err = ERR_INIT;
    char value[16];
    root_file(root, MODPARAM_FILE, "options solar_rdma max_sge=1\xff\xe2\x80\x8b\n", 0644);
    assert_ok(modparam_get(root, &max_sge, &is, &err));
    assert_true(is.has_persisted && is.has_next);
    assert_string_equal(is.persisted, "1??");
    assert_string_equal(is.next, "1??");
    root_file(root, "/x",
              "a\tb\xc2\x85"
              "c\n",
              0644);
    assert_ok(sys_read(root, "/x", value, sizeof(value), &err));
    assert_string_equal(value, "a\tb?c");
}

static void an_unloaded_module_is_known_by_the_index(void **state)
{
    (void)state;
    struct modparam_state is;
    struct err err = ERR_INIT;
    struct utsname kernel;
    char path[TEST_PATH_MAX];
    assert_int_equal(uname(&kernel), 0);
    assert_ok(modparam_get(root, &max_sge, &is, &err));
    assert_false(is.module_known || is.has_live || is.has_persisted || is.has_next);
    snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", kernel.release);
    root_file(root, path, "extra/solar_rdma.ko:\n", 0644);
    assert_ok(modparam_get(root, &max_sge, &is, &err));
    assert_true(is.module_known);
}

static void a_folder_of_too_many_files_tells_no_next_value(void **state)
{
    (void)state;
    struct modparam_state is = {.has_next = false};
    struct err err = ERR_INIT;
    char path[TEST_PATH_MAX];
    for (int i = 0; i < MODPARAM_FILES_MAX; i++) {
        snprintf(path, sizeof(path), MODPARAM_FOLDER "/%03d.conf", i);
        root_file(root, path, "options solar_rdma max_sge=8\n", 0644);
    }
    assert_ok(modparam_get(root, &max_sge, &is, &err));
    assert_string_equal(is.next, "8");
    root_file(root, MODPARAM_FOLDER "/one-more.conf", "options solar_rdma max_sge=9\n", 0644);
    assert_fails(modparam_get(root, &max_sge, &is, &err), ERR_LIMIT);
    assert_string_equal(is.next, "8"); /* untouched */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(names_become_paths),
        TEST(settings_are_read_and_written),
        TEST(writability_is_the_mode),
        TEST(the_choice_stands_in_brackets),
        TEST(link_speeds_are_generations),
        TEST(an_absent_link_is_unknown),
        TEST(a_virtual_function_names_its_parent),
        TEST(functions_of_one_card_have_one_firmware),
        TEST(parameter_names_are_checked),
        TEST(the_last_option_counts),
        TEST(other_peoples_lines_stay),
        TEST(modules_are_listed_by_file_name),
        TEST(a_parameter_is_persisted_and_set_live),
        TEST(a_read_only_parameter_is_only_persisted),
        TEST(a_later_file_overrides_ours),
        TEST(what_no_document_can_hold_is_no_absent_value),
        TEST(an_unloaded_module_is_known_by_the_index),
        TEST(a_folder_of_too_many_files_tells_no_next_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
