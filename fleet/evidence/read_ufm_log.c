/*
 * fleet/evidence/read_ufm_log.c - UFM's log of events: "2023-05-01 10:11:12.123 [7718] [329]
 * WARNING [Fabric_Topology] LINK [object] [path]: text".
 */
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules_logs.h"

struct event {
    struct slice id, type, severity, category, object, text;
};

static bool bracket(struct slice *rest, struct slice *inside)
{
    struct slice tail;
    if (!slice_skip(rest, "[") || !slice_split(*rest, ']', inside, &tail))
        return false;
    *rest = slice_trim(tail);
    return true;
}

static bool row(struct slice line, struct event *out)
{
    static const char *const severities[] = {"INFO", "WARNING", "MINOR", "CRITICAL"};
    struct slice rest = line, date = slice_word(&rest), clock = slice_word(&rest), kind;
    uint64_t number;
    bool known = false;
    if (date.len != 10 || date.at[4] != '-' || clock.len < 8 || clock.at[2] != ':' ||
        !bracket(&rest, &out->id) || !bracket(&rest, &out->type) || !slice_uint(out->id, &number) ||
        !slice_uint(out->type, &number))
        return false;
    out->severity = slice_word(&rest);
    for (size_t k = 0; k < sizeof(severities) / sizeof(severities[0]); k++)
        known = known || slice_is(out->severity, severities[k]);
    if (!known || !bracket(&rest, &out->category))
        return false;
    kind = slice_word(&rest);
    out->text = rest;
    if (kind.len == 0 || !bracket(&rest, &out->object))
        return false;
    (void)slice_after(rest, "]: ", &rest);
    out->text = rest;
    return true;
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct event event;
    return row(job_line(job, i), &event);
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct event e;
    for (; row(job_line(job, i), &e); i++) {
        job_subject(job, "fabric %.*s", (int)(e.object.len < 150 ? e.object.len : 150),
                    e.object.at);
        put_number(job, i, "event", e.type, "");
        put_text(job, i, "severity", e.severity);
        put_text(job, i, "category", e.category);
        put_text(job, i, "description", e.text);
        if (slice_is(e.severity, "INFO"))
            continue;
        put_finding(job, i, slice_has(e.text, "went down") ? RULE_UFM_LINK_DOWN : RULE_UFM_ALARM,
                    "%.*s: %.*s", (int)e.severity.len, e.severity.at,
                    (int)(e.text.len < 200 ? e.text.len : 200), e.text.at);
    }
    return i;
}

const struct evidence_reader reader_ufm_log = {
    .kind = "ufm", .tool = "UFM events", .begins = begins, .read = read};
