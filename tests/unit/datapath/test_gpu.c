/*
 * tests/unit/datapath/test_gpu.c - GPUs as NVIDIA's library tells them (a stand-in of it), and
 * reads that do not come back.
 */
#include "tests/unit/test.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "datapath/sys/aside.h"
#include "datapath/sys/gpu.h"

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

static json_t *list_of(const char *mode, json_t *problems)
{
    struct err err = ERR_INIT;
    json_t *list = NULL;
    assert_ok(gpu_nvml_list(stub(mode), &list, problems, &err));
    return list;
}

static int64_t number(const json_t *list, size_t index, const char *key)
{
    const json_t *value = json_object_get(json_array_get(list, index), key);
    return value == NULL ? -1 : json_integer_value(value);
}

static void eight_gpus_are_told_with_everything(void **state)
{
    (void)state;
    OWN(json) json_t *problems = json_array();
    OWN(json) json_t *list = list_of("a100", problems);
    assert_int_equal(json_array_size(list), 8);
    assert_int_equal(json_array_size(problems), 0);
    OWN(str) char *first = json_dumps(json_array_get(list, 0), JSON_SORT_KEYS | JSON_COMPACT);
    assert_string_equal(
        first, "{\"driver\":\"535.161.08\",\"firmware\":\"92.00.45.00.05\",\"id\":\"0000:1a:00.0\","
               "\"memory_bytes\":85899345920,\"model\":\"NVIDIA A100-SXM4-80GB\","
               "\"nvlink_bps\":4800000000000,\"nvlinks\":12,\"nvlinks_active\":12,\"pcie\":{"
               "\"current_gen\":4,\"current_width\":16,\"max_gen\":4,\"max_width\":16},"
               "\"serial\":\"1560123000001\",\"uuid\":\"GPU-0000-1\",\"vendor\":\"NVIDIA\"}");
    assert_null(json_object_get(json_array_get(list, 1), "serial")); /* "N/A" */
}

/* topology of eight A800 as posted (NVIDIA/nccl issue 933): NV8 is 400 GB/s. */
static void eight_links_are_400_gigabytes(void **state)
{
    (void)state;
    OWN(json) json_t *list = list_of("a800", NULL);
    assert_int_equal(number(list, 0, "nvlink_bps"), INT64_C(3200000000000));
}

static void a_gpu_that_is_lost_hides_no_other(void **state)
{
    (void)state;
    OWN(json) json_t *problems = json_array();
    OWN(json) json_t *list = list_of("degraded", problems);
    assert_int_equal(json_array_size(list), 2);
    OWN(str) char *text = json_dumps(problems, JSON_COMPACT);
    assert_string_equal(text, "[{\"subject\":\"gpu/1\",\"problem\":\"GPU is lost (15)\"}]");
    assert_int_equal(number(list, 0, "nvlinks_active"), 9);
    assert_int_equal(number(list, 0, "nvlink_bps"), INT64_C(3600000000000));
    /* A card without NVLink: unknown, not 0. */
    assert_int_equal(number(list, 1, "nvlink_bps"), -1);
    assert_int_equal(number(list, 1, "nvlinks"), -1);
}

static void no_active_link_is_a_bandwidth_of_zero(void **state)
{
    (void)state;
    OWN(json) json_t *list = list_of("dark", NULL);
    assert_int_equal(number(list, 0, "nvlinks_active"), 0);
    assert_int_equal(number(list, 0, "nvlink_bps"), 0);
}

static void an_absent_a_dead_and_a_foreign_library_differ(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    json_t *list = NULL;
    assert_fails(gpu_nvml_list("libno-such-nvml.so.1", &list, NULL, &err), ERR_UNSUPPORTED);
    assert_fails(gpu_nvml_list(stub("dead"), &list, NULL, &err), ERR_UNAVAILABLE);
    assert_string_equal(err.text, "NVML does not start: Unknown Error (999)");
    assert_fails(gpu_nvml_list("libc.so.6", &list, NULL, &err), ERR_IO);
    assert_null(list);
}

static void both_views_of_a_gpu_are_one(void **state)
{
    (void)state;
    json_t *pci = json_pack("[{s:s,s:i,s:{s:i,s:b}},{s:s}]", "id", "0000:1a:00.0", "numa_node", 1,
                            "pcie", "current_gen", 1, "aer", 1, "id", "0000:0f:00.0");
    json_t *nvml = json_pack("[{s:s,s:s,s:{s:i}},{s:s}]", "id", "0000:1a:00.0", "model", "A100",
                             "pcie", "current_gen", 4, "id", "0000:10:00.0");
    OWN(json) json_t *merged = gpu_merge(pci, nvml);
    OWN(str) char *text = json_dumps(merged, JSON_SORT_KEYS | JSON_COMPACT);
    assert_string_equal(text, "[{\"id\":\"0000:0f:00.0\"},{\"id\":\"0000:10:00.0\"},{\"id\":"
                              "\"0000:1a:00.0\",\"model\":\"A100\",\"numa_node\":1,\"pcie\":{"
                              "\"aer\":true,\"current_gen\":4}}]");
    OWN(json) json_t *nothing = gpu_merge(NULL, NULL);
    assert_int_equal(json_array_size(nothing), 0);
}

/* Reads that do not come back ----------------------------------------------------------------- */

struct work {
    int sleep_ms;
    int done;
    int *released;
};

static void work_run(void *arg)
{
    struct work *work = arg;
    usleep((useconds_t)work->sleep_ms * 1000);
    work->done = 1;
}

static void work_release(void *arg)
{
    struct work *work = arg;
    if (work->released != NULL)
        __atomic_store_n(work->released, 1, __ATOMIC_SEQ_CST);
    free(work);
}

static struct aside_job job_of(int sleep_ms, int *released)
{
    struct work *work = calloc(1, sizeof(*work));
    assert_non_null(work);
    *work = (struct work){.sleep_ms = sleep_ms, .released = released};
    return (struct aside_job){.run = work_run, .release = work_release, .arg = work};
}

static void a_read_that_comes_back_is_the_callers(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    OWN(aside) struct aside *aside = NULL;
    assert_ok(aside_new(&aside, &err));
    struct aside_job job = job_of(0, NULL);
    assert_ok(aside_run(aside, "a", &job, 10000, &err));
    assert_int_equal(((struct work *)job.arg)->done, 1);
    work_release(job.arg);
}

static void a_stuck_read_is_given_up_and_holds_up_no_other(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    int released = 0;
    OWN(aside) struct aside *aside = NULL;
    assert_ok(aside_new(&aside, &err));
    struct aside_job stuck = job_of(1000, &released), again = job_of(0, NULL),
                     other = job_of(0, NULL);
    assert_fails(aside_run(aside, "nic0", &stuck, 20, &err), ERR_UNAVAILABLE);
    assert_fails(aside_run(aside, "nic0", &again, 20, &err), ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "earlier read"));
    assert_ok(aside_run(aside, "nic1", &other, 10000, &err));
    work_release(other.arg);
    assert_false(aside_drain(aside));
    for (int i = 0; i < 1000 && !__atomic_load_n(&released, __ATOMIC_SEQ_CST); i++)
        usleep(10000);
    assert_int_equal(released, 1);
    /* It is back, which is told: the device may be asked again. */
    assert_true(aside_drain(aside));
    assert_false(aside_drain(aside));
    struct aside_job healed = job_of(0, NULL);
    assert_ok(aside_run(aside, "nic0", &healed, 10000, &err));
    work_release(healed.arg);
}

static void threads_that_are_out_are_counted(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    char key[16];
    OWN(aside) struct aside *aside = NULL;
    assert_ok(aside_new(&aside, &err));
    for (int i = 0; i < ASIDE_STUCK_MAX; i++) {
        struct aside_job job = job_of(60000, NULL); /* longer than all of them take to begin */
        snprintf(key, sizeof(key), "d%d", i);
        assert_fails(aside_run(aside, key, &job, 1, &err), ERR_UNAVAILABLE);
    }
    struct aside_job job = job_of(0, NULL);
    assert_fails(aside_run(aside, "more", &job, 10000, &err), ERR_LIMIT);
} /* and the threads outlive the owner */

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_gpus_are_told_with_everything),
        cmocka_unit_test(eight_links_are_400_gigabytes),
        cmocka_unit_test(a_gpu_that_is_lost_hides_no_other),
        cmocka_unit_test(no_active_link_is_a_bandwidth_of_zero),
        cmocka_unit_test(an_absent_a_dead_and_a_foreign_library_differ),
        cmocka_unit_test(both_views_of_a_gpu_are_one),
        cmocka_unit_test(a_read_that_comes_back_is_the_callers),
        cmocka_unit_test(a_stuck_read_is_given_up_and_holds_up_no_other),
        cmocka_unit_test(threads_that_are_out_are_counted),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    sleep(4); /* the last threads, so that a sanitizer finds nothing of theirs */
    return rc;
}
