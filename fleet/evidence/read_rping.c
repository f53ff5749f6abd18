/*
 * fleet/evidence/read_rping.c - rping -v: reachability, and no time at all.
 */
#include "fleet/evidence/readers.h"

static bool ping_row(struct slice line, struct slice *number)
{
    struct slice rest;
    (void)slice_skip(&line, "server ");
    if (!slice_starts(line, "ping data: rdma-ping-") || !slice_after(line, "rdma-ping-", &rest))
        return false;
    return slice_split(rest, ':', number, &rest);
}

static bool rping_begins(const struct evidence_job *job, size_t i)
{
    struct slice number;
    return ping_row(job_line(job, i), &number);
}

static size_t rping_read(struct evidence_job *job, size_t i)
{
    struct slice number;
    job_subject(job, "run");
    put_unknown(job, i, "latency");
    for (; ping_row(job_line(job, i), &number); i++)
        put_number(job, i, "ping_answered", number, "");
    return i;
}

const struct evidence_reader reader_rping = {
    .kind = "perftest",
    .tool = "rping",
    .begins = rping_begins,
    .read = rping_read,
};
