/*
 * fleet/telemetry_code.c - a batch as bytes and back (doc/telemetry.md). Values of a column stand
 * as the differences of their differences: a counter that grows steadily is a row of zeroes.
 */
#include <stdlib.h>
#include <string.h>

#include "fleet/telemetry.h"
#include "fleet/varint.h"

#define MAGIC        "STB\1"
#define MAGIC_LEN    4
#define INTERVAL_MAX 60000

/* Encoding ------------------------------------------------------------------------------------- */

static void put_text(struct varint_out *out, const char *text)
{
    size_t len = strlen(text);
    varint_put(out, len);
    varint_put_bytes(out, text, len);
}

static void put_head(struct varint_out *out, const struct telemetry_batch *batch)
{
    varint_put_bytes(out, MAGIC, MAGIC_LEN);
    varint_put(out, batch->stream);
    varint_put(out, batch->seq);
    varint_put(out, batch->interval_ms);
    varint_put(out, (uint64_t)batch->start_us);
    varint_put(out, batch->sample_count);
    for (size_t i = 1; i < batch->sample_count; i++)
        varint_put(out, batch->offset_ms[i] - batch->offset_ms[i - 1]);
    varint_put(out, batch->gap_count);
    for (size_t i = 0; i < batch->gap_count; i++) {
        varint_put(out, (uint64_t)batch->gaps[i].from_us);
        varint_put(out, (uint64_t)(batch->gaps[i].to_us - batch->gaps[i].from_us));
        varint_put(out, batch->gaps[i].reason);
    }
    varint_put(out, batch->name_count);
    for (size_t i = 0; i < batch->name_count; i++) {
        put_text(out, batch->names[i].text);
        varint_put(out, batch->names[i].course);
        varint_put(out, batch->names[i].width);
    }
    varint_put(out, batch->device_count);
    for (size_t i = 0; i < batch->device_count; i++)
        put_text(out, batch->devices[i]);
}

/* A flag: all are there; else a bit each. Then those that are. Sums go round at 64 bits. */
static void put_column(struct varint_out *out, const int64_t *values, size_t count)
{
    uint8_t bits[(TELEMETRY_SAMPLES_MAX + 7) / 8] = {0};
    uint64_t last = 0, delta = 0;
    size_t present = 0;
    for (size_t i = 0; i < count; i++)
        if (values[i] != TELEMETRY_ABSENT) {
            bits[i / 8] |= (uint8_t)(1u << i % 8);
            present++;
        }
    varint_put(out, present != count);
    if (present != count)
        varint_put_bytes(out, bits, (count + 7) / 8);
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        if (values[i] == TELEMETRY_ABSENT)
            continue;
        uint64_t now = (uint64_t)values[i], next = now - last;
        varint_put_signed(out, (int64_t)(next - delta));
        delta = first ? 0 : next;
        first = false;
        last = now;
    }
}

static bool has_value(const int64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] != TELEMETRY_ABSENT)
            return true;
    return false;
}

/* A column of which nothing was read is left out: it says nothing, and who reads refuses it. */
static void put_columns(struct varint_out *out, const struct telemetry_batch *batch,
                        const struct telemetry_row *row)
{
    const struct telemetry_column *columns = batch->columns + row->first;
    size_t count = 0;
    for (size_t i = 0; i < row->count; i++)
        count += has_value(batch->values + columns[i].at, batch->sample_count);
    varint_put(out, count);
    for (size_t i = 0; i < row->count; i++) {
        const int64_t *values = batch->values + columns[i].at;
        if (!has_value(values, batch->sample_count))
            continue;
        varint_put(out, columns[i].name);
        put_column(out, values, batch->sample_count);
    }
}

enum err_code telemetry_encode(const struct telemetry_batch *batch, uint8_t **out, size_t *out_len,
                               struct err *err)
{
    struct varint_out bytes = {0};
    put_head(&bytes, batch);
    varint_put(&bytes, batch->row_count);
    for (size_t i = 0; i < batch->row_count; i++) {
        const struct telemetry_row *row = &batch->rows[i];
        varint_put(&bytes, row->subject.kind);
        varint_put(&bytes, row->subject.device);
        varint_put(&bytes, row->subject.number);
        varint_put(&bytes, row->subject.pid);
        varint_put(&bytes, row->subject.label);
        put_columns(&bytes, batch, row);
    }
    if (bytes.no_memory || bytes.len > TELEMETRY_BODY_MAX) {
        free(bytes.data);
        return bytes.no_memory
                   ? err_nomem(err)
                   : err_set(err, ERR_LIMIT, "a batch is over %d bytes", TELEMETRY_BODY_MAX);
    }
    *out = bytes.data;
    *out_len = bytes.len;
    return ERR_OK;
}

/* Decoding ------------------------------------------------------------------------------------- */

static enum err_code bad(const struct varint_in *in, const char *what, struct err *err)
{
    return err_set(err, ERR_INVALID, "the batch of telemetry is damaged at byte %zu: %s", in->at,
                   what);
}

static bool get_text(struct varint_in *in, char *out, size_t size)
{
    size_t len = varint_get(in, size - 1);
    const uint8_t *bytes = varint_get_bytes(in, len);
    if (bytes == NULL || memchr(bytes, '\0', len) != NULL)
        return false;
    memcpy(out, bytes, len);
    out[len] = '\0';
    return true;
}

static enum err_code get_times(struct varint_in *in, struct telemetry_batch *batch, struct err *err)
{
    batch->stream = varint_get(in, UINT64_MAX);
    batch->seq = varint_get(in, UINT64_MAX);
    batch->interval_ms = (uint32_t)varint_get(in, INTERVAL_MAX);
    batch->start_us = (int64_t)varint_get(in, TELEMETRY_TIME_MAX_US);
    batch->sample_count = varint_get(in, TELEMETRY_SAMPLES_MAX);
    batch->offset_ms[0] = 0;
    for (size_t i = 1; i < batch->sample_count; i++) {
        uint32_t step = (uint32_t)varint_get(in, TELEMETRY_SPAN_MAX_MS);
        batch->offset_ms[i] = batch->offset_ms[i - 1] + step;
        if (step == 0 || batch->offset_ms[i] > TELEMETRY_SPAN_MAX_MS)
            return bad(in, "times that do not grow, or too far apart", err);
    }
    if (in->bad || batch->stream == 0 || batch->interval_ms == 0 ||
        batch->start_us < TELEMETRY_TIME_MIN_US)
        return bad(in, "its head", err);
    batch->gap_count = varint_get(in, TELEMETRY_GAPS_MAX);
    for (size_t i = 0; i < batch->gap_count; i++) {
        struct telemetry_gap *gap = &batch->gaps[i];
        gap->from_us = (int64_t)varint_get(in, TELEMETRY_TIME_MAX_US);
        gap->to_us = gap->from_us + (int64_t)varint_get(in, TELEMETRY_TIME_MAX_US);
        gap->reason = (enum telemetry_gap_reason)varint_get(in, TELEMETRY_GAP_COUNT - 1);
        if (in->bad || gap->to_us > TELEMETRY_TIME_MAX_US)
            return bad(in, "a gap", err);
    }
    return in->bad ? bad(in, "its gaps", err) : ERR_OK;
}

/* Names and devices must differ from each other: two columns of one name have no order. */
static enum err_code get_names(struct varint_in *in, struct telemetry_batch *batch, struct err *err)
{
    enum err_code code = ERR_OK;
    size_t count = varint_get(in, TELEMETRY_NAMES_MAX);
    uint16_t index;
    for (size_t i = 0; code == ERR_OK && i < count; i++) {
        struct telemetry_name name;
        if (!get_text(in, name.text, sizeof(name.text)))
            return bad(in, "a name", err);
        name.course = (uint8_t)varint_get(in, TELEMETRY_COURSE_COUNT - 1);
        name.width = (uint8_t)varint_get(in, 63);
        code = telemetry_name_add(batch, &name, &index, err);
        if (code == ERR_OK && index != i)
            return bad(in, "a name stands twice", err);
    }
    count = varint_get(in, TELEMETRY_DEVICES_MAX);
    for (size_t i = 0; code == ERR_OK && i < count; i++) {
        char device[PORT_ID_SIZE];
        if (!get_text(in, device, sizeof(device)))
            return bad(in, "a device", err);
        code = telemetry_device_add(batch, device, &index, err);
        if (code == ERR_OK && index != i)
            return bad(in, "a device stands twice", err);
    }
    return code == ERR_OK && in->bad ? bad(in, "its names", err) : code;
}

static enum err_code get_values(struct varint_in *in, const struct telemetry_batch *batch,
                                bool counter, int64_t *values, struct err *err)
{
    const uint8_t *bits = NULL;
    uint64_t last = 0, delta = 0;
    bool first = true;
    if (varint_get(in, 1) == 1 && !in->bad)
        bits = varint_get_bytes(in, (batch->sample_count + 7) / 8);
    for (size_t i = 0; !in->bad && i < batch->sample_count; i++) {
        if (bits != NULL && (bits[i / 8] >> i % 8 & 1) == 0)
            continue;
        uint64_t next = delta + (uint64_t)varint_get_signed(in);
        last += next;
        delta = first ? 0 : next;
        first = false;
        values[i] = (int64_t)last;
        if (values[i] == TELEMETRY_ABSENT || (counter && values[i] < 0))
            return bad(in, "a value that cannot be", err);
    }
    return in->bad || first ? bad(in, "the values of a column", err) : ERR_OK;
}

static enum err_code get_row(struct varint_in *in, struct telemetry_batch *batch, struct err *err)
{
    struct telemetry_subject subject;
    subject.kind = (enum telemetry_kind)varint_get(in, TELEMETRY_KIND_COUNT - 1);
    subject.device = (uint16_t)varint_get(in, UINT16_MAX);
    subject.number = (uint32_t)varint_get(in, UINT32_MAX);
    subject.pid = (uint32_t)varint_get(in, UINT32_MAX);
    subject.label = (uint32_t)varint_get(in, UINT32_MAX);
    size_t count = varint_get(in, TELEMETRY_NAMES_MAX);
    bool seen[TELEMETRY_NAMES_MAX] = {false};
    if (in->bad || subject.device >= batch->device_count)
        return bad(in, "the head of a row", err);
    enum err_code code = telemetry_row_add(batch, &subject, err);
    for (size_t i = 0; code == ERR_OK && i < count; i++) {
        uint16_t name = (uint16_t)varint_get(in, UINT16_MAX);
        int64_t *values;
        if (in->bad || name >= batch->name_count || seen[name])
            return bad(in, "the name of a column", err);
        seen[name] = true;
        code = telemetry_column_add(batch, name, &values, err);
        if (code == ERR_OK)
            code = get_values(in, batch, batch->names[name].course != TELEMETRY_GAUGE, values, err);
    }
    return code;
}

enum err_code telemetry_decode(const uint8_t *data, size_t len, struct telemetry_batch *batch,
                               struct err *err)
{
    struct varint_in in = {.data = data, .len = len};
    telemetry_batch_clear(batch);
    if (len > TELEMETRY_BODY_MAX)
        return err_set(err, ERR_LIMIT, "a batch is over %d bytes", TELEMETRY_BODY_MAX);
    const uint8_t *magic = varint_get_bytes(&in, MAGIC_LEN);
    if (magic == NULL || memcmp(magic, MAGIC, MAGIC_LEN) != 0)
        return err_set(err, ERR_INVALID, "this is no batch of telemetry (doc/telemetry.md)");
    enum err_code code = get_times(&in, batch, err);
    if (code == ERR_OK)
        code = get_names(&in, batch, err);
    if (code != ERR_OK)
        return code;
    size_t rows = varint_get(&in, TELEMETRY_ROWS_MAX);
    if (in.bad || (rows > 0 && batch->sample_count == 0))
        return bad(&in, "the number of its rows", err);
    for (size_t i = 0; code == ERR_OK && i < rows; i++)
        code = get_row(&in, batch, err);
    if (code == ERR_OK && in.at != in.len)
        return bad(&in, "bytes behind its end", err);
    return code;
}
