/*
 * fleet/evidence/read_gpu_nvlink.c - nvidia-smi nvlink: -s (speed of each link), -e (its errors).
 */
#include <stdio.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/counter.h"
#include "fleet/evidence/gpu_name.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules_logs.h"

/* "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-...)" */
static bool gpu_row(struct slice line, uint64_t *index)
{
    struct slice number, rest;
    return slice_skip(&line, "GPU ") && slice_split(line, ':', &number, &rest) &&
           slice_uint(number, index) && slice_has(rest, "(UUID: ");
}

/* "Link 0: 26.562 GB/s", "Link 0: Replay Errors: 0": the number, and what follows. */
static bool link_row(struct slice line, uint64_t *link, struct slice *rest)
{
    struct slice number;
    if (!slice_skip(&line, "Link ") || !slice_split(line, ':', &number, rest) ||
        !slice_uint(number, link))
        return false;
    *rest = slice_trim(*rest);
    return rest->len > 0;
}

static bool begins(const struct evidence_job *job, size_t i)
{
    uint64_t number;
    struct slice rest;
    return gpu_row(job_line(job, i), &number) && link_row(job_line(job, i + 1), &number, &rest);
}

/* "Replay Errors: 0"; but "FEC Errors - 0" is how many blocks had so many wrong symbols. */
static void put_errors(struct evidence_job *job, size_t i, struct slice key, struct slice value)
{
    char name[EVIDENCE_NAME_MAX];
    uint64_t count;
    value = slice_trim(value);
    fact_name("nvlink", key, "", name);
    put_number(job, i, name, value, "");
    if (counter_class_in("nvidia-smi-nvlink", name) == COUNTER_NVLINK &&
        slice_uint(value, &count) && count > 0)
        put_past(job, i, RULE_NVLINK_ERRORS, "%.*s is %.*s", (int)key.len, key.at, (int)value.len,
                 value.at);
}

static void put_link(struct evidence_job *job, size_t i, struct slice said)
{
    struct slice unit, key, value;
    struct number number = number_front(said, &unit);
    if (number.kind != NUMBER_NONE && slice_is(unit, "GB/s")) {
        put_text(job, i, "nvlink_state", slice_of("active"));
        put_value(job, i, "nvlink_bandwidth", slice_of(number.text), "GB/s");
    } else if (slice_is(said, "<inactive>")) {
        put_text(job, i, "nvlink_state", slice_of("inactive"));
    } else if (slice_split(said, ':', &key, &value)) {
        put_errors(job, i, slice_trim(key), value);
    } else {
        put_unknown(job, i, "nvlink_state");
    }
}

static size_t read(struct evidence_job *job, size_t i)
{
    uint64_t gpu = 0, link;
    struct slice rest;
    (void)gpu_row(job_line(job, i), &gpu);
    gpu_put_listed(job, i);
    for (i++; link_row(job_line(job, i), &link, &rest); i++) {
        job_subject(job, "gpu %llu link %llu", (unsigned long long)gpu, (unsigned long long)link);
        put_link(job, i, rest);
    }
    return i;
}

const struct evidence_reader reader_gpu_nvlink = {
    .kind = "nvidia-smi-nvlink",
    .tool = "nvidia-smi nvlink",
    .begins = begins,
    .read = read,
};
