/*
 * fleet/evidence/read_cma_roce.c - cma_roce_tos and cma_roce_mode of mlnx-tools: one line, which
 * only the command explains.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/readers.h"

static bool asked(const struct evidence_job *job, size_t i, const char **name)
{
    struct slice rest = job->command, word = slice_word(&rest);
    if (slice_is(word, "sudo"))
        word = slice_word(&rest);
    *name = slice_is(word, "cma_roce_tos")    ? "cma_tos"
            : slice_is(word, "cma_roce_mode") ? "cma_roce_mode"
                                              : NULL;
    return *name != NULL && i == job->command_line + 1;
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i);
    const char *name;
    uint64_t number;
    return asked(job, i, &name) && (slice_uint(line, &number) || slice_starts(line, "RoCE v") ||
                                    slice_starts(line, "IB/RoCE v"));
}

static size_t read(struct evidence_job *job, size_t i)
{
    const char *name = "";
    char device[64];
    (void)asked(job, i, &name);
    if (job_command_option(job, "-d", device, sizeof(device)))
        job_subject(job, "rdma %s", device);
    else
        job_subject(job, "rdma");
    put_value(job, i, name, job_line(job, i), "");
    return i + 1;
}

const struct evidence_reader reader_cma_roce = {
    .kind = "rdma-tool", .tool = "cma_roce", .begins = begins, .read = read};
