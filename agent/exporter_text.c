/*
 * agent/exporter_text.c - see exporter_text.h.
 */
#include "agent/exporter_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"

/* Of one kind the number of a row says this; NULL = it says nothing. */
static const char *const number_labels[TELEMETRY_KIND_COUNT] = {
    [TELEMETRY_PRIORITY] = "priority",
    [TELEMETRY_QP] = "qp",
    [TELEMETRY_RDMA] = "port",
    [TELEMETRY_TEMPERATURE] = "sensor",
};

/* Units that a column's name ends in, and the base unit of Prometheus. */
static const struct {
    const char *suffix, *base;
    double factor;
} units[] = {
    {"_permyriad", "_ratio", 1e-4},
    {"_millicelsius", "_celsius", 1e-3},
    {"_ns", "_seconds", 1e-9},
    {"_pause_duration", "_pause_seconds", 1e-6}, /* fleet/evidence/counter_table.c: us */
};

/* One value, and where it stands. */
struct entry {
    char metric[EXPORTER_NAME_SIZE];
    double factor;
    const struct telemetry_name *name;
    const struct telemetry_row *row;
    int64_t value;
};

double exporter_name(enum telemetry_kind kind, const struct telemetry_name *name,
                     char out[EXPORTER_NAME_SIZE])
{
    char text[EXPORTER_NAME_SIZE];
    double factor = 1;
    size_t len = strlen(name->text);
    snprintf(text, sizeof(text), "%s", name->text);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        size_t end = strlen(units[i].suffix);
        if (len <= end || strcmp(text + len - end, units[i].suffix) != 0)
            continue;
        snprintf(text + len - end, sizeof(text) - (len - end), "%s", units[i].base);
        factor = units[i].factor;
        break;
    }
    snprintf(out, EXPORTER_NAME_SIZE, "stellar_%s_%.80s%s", telemetry_kind_name(kind), text,
             name->course == TELEMETRY_GAUGE ? "" : "_total");
    for (char *c = out; *c != '\0'; c++)
        if ((*c < 'a' || *c > 'z') && (*c < 'A' || *c > 'Z') && (*c < '0' || *c > '9'))
            *c = '_';
    return factor;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->metric, y->metric);
    return order != 0 ? order : (x->row > y->row) - (x->row < y->row);
}

static void put_label(FILE *out, const char *name, const char *value)
{
    fprintf(out, "%s=\"", name);
    for (; *value != '\0'; value++) {
        if (*value == '\\' || *value == '"')
            fputc('\\', out);
        if (*value == '\n')
            fputs("\\n", out);
        else
            fputc(*value, out);
    }
    fputc('"', out);
}

static void put_labels(FILE *out, const struct telemetry_batch *look, const char *node,
                       const struct telemetry_subject *subject)
{
    const char *number = number_labels[subject->kind];
    fputc('{', out);
    put_label(out, "node", node);
    if (look->devices[subject->device][0] != '\0') {
        fputc(',', out);
        put_label(out, "device", look->devices[subject->device]);
    }
    if (number != NULL)
        fprintf(out, ",%s=\"%" PRIu32 "\"", number, subject->number);
    if (subject->pid != 0)
        fprintf(out, ",pid=\"%" PRIu32 "\"", subject->pid);
    if (subject->label != 0) /* "job" is Prometheus' own word */
        fprintf(out, ",job_label=\"%" PRIu32 "\"", subject->label);
    fputc('}', out);
}

static size_t collect_entries(const struct telemetry_batch *look, struct entry *entries)
{
    size_t count = 0;
    for (size_t r = 0; r < look->row_count; r++) {
        const struct telemetry_row *row = &look->rows[r];
        for (uint32_t c = row->first; c < row->first + row->count; c++) {
            const struct telemetry_column *column = &look->columns[c];
            struct entry *entry = &entries[count];
            if (look->values[column->at] == TELEMETRY_ABSENT)
                continue;
            entry->name = &look->names[column->name];
            entry->row = row;
            entry->value = look->values[column->at];
            entry->factor = exporter_name(row->subject.kind, entry->name, entry->metric);
            count++;
        }
    }
    return count;
}

static void put_value(FILE *out, const struct entry *entry)
{
    if (entry->factor == 1.0)
        fprintf(out, " %" PRId64 "\n", entry->value);
    else
        fprintf(out, " %.15g\n", (double)entry->value * entry->factor);
}

enum err_code exporter_text(const struct telemetry_batch *look, const char *node, FILE *out,
                            struct err *err)
{
    OWN(mem) void *memory = calloc(look->column_count + 1, sizeof(struct entry));
    struct entry *entries = memory;
    if (entries == NULL)
        return err_nomem(err);
    size_t count = collect_entries(look, entries);
    qsort(entries, count, sizeof(*entries), compare_entries);
    for (size_t i = 0; i < count; i++) {
        const struct entry *entry = &entries[i];
        bool first = i == 0 || strcmp(entries[i - 1].metric, entry->metric) != 0;
        if (!first && entries[i - 1].row == entry->row)
            continue; /* two columns whose names differ in what Prometheus does not know */
        if (first)
            fprintf(out, "# HELP %s Column %s of %s rows.\n# TYPE %s %s\n", entry->metric,
                    entry->name->text, telemetry_kind_name(entry->row->subject.kind), entry->metric,
                    entry->name->course == TELEMETRY_GAUGE ? "gauge" : "counter");
        fputs(entry->metric, out);
        put_labels(out, look, node, &entry->row->subject);
        put_value(out, entry);
    }
    return ERR_OK;
}
