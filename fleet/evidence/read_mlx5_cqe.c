/*
 * fleet/evidence/read_mlx5_cqe.c - the completions in error that the user library of mlx5 prints.
 */
#include "fleet/evidence/mlx5_cqe.h"

#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules_logs.h"

/* "mlx5: n1: got completion with error:" and the 64 bytes of the completion, 16 a line. */
bool mlx5_cqe_begins(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i);
    return slice_starts(line, "mlx5: ") && slice_ends(line, "got completion with error:");
}

/* Syndromes of mlx5's error completions (enum of its user library). */
static const char *syndrome_name(uint64_t syndrome)
{
    static const struct {
        uint64_t code;
        const char *name;
    } names[] = {
        {0x01, "local length error"},
        {0x02, "local QP operation error"},
        {0x04, "local protection error"},
        {0x05, "work request flushed"},
        {0x06, "memory window bind"},
        {0x10, "bad response"},
        {0x11, "local access error"},
        {0x12, "remote invalid request"},
        {0x13, "remote access error"},
        {0x14, "remote operation error"},
        {0x15, "transport retries exceeded"},
        {0x16, "receiver not ready, retries exceeded"},
        {0x22, "remote aborted"},
    };
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
        if (names[k].code == syndrome)
            return names[k].name;
    }
    return "unknown";
}

bool mlx5_cqe_row(struct slice line)
{
    struct slice words[5];
    uint64_t word;
    size_t n = slice_words(line, words, 5);
    for (size_t k = 0; k < n && n == 4; k++) {
        if (words[k].len != 8 || !slice_hex(words[k], &word))
            return false;
    }
    return n == 4;
}

size_t mlx5_cqe_read(struct evidence_job *job, size_t i)
{
    struct slice words[5], line = job_line(job, i), host, rest;
    uint64_t word = 0;
    size_t first = i, rows = 0;
    (void)slice_skip(&line, "mlx5: ");
    if (slice_split(line, ':', &host, &rest))
        job_subject(job, "host %.*s", (int)(host.len < 80 ? host.len : 80), host.at);
    else
        job_subject(job, "host");
    for (i++; rows < 4 && mlx5_cqe_row(job_line(job, i)); i++, rows++) {
        (void)slice_words(job_line(job, i), words, 5);
        (void)slice_hex(words[1], &word);
    }
    if (rows < 4) {
        put_finding(job, first, RULE_CQE_ERROR, "a work request ended in error");
        return first + 1 + rows;
    }
    put_uint(job, i - 1, "syndrome", word & 0xff, "");
    put_uint(job, i - 1, "vendor_syndrome", word >> 8 & 0xff, "");
    put_finding(job, first, RULE_CQE_ERROR, "syndrome 0x%02x (%s), vendor syndrome 0x%02x",
                (unsigned)(word & 0xff), syndrome_name(word & 0xff), (unsigned)(word >> 8 & 0xff));
    return i;
}

const struct evidence_reader reader_mlx5_cqe = {
    .kind = "perftest", .tool = "libmlx5", .begins = mlx5_cqe_begins, .read = mlx5_cqe_read};
