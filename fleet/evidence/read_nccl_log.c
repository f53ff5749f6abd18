/*
 * fleet/evidence/read_nccl_log.c - NCCL's log (NCCL_DEBUG) of one or more ranks.
 */
#include "fleet/evidence/nccl_line.h"
#include "fleet/evidence/readers.h"

#define GAP_MAX 20 /* lines of the application between two of NCCL */

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice line = tag_skip(job_line(job, i));
    return nccl_line_is(line) || nccl_line_is_failure(line) ||
           slice_starts(line, "NCCL version ") || slice_starts(line, "RCCL version ");
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct nccl_seen seen = {.network = false};
    size_t next = i;
    for (; i < job->line_count && i < next + GAP_MAX; i++) {
        if (job_is_blank(job, i))
            continue;
        if (job_stops(job, i, &reader_nccl_log))
            break;
        if (nccl_line_read(job, i, &seen))
            next = i + 1;
    }
    return next;
}

const struct evidence_reader reader_nccl_log = {
    .kind = "nccl-log", .tool = "NCCL", .begins = begins, .read = read};
