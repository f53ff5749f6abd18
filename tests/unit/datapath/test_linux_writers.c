/*
 * tests/unit/datapath/test_linux_writers.c - who made a change, by the kernel's word.
 */
#include "tests/unit/datapath/root_test.h"

#include "datapath/linux.h"
#include "datapath/sys/sys.h"

static void a_netlink_port_is_named_by_its_process(void **state)
{
    (void)state;
    char name[DP_WRITER_SIZE], want[DP_WRITER_SIZE], comm[32];
    struct err err = ERR_INIT;
    uint32_t pid = (uint32_t)getpid();
    assert_ok(sys_read("", "/proc/self/comm", comm, sizeof(comm), &err));
    if (!sys_link_name("", "/proc/self/ns/pid", name, sizeof(name)) ||
        strcmp(name, "pid:[4026531836]") != 0) {
        print_message("skipped: this is not the host's pid namespace\n");
        skip();
    }
    snprintf(want, sizeof(want), "%s (process %u)", comm, (unsigned)pid);
    linux_writer_name("", pid, name);
    assert_string_equal(name, want);
    linux_writer_name("", pid | 938U << 22, name); /* as libnl makes them */
    assert_string_equal(name, want);
    linux_writer_name("", 0, name);
    assert_string_equal(name, "");
    linux_writer_name("", 4194303, name);
    assert_string_equal(name, "process 4194303, which has ended or is hidden");
    linux_writer_name("", 4294963197U, name);
    assert_string_equal(name, "netlink port 4294963197");
}

/* There the same id is another process, or none. */
static void outside_the_hosts_pid_namespace_nobody_is_named(void **state)
{
    (void)state;
    char root[] = "/tmp/test-writers-XXXXXX", name[DP_WRITER_SIZE];
    assert_non_null(mkdtemp(root));
    root_file(root, "/proc/812/comm", "tc\n", 0644);
    root_folder(root, "/proc/self/ns");
    root_link(root, "/proc/self/ns/pid", "pid:[4026532219]");
    linux_writer_name(root, 812, name);
    assert_string_equal(name, "netlink port 812");
    root_remove(root);
    assert_non_null(mkdtemp(strcpy(root, "/tmp/test-writers-XXXXXX")));
    root_file(root, "/proc/812/comm", "tc\n", 0644);
    root_folder(root, "/proc/self/ns");
    root_link(root, "/proc/self/ns/pid", "pid:[4026531836]");
    linux_writer_name(root, 812, name);
    assert_string_equal(name, "tc (process 812)");
    root_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_netlink_port_is_named_by_its_process),
        cmocka_unit_test(outside_the_hosts_pid_namespace_nobody_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
