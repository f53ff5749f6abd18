/*
 * fleet/evidence/read_osu.c - the OSU micro-benchmarks: "# OSU MPI Latency Test v5.6.3", a head
 * "# Size   Latency (us)", then a row for each size.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"

#define COLUMNS_MAX 8

struct column {
    char name[EVIDENCE_NAME_MAX];
    const char *unit;
};

struct table {
    struct column columns[COLUMNS_MAX];
    size_t count; /* with the size; 0 = no head was read yet, or one of too many columns */
};

/* mpirun may mark each line: "[1,0]<stdout>:# OSU ...". */
static struct slice row_of(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i), tag, rest;
    if (slice_starts(line, "[") && slice_split(line, '>', &tag, &rest) &&
        slice_has(tag, "<stdout") && slice_skip(&rest, ":"))
        return slice_trim(rest);
    return line;
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice line = row_of(job, i);
    return slice_starts(line, "# OSU ") && slice_has(line, " Test");
}

/* "Avg Latency(us)" is avg_latency in us. */
static void read_column(struct slice text, struct column *out)
{
    static const char *const units[] = {"us", "MB/s", "ms", "GB/s"};
    struct slice name = text, unit = slice_of("");
    char full[EVIDENCE_NAME_MAX];
    (void)slice_split(text, '(', &name, &unit);
    fact_name("", name, "", full);
    snprintf(out->name, sizeof(out->name), "%s", full[0] == '_' ? full + 1 : full);
    out->unit = "";
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (unit.len == strlen(units[i]) + 1 && slice_starts(unit, units[i]))
            out->unit = units[i];
    }
}

static void read_head(struct slice line, struct table *table)
{
    struct slice columns[COLUMNS_MAX];
    (void)slice_skip(&line, "#");
    size_t count = slice_columns(slice_trim(line), columns, COLUMNS_MAX);
    table->count = count >= 2 && count <= COLUMNS_MAX ? count : 0;
    for (size_t k = 0; k < table->count; k++)
        read_column(columns[k], &table->columns[k]);
}

/* A row has a number for each column: one that was cut or mixed with another's is none. */
static bool read_row(struct evidence_job *job, size_t i, struct slice line,
                     const struct table *table)
{
    struct slice words[COLUMNS_MAX];
    uint64_t size;
    if (table->count == 0 || slice_words(line, words, COLUMNS_MAX) != table->count ||
        !slice_uint(words[0], &size))
        return false;
    for (size_t k = 1; k < table->count; k++) {
        if (number_read(words[k]).kind == NUMBER_NONE)
            return false;
    }
    job_subject(job, "run %llu", (unsigned long long)size);
    for (size_t k = 1; k < table->count; k++)
        put_number(job, i, table->columns[k].name, words[k], table->columns[k].unit);
    return true;
}

static void read_title(struct evidence_job *job, size_t i, struct slice line)
{
    struct slice version, title = line;
    (void)slice_skip(&title, "# OSU ");
    job_subject(job, "run");
    if (slice_after(title, " Test v", &version)) {
        put_text(job, i, "version", slice_word(&version));
        title.len = (size_t)(slice_find(title, " Test v") - title.at);
    }
    put_text(job, i, "test", title);
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct table table = {.count = 0};
    size_t first = i;
    for (; i < job->line_count; i++) {
        struct slice line = row_of(job, i);
        if (line.len == 0)
            continue;
        if (i > first && job_is_prompt(job, i, NULL))
            break;
        if (begins(job, i)) {
            table.count = 0;
            read_title(job, i, line);
        } else if (slice_starts(line, "# Size")) {
            read_head(line, &table);
        } else if (!slice_starts(line, "#") && !read_row(job, i, line, &table)) {
            break;
        }
    }
    return i;
}

const struct evidence_reader reader_osu = {
    .kind = "perftest", .tool = "osu", .begins = begins, .read = read};
