/*
 * fleet/evidence/read_ibdiagnet.c - ibdiagnet: stages below rules of dashes, messages with -I-, -W-
 * and -E-, and a summary of all stages.
 */
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules_logs.h"

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i);
    return slice_starts(line, "-I- Discovering") || slice_starts(line, "-I- Using port ") ||
           slice_is(line, "Fabric Summary") ||
           (slice_starts(line, "-I- Stage ") && slice_has(line, "Warnings"));
}

static bool is_rule(struct slice line)
{
    return slice_starts(line, "-----") && line.len == strspn(line.at, "-");
}

/* "-I- Port Counters             1          2": the words, then warnings and errors. */
static bool read_summary(struct evidence_job *job, size_t i, struct slice line)
{
    struct slice columns[4];
    uint64_t number;
    (void)slice_skip(&line, "-I- ");
    size_t n = slice_columns(line, columns, 4);
    if (n < 3 || !slice_uint(columns[1], &number) || !slice_uint(columns[2], &number))
        return false;
    job_subject(job, "stage %.*s", (int)(columns[0].len < 80 ? columns[0].len : 80), columns[0].at);
    put_number(job, i, "warnings", columns[1], "");
    put_number(job, i, "errors", columns[2], "");
    if (number > 0)
        put_finding(job, i, RULE_IB_CHECK, "%llu errors", (unsigned long long)number);
    return true;
}

static void read_line(struct evidence_job *job, size_t i, struct slice line, struct slice stage)
{
    int len = (int)(line.len < 200 ? line.len : 200);
    if (slice_starts(line, "-I-") && read_summary(job, i, line))
        return;
    job_subject(job, "stage %.*s", (int)(stage.len < 80 ? stage.len : 80), stage.at);
    if (slice_starts(line, "-E-"))
        put_finding(job, i, RULE_IB_CHECK, "%.*s", len, line.at);
    else if (slice_starts(line, "-W-"))
        put_finding(job, i, RULE_IB_WARNING, "%.*s", len, line.at);
    if (slice_starts(line, "-E-") || slice_starts(line, "-W-"))
        put_text(job, i, "message", line);
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct slice stage = slice_of("Discovery"), key, value;
    for (; i < job->line_count && !job_is_prompt(job, i, NULL); i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0)
            continue;
        if (is_rule(line)) {
            if (!job_is_blank(job, i + 1) && job_line(job, i + 1).at[0] != '-')
                stage = job_line(job, ++i);
        } else if (slice_starts(line, "-")) {
            read_line(job, i, line, stage);
        } else if (job_stops(job, i, &reader_ibdiagnet)) {
            break;
        } else if (slice_split(line, ':', &key, &value)) { /* "IB Switches    : 3" */
            char name[EVIDENCE_NAME_MAX];
            fact_name("", slice_trim(key), "", name);
            job_subject(job, "fabric");
            put_value(job, i, name[0] == '_' ? name + 1 : name, slice_trim(value), "");
        }
    }
    return i;
}

const struct evidence_reader reader_ibdiagnet = {
    .kind = "opensm", .tool = "ibdiagnet", .begins = begins, .read = read};
