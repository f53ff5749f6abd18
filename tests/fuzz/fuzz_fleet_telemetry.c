/*
 * tests/fuzz/fuzz_fleet_telemetry.c - bytes as a batch of telemetry: refused, or a batch within its
 * limits that is the same when written and read again.
 */
#include "fleet/telemetry.h"
#include "tests/fuzz/fuzz.h"

static void check(const struct telemetry_batch *batch)
{
    must(batch->sample_count <= TELEMETRY_SAMPLES_MAX && batch->row_count <= TELEMETRY_ROWS_MAX);
    must(batch->value_count == batch->column_count * batch->sample_count);
    for (size_t i = 0; i < batch->row_count; i++) {
        const struct telemetry_row *row = &batch->rows[i];
        must(row->subject.device < batch->device_count && row->subject.kind < TELEMETRY_KIND_COUNT);
        for (size_t j = row->first; j < row->first + row->count; j++)
            must(batch->columns[j].name < batch->name_count &&
                 batch->columns[j].at + batch->sample_count <= batch->value_count);
    }
    for (size_t i = 1; i < batch->sample_count; i++)
        must(batch->offset_ms[i] > batch->offset_ms[i - 1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct telemetry_batch batch, back;
    uint8_t *again = NULL;
    size_t len = 0;
    struct err err = ERR_INIT;
    telemetry_batch_init(&batch);
    telemetry_batch_init(&back);
    if (telemetry_decode(data, size, &batch, &err) == ERR_OK) {
        check(&batch);
        must(telemetry_encode(&batch, &again, &len, &err) == ERR_OK);
        must(telemetry_decode(again, len, &back, &err) == ERR_OK);
        must(back.value_count == batch.value_count && back.row_count == batch.row_count);
        must(batch.value_count == 0 ||
             memcmp(back.values, batch.values, batch.value_count * sizeof(*batch.values)) == 0);
        free(again);
    } else {
        must(err.text[0] != '\0');
    }
    telemetry_batch_release(&batch);
    telemetry_batch_release(&back);
    return 0;
}
