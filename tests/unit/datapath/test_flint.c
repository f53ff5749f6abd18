/*
 * tests/unit/datapath/test_flint.c - what firmware tools print, and how the burning ended.
 */
#include "tests/unit/test.h"

#include "base/own.h"
#include "datapath/flint.h"

static struct flint read_file(const char *name)
{
    char path[TEST_PATH_MAX];
    size_t len;
    struct flint flint;
    snprintf(path, sizeof(path), "data/flash/%s", name);
    OWN(str) char *text = test_load(path, &len);
    flint_read(text, len, &flint);
    return flint;
}

static struct flint read_text(const char *text)
{
    struct flint flint;
    flint_read(text, strlen(text), &flint);
    return flint;
}

static void another_board_is_refused_before_anything_is_written(void **state)
{
    (void)state;
    struct flint flint = read_file("flint_psid_mismatch.txt");
    assert_int_equal(flint_outcome(&flint), FLASH_ABORTED);
    assert_string_equal(flint.psid, "LNV0000000025");
    assert_string_equal(flint.image_psid, "MT_0000000158");
    assert_contains(flint.problem, "PSID mismatch");
    assert_false(flint.begun);
}

static void a_failure_after_good_lines_is_a_failure(void **state)
{
    (void)state;
    struct flint flint = read_file("mlxfwmanager_digest_wrong.txt");
    assert_int_equal(flint_outcome(&flint), FLASH_FAILED);
    assert_contains(flint.problem, "The Digest in the signature is wrong");
    assert_true(flint.begun);
    assert_string_equal(flint.psid, "MT_0000000359");
    assert_string_equal(flint.flash_version, "22.32.0498");
    assert_string_equal(flint.image_version, "22.32.0498");
}

static void what_was_burnt_waits_for_a_reset(void **state)
{
    (void)state;
    struct flint flint = read_file("mstflint_burn_needs_reset.txt");
    assert_int_equal(flint_outcome(&flint), FLASH_PENDING_RESET);
    assert_string_equal(flint.flash_version, "10.16.1020");
    assert_string_equal(flint.image_version, "10.16.1200");
    assert_true(flint.needs_reset);
    assert_string_equal(flint.problem, "");
}

static void a_query_burns_nothing(void **state)
{
    (void)state;
    struct flint flint = read_file("flint_query_cx5.txt");
    assert_int_equal(flint_outcome(&flint), FLASH_OPEN);
    assert_string_equal(flint.flash_version, "16.28.2006");
    assert_string_equal(flint.running, "");
    assert_string_equal(flint.psid, "MT_0000000158");
}

/* Lines of the same tools, and of devlink, in the shapes that their sources print. */
static const struct {
    const char *text;
    enum flash_outcome outcome;
} cases[] = {
    {"", FLASH_OPEN},
    {"PSID: N/A\n", FLASH_OPEN},
    {"Burning FW image without signatures - 42%\r", FLASH_OPEN},
    {"Burning FS4 image - OK\n", FLASH_PENDING_RESET},
    {"Burning FW image without signatures -  10%\b\b\b\b 100%\b\b\b\bOK\n", FLASH_PENDING_RESET},
    {"Burning FW image without signatures - OK\n-E- Burning FW image failed: Flash write failed\n",
     FLASH_FAILED},
    {"Burning FW image without signatures - 12%\n-E- Burning FS3 image failed: timeout\n",
     FLASH_FAILED},
    {"-E- Cannot open Device: 05:00.0. No such device\n", FLASH_ABORTED},
    {"-E- Failed to open /tmp/x.bin: not a valid image\n", FLASH_ABORTED},
    {"-E- Invalid image\n", FLASH_ABORTED},
    {" Status:           Up to date\n", FLASH_SUCCESS},
    {" Status:           Update required\n", FLASH_OPEN},
    {" Status:           No matching image found\n", FLASH_ABORTED},
    {"Status: Up to date\nThe firmware image is already updated on flash.\n", FLASH_SUCCESS},
    {"Device #1: Updating FW ...\nDone\n\nRestart needed for updates to take effect.\n",
     FLASH_PENDING_RESET},
    {"Device #1: Updating FW ...\nFail : Failed to burn\n", FLASH_FAILED},
    {"Preparing to flash\nFlashing 10%\rFlashing 100%\nFlashing done\n", FLASH_PENDING_RESET},
    {"Preparing to flash\nFlashing\nError: solar_rdma: write failed.\nkernel answers: "
     "Input/output error\n",
     FLASH_FAILED},
    {"Error: devlink: File not found.\nkernel answers: No such file or directory\n", FLASH_ABORTED},
    {"devlink answers: Operation not supported\n", FLASH_ABORTED},
    {"[fw.mgmt] Erasing\n[fw.mgmt] Programming 30%\n[fw.mgmt] Programming failed\n", FLASH_FAILED},
};

static void outcomes_are_never_better_than_the_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct flint flint = read_text(cases[i].text);
        if (flint_outcome(&flint) != cases[i].outcome)
            fail_msg("case %zu is '%s', not '%s': %s", i, flash_outcome_name(flint_outcome(&flint)),
                     flash_outcome_name(cases[i].outcome), cases[i].text);
    }
}

static void progress_is_the_last_percentage(void **state)
{
    (void)state;
    struct flint flint = read_text("Burning FW image without signatures -   7%\r 42%\r");
    assert_int_equal(flint.percent, 42);
    flint = read_text("Burning 142%\n%\nfoo %\n");
    assert_int_equal(flint.percent, -1);
}

static void what_runs_is_told_apart(void **state)
{
    (void)state;
    struct flint flint = read_text("FW Version:            16.35.2000\n"
                                   "FW Version(Running):   16.28.2006\nPSID:  MT_0000000158\n");
    assert_string_equal(flint.flash_version, "16.35.2000");
    assert_string_equal(flint.running, "16.28.2006");
}

static void long_and_broken_lines_are_cut(void **state)
{
    (void)state;
    char *text = malloc(100001);
    struct flint flint;
    memset(text, 'x', 100000);
    memcpy(text, "-E- \x01\xff", 6);
    flint_read(text, 100000, &flint);
    assert_int_equal(strlen(flint.problem) < sizeof(flint.problem), true);
    assert_contains(flint.problem, "-E- ");
    memset(text, '1', 100000);
    memcpy(text, "PSID: ", 6);
    flint_read(text, 100000, &flint);
    assert_string_equal(flint.psid, "");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_board_is_refused_before_anything_is_written),
        cmocka_unit_test(a_failure_after_good_lines_is_a_failure),
        cmocka_unit_test(what_was_burnt_waits_for_a_reset),
        cmocka_unit_test(a_query_burns_nothing),
        cmocka_unit_test(outcomes_are_never_better_than_the_text),
        cmocka_unit_test(progress_is_the_last_percentage),
        cmocka_unit_test(what_runs_is_told_apart),
        cmocka_unit_test(long_and_broken_lines_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
