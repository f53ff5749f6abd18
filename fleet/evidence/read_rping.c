/*
 * fleet/evidence/read_rping.c - rping -v: reachability, and no time at all; how rping, ucmatose and
 * the like fail.
 */
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"

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

/* "cma event RDMA_CM_EVENT_ADDR_ERROR, error -19" (rping), "cmatose: event: RDMA_CM_EVENT_REJECTED,
 * error: 8", "cq completion failed status 5". */
static bool is_cm_failure(struct slice line)
{
    bool event = slice_has(line, "RDMA_CM_EVENT_") &&
                 (slice_starts(line, "cma event ") || slice_has(line, ": event: "));
    return event || slice_starts(line, "cq completion failed status ");
}

static bool cm_begins(const struct evidence_job *job, size_t i)
{
    return is_cm_failure(job_line(job, i));
}

/* What may stand beside: the state that was waited for, the result. */
static bool is_cm_note(struct slice line)
{
    static const char *const starts[] = {
        "waiting for addr", "wait for CONNECTED", "connect error",     "rping client failed",
        "test complete",    "return status",      "client DISCONNECT", "server DISCONNECT",
        "cmatose: ",        "udaddy: ",           "destroy cm_id"};
    for (size_t k = 0; k < sizeof(starts) / sizeof(starts[0]); k++) {
        if (slice_starts(line, starts[k]))
            return true;
    }
    return false;
}

static size_t cm_read(struct evidence_job *job, size_t i)
{
    struct slice line, rest, behind;
    for (; is_cm_failure(line = job_line(job, i)) || is_cm_note(line); i++) {
        if (!is_cm_failure(line))
            continue;
        job_subject(job, "run");
        put_finding(job, i, RULE_RUN_FAILED, "%.*s", (int)(line.len < 200 ? line.len : 200),
                    line.at);
        if (slice_after(line, "RDMA_CM_EVENT_", &rest)) {
            (void)slice_split(rest, ',', &rest, &behind);
            put_text(job, i, "cm_event", rest);
        }
        if (slice_after(line, "error: ", &rest) || slice_after(line, "error ", &rest) ||
            slice_after(line, "status ", &rest))
            put_number(job, i, "error", slice_word(&rest), "");
    }
    return i;
}

const struct evidence_reader reader_cm_failure = {
    .kind = "perftest", .tool = "rdma_cm", .begins = cm_begins, .read = cm_read};
