/*
 * db/series_memory.c - the picture in memory: what each node's counters stand at, and what is
 * summed up of the open minute and hour. Called by the writing thread and at the start.
 *
 * Roll-ups of one span may come in parts (a restart, many rows): their sums merge.
 */
#include <stdlib.h>
#include <string.h>

#include "db/series_private.h"

#define S_US         INT64_C(1000000)
#define MINUTE_US    (60 * S_US)
#define HOUR_US      (3600 * S_US)
#define ROLL_COLUMNS 4000 /* of one roll-up: far within TELEMETRY_BODY_MAX, whatever the values */
#define STALE_ROWS   64   /* so many may wait for the end of the hour */
#define ROLL_SAMPLES 4
#define TEXTS_MAX    (8 * TELEMETRY_NAMES_MAX) /* new to the picture, of one node */
#define MARGIN       8                         /* names of a row that are added in one go */

/* Finding -------------------------------------------------------------------------------------- */

static enum err_code place_metric(struct series_picture *picture, struct series_row *row,
                                  uint32_t name, uint32_t hint, uint32_t *out, struct err *err)
{
    if (hint < row->count && row->metrics[hint].name == name) {
        *out = hint;
        return ERR_OK;
    }
    for (uint32_t i = 0; i < row->count; i++)
        if (row->metrics[i].name == name) {
            *out = i;
            return ERR_OK;
        }
    *out = NO_PLACE;
    if (row->count == TELEMETRY_NAMES_MAX)
        return ERR_OK;
    if (row->count == row->room) {
        uint32_t room = (uint32_t)row->room + MARGIN;
        struct series_metric *grown = realloc(row->metrics, room * sizeof(*grown));
        if (grown == NULL)
            return err_nomem(err);
        row->metrics = grown;
        row->room = (uint16_t)room;
    }
    row->metrics[row->count] = (struct series_metric){
        .name = name, .last = {.value = TELEMETRY_ABSENT}, .rate = TELEMETRY_ABSENT};
    *out = row->count++;
    picture->columns++;
    return ERR_OK;
}

/* NO_PLACE: there is no room for one more, or the node brought too many that nobody knew: one node
 * must not take the room of the others. What has no place is in raw alone. */
static enum err_code number_text(struct series_texts *texts, struct series_node *node,
                                 const char *text, uint32_t *out, struct err *err)
{
    uint32_t max = texts->max, before = texts->count - texts->spare_count;
    if (node->texts >= TEXTS_MAX)
        texts->max = before;
    enum err_code code = series_text(texts, text, out, err);
    texts->max = max;
    if (code == ERR_OK && texts->count - texts->spare_count > before) {
        node->texts++;
        texts->owners[*out] = node->number;
    }
    if (code != ERR_LIMIT)
        return code;
    *out = NO_PLACE;
    return ERR_OK;
}

static enum err_code number_name(struct series_picture *picture, struct series_node *node,
                                 const struct telemetry_name *name, uint32_t *out, struct err *err)
{
    char key[TELEMETRY_NAME_SIZE + 16];
    snprintf(key, sizeof(key), "%s|%u|%u", name->text, name->course, name->width);
    enum err_code code = number_text(&picture->name_keys, node, key, out, err);
    if (code != ERR_OK || *out == NO_PLACE)
        return code;
    if (*out >= picture->name_room) {
        uint32_t room = picture->name_room == 0 ? 64 : picture->name_room * 2;
        struct telemetry_name *grown = realloc(picture->names, room * sizeof(*grown));
        if (grown == NULL)
            return err_nomem(err);
        picture->names = grown;
        picture->name_room = room;
    }
    picture->names[*out] = *name;
    return ERR_OK;
}

/* The numbers of a batch's names and devices in the picture. */
static enum err_code number_texts(struct series_picture *picture, struct series_node *node,
                                  const struct telemetry_batch *batch, uint32_t *names,
                                  uint32_t *devices, struct err *err)
{
    enum err_code code = ERR_OK;
    for (size_t i = 0; code == ERR_OK && i < batch->name_count; i++)
        code = number_name(picture, node, &batch->names[i], &names[i], err);
    for (size_t i = 0; code == ERR_OK && i < batch->device_count; i++)
        code = number_text(&picture->devices, node, batch->devices[i], &devices[i], err);
    return code;
}

static enum err_code place_batch(struct series_picture *picture, struct series_node *node,
                                 const struct telemetry_batch *batch, struct err *err)
{
    uint32_t names[TELEMETRY_NAMES_MAX], devices[TELEMETRY_DEVICES_MAX], hint = 0;
    if (picture->cells == NULL)
        picture->cells = malloc(TELEMETRY_COLUMNS_MAX * sizeof(*picture->cells));
    if (picture->places == NULL)
        picture->places = malloc(TELEMETRY_ROWS_MAX * sizeof(*picture->places));
    if (picture->cells == NULL || picture->places == NULL)
        return err_nomem(err);
    picture->indexed = false;
    enum err_code code = number_texts(picture, node, batch, names, devices, err);
    for (size_t i = 0; code == ERR_OK && i < batch->row_count; i++) {
        const struct telemetry_row *row = &batch->rows[i];
        uint32_t *place = &picture->places[i];
        *place = NO_PLACE;
        if (devices[row->subject.device] != NO_PLACE)
            code = series_place_row(picture, node, &row->subject, devices[row->subject.device],
                                    &hint, place, err);
        for (uint32_t j = 0; code == ERR_OK && *place != NO_PLACE && j < row->count; j++) {
            uint32_t name = names[batch->columns[row->first + j].name];
            uint32_t *cell = &picture->cells[row->first + j];
            *cell = NO_PLACE;
            if (name != NO_PLACE)
                code = place_metric(picture, &node->rows[*place], name, j, cell, err);
        }
    }
    return code;
}

/* Rolling up ----------------------------------------------------------------------------------- */

static void begin_roll(struct telemetry_batch *roll, enum series_tier tier, int64_t start_us,
                       int64_t covered_us)
{
    telemetry_batch_clear(roll);
    roll->stream = (uint64_t)covered_us;
    roll->seq = 1;
    roll->interval_ms = (uint32_t)(series_tier_step_us(tier) / S_US);
    roll->start_us = start_us;
    roll->sample_count = ROLL_SAMPLES;
    for (uint32_t i = 0; i < ROLL_SAMPLES; i++)
        roll->offset_ms[i] = i;
}

static enum err_code roll_metric(const struct series_picture *picture, struct telemetry_batch *roll,
                                 const struct series_metric *metric,
                                 const struct telemetry_sum *sum, struct err *err)
{
    uint16_t name;
    int64_t *values;
    enum err_code code = telemetry_name_add(roll, &picture->names[metric->name], &name, err);
    if (code == ERR_OK)
        code = telemetry_column_add(roll, name, &values, err);
    if (code != ERR_OK)
        return code;
    values[0] = sum->sum;
    values[1] = sum->min;
    values[2] = sum->max;
    values[3] = sum->weight;
    return ERR_OK;
}

static enum err_code roll_row(const struct series_picture *picture, struct telemetry_batch *roll,
                              const struct series_row *row, enum series_tier tier, struct err *err)
{
    struct telemetry_subject subject = {.kind = (enum telemetry_kind)row->kind,
                                        .number = row->number,
                                        .pid = row->pid,
                                        .label = row->label};
    bool begun = false;
    enum err_code code = ERR_OK;
    for (uint32_t i = 0; code == ERR_OK && i < row->count; i++) {
        const struct series_metric *metric = &row->metrics[i];
        const struct telemetry_sum *sum = tier == SERIES_MINUTE ? &metric->minute : &metric->hour;
        if (sum->weight == 0)
            continue;
        if (!begun)
            code = telemetry_device_add(roll, picture->devices.items[row->device], &subject.device,
                                        err);
        if (code == ERR_OK && !begun)
            code = telemetry_row_add(roll, &subject, err);
        begun = true;
        if (code == ERR_OK)
            code = roll_metric(picture, roll, metric, sum, err);
    }
    return code;
}

/* All rows of the node, in as many parts as it takes. */
static enum err_code roll_node(struct series_roller *roller, uint32_t number, enum series_tier tier,
                               int64_t start_us, int64_t covered_us, struct err *err)
{
    struct series_picture *picture = roller->picture;
    struct series_node *node = &picture->nodes[number];
    struct telemetry_batch *roll = &picture->roll;
    enum err_code code = ERR_OK;
    begin_roll(roll, tier, start_us, covered_us);
    for (size_t i = 0; tier == SERIES_MINUTE && i < node->gap_count; i++)
        roll->gaps[roll->gap_count++] = node->gaps[i];
    for (uint32_t i = 0; code == ERR_OK && i < node->row_count; i++) {
        if (roll->column_count > ROLL_COLUMNS || roll->device_count == TELEMETRY_DEVICES_MAX ||
            roll->name_count + node->rows[i].count > TELEMETRY_NAMES_MAX) {
            code = roller->fn(roller->arg, tier, number, roll, err);
            begin_roll(roll, tier, start_us, covered_us);
        }
        if (code == ERR_OK)
            code = roll_row(picture, roll, &node->rows[i], tier, err);
    }
    if (code == ERR_OK && (roll->row_count > 0 || roll->gap_count > 0))
        code = roller->fn(roller->arg, tier, number, roll, err);
    return code;
}

static void drop_stale(struct series_picture *picture, struct series_node *node)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < node->row_count; i++) {
        struct series_row *row = &node->rows[i];
        if (row->last_us + SERIES_STALE_US >= node->last_us) {
            node->rows[kept++] = *row;
            continue;
        }
        picture->columns -= row->count;
        picture->rows--;
        free(row->metrics);
    }
    node->row_count = kept;
}

static enum err_code end_hour(struct series_roller *roller, uint32_t number, int64_t covered_us,
                              struct err *err)
{
    struct series_node *node = &roller->picture->nodes[number];
    enum err_code code = roll_node(roller, number, SERIES_HOUR, node->hour_us, covered_us, err);
    for (uint32_t i = 0; i < node->row_count; i++)
        for (uint32_t j = 0; j < node->rows[i].count; j++)
            node->rows[i].metrics[j].hour = (struct telemetry_sum){0};
    node->hour_us = 0;
    node->hour_from_us = covered_us;
    drop_stale(roller->picture, node);
    return code;
}

static bool has_many_stale(const struct series_node *node)
{
    uint32_t stale = 0;
    for (uint32_t i = 0; i < node->row_count; i++)
        stale += node->rows[i].last_us + SERIES_STALE_US < node->last_us;
    return stale > STALE_ROWS && stale * 2 > node->row_count;
}

static enum err_code open_hour(struct series_roller *roller, uint32_t number, int64_t time_us,
                               struct err *err)
{
    struct series_node *node = &roller->picture->nodes[number];
    int64_t hour_us = time_us - time_us % HOUR_US;
    enum err_code code = ERR_OK;
    if (node->hour_us != 0 && node->hour_us != hour_us)
        code = end_hour(roller, number, node->hour_us + HOUR_US, err);
    node->hour_us = hour_us;
    return code;
}

static enum err_code end_minute(struct series_roller *roller, uint32_t number, int64_t covered_us,
                                struct err *err)
{
    struct series_node *node = &roller->picture->nodes[number];
    /* After a crash a minute may come again whose hour was written. */
    bool counts = covered_us > node->hour_from_us;
    enum err_code code = counts ? open_hour(roller, number, node->minute_us, err) : ERR_OK;
    if (code == ERR_OK)
        code = roll_node(roller, number, SERIES_MINUTE, node->minute_us, covered_us, err);
    for (uint32_t i = 0; i < node->row_count; i++)
        for (uint32_t j = 0; j < node->rows[i].count; j++) {
            struct series_metric *metric = &node->rows[i].metrics[j];
            if (counts)
                telemetry_sum_merge(&metric->hour, &metric->minute);
            metric->minute = (struct telemetry_sum){0};
        }
    node->gap_count = 0;
    node->minute_us = 0;
    node->minute_from_us = covered_us;
    if (code == ERR_OK && has_many_stale(node))
        code = end_hour(roller, number, covered_us, err);
    return code;
}

/* Folding -------------------------------------------------------------------------------------- */

static void take_row(struct series_picture *picture, const struct series_node *node,
                     const struct telemetry_batch *batch, size_t index, const size_t span[2])
{
    const struct telemetry_row *from = &batch->rows[index];
    struct series_row *row = &node->rows[picture->places[index]];
    for (uint32_t c = from->first; c < from->first + from->count; c++) {
        if (picture->cells[c] == NO_PLACE)
            continue;
        struct series_metric *metric = &row->metrics[picture->cells[c]];
        const struct telemetry_name *name = &batch->names[batch->columns[c].name];
        const int64_t *values = batch->values + batch->columns[c].at;
        for (size_t s = span[0]; s < span[1]; s++) {
            struct telemetry_sum step;
            int64_t time_us = telemetry_time_us(batch, s);
            if (values[s] == TELEMETRY_ABSENT)
                continue;
            enum telemetry_step how =
                telemetry_next(&metric->last, name, time_us, values[s], batch->interval_ms, &step);
            metric->rate = how == TELEMETRY_KNOWN && name->course != TELEMETRY_GAUGE
                               ? step.min
                               : TELEMETRY_ABSENT;
            if (time_us >= node->minute_from_us)
                telemetry_sum_merge(&metric->minute, &step);
        }
    }
    row->last_us = telemetry_time_us(batch, span[1] - 1);
}

/* The samples from `first` on that are of the same minute. */
static size_t same_minute(const struct telemetry_batch *batch, size_t first)
{
    int64_t minute = telemetry_time_us(batch, first) / MINUTE_US;
    size_t end = first + 1;
    while (end < batch->sample_count && telemetry_time_us(batch, end) / MINUTE_US == minute)
        end++;
    return end;
}

enum err_code series_fold(struct series_roller *roller, uint32_t number,
                          const struct telemetry_batch *batch, struct err *err)
{
    struct series_picture *picture = roller->picture;
    struct series_node *node = &picture->nodes[number];
    enum err_code code = ERR_OK;
    size_t span[2] = {0, 0};
    while (span[0] < batch->sample_count && telemetry_time_us(batch, span[0]) <= node->last_us)
        span[0]++;
    for (; code == ERR_OK && span[0] < batch->sample_count; span[0] = span[1]) {
        int64_t time_us = telemetry_time_us(batch, span[0]);
        span[1] = same_minute(batch, span[0]);
        if (node->minute_us != 0 && time_us >= node->minute_us + MINUTE_US)
            code = end_minute(roller, number, node->minute_us + MINUTE_US, err);
        if (code == ERR_OK) /* each time: rows may have gone */
            code = place_batch(picture, node, batch, err);
        if (code == ERR_OK && node->minute_us == 0 &&
            telemetry_time_us(batch, span[1] - 1) >= node->minute_from_us)
            node->minute_us = time_us - time_us % MINUTE_US;
        for (size_t i = 0; code == ERR_OK && i < batch->row_count; i++)
            if (picture->places[i] != NO_PLACE)
                take_row(picture, node, batch, i, span);
    }
    for (size_t i = 0; i < batch->gap_count; i++)
        if (node->gap_count < sizeof(node->gaps) / sizeof(node->gaps[0]))
            node->gaps[node->gap_count++] = batch->gaps[i];
    if (batch->sample_count > 0)
        node->last_us = telemetry_time_us(batch, batch->sample_count - 1) > node->last_us
                            ? telemetry_time_us(batch, batch->sample_count - 1)
                            : node->last_us;
    node->stream = batch->stream;
    node->seq = batch->seq;
    return code;
}

enum err_code series_fold_minute(struct series_roller *roller, uint32_t number,
                                 const struct telemetry_batch *roll, struct err *err)
{
    struct series_picture *picture = roller->picture;
    struct series_node *node = &picture->nodes[number];
    enum err_code code = open_hour(roller, number, roll->start_us, err);
    if (code == ERR_OK)
        code = place_batch(picture, node, roll, err);
    for (size_t i = 0; code == ERR_OK && i < roll->row_count; i++) {
        const struct telemetry_row *from = &roll->rows[i];
        if (picture->places[i] == NO_PLACE)
            continue;
        struct series_row *row = &node->rows[picture->places[i]];
        row->last_us = (int64_t)roll->stream;
        for (uint32_t c = from->first; c < from->first + from->count; c++) {
            const int64_t *values = roll->values + roll->columns[c].at;
            const struct telemetry_sum sum = {values[0], values[1], values[2], (uint32_t)values[3]};
            if (picture->cells[c] != NO_PLACE)
                telemetry_sum_merge(&row->metrics[picture->cells[c]].hour, &sum);
        }
    }
    if (node->last_us < (int64_t)roll->stream - MINUTE_US)
        node->last_us = (int64_t)roll->stream - MINUTE_US; /* at least */
    return code;
}

enum err_code series_roll_idle(struct series_roller *roller, uint32_t number, int64_t before_us,
                               struct err *err)
{
    struct series_node *node = &roller->picture->nodes[number];
    enum err_code code = ERR_OK;
    if (node->heard_us >= before_us)
        return ERR_OK;
    if (node->minute_us != 0) { /* what still comes of this minute is another part of it */
        int64_t end_us = node->minute_us + MINUTE_US;
        code = end_minute(roller, number, node->last_us < end_us ? node->last_us + 1 : end_us, err);
    }
    if (code == ERR_OK && node->hour_us != 0)
        code = end_hour(roller, number, node->minute_from_us, err);
    return code;
}

static void forget(struct series_picture *picture, struct series_texts *texts, const uint8_t *used)
{
    for (uint32_t i = 0; i < texts->count; i++)
        if (!used[i] && texts->items[i] != NULL)
            picture->nodes[texts->owners[i]].texts--;
    series_texts_forget(texts, used);
}

static void mark(const struct series_picture *picture, uint8_t *names, uint8_t *devices)
{
    for (uint32_t i = 0; i < picture->node_names.count; i++)
        for (uint32_t j = 0; j < picture->nodes[i].row_count; j++) {
            const struct series_row *row = &picture->nodes[i].rows[j];
            devices[row->device] = 1;
            for (uint32_t k = 0; k < row->count; k++)
                names[row->metrics[k].name] = 1;
        }
}

static bool is_half_full(const struct series_texts *texts)
{
    return texts->count - texts->spare_count > texts->max / 2;
}

void series_sweep(struct series_picture *picture)
{
    if (!is_half_full(&picture->name_keys) && !is_half_full(&picture->devices))
        return;
    OWN(mem) void *names = calloc(picture->name_keys.count + 1, 1);
    OWN(mem) void *devices = calloc(picture->devices.count + 1, 1);
    if (names == NULL || devices == NULL)
        return;
    mark(picture, names, devices);
    forget(picture, &picture->name_keys, names);
    forget(picture, &picture->devices, devices);
}
