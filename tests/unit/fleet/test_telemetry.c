/*
 * tests/unit/fleet/test_telemetry.c - batches as bytes, and what counters counted.
 */
#include "tests/unit/test.h"

#include "fleet/telemetry.h"

#define START_US INT64_C(1790000000000000)

static const struct telemetry_name bytes_name = {"tx_bytes", TELEMETRY_STAYS, 0};
static const struct telemetry_name temperature_name = {"temperature_mc", TELEMETRY_GAUGE, 0};
static const struct telemetry_name byte_name = {"link_downed", TELEMETRY_STAYS, 8};
static const struct telemetry_name word_name = {"packets", TELEMETRY_WRAPS, 32};

/* One queue pair, ten samples; absent = one that was not read (-1 = none). */
static void build(struct telemetry_batch *batch, int absent)
{
    struct err err = ERR_INIT;
    struct telemetry_subject subject = {.kind = TELEMETRY_QP, .number = 17, .pid = 4, .label = 3};
    uint16_t name;
    int64_t *values;
    telemetry_batch_clear(batch);
    batch->stream = 9;
    batch->seq = 1;
    batch->interval_ms = 1000;
    batch->start_us = START_US;
    batch->sample_count = 10;
    for (uint32_t i = 0; i < 10; i++)
        batch->offset_ms[i] = i * 1000;
    assert_ok(telemetry_device_add(batch, "mlx5_0", &subject.device, &err));
    assert_ok(telemetry_row_add(batch, &subject, &err));
    assert_ok(telemetry_name_add(batch, &bytes_name, &name, &err));
    assert_ok(telemetry_column_add(batch, name, &values, &err));
    for (int i = 0; i < 10; i++)
        values[i] = i == absent ? TELEMETRY_ABSENT : INT64_C(5000000000) + i * 1000;
    assert_ok(telemetry_name_add(batch, &temperature_name, &name, &err));
    assert_ok(telemetry_column_add(batch, name, &values, &err));
    for (int i = 0; i < 10; i++)
        values[i] = -40000 + i;
    batch->gaps[batch->gap_count++] =
        (struct telemetry_gap){START_US - 5000000, START_US - 1000000, TELEMETRY_GAP_OVERFLOW};
}

static void check_same(const struct telemetry_batch *a, const struct telemetry_batch *b)
{
    assert_int_equal(a->stream, b->stream);
    assert_int_equal(a->seq, b->seq);
    assert_int_equal(a->start_us, b->start_us);
    assert_int_equal(a->sample_count, b->sample_count);
    assert_int_equal(a->row_count, b->row_count);
    assert_int_equal(a->column_count, b->column_count);
    assert_memory_equal(a->values, b->values, a->value_count * sizeof(*a->values));
    assert_memory_equal(a->offset_ms, b->offset_ms, a->sample_count * sizeof(a->offset_ms[0]));
    assert_int_equal(b->gap_count, 1);
    assert_int_equal(b->gaps[0].reason, TELEMETRY_GAP_OVERFLOW);
    assert_int_equal(b->gaps[0].to_us, START_US - 1000000);
    assert_string_equal(b->devices[0], "mlx5_0");
    assert_string_equal(b->names[1].text, "temperature_mc");
    assert_int_equal(b->rows[0].subject.number, 17);
    assert_int_equal(b->rows[0].subject.label, 3);
}

static void a_batch_reads_back_as_it_was(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct telemetry_batch batch, back;
    telemetry_batch_init(&batch);
    telemetry_batch_init(&back);
    for (int absent = -1; absent < 10; absent++) {
        uint8_t *data = NULL;
        size_t len = 0;
        build(&batch, absent);
        assert_ok(telemetry_encode(&batch, &data, &len, &err));
        assert_ok(telemetry_decode(data, len, &back, &err));
        check_same(&batch, &back);
        free(data);
    }
    telemetry_batch_release(&batch);
    telemetry_batch_release(&back);
}

static void a_column_without_a_value_is_left_out(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct telemetry_batch batch, back;
    struct telemetry_subject subject = {.kind = TELEMETRY_GPU};
    uint8_t *data = NULL;
    size_t len = 0;
    uint16_t name;
    int64_t *values;
    telemetry_batch_init(&batch);
    telemetry_batch_init(&back);
    build(&batch, -1);
    assert_ok(telemetry_name_add(&batch, &byte_name, &name, &err));
    assert_ok(telemetry_column_add(&batch, name, &values, &err)); /* all of it is absent */
    assert_ok(telemetry_device_add(&batch, "0000:1a:00.0", &subject.device, &err));
    assert_ok(telemetry_row_add(&batch, &subject, &err));
    assert_ok(telemetry_column_add(&batch, name, &values, &err)); /* and all of a row */
    assert_ok(telemetry_encode(&batch, &data, &len, &err));
    assert_ok(telemetry_decode(data, len, &back, &err));
    assert_int_equal(back.row_count, 2);
    assert_int_equal(back.rows[0].count, 2);
    assert_int_equal(back.rows[1].count, 0);
    free(data);
    telemetry_batch_release(&batch);
    telemetry_batch_release(&back);
}

static void a_batch_that_is_cut_anywhere_is_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct telemetry_batch batch, back;
    uint8_t *data = NULL;
    size_t len = 0;
    telemetry_batch_init(&batch);
    telemetry_batch_init(&back);
    build(&batch, 3);
    assert_ok(telemetry_encode(&batch, &data, &len, &err));
    for (size_t cut = 0; cut < len; cut++)
        assert_fails(telemetry_decode(data, cut, &back, &err), ERR_INVALID);
    data = realloc(data, len + 1);
    assert_non_null(data);
    data[len] = 0;
    assert_fails(telemetry_decode(data, len + 1, &back, &err), ERR_INVALID);
    assert_contains(err.text, "behind its end");
    free(data);
    telemetry_batch_release(&batch);
    telemetry_batch_release(&back);
}

static void a_body_over_its_maximum_is_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct telemetry_batch back;
    uint8_t *data = calloc(1, TELEMETRY_BODY_MAX + 1);
    assert_non_null(data);
    telemetry_batch_init(&back);
    assert_fails(telemetry_decode(data, TELEMETRY_BODY_MAX, &back, &err), ERR_INVALID);
    assert_fails(telemetry_decode(data, TELEMETRY_BODY_MAX + 1, &back, &err), ERR_LIMIT);
    free(data);
    telemetry_batch_release(&back);
}

static void rows_over_their_maximum_are_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct telemetry_batch batch;
    struct telemetry_subject subject = {.kind = TELEMETRY_QP};
    telemetry_batch_init(&batch);
    build(&batch, -1);
    for (int i = 1; i < TELEMETRY_ROWS_MAX; i++)
        assert_ok(telemetry_row_add(&batch, &subject, &err));
    assert_fails(telemetry_row_add(&batch, &subject, &err), ERR_LIMIT);
    telemetry_batch_release(&batch);
}

static void names_and_devices_over_their_maximum_are_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct telemetry_batch batch;
    uint16_t index;
    telemetry_batch_init(&batch);
    for (int i = 0; i <= TELEMETRY_NAMES_MAX; i++) {
        struct telemetry_name name = {.course = TELEMETRY_STAYS};
        snprintf(name.text, sizeof(name.text), "n%d", i);
        if (i < TELEMETRY_NAMES_MAX)
            assert_ok(telemetry_name_add(&batch, &name, &index, &err));
        else
            assert_fails(telemetry_name_add(&batch, &name, &index, &err), ERR_LIMIT);
    }
    for (int i = 0; i <= TELEMETRY_DEVICES_MAX; i++) {
        char device[PORT_ID_SIZE];
        snprintf(device, sizeof(device), "0000:%02x:00.0/%d", i & 255, i);
        if (i < TELEMETRY_DEVICES_MAX)
            assert_ok(telemetry_device_add(&batch, device, &index, &err));
        else
            assert_fails(telemetry_device_add(&batch, device, &index, &err), ERR_LIMIT);
    }
    assert_fails(telemetry_device_add(&batch, "a\nb", &index, &err), ERR_INVALID);
    telemetry_batch_release(&batch);
}

static void a_counter_that_stays_at_its_end_is_saturated(void **state)
{
    (void)state;
    int64_t counted = -1;
    struct telemetry_name name = {"n", TELEMETRY_STAYS, 8};
    static const struct {
        uint8_t width;
        int64_t end;
    } ends[] = {{4, 15}, {8, 255}, {16, 65535}, {32, 4294967295}};
    for (size_t i = 0; i < 4; i++) {
        name.width = ends[i].width;
        assert_int_equal(telemetry_increase(&name, 0, ends[i].end - 1, &counted), TELEMETRY_KNOWN);
        assert_int_equal(counted, ends[i].end - 1);
        assert_int_equal(telemetry_increase(&name, 0, ends[i].end, &counted), TELEMETRY_SATURATED);
        /* Beyond its end: the device's counter is wider. */
        assert_int_equal(telemetry_increase(&name, 0, ends[i].end + 1, &counted), TELEMETRY_KNOWN);
    }
}

static void a_counter_that_fell_was_reset_unless_it_wraps(void **state)
{
    (void)state;
    int64_t counted = -1;
    assert_int_equal(telemetry_increase(&bytes_name, 10, 9, &counted), TELEMETRY_RESET);
    assert_int_equal(telemetry_increase(&byte_name, 10, 0, &counted), TELEMETRY_RESET);
    assert_int_equal(telemetry_increase(&word_name, 4294967295, 4, &counted), TELEMETRY_KNOWN);
    assert_int_equal(counted, 5);
    /* Half of the range and one more than that. */
    assert_int_equal(telemetry_increase(&word_name, 2147483649, 0, &counted), TELEMETRY_KNOWN);
    assert_int_equal(counted, 2147483647);
    assert_int_equal(telemetry_increase(&word_name, 2147483648, 0, &counted), TELEMETRY_RESET);
    assert_int_equal(telemetry_increase(&word_name, 1000, 2, &counted), TELEMETRY_RESET);
    assert_int_equal(telemetry_increase(&word_name, TELEMETRY_ABSENT, 2, &counted),
                     TELEMETRY_UNKNOWN);
    assert_int_equal(telemetry_increase(&word_name, 2, TELEMETRY_ABSENT, &counted),
                     TELEMETRY_UNKNOWN);
}

static void what_was_not_read_makes_no_rate(void **state)
{
    (void)state;
    struct telemetry_last last = {.value = TELEMETRY_ABSENT};
    struct telemetry_sum sum;
    int64_t s = 1000000;
    assert_int_equal(telemetry_next(&last, &bytes_name, START_US, 100, 1000, &sum),
                     TELEMETRY_UNKNOWN); /* the first tells nothing */
    assert_int_equal(sum.weight, 0);
    assert_int_equal(telemetry_next(&last, &bytes_name, START_US + s, 300, 1000, &sum),
                     TELEMETRY_KNOWN);
    assert_int_equal(sum.sum, 200);
    assert_int_equal(sum.weight, 1000);
    assert_int_equal(telemetry_next(&last, &bytes_name, START_US + s, 400, 1000, &sum),
                     TELEMETRY_UNKNOWN); /* a time again */
    assert_int_equal(telemetry_next(&last, &bytes_name, START_US + 4 * s, 900, 1000, &sum),
                     TELEMETRY_KNOWN);
    assert_int_equal(sum.max, 200);
    assert_int_equal(sum.weight, 3000);
    assert_int_equal(
        telemetry_next(&last, &bytes_name, START_US + 4 * s + 3 * s + 1000, 1000, 1000, &sum),
        TELEMETRY_UNKNOWN); /* too long ago */
    assert_int_equal(sum.weight, 0);
}

static void sums_merge_and_stay_at_their_end(void **state)
{
    (void)state;
    struct telemetry_sum into = {0}, none = {0}, a = {10, 2, 8, 1000}, b = {5, 1, 4, 500};
    telemetry_sum_merge(&into, &none);
    assert_int_equal(into.weight, 0);
    telemetry_sum_merge(&into, &a);
    telemetry_sum_merge(&into, &b);
    assert_int_equal(into.sum, 15);
    assert_int_equal(into.min, 1);
    assert_int_equal(into.max, 8);
    assert_int_equal(into.weight, 1500);
    into.sum = INT64_MAX - 4;
    telemetry_sum_merge(&into, &b);
    assert_true(into.sum == INT64_MAX);
}

static void kinds_have_names(void **state)
{
    (void)state;
    enum telemetry_kind kind;
    for (int i = 0; i < TELEMETRY_KIND_COUNT; i++) {
        assert_true(telemetry_kind_find(telemetry_kind_name((enum telemetry_kind)i), &kind));
        assert_int_equal(kind, i);
    }
    assert_false(telemetry_kind_find("lane", &kind));
    for (int i = 0; i < TELEMETRY_GAP_COUNT; i++)
        assert_non_null(telemetry_gap_name((enum telemetry_gap_reason)i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_reads_back_as_it_was),
        cmocka_unit_test(a_column_without_a_value_is_left_out),
        cmocka_unit_test(a_batch_that_is_cut_anywhere_is_refused),
        cmocka_unit_test(a_body_over_its_maximum_is_refused),
        cmocka_unit_test(rows_over_their_maximum_are_refused),
        cmocka_unit_test(names_and_devices_over_their_maximum_are_refused),
        cmocka_unit_test(a_counter_that_stays_at_its_end_is_saturated),
        cmocka_unit_test(a_counter_that_fell_was_reset_unless_it_wraps),
        cmocka_unit_test(what_was_not_read_makes_no_rate),
        cmocka_unit_test(sums_merge_and_stay_at_their_end),
        cmocka_unit_test(kinds_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
