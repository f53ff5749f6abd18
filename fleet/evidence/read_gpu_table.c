/*
 * fleet/evidence/read_gpu_table.c - nvidia-smi without options (the table with frames), and
 * nvidia-smi -L.
 *
 * | GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
 * |   0  NVIDIA A100-SXM4-40GB          On  |   00000000:07:00.0 Off |                    0 |
 * | N/A   30C    P0              54W / 400W |      0MiB / 40960MiB |      0%      Default |
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/gpu_name.h"
#include "fleet/evidence/log_subject.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules_logs.h"

#define CELLS_MAX 4

static size_t cells_of(struct slice line, struct slice cells[CELLS_MAX])
{
    size_t count = 0;
    struct slice cell, rest = line;
    if (!slice_skip(&rest, "|"))
        return 0;
    while (count < CELLS_MAX && slice_split(rest, '|', &cell, &rest))
        cells[count++] = slice_trim(cell);
    return count;
}

static bool is_head(struct slice line)
{
    return slice_starts(line, "| NVIDIA-SMI ") && slice_has(line, "Driver Version:");
}

static bool is_listed(struct slice line)
{
    struct slice rest = line, tag;
    uint64_t index;
    return slice_skip(&rest, "GPU ") && slice_split(rest, ':', &tag, &rest) &&
           slice_uint(tag, &index) && slice_has(rest, "(UUID: ");
}

/* What it says instead of a table. */
static const struct {
    const char *text, *rule;
} failures[] = {
    {"Unable to determine the device handle for", RULE_GPU_LOST},
    {"GPU is lost.", RULE_GPU_LOST},
    {"Driver/library version mismatch", RULE_GPU_MISMATCH},
    {"couldn't communicate with the NVIDIA driver", RULE_GPU_INIT},
    {"No devices were found", RULE_GPU_INIT},
    {"GPU access blocked by the operating system", RULE_GPU_INIT},
    {"Unknown Error", RULE_GPU_INIT},
};

static const char *failure_of(struct slice line)
{
    bool tool =
        slice_starts(line, "Unable to ") || slice_starts(line, "Failed to initialize NVML") ||
        slice_starts(line, "NVIDIA-SMI has failed") || slice_is(line, "No devices were found");
    for (size_t i = 0; tool && i < sizeof(failures) / sizeof(failures[0]); i++) {
        if (slice_has(line, failures[i].text))
            return failures[i].rule;
    }
    return NULL;
}

static void read_failure(struct evidence_job *job, size_t i)
{
    char address[PCI_TEXT_MAX];
    struct slice line = job_line(job, i), behind;
    if (pci_find(line, address, &behind))
        job_subject(job, "gpu %s", address);
    else
        job_subject(job, "host");
    put_finding(job, i, failure_of(line), "%.*s", (int)(line.len < 200 ? line.len : 200), line.at);
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i);
    return is_head(line) || is_listed(line) || failure_of(line) != NULL;
}

static void read_head(struct evidence_job *job, size_t i)
{
    static const struct {
        const char *tag, *name;
    } fields[] = {{"Driver Version:", "driver_version"}, {"CUDA Version:", "cuda_version"}};
    struct slice rest;
    job_subject(job, "host");
    for (size_t f = 0; f < sizeof(fields) / sizeof(fields[0]); f++) {
        if (slice_after(job_line(job, i), fields[f].tag, &rest)) {
            struct slice version = slice_word(&rest);
            if (slice_is_unknown(version))
                put_unknown(job, i, fields[f].name);
            else
                put_text(job, i, fields[f].name, version);
        }
    }
}

/* The first line of a GPU: "0  NVIDIA A100  On", "00000000:07:00.0 Off", "0". */
static bool read_first(struct evidence_job *job, size_t i, const struct slice *cells)
{
    char address[PCI_TEXT_MAX];
    struct slice name = cells[0], bus = cells[1], index = slice_word(&name);
    struct gpu_seen seen = {.ecc = false};
    uint64_t number;
    if (!slice_uint(index, &number) || !pci_text(slice_word(&bus), address))
        return false;
    job_subject(job, "gpu %s", address);
    put_uint(job, i, "index", number, "");
    name = slice_trim(name);
    const char *blank = name.len > 0 ? memrchr(name.at, ' ', name.len) : NULL;
    struct slice mode = {.at = "", .len = 0};
    if (blank != NULL)
        mode = slice_trim((struct slice){.at = blank, .len = (size_t)(name.at + name.len - blank)});
    if (slice_is(mode, "On") || slice_is(mode, "Off")) {
        name = slice_trim((struct slice){.at = name.at, .len = (size_t)(blank - name.at)});
        put_text(job, i, "persistence_mode", mode);
    }
    put_text(job, i, "product_name", name);
    if (slice_is(cells[2], "Off"))
        put_unknown(job, i, "ecc_errors.volatile.uncorrectable");
    else
        gpu_put(job, i, "ecc_errors.volatile.uncorrectable", cells[2]);
    gpu_judge(job, i, "ecc_errors.volatile.uncorrectable", cells[2], &seen);
    return true;
}

static void put_pair(struct evidence_job *job, size_t i, struct slice cell, const char *first,
                     const char *second)
{
    struct slice a, b;
    if (!slice_split(cell, '/', &a, &b))
        return;
    a = slice_trim(a); /* "N/A" has a slash of its own */
    b = slice_trim(b);
    gpu_put(job, i, first, a);
    gpu_put(job, i, second, b);
}

/* The second one: "N/A   30C    P0    54W / 400W", "0MiB / 40960MiB", "0%      Default". */
static void read_second(struct evidence_job *job, size_t i, const struct slice *cells)
{
    struct slice rest = cells[0], fan = slice_word(&rest), temp = slice_word(&rest),
                 state = slice_word(&rest), utilization = cells[2];
    gpu_put(job, i, "fan_speed", fan);
    gpu_put(job, i, "temperature.gpu_current_temp", temp);
    gpu_put(job, i, "performance_state", state);
    if (slice_is(temp, "ERR!"))
        put_finding(job, i, RULE_GPU_LOST, "the table shows ERR!");
    else if (slice_is(fan, "ERR!")) /* the rest of the GPU answers */
        put_finding(job, i, RULE_GPU_FAN, "the table shows ERR! for the fan");
    rest = slice_trim(rest);
    if (slice_has(rest, "W /"))
        put_pair(job, i, rest, "gpu_power_readings.power_draw",
                 "gpu_power_readings.current_power_limit");
    put_pair(job, i, cells[1], "fb_memory_usage.used", "fb_memory_usage.total");
    gpu_put(job, i, "utilization.gpu", slice_word(&utilization));
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct slice cells[CELLS_MAX];
    bool second = false;
    for (size_t first = i; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0)
            continue;
        if (i > first && job_stops(job, i, &reader_gpu_table))
            break;
        if (is_head(line)) {
            read_head(job, i);
            continue;
        }
        if (failure_of(line) != NULL) {
            read_failure(job, i);
            continue;
        }
        if (is_listed(line)) {
            gpu_put_listed(job, i);
            continue;
        }
        if (line.at[0] != '|' && line.at[0] != '+' && !slice_starts(line, "MIG"))
            break;
        size_t count = cells_of(line, cells);
        if (count == 3 && second)
            read_second(job, i, cells);
        second = count == 3 && !second && read_first(job, i, cells);
    }
    return i;
}

const struct evidence_reader reader_gpu_table = {
    .kind = "nvidia-smi", .tool = "nvidia-smi", .begins = begins, .read = read};
