/*
 * fleet/evidence/read_gpu_topo.c - nvidia-smi topo -m and -mp.
 *
 * A head with the devices and up to three titles of affinity, a row for each device with a word for
 * each column, then the legends. -mp leaves NVLink out: no word of it in the whole table does not
 * mean that there is none.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules_logs.h"

#define DEVICES_MAX 64
#define WORDS_MAX   (DEVICES_MAX + 8)
/* GB/s of one link, both directions together (NVLink 2 to 4: 25 GB/s each way). */
#define LINK_GBYTES      50
#define GPU_NVLINK_MIN   600 /* the rule compat-gpu-nvlink */
#define GPU_NVLINK_LINKS 18  /* the most links of one GPU (H100, NVLink 4) */

struct topology {
    struct slice devices[DEVICES_MAX];
    size_t count;
};

static bool is_device(struct slice word)
{
    static const char *const prefixes[] = {"GPU",   "NIC",     "mlx5_", "mlx4_",
                                           "irdma", "bnxt_re", "rocep", "ibp"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        size_t len = strlen(prefixes[i]);
        if (slice_starts(word, prefixes[i]) && word.len > len && word.at[len] >= '0' &&
            word.at[len] <= '9')
            return true;
    }
    return false;
}

/* NV4 is 4 links; 0 = no NVLink. */
static uint64_t links_of(struct slice word)
{
    uint64_t links;
    if (!slice_skip(&word, "NV") || !slice_uint(word, &links) || links > 64)
        return 0;
    return links;
}

static bool is_path(struct slice word)
{
    static const char *const paths[] = {"X",   "SYS", "NODE", "PHB", "PXB", "PIX",
                                        "SOC", "PSB", "C2C",  "N/A", "UNK"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        if (slice_is(word, paths[i]))
            return true;
    }
    return links_of(word) > 0;
}

static bool read_head(struct slice line, struct topology *t)
{
    t->count = 0;
    for (struct slice rest = line, word = slice_word(&rest); word.len > 0;
         word = slice_word(&rest)) {
        if (!is_device(word)) /* the titles of the affinity */
            return t->count > 0 && (slice_is(word, "CPU") || slice_is(word, "NUMA"));
        if (t->count == DEVICES_MAX)
            return false;
        t->devices[t->count++] = word;
    }
    return t->count > 1; /* an old driver, or cut at the edge of a screen */
}

/* The head without its underline, whose escape character a copy has often lost: "[4mGPU0". */
static struct slice head_of(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i);
    (void)slice_skip(&line, "[4m");
    line = slice_trim(line);
    if (slice_ends(line, "[0m"))
        line.len -= strlen("[0m");
    return slice_trim(line);
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct topology t;
    struct slice line = head_of(job, i);
    return slice_starts(line, "GPU0") && read_head(line, &t);
}

static void subject_of(struct evidence_job *job, struct slice device)
{
    bool gpu = slice_starts(device, "GPU"), nic = slice_starts(device, "NIC");
    if (gpu || nic) {
        device.at += 3;
        device.len -= 3;
    }
    job_subject(job, "%s %.*s", gpu ? "gpu" : nic ? "nic" : "rdma", (int)device.len, device.at);
}

static void put_affinity(struct evidence_job *job, size_t i, const struct slice *words,
                         size_t count)
{
    static const char *const names[] = {"cpu_affinity", "numa_affinity", "gpu_numa_id"};
    for (size_t k = 0; k < count && k < sizeof(names) / sizeof(names[0]); k++) {
        if (slice_is_unknown(words[k]))
            put_unknown(job, i, names[k]);
        else if (k == 0 || slice_has(words[k], ",") || slice_has(words[k], "-"))
            put_text(job, i, names[k], words[k]);
        else
            put_value(job, i, names[k], words[k], "");
    }
}

static bool is_near(struct slice path)
{
    return slice_is(path, "PIX") || slice_is(path, "PXB") || slice_is(path, "C2C");
}

/* Links of a GPU: a switch gives the same number to each peer, a mesh shares them out. */
static uint64_t count_links(const struct topology *t, const struct slice *words, size_t *peers)
{
    uint64_t sum = 0, most = 0;
    *peers = 0;
    for (size_t k = 0; k < t->count; k++) {
        if (!slice_starts(t->devices[k], "GPU") || slice_is(words[k], "X"))
            continue;
        uint64_t links = links_of(words[k]);
        ++*peers;
        sum += links;
        most = links > most ? links : most;
    }
    return sum <= GPU_NVLINK_LINKS ? sum : most;
}

static void judge_gpu(struct evidence_job *job, size_t i, const struct topology *t,
                      const struct slice *words)
{
    size_t peers, nics = 0, near = 0;
    uint64_t links = count_links(t, words, &peers);
    for (size_t k = 0; k < t->count; k++) {
        bool nic = !slice_starts(t->devices[k], "GPU");
        nics += nic;
        near += nic && is_near(words[k]);
    }
    if (links > 0) {
        put_uint(job, i, "nvlink_links", links, "");
        put_uint(job, i, "nvlink_bandwidth", links * LINK_GBYTES, "GB/s");
    } else if (peers > 0) {
        put_unknown(job, i, "nvlink_links");
    }
    if (links > 0 && links * LINK_GBYTES < GPU_NVLINK_MIN)
        put_finding(job, i, RULE_NVLINK_NARROW, "%llu links of NVLink: %llu GB/s of %d GB/s",
                    (unsigned long long)links, (unsigned long long)links * LINK_GBYTES,
                    GPU_NVLINK_MIN);
    if (nics > 0 && near == 0)
        put_finding(job, i, RULE_GPU_NIC_FAR, "none of %zu NICs is behind the same PCIe switch",
                    nics);
}

static void read_row(struct evidence_job *job, size_t i, const struct topology *t,
                     const struct slice *words, size_t count)
{
    char subject[EVIDENCE_SUBJECT_MAX];
    subject_of(job, words[0]);
    put_affinity(job, i, words + 1 + t->count, count - 1 - t->count);
    if (slice_starts(words[0], "GPU"))
        judge_gpu(job, i, t, words + 1);
    memcpy(subject, job->subject, sizeof(subject));
    for (size_t k = 0; k < t->count; k++) {
        if (slice_is(words[1 + k], "X"))
            continue;
        job_subject(job, "%.90s peer %.*s", subject, (int)t->devices[k].len, t->devices[k].at);
        put_text(job, i, "path", words[1 + k]);
    }
}

/* "NIC0: mlx5_0" */
static bool read_legend(struct evidence_job *job, size_t i)
{
    struct slice name, device;
    if (!slice_split(job_line(job, i), ':', &name, &device) || !is_device(slice_trim(name)))
        return false;
    subject_of(job, slice_trim(name));
    put_text(job, i, "rdma_device", slice_trim(device));
    return true;
}

static bool is_legend(struct slice line)
{
    struct slice rest = line, word = slice_word(&rest);
    return slice_ends(line, "Legend:") ||
           ((is_path(word) || slice_is(word, "NV#")) && slice_starts(slice_trim(rest), "="));
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct topology t;
    struct slice words[WORDS_MAX];
    size_t next = i + 1;
    (void)read_head(head_of(job, i), &t);
    for (i++; i < job->line_count && !job_stops(job, i, NULL); i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0)
            continue;
        size_t count = slice_words(line, words, WORDS_MAX), paths = 0;
        if (count > WORDS_MAX)
            count = WORDS_MAX;
        bool row = count > t.count && is_device(words[0]);
        for (size_t k = 0; row && k < t.count; k++)
            paths += is_path(words[1 + k]);
        if (row && paths == t.count)
            read_row(job, i, &t, words, count);
        else if (!read_legend(job, i) && !is_legend(line) && !(count > 0 && is_device(words[0])))
            break;
        next = i + 1;
    }
    return next;
}

const struct evidence_reader reader_gpu_topo = {
    .kind = "nvidia-smi-topo", .tool = "nvidia-smi topo", .begins = begins, .read = read};
