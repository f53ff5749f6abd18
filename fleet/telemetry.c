/*
 * fleet/telemetry.c - see telemetry.h: names, building a batch, what counters counted.
 */
#include "fleet/telemetry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[TELEMETRY_KIND_COUNT] = {
    [TELEMETRY_NODE] = "node", [TELEMETRY_PORT] = "port", [TELEMETRY_PRIORITY] = "priority",
    [TELEMETRY_QP] = "qp",     [TELEMETRY_RDMA] = "rdma", [TELEMETRY_GPU] = "gpu",
    [TELEMETRY_PCIE] = "pcie", [TELEMETRY_IRQ] = "irq",   [TELEMETRY_TEMPERATURE] = "temperature",
    [TELEMETRY_PTP] = "ptp",
};

static const char *const gap_names[TELEMETRY_GAP_COUNT] = {
    [TELEMETRY_GAP_START] = "start",
    [TELEMETRY_GAP_OVERFLOW] = "overflow",
    [TELEMETRY_GAP_READ] = "read",
    [TELEMETRY_GAP_CLOCK] = "clock",
};

const char *telemetry_kind_name(enum telemetry_kind kind)
{
    return kind_names[kind];
}

bool telemetry_kind_find(const char *name, enum telemetry_kind *out)
{
    for (int i = 0; i < TELEMETRY_KIND_COUNT; i++)
        if (strcmp(kind_names[i], name) == 0) {
            *out = (enum telemetry_kind)i;
            return true;
        }
    return false;
}

const char *telemetry_gap_name(enum telemetry_gap_reason reason)
{
    return gap_names[reason];
}

/* A batch ------------------------------------------------------------------------------------- */

void telemetry_batch_init(struct telemetry_batch *batch)
{
    memset(batch, 0, sizeof(*batch));
}

void telemetry_batch_clear(struct telemetry_batch *batch)
{
    batch->sample_count = batch->name_count = batch->device_count = batch->gap_count = 0;
    batch->row_count = batch->column_count = batch->value_count = 0;
}

void telemetry_batch_release(struct telemetry_batch *batch)
{
    free(batch->names);
    free(batch->devices);
    free(batch->rows);
    free(batch->columns);
    free(batch->values);
    telemetry_batch_init(batch);
}

int64_t telemetry_time_us(const struct telemetry_batch *batch, size_t sample)
{
    return batch->start_us + (int64_t)batch->offset_ms[sample] * 1000;
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("_-.:[]", c) != NULL);
}

bool telemetry_name_is_valid(const char *text)
{
    size_t len = 0;
    while (is_name_char(text[len]))
        len++;
    return len > 0 && len < TELEMETRY_NAME_SIZE && text[len] == '\0';
}

/* Of devices: what an id of a port may hold. */
static bool is_device(const char *text)
{
    size_t len = strnlen(text, PORT_ID_SIZE);
    for (size_t i = 0; i < len; i++)
        if (!is_name_char(text[i]) && text[i] != '/' && text[i] != '@')
            return false;
    return len < PORT_ID_SIZE;
}

enum err_code telemetry_name_add(struct telemetry_batch *batch, const struct telemetry_name *name,
                                 uint16_t *out, struct err *err)
{
    if (batch->names == NULL)
        batch->names = calloc(TELEMETRY_NAMES_MAX, sizeof(*batch->names));
    if (batch->names == NULL)
        return err_nomem(err);
    if (!telemetry_name_is_valid(name->text) || name->width > 63 ||
        name->course >= TELEMETRY_COURSE_COUNT ||
        (name->course == TELEMETRY_WRAPS && name->width == 0))
        return err_set(err, ERR_INVALID, "a column has a name, a course or a width that is none");
    for (size_t i = 0; i < batch->name_count; i++)
        if (strcmp(batch->names[i].text, name->text) == 0 &&
            batch->names[i].course == name->course && batch->names[i].width == name->width) {
            *out = (uint16_t)i;
            return ERR_OK;
        }
    if (batch->name_count == TELEMETRY_NAMES_MAX)
        return err_set(err, ERR_LIMIT, "a batch has more than %d different columns",
                       TELEMETRY_NAMES_MAX);
    *out = (uint16_t)batch->name_count;
    batch->names[batch->name_count++] = *name;
    return ERR_OK;
}

enum err_code telemetry_device_add(struct telemetry_batch *batch, const char *device, uint16_t *out,
                                   struct err *err)
{
    if (batch->devices == NULL)
        batch->devices = calloc(TELEMETRY_DEVICES_MAX, sizeof(*batch->devices));
    if (batch->devices == NULL)
        return err_nomem(err);
    if (!is_device(device))
        return err_set(err, ERR_INVALID, "a device has a name that is none");
    for (size_t i = 0; i < batch->device_count; i++)
        if (strcmp(batch->devices[i], device) == 0) {
            *out = (uint16_t)i;
            return ERR_OK;
        }
    if (batch->device_count == TELEMETRY_DEVICES_MAX)
        return err_set(err, ERR_LIMIT, "a batch has more than %d devices", TELEMETRY_DEVICES_MAX);
    *out = (uint16_t)batch->device_count;
    snprintf(batch->devices[batch->device_count++], PORT_ID_SIZE, "%s", device);
    return ERR_OK;
}

/* Room for `more` items of `size`; twice as much as before, so that it is rare. */
static bool grow(void **items, size_t *room, size_t needed, size_t size)
{
    if (needed <= *room)
        return true;
    size_t wanted = *room < 64 ? 64 : *room;
    while (wanted < needed)
        wanted *= 2;
    void *grown = realloc(*items, wanted * size);
    if (grown == NULL)
        return false;
    *items = grown;
    *room = wanted;
    return true;
}

enum err_code telemetry_row_add(struct telemetry_batch *batch,
                                const struct telemetry_subject *subject, struct err *err)
{
    if (batch->row_count == TELEMETRY_ROWS_MAX)
        return err_set(err, ERR_LIMIT, "a batch has more than %d rows", TELEMETRY_ROWS_MAX);
    if (!grow((void **)&batch->rows, &batch->row_room, batch->row_count + 1, sizeof(*batch->rows)))
        return err_nomem(err);
    batch->rows[batch->row_count++] =
        (struct telemetry_row){.subject = *subject, .first = (uint32_t)batch->column_count};
    return ERR_OK;
}

enum err_code telemetry_column_add(struct telemetry_batch *batch, uint16_t name,
                                   int64_t **out_values, struct err *err)
{
    size_t count = batch->sample_count;
    if (batch->column_count == TELEMETRY_COLUMNS_MAX)
        return err_set(err, ERR_LIMIT, "a batch has more than %d columns", TELEMETRY_COLUMNS_MAX);
    if (!grow((void **)&batch->columns, &batch->column_room, batch->column_count + 1,
              sizeof(*batch->columns)) ||
        !grow((void **)&batch->values, &batch->value_room, batch->value_count + count,
              sizeof(*batch->values)))
        return err_nomem(err);
    batch->columns[batch->column_count++] =
        (struct telemetry_column){.name = name, .at = (uint32_t)batch->value_count};
    batch->rows[batch->row_count - 1].count++;
    *out_values = batch->values + batch->value_count;
    for (size_t i = 0; i < count; i++)
        (*out_values)[i] = TELEMETRY_ABSENT;
    batch->value_count += count;
    return ERR_OK;
}

/* Names and devices have room for the most. */
static bool copy_texts(const struct telemetry_batch *from, struct telemetry_batch *to)
{
    if (to->names == NULL)
        to->names = calloc(TELEMETRY_NAMES_MAX, sizeof(*to->names));
    if (to->devices == NULL)
        to->devices = calloc(TELEMETRY_DEVICES_MAX, sizeof(*to->devices));
    if (to->names == NULL || to->devices == NULL)
        return false;
    if (from->name_count > 0)
        memcpy(to->names, from->names, from->name_count * sizeof(*to->names));
    if (from->device_count > 0)
        memcpy(to->devices, from->devices, from->device_count * sizeof(*to->devices));
    to->name_count = from->name_count;
    to->device_count = from->device_count;
    return true;
}

enum err_code telemetry_batch_sample(const struct telemetry_batch *batch, size_t sample,
                                     struct telemetry_batch *out, struct err *err)
{
    size_t rows = batch->row_count, columns = batch->column_count;
    telemetry_batch_clear(out);
    if (!grow((void **)&out->rows, &out->row_room, rows, sizeof(*out->rows)) ||
        !grow((void **)&out->columns, &out->column_room, columns, sizeof(*out->columns)) ||
        !grow((void **)&out->values, &out->value_room, columns, sizeof(*out->values)) ||
        !copy_texts(batch, out))
        return err_nomem(err);
    for (size_t i = 0; i < rows; i++)
        out->rows[i] = batch->rows[i];
    for (size_t i = 0; i < columns; i++) {
        out->columns[i] =
            (struct telemetry_column){.name = batch->columns[i].name, .at = (uint32_t)i};
        out->values[i] = batch->values[batch->columns[i].at + sample];
    }
    out->row_count = rows;
    out->column_count = out->value_count = columns;
    out->stream = batch->stream;
    out->seq = batch->seq;
    out->interval_ms = batch->interval_ms;
    out->start_us = telemetry_time_us(batch, sample);
    out->sample_count = 1;
    out->offset_ms[0] = 0;
    return ERR_OK;
}

/* Counters ------------------------------------------------------------------------------------ */

/* The end of a counter; what is beyond shows that it is wider than its table says (sysfs counters
 * of InfiniBand are 32 bits in the standard, 64 in most drivers). */
static uint64_t end_of(const struct telemetry_name *name)
{
    return name->width == 0 ? INT64_MAX : (UINT64_C(1) << name->width) - 1;
}

enum telemetry_step telemetry_increase(const struct telemetry_name *name, int64_t before,
                                       int64_t now, int64_t *out)
{
    uint64_t end = end_of(name);
    if (before == TELEMETRY_ABSENT || now == TELEMETRY_ABSENT || before < 0 || now < 0)
        return TELEMETRY_UNKNOWN;
    if (name->course == TELEMETRY_STAYS && name->width > 0 && (uint64_t)now == end)
        return TELEMETRY_SATURATED;
    if (now >= before) {
        *out = now - before;
        return TELEMETRY_KNOWN;
    }
    if (name->course != TELEMETRY_WRAPS || (uint64_t)before > end)
        return TELEMETRY_RESET;
    /* More than half of the range in one step: rather began at 0 again. */
    uint64_t counted = end - (uint64_t)before + 1 + (uint64_t)now;
    if (counted > end / 2)
        return TELEMETRY_RESET;
    *out = (int64_t)counted;
    return TELEMETRY_KNOWN;
}

void telemetry_sum_merge(struct telemetry_sum *into, const struct telemetry_sum *from)
{
    if (from->weight == 0)
        return;
    if (into->weight == 0) {
        *into = *from;
        return;
    }
    /* A sum that cannot be told stays at its end, as the kernel's counters do. */
    if (__builtin_add_overflow(into->sum, from->sum, &into->sum))
        into->sum = from->sum > 0 ? INT64_MAX : -INT64_MAX;
    into->min = from->min < into->min ? from->min : into->min;
    into->max = from->max > into->max ? from->max : into->max;
    into->weight =
        UINT32_MAX - into->weight < from->weight ? UINT32_MAX : into->weight + from->weight;
}

static enum telemetry_step count_step(const struct telemetry_last *last,
                                      const struct telemetry_name *name, int64_t time_us,
                                      int64_t value, struct telemetry_sum *out)
{
    int64_t counted = 0, rate, span_ms = (time_us - last->time_us) / 1000;
    enum telemetry_step step = telemetry_increase(name, last->value, value, &counted);
    if (step != TELEMETRY_KNOWN)
        return step;
    if (__builtin_mul_overflow(counted, 1000, &rate))
        return TELEMETRY_UNKNOWN;
    rate /= span_ms;
    *out = (struct telemetry_sum){counted, rate, rate, (uint32_t)span_ms};
    return TELEMETRY_KNOWN;
}

enum telemetry_step telemetry_next(struct telemetry_last *last, const struct telemetry_name *name,
                                   int64_t time_us, int64_t value, uint32_t interval_ms,
                                   struct telemetry_sum *out)
{
    enum telemetry_step step = TELEMETRY_UNKNOWN;
    *out = (struct telemetry_sum){0};
    int64_t span_us = time_us - last->time_us;
    bool near = last->value != TELEMETRY_ABSENT && span_us >= 1000 &&
                span_us <= (int64_t)interval_ms * 1000 * TELEMETRY_STRIDES;
    if (value == TELEMETRY_ABSENT || (last->value != TELEMETRY_ABSENT && span_us <= 0))
        return step; /* a time that was told already */
    if (name->course == TELEMETRY_GAUGE) {
        *out = (struct telemetry_sum){value, value, value, 1};
        step = TELEMETRY_KNOWN;
    } else if (near) {
        step = count_step(last, name, time_us, value, out);
    }
    *last = (struct telemetry_last){value, time_us};
    return step;
}
