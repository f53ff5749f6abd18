/*
 * fleet/evidence/read_nccl_log.c - NCCL's log (NCCL_DEBUG) of one or more ranks.
 */
#include "fleet/evidence/mlx5_cqe.h"
#include "fleet/evidence/nccl_line.h"
#include "fleet/evidence/readers.h"

#define CQE_LINES_MAX 12 /* of completions before the first line of NCCL */
#define GAP_MAX       20 /* lines of the application between two of NCCL */

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice line = tag_skip(job_line(job, i));
    for (size_t k = 1; mlx5_cqe_begins(job, i) && k <= CQE_LINES_MAX; k++) {
        if (nccl_line_is(tag_skip(job_line(job, i + k))))
            return true; /* the library under NCCL speaks first */
    }
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
        if (!mlx5_cqe_begins(job, i) && job_stops(job, i, &reader_nccl_log))
            break;
        if (nccl_line_read(job, i, &seen))
            next = i + 1;
    }
    return next;
}

const struct evidence_reader reader_nccl_log = {
    .kind = "nccl-log", .tool = "NCCL", .begins = begins, .read = read};
