/*
 * tests/unit/datapath/test_flash_linux.c - datapath/{flash_linux,mstflint,sys/child} and the
 * messages of nl/{devlink_flash,rdma_qp}: from made-up trees, a tool that plays mstflint, and
 * bytes.
 */
#include "tests/unit/datapath/nl_test.h"
#include "tests/unit/datapath/root_test.h"

#include <linux/devlink.h>
#include <sys/resource.h>

#include "base/own.h"
#include "datapath/flash.h"
#include "datapath/mstflint.h"
#include "datapath/nl/devlink_flash.h"
#include "datapath/nl/rdma_qp.h"
#include "datapath/sys/child.h"

#define BDF "0000:3b:00.0"

/* Messages ------------------------------------------------------------------------------------- */

/* FLASH_UPDATE_STATUS of platform/solar_rdma.0: "Programming" of fw, 5 of 16, 10 s */
#define STATUS                                                                                     \
    "3c010000 0d000100 706c6174666f726d 00000000 11000200 736f6c61725f72646d612e30 00000000 "      \
    "10007c00 50726f6772616d6d696e6700 07007b00 66770000 0c007d00 0500000000000000 0c007e00 "      \
    "1000000000000000 0c009700 0a00000000000000"

static void progress_of_a_flash_decodes(void **state)
{
    (void)state;
    struct devlink_flash_event event;
    OWN(mem) void *memory = message(0x1c, STATUS);
    assert_true(devlink_decode_flash(memory, 0x1c, &event));
    assert_int_equal(event.kind, DEVLINK_FLASH_STATUS);
    assert_string_equal(event.bus, "platform");
    assert_string_equal(event.device, "solar_rdma.0");
    assert_string_equal(event.message, "Programming");
    assert_string_equal(event.component, "fw");
    assert_int_equal(event.timeout_s, 10);
    assert_int_equal(devlink_flash_percent(&event), 31);
    assert_false(devlink_decode_flash(memory, 0x1d, &event)); /* another family */
}

static void done_and_total_of_0_are_no_figure(void **state)
{
    (void)state;
    struct devlink_flash_event event = {.done = 0, .total = 0};
    assert_int_equal(devlink_flash_percent(&event), -1);
    event.done = UINT64_MAX;
    assert_int_equal(devlink_flash_percent(&event), -1);
    event.total = UINT64_MAX;
    assert_int_equal(devlink_flash_percent(&event), 100);
    event.done = UINT64_MAX / 2;
    assert_int_equal(devlink_flash_percent(&event), 50);
}

static void other_and_broken_messages_are_no_progress(void **state)
{
    (void)state;
    struct devlink_flash_event event;
    OWN(mem) void *info = message(0x1c, "33010000 08000100 70636900 06000200 61000000");
    assert_false(devlink_decode_flash(info, 0x1c, &event));
    OWN(mem) void *nameless = message(0x1c, "3c010000 08000100 70636900");
    assert_false(devlink_decode_flash(nameless, 0x1c, &event));
    OWN(mem) void *tiny = message(0x1c, "3c");
    assert_false(devlink_decode_flash(tiny, 0x1c, &event));
}

static void requests_name_device_and_file(void **state)
{
    (void)state;
    OWN(nl_msg)
    struct nl_msg *flash = devlink_encode_flash(0x1c, "pci", BDF, "stellar/i1.bin", NULL);
    /* genlmsghdr{cmd 58, version 1}, BUS_NAME, DEV_NAME, FLASH_UPDATE_FILE_NAME(122) */
    assert_payload(flash, "3a010000 08000100 70636900 11000200 30303030 3a33623a 30302e30 00000000 "
                          "13007a00 7374656c 6c61722f 69312e62 696e0000");
    OWN(nl_msg)
    struct nl_msg *activate = devlink_encode_reload(0x1c, "pci", BDF, DEVLINK_RELOAD_FIRMWARE);
    assert_payload(activate, "25010000 08000100 70636900 11000200 30303030 3a33623a 30302e30");
    assert_holds(activate, "05009900 02000000"); /* RELOAD_ACTION fw_activate */
    OWN(nl_msg)
    struct nl_msg *reload = devlink_encode_reload(0x1c, "pci", BDF, DEVLINK_RELOAD_DRIVER);
    assert_holds(reload, "05009900 01000000"); /* driver_reinit */
}

static void only_queue_pairs_of_users_count(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    int count = -1;
    /* RES_QP(19){ENTRY(20){LQPN 1, KERN_NAME(29) "ib"}, ENTRY{LQPN 2, PID(28)}, ENTRY{LQPN 3}} */
    OWN(mem)
    void *memory = message(0x1400, "38001380 14001480 08001500 01000000 07001d00 69620000 "
                                   "14001480 08001500 02000000 08001c00 39300000 "
                                   "0c001480 08001500 03000000");
    assert_ok(rdma_decode_user_qps(memory, &count, &err));
    assert_int_equal(count, 2);
    OWN(mem) void *none = message(0x1400, "08000100 00000000");
    assert_ok(rdma_decode_user_qps(none, &count, &err));
    assert_int_equal(count, 0);
    OWN(nl_msg) struct nl_msg *msg = rdma_encode_qps(3);
    assert_payload(msg, "08000100 03000000");
}

/* A tree --------------------------------------------------------------------------------------- */

struct tree {
    char root[TEST_PATH_MAX];
    struct flasher *flasher;
};

static void tree_open(struct tree *tree, const char *tool)
{
    struct err err = ERR_INIT;
    test_folder(tree->root);
    const struct flash_linux_config config = {.root = tree->root, .mstflint = tool};
    assert_ok(flash_linux_new(&config, &tree->flasher, &err));
    root_file(tree->root, "/sys/bus/pci/devices/" BDF "/net/eth1/dev_port", "1\n", 0444);
    root_file(tree->root, "/sys/bus/pci/devices/" BDF "/net/eth1/carrier", "1\n", 0444);
    root_file(tree->root, "/sys/bus/pci/devices/" BDF "/net/eth0/dev_port", "0\n", 0444);
    root_link(tree->root, "/sys/bus/pci/devices/" BDF "/driver", "../../drivers/mlx5_core");
}

static void tree_close(struct tree *tree)
{
    flasher_free(tree->flasher);
    root_remove(tree->root);
}

static void links_are_known_by_their_port(void **state)
{
    (void)state;
    struct tree tree;
    struct flash_links links;
    struct err err = ERR_INIT;
    tree_open(&tree, "/nonexistent/tool");
    assert_ok(tree.flasher->ops->links(tree.flasher, BDF, &links, &err));
    assert_int_equal(links.count, 2);
    assert_int_equal(links.items[0].port, 0);
    assert_false(links.items[0].up); /* set down: its carrier cannot be read */
    assert_int_equal(links.items[1].port, 1);
    assert_true(links.items[1].up);
    assert_fails(tree.flasher->ops->links(tree.flasher, "0000:3b:00.1", &links, &err),
                 ERR_NOT_FOUND);
    assert_contains(err.text, "0000:3b:00.1 is not there");
    tree_close(&tree);
}

/* With virtual functions in a switch: their ends go when the device is reloaded. */
static void representors_are_no_links(void **state)
{
    (void)state;
    struct tree tree;
    struct flash_links links;
    struct err err = ERR_INIT;
    tree_open(&tree, "/nonexistent/tool");
    root_file(tree.root, "/sys/bus/pci/devices/" BDF "/net/eth1/phys_port_name", "p1\n", 0444);
    for (int i = 0; i < FLASH_PORTS_MAX + 2; i++) {
        char path[160], name[32];
        snprintf(path, sizeof(path), "/sys/bus/pci/devices/" BDF "/net/rep%d/dev_port", i);
        root_file(tree.root, path, "0\n", 0444);
        snprintf(path, sizeof(path), "/sys/bus/pci/devices/" BDF "/net/rep%d/carrier", i);
        root_file(tree.root, path, "1\n", 0444);
        snprintf(path, sizeof(path), "/sys/bus/pci/devices/" BDF "/net/rep%d/phys_port_name", i);
        snprintf(name, sizeof(name), "pf0vf%d\n", i);
        root_file(tree.root, path, name, 0444);
    }
    assert_ok(tree.flasher->ops->links(tree.flasher, BDF, &links, &err));
    assert_int_equal(links.count, 2);
    assert_false(links.items[0].up);
    assert_int_equal(links.items[1].port, 1);
    assert_true(links.items[1].up);
    tree_close(&tree);
}

static void a_node_without_rdma_has_no_users(void **state)
{
    (void)state;
    struct tree tree;
    struct err err = ERR_INIT;
    int count = -1;
    tree_open(&tree, "/nonexistent/tool");
    assert_ok(tree.flasher->ops->users(tree.flasher, BDF, &count, &err));
    assert_int_equal(count, 0);
    tree_close(&tree);
}

static void only_our_own_images_are_swept(void **state)
{
    (void)state;
    struct tree tree;
    tree_open(&tree, "/nonexistent/tool");
    root_file(tree.root, "/lib/firmware/stellar/i1.bin", "x", 0600);
    root_file(tree.root, "/lib/firmware/other.bin", "y", 0600);
    tree.flasher->ops->sweep(tree.flasher);
    OWN(str) char *ours = root_text(tree.root, "/lib/firmware/stellar/i1.bin");
    OWN(str) char *other = root_text(tree.root, "/lib/firmware/other.bin");
    assert_string_equal(ours, "");
    assert_string_equal(other, "y");
    root_file(tree.root, "/sys/module/firmware_class/parameters/path", "/opt/fw\n", 0644);
    root_file(tree.root, "/opt/fw/stellar/i2.bin", "x", 0600);
    tree.flasher->ops->sweep(tree.flasher);
    OWN(str) char *elsewhere = root_text(tree.root, "/opt/fw/stellar/i2.bin");
    assert_string_equal(elsewhere, "");
    tree_close(&tree);
}

/* A tool that plays mstflint ------------------------------------------------------------------- */

#define TOOL_HEAD "#!/bin/sh\necho \"$*\" >>\"$0.log\"\n"
#define TOOL_QUERY                                                                                 \
    "case \"$*\" in\n"                                                                             \
    "'-d " BDF " q') echo 'FW Version:            16.35.2000'\n"                                   \
    "  echo 'FW Version(Running):   16.28.2006'; echo 'PSID:   MT_0000000158'; exit 0 ;;\n"        \
    "*'good.bin q') echo 'FW Version: 16.35.3000'; echo 'PSID: MT_0000000158'; exit 0 ;;\n"        \
    "*'other.bin q') echo 'FW Version: 16.35.3000'; echo 'PSID: MT_9'; exit 0 ;;\n"                \
    "*' q') echo '-E- Invalid image'; exit 1 ;;\n"                                                 \
    "esac\n"

struct play {
    char folder[TEST_PATH_MAX], tool[2 * TEST_PATH_MAX];
    struct mstflint mstflint;
    int percent;
};

static void play_open(struct play *play, const char *burn)
{
    char text[4096];
    memset(play, 0, sizeof(*play));
    test_folder(play->folder);
    snprintf(text, sizeof(text), "%s%s%s", TOOL_HEAD, TOOL_QUERY, burn);
    root_file(play->folder, "/tool", text, 0755);
    snprintf(play->tool, sizeof(play->tool), "%s/tool", play->folder);
    play->mstflint = (struct mstflint){.tool = play->tool, .device = BDF};
}

static void on_progress(void *arg, const struct flash_progress *progress)
{
    ((struct play *)arg)->percent = progress->percent;
}

static enum err_code burn(struct play *play, int deadline_s, struct err *err)
{
    const struct flash_write write = {.device = BDF,
                                      .path = "/tmp/good.bin",
                                      .id = "i1",
                                      .deadline_s = deadline_s,
                                      .progress = on_progress,
                                      .arg = play};
    return mstflint_burn(&play->mstflint, &write, err);
}

/* A disk that is full in the middle: the kernel takes a part of a write, without an errno. */
static void an_image_that_does_not_fit_is_told_so(void **state)
{
    (void)state;
    struct tree tree;
    struct err err = ERR_INIT;
    struct rlimit before;
    char image[2 * TEST_PATH_MAX];
    tree_open(&tree, "/nonexistent/tool");
    OWN(str) char *text = malloc(200001);
    assert_non_null(text);
    memset(text, 'x', 200000);
    text[200000] = '\0';
    root_file(tree.root, "/image.bin", text, 0600);
    snprintf(image, sizeof(image), "%s/image.bin", tree.root);
    const struct flash_write write = {.device = BDF, .path = image, .id = "i1", .deadline_s = 5};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit some = {.rlim_cur = 100000, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &some), 0);
    enum err_code code = tree.flasher->ops->write(tree.flasher, &write, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(code, ERR_IO);
    assert_contains(err.text, "cannot put the image to");
    assert_contains(err.text, "No space left");
    OWN(str) char *left = root_text(tree.root, "/lib/firmware/stellar/i1.bin");
    assert_string_equal(left, "");
    tree_close(&tree);
}

static void a_tool_tells_what_is_stored_and_what_runs(void **state)
{
    (void)state;
    struct play play;
    struct err err = ERR_INIT;
    struct flash_identity identity = {0};
    play_open(&play, "");
    assert_ok(mstflint_identify(&play.mstflint, &identity, &err));
    assert_string_equal(identity.running, "16.28.2006");
    assert_string_equal(identity.stored, "16.35.2000");
    assert_string_equal(identity.psid, "MT_0000000158");
    root_remove(play.folder);
}

static void an_image_of_another_board_is_refused_before_the_burn(void **state)
{
    (void)state;
    struct play play;
    struct err err = ERR_INIT;
    play_open(&play, "");
    assert_ok(mstflint_check_image(&play.mstflint, "/tmp/good.bin", &err));
    assert_fails(mstflint_check_image(&play.mstflint, "/tmp/other.bin", &err), ERR_INVALID);
    assert_contains(err.text, "a board MT_0000000158, the image is for MT_9");
    assert_fails(mstflint_check_image(&play.mstflint, "/tmp/bad.bin", &err), ERR_IO);
    assert_contains(err.text, "-E- Invalid image");
    OWN(str) char *log = root_text(play.folder, "/tool.log");
    assert_null(strstr(log, "burn"));
    root_remove(play.folder);
}

static void a_burn_is_never_forced(void **state)
{
    (void)state;
    struct play play;
    struct err err = ERR_INIT;
    play_open(&play, "echo 'Burning FW image without signatures - 50%'; sleep 0.1\n"
                     "echo 'Burning FW image without signatures - OK'\n"
                     "echo '-I- To load new FW run mlxfwreset or reboot machine.'\n");
    assert_ok(burn(&play, 60, &err));
    assert_int_equal(play.percent, 50);
    OWN(str) char *log = root_text(play.folder, "/tool.log");
    assert_string_equal(log, "-d " BDF " -y -i /tmp/good.bin burn\n");
    root_remove(play.folder);
}

static void a_burn_that_does_not_say_it_is_good_is_bad(void **state)
{
    (void)state;
    static const struct {
        const char *burn, *text;
    } bad[] = {
        {"exit 0\n", "does not say that it burnt"},
        {"echo 'Burning - OK'; exit 3\n", "ended with 3"},
        {"echo 'Burning - OK'; echo '-E- Verify failed'; exit 0\n", "-E- Verify failed"},
        {"kill -9 $$\n", "ended with 137"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct play play;
        struct err err = ERR_INIT;
        play_open(&play, bad[i].burn);
        assert_fails(burn(&play, 60, &err), ERR_IO);
        assert_contains(err.text, bad[i].text);
        root_remove(play.folder);
    }
}

static void a_tool_that_hangs_is_ended_and_unknown(void **state)
{
    (void)state;
    struct play play;
    struct err err = ERR_INIT;
    play_open(&play, "exec sleep 1000\n");
    assert_fails(burn(&play, 1, &err), ERR_UNAVAILABLE);
    root_remove(play.folder);
}

static void a_tool_that_is_not_there_is_not_found(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct flash_identity identity;
    const struct mstflint none = {.tool = "/nonexistent/tool", .device = BDF};
    assert_fails(mstflint_identify(&none, &identity, &err), ERR_NOT_FOUND);
}

static void output_beyond_its_maximum_is_dropped_and_nothing_is_read(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    OWN(str) char *text = NULL;
    size_t len;
    int status;
    /* It ends only when its output is taken, and when its input is at an end. */
    const char *const argv[] = {
        "sh", "-c", "cat; head -c 300000 /dev/zero | tr '\\0' x; echo \"$1\"", "sh", "a b;c", NULL};
    const struct child child = {.argv = argv, .deadline_ms = 60000};
    assert_ok(child_run(&child, &status, &text, &len, &err));
    assert_int_equal(status, 0);
    assert_int_equal(len, CHILD_OUTPUT_MAX);
    const char *const echo[] = {"printf", "%s", "a b;c $HOME", NULL};
    const struct child plain = {.argv = echo, .deadline_ms = 60000};
    OWN(str) char *said = NULL;
    assert_ok(child_run(&plain, &status, &said, &len, &err));
    assert_string_equal(said, "a b;c $HOME"); /* no shell has looked at it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_of_a_flash_decodes),
        cmocka_unit_test(done_and_total_of_0_are_no_figure),
        cmocka_unit_test(other_and_broken_messages_are_no_progress),
        cmocka_unit_test(requests_name_device_and_file),
        cmocka_unit_test(only_queue_pairs_of_users_count),
        cmocka_unit_test(links_are_known_by_their_port),
        cmocka_unit_test(representors_are_no_links),
        cmocka_unit_test(a_node_without_rdma_has_no_users),
        cmocka_unit_test(only_our_own_images_are_swept),
        cmocka_unit_test(an_image_that_does_not_fit_is_told_so),
        cmocka_unit_test(a_tool_tells_what_is_stored_and_what_runs),
        cmocka_unit_test(an_image_of_another_board_is_refused_before_the_burn),
        cmocka_unit_test(a_burn_is_never_forced),
        cmocka_unit_test(a_burn_that_does_not_say_it_is_good_is_bad),
        cmocka_unit_test(a_tool_that_hangs_is_ended_and_unknown),
        cmocka_unit_test(a_tool_that_is_not_there_is_not_found),
        cmocka_unit_test(output_beyond_its_maximum_is_dropped_and_nothing_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
