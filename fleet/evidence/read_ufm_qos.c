/*
 * fleet/evidence/read_ufm_qos.c - the policy file of UFM's enhanced QoS.
 *
 * BW_NAMES gives names to bandwidths in Mb/s, BW_RULES gives them to the service levels of a port's
 * GUID or of a group: "0x2c9... = 5:NAME, 7:NAME". A level that no rule names is not limited.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules_logs.h"

#define NAMES_MAX         64
#define SERVICE_LEVEL_MAX 15

struct policy {
    struct slice names[NAMES_MAX], rates[NAMES_MAX];
    size_t count;
    bool rules; /* behind BW_RULES */
};

static bool begins(const struct evidence_job *job, size_t i)
{
    return slice_is(job_line(job, i), "BW_NAMES") || slice_is(job_line(job, i), "BW_RULES");
}

static void read_name(struct evidence_job *job, size_t i, struct slice name, struct slice value,
                      struct policy *p)
{
    job_subject(job, "bandwidth %.*s", (int)(name.len < 150 ? name.len : 150), name.at);
    put_number(job, i, "rate", value, "Mb/s");
    if (p->count == NAMES_MAX)
        return;
    p->names[p->count] = name;
    p->rates[p->count++] = value;
}

/* "5:NAME" */
static void read_level(struct evidence_job *job, size_t i, struct slice member, struct slice item,
                       const struct policy *p)
{
    struct slice level, name;
    uint64_t sl;
    int shown = (int)(member.len < 100 ? member.len : 100);
    job_subject(job, "member %.*s", shown, member.at);
    if (!slice_split(item, ':', &level, &name) || !slice_uint(slice_trim(level), &sl) ||
        sl > SERVICE_LEVEL_MAX) {
        put_finding(job, i, RULE_UFM_RULE, "'%.*s' is no service level (0 to %d) with a name",
                    (int)(item.len < 80 ? item.len : 80), item.at, SERVICE_LEVEL_MAX);
        return;
    }
    name = slice_trim(name);
    job_subject(job, "member %.*s sl %u", shown, member.at, (unsigned)sl);
    put_text(job, i, "bandwidth", name);
    for (size_t k = 0; k < p->count; k++) {
        if (name.len == p->names[k].len && memcmp(name.at, p->names[k].at, name.len) == 0) {
            put_number(job, i, "rate", p->rates[k], "Mb/s");
            return;
        }
    }
    put_unknown(job, i, "rate");
    put_finding(job, i, RULE_UFM_RULE, "the bandwidth %.*s is not defined",
                (int)(name.len < 80 ? name.len : 80), name.at);
}

static void read_rule(struct evidence_job *job, size_t i, struct slice member, struct slice value,
                      const struct policy *p)
{
    struct slice item, rest = value;
    while (slice_split(rest, ',', &item, &rest))
        read_level(job, i, member, slice_trim(item), p);
    read_level(job, i, member, slice_trim(rest), p);
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct policy p = {.count = 0};
    struct slice name, value;
    size_t next = i;
    for (; i < job->line_count && !job_stops(job, i, &reader_ufm_qos); i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0 || line.at[0] == '#')
            continue;
        if (begins(job, i)) {
            p.rules = slice_is(line, "BW_RULES");
        } else {
            if (!slice_split(line, '=', &name, &value))
                break;
            if (p.rules)
                read_rule(job, i, slice_trim(name), slice_trim(value), &p);
            else
                read_name(job, i, slice_trim(name), slice_trim(value), &p);
        }
        next = i + 1;
    }
    return next;
}

const struct evidence_reader reader_ufm_qos = {
    .kind = "ufm", .tool = "UFM enhanced QoS", .begins = begins, .read = read};
