/*
 * tests/unit/datapath/test_linux_writers.c - who made a change, by the kernel's word.
 */
#include "tests/unit/test.h"

#include <unistd.h>

#include "datapath/linux.h"
#include "datapath/sys/sys.h"

static void a_netlink_port_is_named_by_its_process(void **state)
{
    (void)state;
    char name[DP_WRITER_SIZE], want[DP_WRITER_SIZE], comm[32];
    struct err err = ERR_INIT;
    uint32_t pid = (uint32_t)getpid();
    assert_ok(sys_read("", "/proc/self/comm", comm, sizeof(comm), &err));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_netlink_port_is_named_by_its_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
