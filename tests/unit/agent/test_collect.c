/*
 * tests/unit/agent/test_collect.c - batches of telemetry are kept until they are sent, within
 * limits that are told; a reader that hangs or fails leaves a gap and stops nothing.
 */
#include "tests/unit/test.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/collect.h"

#define MS INT64_C(1000000)

static const int64_t any_times[2] = {1790000000000000, 1790000009000000};

static void remove_folder(const char *dir)
{
    char command[TEST_PATH_MAX + 16];
    snprintf(command, sizeof(command), "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

static void add(struct spool *spool, const char *text, struct spool_lost *lost)
{
    struct err err = ERR_INIT;
    assert_ok(spool_add(spool, (const uint8_t *)text, strlen(text), any_times, lost, &err));
}

static void check_first(struct spool *spool, const char *wanted)
{
    OWN(str) char *data = NULL;
    size_t len;
    assert_true(spool_first(spool, &data, &len));
    assert_int_equal(len, strlen(wanted));
    assert_memory_equal(data, wanted, len);
}

static void the_oldest_goes_first(void **state)
{
    (void)state;
    char dir[TEST_PATH_MAX];
    struct err err = ERR_INIT;
    struct spool_lost lost;
    OWN(str) char *data = NULL;
    size_t len;
    struct spool *spool = NULL;
    test_folder(dir);
    assert_ok(spool_new(dir, &spool, &err));
    assert_false(spool_first(spool, &data, &len));
    add(spool, "one", &lost);
    add(spool, "two", &lost);
    check_first(spool, "one");
    check_first(spool, "one"); /* until it is dropped */
    spool_drop(spool);
    check_first(spool, "two");
    spool_drop(spool);
    spool_drop(spool);
    assert_false(spool_first(spool, &data, &len));
    spool_free(spool);
    remove_folder(dir);
}

static void over_its_bytes_the_oldest_is_lost_and_told(void **state)
{
    (void)state;
    char dir[TEST_PATH_MAX];
    struct err err = ERR_INIT;
    struct spool_lost lost;
    struct spool *spool = NULL;
    size_t len = TELEMETRY_BODY_MAX;
    uint8_t *data = calloc(1, len);
    assert_non_null(data);
    test_folder(dir);
    assert_ok(spool_new(dir, &spool, &err));
    for (size_t i = 0; i < SPOOL_BYTES_MAX / TELEMETRY_BODY_MAX; i++) {
        const int64_t times[2] = {(int64_t)i * 10 + 1, (int64_t)i * 10 + 10};
        assert_ok(spool_add(spool, data, len, times, &lost, &err));
        assert_int_equal(lost.from_us, 0);
    }
    assert_ok(spool_add(spool, data, 1, any_times, &lost, &err));
    assert_int_equal(lost.from_us, 1);
    assert_int_equal(lost.to_us, 10);
    OWN(str) char *first = NULL;
    assert_true(spool_first(spool, &first, &len)); /* on its way: the next one is lost instead */
    assert_ok(spool_add(spool, data, TELEMETRY_BODY_MAX, any_times, &lost, &err));
    assert_int_equal(lost.from_us, 21);
    free(data);
    spool_free(spool);
    remove_folder(dir);
}

static void make_path(const char *dir, const char *name, char out[TEST_PATH_MAX + 64])
{
    snprintf(out, TEST_PATH_MAX + 64, "%s/telemetry/%s", dir, name);
}

/* Folders cannot be removed like files, a pipe would be waited for, a link would be written
 * through.
 */
static void what_stands_in_the_way_is_gone_around(void **state)
{
    (void)state;
    static const char *const folders[] = {"00000000000000000001", "00000000000000000002",
                                          "00000000000000000004"};
    char dir[TEST_PATH_MAX], path[TEST_PATH_MAX + 64], note[TEST_PATH_MAX + 64];
    struct err err = ERR_INIT;
    struct spool_lost lost;
    struct spool *spool = NULL;
    struct stat st;
    test_folder(dir);
    assert_ok(spool_new(dir, &spool, &err));
    spool_free(spool);
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        make_path(dir, folders[i], path);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    make_path(dir, "00000000000000000003", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    make_path(dir, "2026-notes", note);
    assert_int_equal(mkfifo(note, 0600), 0);
    assert_ok(spool_new(dir, &spool, &err));
    assert_int_equal(lstat(note, &st), 0); /* somebody else's */
    assert_int_equal(symlink(note, path), 0);
    add(spool, "one", &lost);
    add(spool, "two", &lost);
    check_first(spool, "one");
    spool_drop(spool);
    make_path(dir, "00000000000000000006", path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    add(spool, "three", &lost);
    check_first(spool, "three"); /* the second became no file */
    spool_free(spool);
    remove_folder(dir);
}

static void over_its_files_the_oldest_is_lost(void **state)
{
    (void)state;
    char dir[TEST_PATH_MAX];
    struct err err = ERR_INIT;
    struct spool_lost lost;
    struct spool *spool = NULL;
    test_folder(dir);
    assert_ok(spool_new(dir, &spool, &err));
    for (int i = 0; i < SPOOL_FILES_MAX; i++) {
        add(spool, "x", &lost);
        assert_int_equal(lost.from_us, 0);
    }
    add(spool, "x", &lost);
    assert_int_equal(lost.from_us, any_times[0]);
    spool_free(spool);
    remove_folder(dir);
}

/* Collecting ----------------------------------------------------------------------------------- */

struct fake {
    struct counters base;
    pthread_mutex_t lock;
    int looks, fail_from;
    bool hang;
};

static enum err_code fake_read(struct counters *base, int64_t mono_ns,
                               const struct counters_sink *sink, struct err *err)
{
    struct fake *fake = (struct fake *)base;
    static const struct telemetry_name name = {"tx_bytes", TELEMETRY_STAYS, 0};
    struct telemetry_subject subject = {.number = 17};
    (void)mono_ns;
    pthread_mutex_lock(&fake->lock);
    int look = fake->looks++;
    bool hang = fake->hang;
    pthread_mutex_unlock(&fake->lock);
    if (hang)
        usleep(1200 * 1000); /* longer than it is waited for */
    if (fake->fail_from > 0 && look >= fake->fail_from)
        return err_set(err, ERR_UNAVAILABLE, "the device does not answer");
    sink->row(sink->arg, TELEMETRY_QP, "mlx5_0", &subject);
    sink->value(sink->arg, &name, 1000 + look);
    sink->value(sink->arg, &name, 5); /* told twice: the first counts */
    return ERR_OK;
}

static void fake_free(struct counters *base)
{
    (void)base;
}

static const struct counters_ops fake_ops = {.read = fake_read, .free = fake_free};

struct site {
    char dir[TEST_PATH_MAX];
    struct loop *loop;
    struct spool *spool;
    struct collect *collect;
    struct fake fake;
    int ready;
};

static void on_ready(void *arg)
{
    ((struct site *)arg)->ready++;
}

static void site_start(struct site *site)
{
    struct err err = ERR_INIT;
    test_folder(site->dir);
    site->fake.base.ops = &fake_ops;
    pthread_mutex_init(&site->fake.lock, NULL);
    assert_ok(loop_new(&site->loop, &err));
    assert_ok(spool_new(site->dir, &site->spool, &err));
    const struct collect_config config = {.node = "n1",
                                          .counters = &site->fake.base,
                                          .spool = site->spool,
                                          .clock = clock_system(),
                                          .interval_ns = 10 * MS,
                                          .loop = site->loop,
                                          .ready = on_ready,
                                          .arg = site};
    assert_ok(collect_new(&config, &site->collect, &err));
}

static void wait_for_batches(struct site *site, int count)
{
    struct err err = ERR_INIT;
    for (int turns = 0; site->ready < count && turns < 1000; turns++)
        assert_ok(loop_turn(site->loop, 100, &err));
    assert_true(site->ready >= count);
}

static void site_end(struct site *site)
{
    collect_free(site->collect);
    spool_free(site->spool);
    loop_free(site->loop);
    remove_folder(site->dir);
}

/* All values of tx_bytes of what is in the spool, in order. */
static size_t read_spool(struct site *site, int64_t *out, size_t room,
                         struct telemetry_batch *batch)
{
    struct err err = ERR_INIT;
    size_t count = 0, len;
    char *data = NULL;
    while (spool_first(site->spool, &data, &len)) {
        assert_ok(telemetry_decode((const uint8_t *)data, len, batch, &err));
        for (size_t i = 0; i < batch->value_count && count < room; i++)
            out[count++] = batch->values[i];
        free(data);
        spool_drop(site->spool);
    }
    return count;
}

/* Behind the last number there would be no other. */
static void scribble(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
}

static void what_the_folder_does_not_take_is_kept_in_memory(void **state)
{
    (void)state;
    char dir[TEST_PATH_MAX], path[TEST_PATH_MAX + 64];
    static const char *const texts[] = {"1", "2", "3", "4", "5", "6", "7"};
    struct err err = ERR_INIT;
    struct spool_lost lost;
    struct spool *spool = NULL;
    test_folder(dir);
    snprintf(path, sizeof(path), "%s/telemetry", dir);
    scribble(path); /* no folder */
    assert_ok(spool_new(dir, &spool, &err));
    for (size_t i = 0; i < SPOOL_MEMORY_MAX; i++) {
        add(spool, texts[i], &lost);
        assert_int_equal(lost.from_us, 0);
    }
    check_first(spool, "1"); /* on its way: the next one is lost instead */
    add(spool, texts[SPOOL_MEMORY_MAX], &lost);
    assert_int_equal(lost.from_us, any_times[0]);
    spool_drop(spool);
    check_first(spool, "3");
    assert_int_equal(unlink(path), 0);
    add(spool, "on disk", &lost);
    assert_int_equal(lost.from_us, 0);
    for (size_t i = 2; i <= SPOOL_MEMORY_MAX; i++) {
        check_first(spool, texts[i]);
        spool_drop(spool);
    }
    check_first(spool, "on disk");
    make_path(dir, "00000000000000000008", path);
    assert_int_equal(access(path, F_OK), 0);
    spool_free(spool);
    remove_folder(dir);
}

static void a_name_that_no_batch_has_is_removed(void **state)
{
    (void)state;
    static const char *const names[] = {"18446744073709551615", "01000000000000000001",
                                        "99999999999999999999"};
    static const char *const others[] = {"7", "000000000000000000001", "2026-12-02"};
    char dir[TEST_PATH_MAX], path[TEST_PATH_MAX + 64];
    struct err err = ERR_INIT;
    struct spool *spool = NULL;
    struct spool_lost lost;
    test_folder(dir);
    assert_ok(spool_new(dir, &spool, &err));
    spool_free(spool);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        make_path(dir, names[i], path);
        scribble(path);
        make_path(dir, others[i], path);
        scribble(path);
    }
    assert_ok(spool_new(dir, &spool, &err));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        make_path(dir, names[i], path);
        assert_int_equal(access(path, F_OK), -1);
        make_path(dir, others[i], path);
        assert_int_equal(access(path, F_OK), 0);
    }
    add(spool, "one", &lost);
    snprintf(path, sizeof(path), "%s/telemetry/00000000000000000001", dir);
    assert_int_equal(access(path, F_OK), 0);
    spool_free(spool);
    remove_folder(dir);
}

static void looks_become_batches_without_a_hole(void **state)
{
    (void)state;
    struct site site = {0};
    struct telemetry_batch batch;
    int64_t values[4096];
    telemetry_batch_init(&batch);
    site_start(&site);
    wait_for_batches(&site, 3);
    collect_free(site.collect); /* what is open becomes the last one */
    site.collect = NULL;
    size_t count = read_spool(&site, values, 4096, &batch);
    assert_int_equal(count, site.fake.looks);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(values[i], 1000 + (int64_t)i);
    telemetry_batch_release(&batch);
    site_end(&site);
}

static void what_cannot_be_read_is_absent(void **state)
{
    (void)state;
    struct site site = {.fake = {.fail_from = 5}};
    struct telemetry_batch batch;
    int64_t values[4096];
    telemetry_batch_init(&batch);
    site_start(&site);
    wait_for_batches(&site, 3);
    collect_free(site.collect);
    site.collect = NULL;
    size_t count = read_spool(&site, values, 4096, &batch), known = 0;
    for (size_t i = 0; i < count; i++)
        known += values[i] != TELEMETRY_ABSENT;
    assert_int_equal(known, 5);
    telemetry_batch_release(&batch);
    site_end(&site);
}

static void batches_that_were_left_are_sent_and_the_gap_is_told(void **state)
{
    (void)state;
    struct site site = {0};
    struct telemetry_batch batch;
    struct err err = ERR_INIT;
    char *data = NULL;
    size_t len;
    telemetry_batch_init(&batch);
    site_start(&site);
    wait_for_batches(&site, 1);
    collect_free(site.collect);
    spool_free(site.spool);
    assert_ok(spool_new(site.dir, &site.spool, &err));
    int64_t last_us = spool_last_us(site.spool);
    assert_true(last_us > 0);
    usleep(20 * 1000);
    const struct collect_config config = {.node = "n1",
                                          .counters = &site.fake.base,
                                          .spool = site.spool,
                                          .clock = clock_system(),
                                          .interval_ns = 10 * MS,
                                          .loop = site.loop,
                                          .ready = on_ready,
                                          .arg = &site};
    assert_ok(collect_new(&config, &site.collect, &err));
    wait_for_batches(&site, site.ready + 1);
    bool told = false;
    while (spool_first(site.spool, &data, &len)) {
        assert_ok(telemetry_decode((const uint8_t *)data, len, &batch, &err));
        told = told || (batch.gap_count > 0 && batch.gaps[0].reason == TELEMETRY_GAP_START &&
                        batch.gaps[0].from_us == last_us);
        free(data);
        spool_drop(site.spool);
    }
    assert_true(told);
    telemetry_batch_release(&batch);
    site_end(&site);
}

static void a_reader_that_hangs_is_given_up(void **state)
{
    (void)state;
    static struct site site; /* the thread outlives the test */
    site.fake.hang = true;
    site_start(&site);
    while (true) {
        pthread_mutex_lock(&site.fake.lock);
        int looks = site.fake.looks;
        pthread_mutex_unlock(&site.fake.lock);
        if (looks > 0)
            break;
        usleep(1000);
    }
    site_end(&site);
    usleep(1500 * 1000); /* it comes back, and touches nothing that is gone */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_oldest_goes_first),
        cmocka_unit_test(over_its_bytes_the_oldest_is_lost_and_told),
        cmocka_unit_test(what_stands_in_the_way_is_gone_around),
        cmocka_unit_test(what_the_folder_does_not_take_is_kept_in_memory),
        cmocka_unit_test(over_its_files_the_oldest_is_lost),
        cmocka_unit_test(a_name_that_no_batch_has_is_removed),
        cmocka_unit_test(looks_become_batches_without_a_hole),
        cmocka_unit_test(what_cannot_be_read_is_absent),
        cmocka_unit_test(batches_that_were_left_are_sent_and_the_gap_is_told),
        cmocka_unit_test(a_reader_that_hangs_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
