/*
 * tests/unit/db/test_series.c - telemetry comes back as it was counted, also after a kill, a torn
 * or damaged file and a full disk; what is not known stays unknown.
 */
#include "tests/unit/test.h"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "db/series.h"
#include "db/series_frame.h"
#include "db/series_private.h"

#define S_US     INT64_C(1000000)
#define START_US (INT64_C(1790000000) * S_US / (3600 * S_US) * (3600 * S_US)) /* a full hour */
#define RATE     1000                /* bytes a second of the queue pair below */
#define BASE     INT64_C(1000000000) /* what it had sent at START_US */

struct fixture {
    char dir[TEST_PATH_MAX];
    struct clock_fake clock;
    struct series *series;
    struct series_config config;
};

static void open_series(struct fixture *f)
{
    struct err err = ERR_INIT;
    f->config.dir = f->dir;
    f->config.clock = &f->clock.base;
    assert_ok(series_open(&f->config, &f->series, &err));
}

static void begin(struct fixture *f)
{
    *f = (struct fixture){0};
    test_folder(f->dir);
    clock_fake_init(&f->clock, START_US + 1800 * S_US);
    open_series(f);
}

static void reopen(struct fixture *f)
{
    series_close(f->series);
    open_series(f);
}

/* The series' threads look at the clock: it is turned while there are none. */
static void pass_time(struct fixture *f, int64_t time_s)
{
    series_close(f->series);
    clock_fake_advance(&f->clock, time_s * NS_PER_S);
    open_series(f);
}

static void end(struct fixture *f)
{
    char command[TEST_PATH_MAX + 16];
    series_close(f->series);
    snprintf(command, sizeof(command), "rm -r %s", f->dir);
    assert_int_equal(system(command), 0);
}

/* Ten samples from second `from` on of a queue pair that sends RATE; malloc'ed. */
static uint8_t *batch_bytes(uint64_t seq, int64_t from_s, uint32_t label, size_t *len)
{
    static const struct telemetry_name name = {"tx_bytes", TELEMETRY_STAYS, 0};
    static const struct telemetry_name gauge = {"temperature_mc", TELEMETRY_GAUGE, 0};
    struct err err = ERR_INIT;
    struct telemetry_batch batch;
    struct telemetry_subject subject = {
        .kind = TELEMETRY_QP, .number = 17, .pid = 4, .label = label};
    uint16_t index;
    int64_t *values;
    uint8_t *data = NULL;
    telemetry_batch_init(&batch);
    batch.stream = 9;
    batch.seq = seq;
    batch.interval_ms = 1000;
    batch.start_us = START_US + from_s * S_US;
    batch.sample_count = 10;
    for (uint32_t i = 0; i < 10; i++)
        batch.offset_ms[i] = i * 1000;
    assert_ok(telemetry_device_add(&batch, "mlx5_0", &subject.device, &err));
    assert_ok(telemetry_row_add(&batch, &subject, &err));
    assert_ok(telemetry_name_add(&batch, &name, &index, &err));
    assert_ok(telemetry_column_add(&batch, index, &values, &err));
    for (int64_t i = 0; i < 10; i++)
        values[i] = BASE + (from_s + i) * RATE;
    assert_ok(telemetry_name_add(&batch, &gauge, &index, &err));
    assert_ok(telemetry_column_add(&batch, index, &values, &err));
    for (int64_t i = 0; i < 10; i++)
        values[i] = 40 + i;
    assert_ok(telemetry_encode(&batch, &data, len, &err));
    telemetry_batch_release(&batch);
    return data;
}

/* Waiting for an answer ------------------------------------------------------------------------ */

struct wait {
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool is_done;
    enum err_code code;
    struct err err;
    struct series_receipt receipt;
    int64_t sums[SERIES_TIER_COUNT]; /* of tx_bytes in the answer */
    int64_t weight, max, gauge_max;
    size_t count, gap_count;
    enum series_tier tier;
    bool truncated, damaged;
};

static void wait_init(struct wait *wait)
{
    *wait = (struct wait){.lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};
}

static void wake(struct wait *wait, enum err_code code, const struct err *err)
{
    pthread_mutex_lock(&wait->lock);
    wait->code = code;
    wait->err = *err;
    wait->is_done = true;
    pthread_cond_signal(&wait->done);
    pthread_mutex_unlock(&wait->lock);
}

static void wait_for(struct wait *wait)
{
    pthread_mutex_lock(&wait->lock);
    while (!wait->is_done)
        pthread_cond_wait(&wait->done, &wait->lock);
    pthread_mutex_unlock(&wait->lock);
}

static void on_put(void *arg, enum err_code code, const struct series_receipt *receipt,
                   const struct err *err)
{
    struct wait *wait = arg;
    wait->receipt = *receipt;
    wake(wait, code, err);
}

static enum err_code put_bytes(struct fixture *f, const char *node, const uint8_t *data, size_t len,
                               struct wait *wait, struct err *err)
{
    wait_init(wait);
    enum err_code code = series_put(f->series, node, data, len, on_put, wait, err);
    if (code != ERR_OK)
        return code;
    wait_for(wait);
    *err = wait->err;
    return wait->code;
}

static enum err_code put(struct fixture *f, uint64_t seq, int64_t from_s, struct wait *wait,
                         struct err *err)
{
    size_t len;
    uint8_t *data = batch_bytes(seq, from_s, 3, &len);
    enum err_code code = put_bytes(f, "n1", data, len, wait, err);
    free(data);
    return code;
}

static void put_minutes(struct fixture *f, int64_t from_s, int64_t to_s)
{
    struct err err = ERR_INIT;
    struct wait wait;
    for (int64_t s = from_s; s < to_s; s += 10)
        assert_ok(put(f, (uint64_t)s / 10 + 1, s, &wait, &err));
}

static void on_answer(void *arg, enum err_code code, const struct series_answer *answer,
                      const struct err *err)
{
    struct wait *wait = arg;
    wait->max = wait->gauge_max = INT64_MIN;
    for (size_t i = 0; answer != NULL && i < answer->count; i++) {
        const struct series_found *found = &answer->found[i];
        assert_string_equal(found->node, "n1");
        assert_string_equal(found->device, "mlx5_0");
        assert_int_equal(found->number, 17);
        bool counter = found->name->course != TELEMETRY_GAUGE;
        for (size_t j = 0; j < found->count; j++) {
            const struct telemetry_sum *sum = &found->points[j];
            if (sum->weight == 0)
                continue;
            if (!counter) {
                wait->gauge_max = sum->max > wait->gauge_max ? sum->max : wait->gauge_max;
                continue;
            }
            assert_int_equal(sum->min, RATE); /* never another number */
            assert_int_equal(sum->max, RATE);
            assert_int_equal(sum->sum, (int64_t)sum->weight * RATE / 1000);
            wait->sums[answer->tier] += sum->sum;
            wait->weight += sum->weight;
        }
    }
    if (answer != NULL) {
        wait->count = answer->count;
        wait->tier = answer->tier;
        wait->gap_count = answer->gap_count;
        wait->truncated = answer->truncated;
        wait->damaged = answer->damaged;
    }
    wake(wait, code, err);
}

static enum err_code ask(struct fixture *f, const struct series_query *query, struct wait *wait,
                         struct err *err)
{
    wait_init(wait);
    enum err_code code = series_query(f->series, query, on_answer, wait, err);
    if (code != ERR_OK)
        return code;
    wait_for(wait);
    *err = wait->err;
    return wait->code;
}

static struct series_query query_of(int64_t step_s)
{
    return (struct series_query){.kind = -1,
                                 .number = -1,
                                 .from_us = START_US,
                                 .to_us = START_US + 7200 * S_US,
                                 .step_us = step_s * S_US};
}

/* What every tier says that tx_bytes counted. */
static void check_sums(struct fixture *f, int64_t wanted)
{
    static const int64_t steps_s[] = {1, 60, 3600};
    struct err err = ERR_INIT;
    for (int i = 0; i < SERIES_TIER_COUNT; i++) {
        struct series_query query = query_of(steps_s[i]);
        struct wait wait;
        assert_ok(ask(f, &query, &wait, &err));
        assert_int_equal(wait.tier, i);
        assert_false(wait.damaged);
        if (wait.sums[i] != wanted)
            fail_msg("%s: %lld, wanted %lld", series_tier_name((enum series_tier)i),
                     (long long)wait.sums[i], (long long)wanted);
        assert_int_equal(wait.gauge_max, wanted > 0 ? 49 : INT64_MIN);
    }
}

/* Tests ---------------------------------------------------------------------------------------- */

static void what_was_counted_comes_back_at_every_step(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    put_minutes(&f, 0, 600);
    check_sums(&f, 599 * RATE);
    put_minutes(&f, 600, 1810);
    check_sums(&f, 1809 * RATE);
    end(&f);
}

static void a_restart_continues_minutes_and_hours(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    for (int64_t s = 0; s < 900; s += 90) {
        put_minutes(&f, s, s + 90);
        reopen(&f);
        check_sums(&f, (s + 89) * RATE);
    }
    end(&f);
}

static void an_hour_that_ends_is_rolled_up_once(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    put_minutes(&f, 0, 1800);
    pass_time(&f, 3600);
    put_minutes(&f, 1800, 3700);
    check_sums(&f, 3699 * RATE);
    reopen(&f);
    check_sums(&f, 3699 * RATE);
    end(&f);
}

static void a_kill_loses_nothing_that_was_acknowledged(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    series_close(f.series);
    for (int64_t s = 0; s < 600; s += 150) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            open_series(&f);
            put_minutes(&f, s, s + 150);
            raise(SIGKILL);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        open_series(&f);
        check_sums(&f, (s + 149) * RATE);
        series_close(f.series);
    }
    open_series(&f);
    end(&f);
}

static void a_batch_that_comes_again_is_stored_once(void **state)
{
    (void)state;
    struct fixture f;
    struct wait wait;
    struct err err = ERR_INIT;
    begin(&f);
    put_minutes(&f, 0, 20);
    assert_ok(put(&f, 2, 10, &wait, &err));
    assert_true(wait.receipt.repeated);
    reopen(&f); /* it is known after a restart too */
    assert_ok(put(&f, 2, 10, &wait, &err));
    assert_true(wait.receipt.repeated);
    check_sums(&f, 19 * RATE);
    end(&f);
}

static void samples_of_a_clock_that_went_back_are_dropped_and_told(void **state)
{
    (void)state;
    struct fixture f;
    struct wait wait;
    struct err err = ERR_INIT;
    begin(&f);
    put_minutes(&f, 0, 20);
    assert_ok(put(&f, 3, 15, &wait, &err)); /* half of it is new */
    assert_int_equal(wait.receipt.dropped, 5);
    assert_ok(put(&f, 4, 5, &wait, &err));
    assert_int_equal(wait.receipt.dropped, 10);
    check_sums(&f, 24 * RATE);
    end(&f);
}

static void batches_outside_the_time_are_refused(void **state)
{
    (void)state;
    struct fixture f;
    struct wait wait;
    struct err err = ERR_INIT;
    begin(&f);
    assert_ok(put(&f, 1, 1800 + 300 - 9, &wait, &err));
    assert_fails(put(&f, 2, 1800 + 300 - 8, &wait, &err), ERR_INVALID);
    assert_contains(err.text, "clock");
    assert_ok(put(&f, 3, 1800 - 6 * 3600, &wait, &err));
    assert_fails(put(&f, 4, 1800 - 6 * 3600 - 1, &wait, &err), ERR_INVALID);
    assert_contains(err.text, "older");
    end(&f);
}

static void damaged_batches_are_refused(void **state)
{
    (void)state;
    struct fixture f;
    struct wait wait;
    struct err err = ERR_INIT;
    size_t len;
    begin(&f);
    uint8_t *data = batch_bytes(1, 0, 3, &len);
    assert_fails(put_bytes(&f, "n1", data, len - 1, &wait, &err), ERR_INVALID);
    assert_fails(put_bytes(&f, "n1", data, 0, &wait, &err), ERR_INVALID);
    assert_ok(put_bytes(&f, "n1", data, len, &wait, &err));
    free(data);
    end(&f);
}

static void a_full_disk_is_said_and_loses_nothing_else(void **state)
{
    (void)state;
    struct fixture f;
    struct wait wait;
    struct err err = ERR_INIT;
    begin(&f);
    put_minutes(&f, 0, 100);
    series_test_fail_write(f.series, SERIES_RAW);
    assert_fails(put(&f, 11, 100, &wait, &err), ERR_IO);
    assert_true(err_is_full(&err));
    assert_ok(put(&f, 11, 100, &wait, &err));
    assert_false(wait.receipt.repeated);
    check_sums(&f, 109 * RATE);
    end(&f);
}

static bool count_latest(void *arg, const struct series_found *found)
{
    (void)found;
    ++*(int *)arg;
    return true;
}

/* Of label 3, what was counted from second 120 on is of the job that has it now. */
static void what_another_job_counted_under_the_label_is_left_out(void **state)
{
    (void)state;
    static const int64_t wanted[] = {(299 - 120) * RATE, (299 - 119) * RATE, 60 * RATE};
    static const int64_t steps_s[] = {1, 60, 3600};
    const uint32_t labels[] = {3};
    int64_t since_us[] = {START_US + 120 * S_US};
    struct fixture f;
    struct wait wait;
    struct err err = ERR_INIT;
    struct series_query query;
    int seen = 0;
    begin(&f);
    put_minutes(&f, 0, 300);
    for (int i = 0; i < SERIES_TIER_COUNT; i++) {
        query = query_of(steps_s[i]);
        query.labels = labels;
        query.label_count = 1;
        query.labels_since_us = since_us;
        assert_ok(ask(&f, &query, &wait, &err));
        assert_int_equal(wait.tier, i);
        assert_int_equal(wait.sums[i],
                         wanted[i]); /* the hour began before: its open minute alone */
    }
    series_latest(f.series, &query, count_latest, &seen);
    assert_int_equal(seen, 2);
    since_us[0] = START_US + 300 * S_US;
    seen = 0;
    series_latest(f.series, &query, count_latest, &seen);
    assert_int_equal(seen, 0);
    end(&f);
}

static void count_failure(void *arg, const struct err *err)
{
    assert_true(err_is_full(err));
    ++*(int *)arg;
}

static void roll_ups_that_fail_are_said_once(void **state)
{
    (void)state;
    struct fixture f;
    struct wait wait;
    struct err err = ERR_INIT;
    struct series_stats stats;
    int said = 0;
    struct series_query query = query_of(60);
    begin(&f);
    f.config.failed = count_failure;
    f.config.failed_arg = &said;
    reopen(&f);
    put_minutes(&f, 0, 100);
    for (int i = 0; i < 2; i++) { /* what could not be written is tried again by each query */
        series_test_fail_write(f.series, SERIES_MINUTE);
        assert_ok(ask(&f, &query, &wait, &err));
        assert_int_equal(said, 1);
    }
    series_stats_get(f.series, &stats);
    assert_int_equal(stats.failed_rolls, 2);
    assert_int_equal(stats.failed_writes, 2);
    assert_ok(ask(&f, &query, &wait, &err));
    put_minutes(&f, 100, 200);
    series_test_fail_write(f.series, SERIES_MINUTE);
    assert_ok(ask(&f, &query, &wait, &err));
    assert_int_equal(said, 2); /* it went well in between */
    end(&f);
}

#define MANY_ROWS 3000

/* As many queue pairs, each with its number as value; malloc'ed. */
static uint8_t *many_rows(uint64_t seq, int64_t at_s, bool backwards, size_t *len)
{
    static const struct telemetry_name name = {"queue_pairs", TELEMETRY_GAUGE, 0};
    struct err err = ERR_INIT;
    struct telemetry_batch batch;
    uint8_t *data = NULL;
    telemetry_batch_init(&batch);
    batch.stream = 9;
    batch.seq = seq;
    batch.interval_ms = 1000;
    batch.start_us = START_US + at_s * S_US;
    batch.sample_count = 1;
    for (uint32_t i = 0; i < MANY_ROWS; i++) {
        struct telemetry_subject subject = {.kind = TELEMETRY_QP,
                                            .number = backwards ? MANY_ROWS - 1 - i : i};
        uint16_t index;
        int64_t *values;
        assert_ok(telemetry_device_add(&batch, "mlx5_0", &subject.device, &err));
        assert_ok(telemetry_row_add(&batch, &subject, &err));
        assert_ok(telemetry_name_add(&batch, &name, &index, &err));
        assert_ok(telemetry_column_add(&batch, index, &values, &err));
        values[0] = subject.number;
    }
    assert_ok(telemetry_encode(&batch, &data, len, &err));
    telemetry_batch_release(&batch);
    return data;
}

static bool has_its_number(void *arg, const struct series_found *found)
{
    assert_int_equal(found->last.value, found->number);
    ++*(int *)arg;
    return true;
}

static void rows_in_another_order_are_the_same_rows(void **state)
{
    (void)state;
    struct fixture f;
    struct wait wait;
    struct err err = ERR_INIT;
    struct series_stats stats;
    const struct series_query query = {.kind = -1, .number = -1};
    int seen = 0;
    begin(&f);
    for (int i = 0; i < 2; i++) {
        size_t len;
        uint8_t *data = many_rows((uint64_t)i + 1, i, i == 1, &len);
        assert_ok(put_bytes(&f, "n1", data, len, &wait, &err));
        free(data);
    }
    series_stats_get(f.series, &stats);
    assert_int_equal(stats.rows, MANY_ROWS);
    series_latest(f.series, &query, has_its_number, &seen);
    assert_int_equal(seen, MANY_ROWS);
    end(&f);
}

/* Two batches at once, before and after a full hour: two frames. */
static void store_two(struct fixture *f, struct wait waits[2])
{
    struct series_job jobs[2] = {{.code = ERR_OK}, {.code = ERR_OK}};
    uint8_t *data[2];
    for (int i = 0; i < 2; i++) {
        wait_init(&waits[i]);
        jobs[i].data = data[i] = batch_bytes((uint64_t)i + 1, 3590 + 10 * i, 3, &jobs[i].len);
        memcpy(jobs[i].node, "n1", sizeof("n1"));
        jobs[i].done = on_put;
        jobs[i].arg = &waits[i];
    }
    series_store(f->series, jobs, 2);
    free(data[0]);
    free(data[1]);
}

static void each_batch_of_several_frames_has_its_time(void **state)
{
    (void)state;
    struct fixture f;
    struct wait waits[2], found;
    struct err err = ERR_INIT;
    begin(&f);
    pass_time(&f, 3600);
    store_two(&f, waits);
    assert_int_equal(waits[0].code, ERR_OK);
    assert_int_equal(waits[1].code, ERR_OK);
    struct series_query query = query_of(1);
    query.from_us = START_US + 3601 * S_US;
    assert_ok(ask(&f, &query, &found, &err));
    assert_int_equal(found.sums[SERIES_RAW], 9 * RATE);
    end(&f);
}

static void a_frame_that_fails_is_sent_again_alone(void **state)
{
    (void)state;
    struct fixture f;
    struct wait waits[2];
    struct err err = ERR_INIT;
    begin(&f);
    pass_time(&f, 3600);
    series_test_fail_write(f.series, SERIES_RAW);
    store_two(&f, waits);
    assert_int_equal(waits[0].code, ERR_IO);
    assert_int_equal(waits[1].code, ERR_OK);
    assert_ok(put(&f, 2, 3600, &waits[1], &err));
    assert_true(waits[1].receipt.repeated); /* what was stored is not stored twice */
    end(&f);
}

#define DAY_S 86400

static enum err_code put_of(struct fixture *f, const char *node, int64_t from_s, struct err *err)
{
    size_t len;
    struct wait wait;
    uint8_t *data = batch_bytes(1, from_s, 3, &len);
    enum err_code code = put_bytes(f, node, data, len, &wait, err);
    free(data);
    return code;
}

static int latest_of(struct fixture *f, const char *node)
{
    const struct series_query query = {.kind = -1, .number = -1, .node = node};
    int seen = 0;
    series_latest(f->series, &query, count_latest, &seen);
    return seen;
}

static void nodes_of_which_no_file_knows_make_room(void **state)
{
    (void)state;
    static const char *const old[] = {"n1", "n2", "n3", "n4"};
    struct fixture f;
    struct err err = ERR_INIT;
    struct series_stats stats;
    begin(&f);
    f.config.nodes_max = 4;
    reopen(&f);
    for (size_t i = 0; i < 4; i++)
        assert_ok(put_of(&f, old[i], 0, &err));
    assert_fails(put_of(&f, "n5", 0, &err), ERR_LIMIT);
    pass_time(&f, 399 * DAY_S); /* their hours are there still */
    assert_fails(put_of(&f, "n5", 399 * DAY_S, &err), ERR_LIMIT);
    assert_ok(put_of(&f, "n2", 399 * DAY_S, &err));
    pass_time(&f, 32 * DAY_S);
    series_stats_get(f.series, &stats);
    assert_int_equal(stats.nodes, 1);
    assert_ok(put_of(&f, "n5", 431 * DAY_S, &err));
    assert_ok(put_of(&f, "n6", 431 * DAY_S, &err));
    reopen(&f); /* numbers have the names that were stored */
    series_stats_get(f.series, &stats);
    assert_int_equal(stats.nodes, 3);
    assert_int_equal(latest_of(&f, "n5"), 2);
    assert_int_equal(latest_of(&f, "n6"), 2);
    assert_int_equal(latest_of(&f, "n1"), 0);
    assert_ok(put_of(&f, "n7", 431 * DAY_S, &err));
    assert_fails(put_of(&f, "n8", 431 * DAY_S, &err), ERR_LIMIT);
    end(&f);
}

static void texts_that_no_row_has_make_room(void **state)
{
    (void)state;
    struct fixture f;
    struct err err = ERR_INIT;
    begin(&f);
    assert_ok(put_of(&f, "n1", 0, &err));
    struct series_picture *picture = &f.series->picture;
    struct series_node *node = &picture->nodes[0];
    uint32_t number = 99;
    pthread_mutex_lock(&f.series->lock);
    assert_int_equal(node->texts, 3); /* a device, two columns */
    picture->devices.max = picture->name_keys.max = 4;
    assert_ok(series_text(&picture->devices, "gone1", &number, &err));
    assert_ok(series_text(&picture->devices, "gone2", &number, &err));
    node->texts += 2;
    series_sweep(picture); /* two devices too many, both columns are in use */
    assert_int_equal(node->texts, 3);
    assert_int_equal(picture->devices.count - picture->devices.spare_count, 1);
    assert_int_equal(picture->name_keys.spare_count, 0);
    assert_ok(series_text(&picture->devices, "mlx5_0", &number, &err));
    assert_int_equal(number, 0); /* what is in use kept its number */
    assert_ok(series_text(&picture->devices, "new1", &number, &err));
    assert_in_range(number, 1, 2);
    assert_ok(series_text(&picture->devices, "new2", &number, &err));
    assert_in_range(number, 1, 2);
    assert_ok(series_text(&picture->devices, "new3", &number, &err));
    assert_int_equal(number, 3);
    assert_fails(series_text(&picture->devices, "new4", &number, &err), ERR_LIMIT);
    pthread_mutex_unlock(&f.series->lock);
    end(&f);
}

#define FILE_PATH_SIZE (TEST_PATH_MAX + 64)

static void raw_path(const struct fixture *f, char out[FILE_PATH_SIZE])
{
    snprintf(out, FILE_PATH_SIZE, "%s/raw/%lld.frames", f->dir, (long long)(START_US / S_US));
}

static void a_torn_end_is_cut_and_counted(void **state)
{
    (void)state;
    struct fixture f;
    struct stat st;
    struct wait wait;
    struct err err = ERR_INIT;
    char path[FILE_PATH_SIZE];
    begin(&f);
    put_minutes(&f, 0, 40);
    raw_path(&f, path);
    assert_int_equal(stat(path, &st), 0);
    off_t whole = st.st_size;
    put_minutes(&f, 40, 50);
    assert_int_equal(stat(path, &st), 0);
    for (off_t size = st.st_size - 1; size > whole; size -= 7) {
        struct series_query query = query_of(1);
        series_close(f.series);
        assert_int_equal(truncate(path, size), 0);
        open_series(&f);
        assert_ok(ask(&f, &query, &wait, &err));
        assert_int_equal(wait.sums[SERIES_RAW], 39 * RATE);
        assert_ok(put(&f, 6, 50, &wait, &err)); /* cuts, and goes on behind what is whole */
        struct series_stats stats;
        series_stats_get(f.series, &stats);
        assert_int_equal(stats.cut_bytes, size - whole);
        assert_ok(ask(&f, &query, &wait, &err));
        /* 40 to 49 are unknown, and so is what was counted from there to the next sample */
        assert_int_equal(wait.sums[SERIES_RAW], (39 + 9) * RATE);
        series_close(f.series);
        assert_int_equal(truncate(path, whole), 0);
        put_minutes((open_series(&f), &f), 40, 50);
    }
    end(&f);
}

static void a_damaged_file_gives_no_wrong_number(void **state)
{
    (void)state;
    struct fixture f;
    struct stat st;
    char path[FILE_PATH_SIZE];
    int damaged = 0;
    begin(&f);
    put_minutes(&f, 0, 60);
    raw_path(&f, path);
    assert_int_equal(stat(path, &st), 0);
    for (off_t at = 0; at < st.st_size; at += 3) {
        struct series_query query = query_of(1);
        struct err err = ERR_INIT;
        struct wait wait;
        uint8_t byte;
        FILE *file = fopen(path, "r+b");
        assert_non_null(file);
        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        assert_int_equal(fread(&byte, 1, 1, file), 1);
        byte ^= 0x10;
        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        assert_int_equal(fwrite(&byte, 1, 1, file), 1);
        fclose(file);
        assert_ok(ask(&f, &query, &wait, &err));         /* on_answer() looks at each number */
        assert_true(wait.sums[SERIES_RAW] <= 59 * RATE); /* zstd's head has bits without meaning */
        damaged += wait.damaged;
        file = fopen(path, "r+b");
        assert_non_null(file);
        byte ^= 0x10;
        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        assert_int_equal(fwrite(&byte, 1, 1, file), 1);
        fclose(file);
    }
    assert_true(damaged > 0);
    check_sums(&f, 59 * RATE);
    end(&f);
}

static void old_files_are_dropped(void **state)
{
    (void)state;
    struct fixture f;
    struct stat st;
    char path[FILE_PATH_SIZE];
    begin(&f);
    put_minutes(&f, 0, 60);
    raw_path(&f, path);
    pass_time(&f, 3600 * 6 + 1799);
    assert_int_equal(stat(path, &st), 0); /* its hour ended 6 h ago, less a second */
    pass_time(&f, 2);
    assert_int_equal(stat(path, &st), -1);
    end(&f);
}

static void queries_pick_rows(void **state)
{
    (void)state;
    struct fixture f;
    struct err err = ERR_INIT;
    struct wait wait;
    const uint32_t labels[] = {3, 7}, others[] = {7};
    begin(&f);
    put_minutes(&f, 0, 120);
    struct series_query query = query_of(60);
    query.labels = labels;
    query.label_count = 2;
    assert_ok(ask(&f, &query, &wait, &err));
    assert_int_equal(wait.count, 2);
    query.labels = others;
    query.label_count = 1;
    assert_ok(ask(&f, &query, &wait, &err));
    assert_int_equal(wait.count, 0);
    query.label_count = 0;
    assert_ok(ask(&f, &query, &wait, &err));
    assert_int_equal(wait.count, 0);
    query.labels = NULL;
    query.node = "n2";
    assert_ok(ask(&f, &query, &wait, &err));
    assert_int_equal(wait.count, 0);
    query.node = "n1";
    query.kind = TELEMETRY_QP;
    query.number = 17;
    query.device = "mlx5_0";
    query.metrics[0] = "tx_bytes";
    query.metric_count = 1;
    assert_ok(ask(&f, &query, &wait, &err));
    assert_int_equal(wait.count, 1);
    query.number = 18;
    assert_ok(ask(&f, &query, &wait, &err));
    assert_int_equal(wait.count, 0);
    end(&f);
}

static void spans_over_their_maximum_are_refused(void **state)
{
    (void)state;
    struct fixture f;
    struct err err = ERR_INIT;
    struct wait wait;
    begin(&f);
    struct series_query query = query_of(1);
    query.to_us = query.from_us + (SERIES_SPAN_MAX - 1) * S_US;
    assert_ok(ask(&f, &query, &wait, &err));
    query.to_us = query.from_us + SERIES_SPAN_MAX * S_US;
    assert_fails(ask(&f, &query, &wait, &err), ERR_LIMIT);
    query.to_us = query.from_us;
    assert_fails(ask(&f, &query, &wait, &err), ERR_LIMIT);
    end(&f);
}

static void an_answer_over_its_points_is_truncated_and_says_so(void **state)
{
    (void)state;
    struct fixture f;
    struct err err = ERR_INIT;
    struct wait wait;
    begin(&f);
    for (uint32_t label = 1; label <= 20; label++) {
        size_t len;
        uint8_t *data = batch_bytes(label, label * 10, label, &len);
        assert_ok(put_bytes(&f, "n1", data, len, &wait, &err));
        free(data);
    }
    struct series_query query = query_of(1);
    query.to_us = query.from_us + 10000 * S_US; /* 20 series fit */
    assert_ok(ask(&f, &query, &wait, &err));
    assert_int_equal(wait.count, 20);
    assert_true(wait.truncated);
    query.to_us = query.from_us + 5000 * S_US; /* 40 do */
    assert_ok(ask(&f, &query, &wait, &err));
    assert_int_equal(wait.count, 40);
    assert_false(wait.truncated);
    end(&f);
}

static bool on_latest(void *arg, const struct series_found *found)
{
    int64_t *values = arg;
    assert_string_equal(found->node, "n1");
    assert_int_equal(found->label, 3);
    if (strcmp(found->name->text, "tx_bytes") == 0) {
        values[0] = found->last.value;
        values[1] = found->rate;
    } else {
        values[2] = found->last.value;
    }
    return true;
}

static void the_latest_values_survive_a_restart(void **state)
{
    (void)state;
    struct fixture f;
    struct series_query query = query_of(1);
    begin(&f);
    put_minutes(&f, 0, 130);
    for (int i = 0; i < 2; i++) {
        int64_t values[3] = {0};
        series_latest(f.series, &query, on_latest, values);
        assert_int_equal(values[0], BASE + 129 * RATE);
        assert_int_equal(values[1], RATE);
        assert_int_equal(values[2], 49);
        reopen(&f);
    }
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_counted_comes_back_at_every_step),
        cmocka_unit_test(a_restart_continues_minutes_and_hours),
        cmocka_unit_test(an_hour_that_ends_is_rolled_up_once),
        cmocka_unit_test(a_kill_loses_nothing_that_was_acknowledged),
        cmocka_unit_test(a_batch_that_comes_again_is_stored_once),
        cmocka_unit_test(samples_of_a_clock_that_went_back_are_dropped_and_told),
        cmocka_unit_test(batches_outside_the_time_are_refused),
        cmocka_unit_test(damaged_batches_are_refused),
        cmocka_unit_test(a_full_disk_is_said_and_loses_nothing_else),
        cmocka_unit_test(what_another_job_counted_under_the_label_is_left_out),
        cmocka_unit_test(roll_ups_that_fail_are_said_once),
        cmocka_unit_test(nodes_of_which_no_file_knows_make_room),
        cmocka_unit_test(texts_that_no_row_has_make_room),
        cmocka_unit_test(rows_in_another_order_are_the_same_rows),
        cmocka_unit_test(each_batch_of_several_frames_has_its_time),
        cmocka_unit_test(a_frame_that_fails_is_sent_again_alone),
        cmocka_unit_test(a_torn_end_is_cut_and_counted),
        cmocka_unit_test(a_damaged_file_gives_no_wrong_number),
        cmocka_unit_test(old_files_are_dropped),
        cmocka_unit_test(queries_pick_rows),
        cmocka_unit_test(spans_over_their_maximum_are_refused),
        cmocka_unit_test(an_answer_over_its_points_is_truncated_and_says_so),
        cmocka_unit_test(the_latest_values_survive_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
