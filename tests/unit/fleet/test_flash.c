/*
 * tests/unit/fleet/test_flash.c - what server and node say to each other of a flash.
 */
#include "fleet_test.h"

#include "fleet/flash.h"

#define SHA "abababababababababababababababababababababababababababababababab"
#define IMAGE                                                                                      \
    "'image':{'id':'i1','component':'mlx5_core','version':'22.41.1000','psids':['MT_0000000359',"  \
    "'MT_1'],'sha256':'" SHA "','size_bytes':4096}"
#define TASK_WITH(image, more)                                                                     \
    "{'version':1,'id':'t1','campaign':'c1','device':'0000:3b:00.0'," image                        \
    ",'activate':'reload','drain_timeout_s':600,'deadline_s':1800,'cancelled':false" more "}"
#define TASK(more) TASK_WITH(IMAGE, more)

static enum err_code read_task(const char *text, struct flash_task *out, struct err *err)
{
    OWN(json) json_t *document = json_of(text);
    return flash_task_from_json(document, out, err);
}

static enum err_code read_report(const char *text, struct flash_report *out, struct err *err)
{
    OWN(json) json_t *document = json_of(text);
    return flash_report_from_json(document, out, err);
}

static void a_task_is_read_and_written_the_same(void **unused)
{
    (void)unused;
    struct flash_task task;
    struct err err = ERR_INIT;
    assert_ok(read_task(TASK(",'from_version':'22.36.1010'"), &task, &err));
    assert_string_equal(task.device, "0000:3b:00.0");
    assert_int_equal(task.image.psid_count, 2);
    assert_string_equal(task.image.psids[1], "MT_1");
    assert_int_equal(task.image.size_bytes, 4096);
    assert_int_equal(task.activate, FLASH_ACTIVATE_RELOAD);
    assert_int_equal(task.drain_timeout_s, 600);
    assert_string_equal(task.from_version, "22.36.1010");
    OWN(json) json_t *first = json_of(TASK(",'from_version':'22.36.1010'"));
    OWN(json) json_t *again = flash_task_to_json(&task);
    assert_true(json_equal(first, again));
}

static void a_hostile_task_is_refused_with_a_pointer(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *pointer;
    } cases[] = {
        {"{}", "/version"},
        {TASK(",'colour':1"), "/colour"},
        {TASK(",'from_version':''"), "/from_version"},
        {"{'version':1,'id':'../t','campaign':'c1','device':'d'," IMAGE
         ",'activate':'none','drain_timeout_s':0,'deadline_s':1,'cancelled':false}",
         "/id"},
        {"{'version':1,'id':'t','campaign':'c1','device':'../../etc'," IMAGE
         ",'activate':'none','drain_timeout_s':0,'deadline_s':1,'cancelled':false}",
         "/device"},
        {"{'version':1,'id':'t','campaign':'c1','device':'-d'," IMAGE
         ",'activate':'none','drain_timeout_s':0,'deadline_s':1,'cancelled':false}",
         "/device"},
        {"{'version':1,'id':'t','campaign':'c1','device':'d'," IMAGE
         ",'activate':'burn','drain_timeout_s':0,'deadline_s':1,'cancelled':false}",
         "/activate"},
        {"{'version':1,'id':'t','campaign':'c1','device':'d'," IMAGE
         ",'activate':'none','drain_timeout_s':86401,'deadline_s':1,'cancelled':false}",
         "/drain_timeout_s"},
        {"{'version':1,'id':'t','campaign':'c1','device':'d'," IMAGE
         ",'activate':'none','drain_timeout_s':0,'deadline_s':0,'cancelled':false}",
         "/deadline_s"},
        {TASK_WITH("'image':{'id':'a/b','component':'c','version':'1','psids':[],'sha256':'" SHA
                   "','size_bytes':1}",
                   ""),
         "/image/id"},
        {TASK_WITH("'image':{'id':'a','component':'c','version':'1','psids':[''],'sha256':'" SHA
                   "','size_bytes':1}",
                   ""),
         "/image/psids"},
        {TASK_WITH("'image':{'id':'a','component':'c','version':'1','psids':[],'sha256':'AB',"
                   "'size_bytes':1}",
                   ""),
         "/image/sha256"},
        {TASK_WITH("'image':{'id':'a','component':'c','version':'1','psids':[],'sha256':'" SHA
                   "','size_bytes':0}",
                   ""),
         "/image/size_bytes"},
        {TASK_WITH("'image':{'id':'a','component':'c','version':'1','psids':[],'sha256':'" SHA
                   "','size_bytes':536870913}",
                   ""),
         "/image/size_bytes"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct flash_task task = {.id = "untouched"};
        struct err err = ERR_INIT;
        assert_int_equal(read_task(cases[i].text, &task, &err), ERR_INVALID);
        assert_string_equal(err.pointer, cases[i].pointer);
        assert_string_equal(task.id, "untouched");
    }
}

static void the_largest_image_is_taken(void **unused)
{
    (void)unused;
    struct flash_task task;
    struct err err = ERR_INIT;
    assert_ok(read_task(TASK_WITH("'image':{'id':'a','component':'c','version':'1','psids':[],"
                                  "'sha256':'" SHA "','size_bytes':536870912}",
                                  ""),
                        &task, &err));
    assert_int_equal(task.image.size_bytes, FLASH_BYTES_MAX);
}

static void a_cancelled_task_has_another_tag(void **unused)
{
    (void)unused;
    char tag[FLASH_TAG_SIZE];
    struct flash_task task = {.id = "t1"};
    flash_task_tag(&task, tag);
    assert_string_equal(tag, "t1");
    task.cancelled = true;
    flash_task_tag(&task, tag);
    assert_string_equal(tag, "t1~cancelled");
}

static void a_report_is_read_and_written_the_same(void **unused)
{
    (void)unused;
    static const char text[] =
        "{'version':1,'task':'t1','phase':'flashing','percent':40,'message':'Programming',"
        "'component':'fw.mgmt','outcome':'failed','problem':'p','running':'1','stored':'2',"
        "'boot':'2','at_us':1767323045000006}";
    struct flash_report report;
    struct err err = ERR_INIT;
    assert_ok(read_report(text, &report, &err));
    assert_int_equal(report.phase, FLASH_FLASHING);
    assert_int_equal(report.percent, 40);
    assert_int_equal(report.outcome, FLASH_FAILED);
    OWN(json) json_t *first = json_of(text);
    OWN(json) json_t *again = flash_report_to_json(&report);
    assert_true(json_equal(first, again));
}

static void a_percentage_that_is_not_said_is_none(void **unused)
{
    (void)unused;
    struct flash_report report;
    struct err err = ERR_INIT;
    assert_ok(read_report("{'version':1,'task':'t1','phase':'offered','at_us':1767323045000000}",
                          &report, &err));
    assert_int_equal(report.percent, -1);
    assert_int_equal(report.outcome, FLASH_OPEN);
    OWN(json) json_t *again = flash_report_to_json(&report);
    assert_null(json_object_get(again, "percent"));
    assert_null(json_object_get(again, "outcome"));
}

static void words_of_a_device_never_lose_a_report(void **unused)
{
    (void)unused;
    struct flash_report report = {.task = "t1", .percent = -1, .message = "bad\x01\xff text"};
    struct err err = ERR_INIT;
    OWN(json) json_t *document = flash_report_to_json(&report);
    assert_ok(flash_report_from_json(document, &report, &err));
}

static void a_hostile_report_is_refused_with_a_pointer(void **unused)
{
    (void)unused;
    static const struct {
        const char *more, *pointer;
    } cases[] = {
        {"'phase':'burning'", "/phase"},
        {"'phase':'flashing','percent':101", "/percent"},
        {"'phase':'flashing','percent':-1", "/percent"},
        {"'phase':'flashing','outcome':''", "/outcome"},
        {"'phase':'flashing','outcome':'open'", "/outcome"},
        {"'phase':'done'", "/phase"},
        {"'phase':'flashing','outcome':'success'", "/outcome"},
        {"'phase':'flashing','outcome':'aborted'", "/outcome"},
        {"'phase':'checking','outcome':'failed'", "/outcome"},
        {"'phase':'flashing','outcome':'cancelled'", "/outcome"},
        {"'phase':'flashing','outcome':'pending-reset'", "/outcome"},
        {"'phase':'offered','surprise':1", "/surprise"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct flash_report report;
        struct err err = ERR_INIT;
        char text[512];
        snprintf(text, sizeof(text), "{'version':1,'task':'t1','at_us':1767323045000000,%s}",
                 cases[i].more);
        assert_int_equal(read_report(text, &report, &err), ERR_INVALID);
        assert_string_equal(err.pointer, cases[i].pointer);
    }
}

static void a_message_over_its_maximum_is_refused(void **unused)
{
    (void)unused;
    for (size_t len = FLASH_MESSAGE_SIZE - 1; len <= FLASH_MESSAGE_SIZE; len++) {
        struct flash_report report;
        struct err err = ERR_INIT;
        OWN(json)
        json_t *document =
            json_of("{'version':1,'task':'t1','at_us':1767323045000000,'phase':'offered'}");
        char words[FLASH_MESSAGE_SIZE + 1];
        memset(words, 'x', len);
        words[len] = '\0';
        json_object_set_new(document, "message", json_string(words));
        assert_int_equal(flash_report_from_json(document, &report, &err),
                         len < FLASH_MESSAGE_SIZE ? ERR_OK : ERR_INVALID);
    }
}

/* The three lines of the contract: nothing was written before, something was after. */
static void an_outcome_says_whether_something_was_written(void **unused)
{
    (void)unused;
    for (int phase = 0; phase < FLASH_PHASE_COUNT; phase++) {
        bool before = flash_is_before_write((enum flash_phase)phase);
        assert_int_equal(flash_outcome_fits((enum flash_phase)phase, FLASH_ABORTED), before);
        assert_int_equal(flash_outcome_fits((enum flash_phase)phase, FLASH_CANCELLED), before);
        assert_int_equal(flash_outcome_fits((enum flash_phase)phase, FLASH_FAILED),
                         !before && phase != FLASH_DONE);
        assert_int_equal(flash_outcome_fits((enum flash_phase)phase, FLASH_SUCCESS),
                         phase == FLASH_DONE);
        assert_int_equal(flash_outcome_fits((enum flash_phase)phase, FLASH_OPEN),
                         phase != FLASH_DONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_is_read_and_written_the_same),
        cmocka_unit_test(a_hostile_task_is_refused_with_a_pointer),
        cmocka_unit_test(the_largest_image_is_taken),
        cmocka_unit_test(a_cancelled_task_has_another_tag),
        cmocka_unit_test(a_report_is_read_and_written_the_same),
        cmocka_unit_test(a_percentage_that_is_not_said_is_none),
        cmocka_unit_test(words_of_a_device_never_lose_a_report),
        cmocka_unit_test(a_hostile_report_is_refused_with_a_pointer),
        cmocka_unit_test(a_message_over_its_maximum_is_refused),
        cmocka_unit_test(an_outcome_says_whether_something_was_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
