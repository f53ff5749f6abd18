/*
 * fleet/evidence/read_interrupts.c - /proc/interrupts. Columns are those of the header, whatever
 * CPUs it names; a mail may have wrapped the name of an interrupt to the next line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"

#define CPUS_MAX        1024
#define DEVICES_MAX     256
#define COUNT_MAX       0xffffffffffff
#define ENOUGH          10000 /* interrupts of a device before their spread says something */
#define DEVICE_NAME_MAX 48

struct device { /* whose queues share a name */
    char name[DEVICE_NAME_MAX];
    bool is_card; /* the name is a PCI address */
    uint64_t vectors, total;
    size_t line;
    uint64_t *of_cpu;
};

struct table {
    unsigned cpus[CPUS_MAX]; /* the number in the name of each column */
    size_t cpu_count;
    struct device devices[DEVICES_MAX];
    size_t device_count;
};

static bool is_header(struct slice line)
{
    struct slice rest = line;
    size_t count = 0;
    uint64_t number;
    for (struct slice word = slice_word(&rest); word.len > 0; word = slice_word(&rest), count++) {
        if (!slice_skip(&word, "CPU") || !slice_uint(word, &number))
            return false;
    }
    return count > 0;
}

static bool begins(const struct evidence_job *job, size_t i)
{
    return is_header(job_line(job, i));
}

static void read_header(struct table *t, struct slice line)
{
    uint64_t number;
    t->cpu_count = 0;
    for (struct slice word = slice_word(&line); word.len > 0 && t->cpu_count < CPUS_MAX;
         word = slice_word(&line)) {
        (void)slice_skip(&word, "CPU");
        if (slice_uint(word, &number) && number < 100000)
            t->cpus[t->cpu_count++] = (unsigned)number;
    }
}

/* "98:" or "NMI:" at the front. */
static bool row_id(struct slice line, struct slice *id, struct slice *rest)
{
    struct slice first, after;
    if (!slice_split(line, ':', &first, &after) || first.len == 0 || first.len > 8)
        return false;
    for (size_t i = 0; i < first.len; i++) {
        char c = first.at[i];
        if (!(c >= '0' && c <= '9') && !(c >= 'A' && c <= 'Z') && c != '_')
            return false;
    }
    *id = first;
    *rest = slice_trim(after);
    return after.len > 0 && (after.at[0] == ' ' || after.at[0] == '\t');
}

/* Interfaces and RDMA cards, not disks, USB, sound. */
static bool is_nic(struct slice name)
{
    static const char *const starts[] = {
        "eth", "en",   "ib",   "mlx",    "bnxt", "ice-", "i40e", "iavf",  "irdma", "hns",  "ionic",
        "em",  "p1p",  "p2p",  "p3p",    "p4p",  "p5p",  "p6p",  "ens",   "efa",   "qede", "cxgb",
        "ena", "mana", "roce", "virtio", "bond", "net",  "igb",  "ixgbe", "idpf",  "rdma", "slot",
    };
    if (slice_has(name, "TxRx") || slice_has(name, "fp-") || slice_has(name, "-rx-"))
        return true;
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        if (slice_starts(name, starts[i]))
            return true;
    }
    return false;
}

/* Messages of a device to its driver, no traffic. */
static bool is_control(struct slice name)
{
    static const char *const words[] = {
        ":mbx",       "async",    ":misc",  "-misc",  "ctrl",
        "mlx5_pages", "mlx5_cmd", "health", "adminq", "mgmnt",
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (slice_has(name, words[i]))
            return true;
    }
    return false;
}

/* "iavf-net1-TxRx-3" and "eth1-0" without their driver and number; "mlx5_comp7@pci:0000:3b:00.0" is
 * the card. */
static void device_of(struct slice name, char out[DEVICE_NAME_MAX])
{
    static const char *const tails[] = {"-TxRx-",  "-fp-",    "-rx-",    "-tx-",
                                        "-Tx-Rx-", "-input.", "-output."};
    struct slice rest;
    if (slice_after(name, "@pci:", &rest)) {
        slice_copy(rest, out, DEVICE_NAME_MAX);
        return;
    }
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        const char *at = slice_find(name, tails[i]);
        if (at != NULL)
            name.len = (size_t)(at - name.at);
    }
    static const char *const drivers[] = {"ice-", "i40e-", "iavf-", "ionic-", "hns3-", "idpf-"};
    for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
        if (slice_skip(&name, drivers[i]))
            break;
    }
    size_t digits = 0;
    while (digits < name.len && name.at[name.len - 1 - digits] >= '0' &&
           name.at[name.len - 1 - digits] <= '9')
        digits++;
    if (digits > 0 && digits < name.len && name.at[name.len - 1 - digits] == '-')
        name.len -= digits + 1;
    slice_copy(name, out, DEVICE_NAME_MAX);
}

static struct device *find_device(struct table *t, const char *name)
{
    for (size_t i = 0; i < t->device_count; i++) {
        if (strcmp(t->devices[i].name, name) == 0)
            return &t->devices[i];
    }
    if (t->device_count == DEVICES_MAX)
        return NULL;
    uint64_t *of_cpu = calloc(t->cpu_count, sizeof(*of_cpu));
    if (of_cpu == NULL)
        return NULL;
    struct device *d = &t->devices[t->device_count++];
    *d = (struct device){.of_cpu = of_cpu};
    char bdf[16];
    snprintf(d->name, sizeof(d->name), "%s", name);
    d->is_card = is_pci_address(slice_of(name), bdf);
    return d;
}

static void count(struct table *t, size_t line, struct slice name, const uint64_t *values)
{
    char device[DEVICE_NAME_MAX];
    if (!is_nic(name) || is_control(name))
        return;
    device_of(name, device);
    struct device *d = find_device(t, device);
    if (d == NULL)
        return;
    for (size_t i = 0; i < t->cpu_count; i++) {
        if (values[i] > COUNT_MAX)
            return; /* no counter of interrupts is as large */
    }
    d->line = line;
    d->vectors++;
    for (size_t i = 0; i < t->cpu_count; i++) {
        d->of_cpu[i] += values[i];
        d->total += values[i];
    }
}

/* The busiest CPU has more than its share: half of all and twice the mean. Several vectors cannot
 * be on more CPUs than they are: two on two CPUs are as even as can be. */
static bool is_uneven(const struct table *t, const struct device *d, uint64_t most)
{
    if (d->total < ENOUGH || t->cpu_count < 2)
        return false;
    if (d->vectors > 1 && most / 3 * 2 < d->total / d->vectors)
        return false;
    if (t->cpu_count == 2)
        return most >= d->total / 10 * 9;
    if (t->cpu_count == 3 && most >= d->total / 4 * 3)
        return true;
    return most >= d->total / 2 && most / 2 >= d->total / t->cpu_count;
}

static void judge(struct evidence_job *job, struct table *t)
{
    for (size_t k = 0; k < t->device_count; k++) {
        const struct device *d = &t->devices[k];
        size_t top = 0;
        for (size_t i = 1; i < t->cpu_count; i++)
            top = d->of_cpu[i] > d->of_cpu[top] ? i : top;
        uint64_t most = t->cpu_count > 0 ? d->of_cpu[top] : 0;
        if (!is_uneven(t, d, most))
            continue;
        uint64_t permille = (most * 1000 + d->total / 2) / d->total;
        job_subject(job, "%s %s", d->is_card ? "pci" : "netdev", d->name);
        put_finding(job, d->line, RULE_IRQ_ONE_CPU,
                    "CPU%u takes %llu of %llu interrupts (%llu.%llu %%)", t->cpus[top],
                    (unsigned long long)most, (unsigned long long)d->total,
                    (unsigned long long)(permille / 10), (unsigned long long)(permille % 10));
    }
}

/* What stands behind the counts: "PCI-MSI-X  eth1-0", "IR-PCI-MSI 409600-edge      enp0s25". */
static struct slice name_of(struct slice rest)
{
    struct slice words[8], none = {.at = "", .len = 0};
    size_t n = slice_words(rest, words, 8);
    size_t skip = 1;
    if (n > 8 || n == 0)
        return none;
    for (size_t k = 0; k < n; k++) { /* the last word of the kind of chip and trigger */
        if (slice_ends(words[k], "edge") || slice_ends(words[k], "fasteoi") ||
            slice_ends(words[k], "level") || slice_ends(words[k], "Edge") ||
            slice_ends(words[k], "Level") || slice_starts(words[k], "PCI-MSI"))
            skip = k + 1;
    }
    if (skip >= n)
        return none;
    return (struct slice){.at = words[skip].at,
                          .len = (size_t)(rest.at + rest.len - words[skip].at)};
}

static size_t read_counts(const struct table *t, struct slice *rest, struct slice *words,
                          uint64_t *values)
{
    size_t n = 0;
    while (n < t->cpu_count) {
        struct slice before = *rest, word = slice_word(rest);
        if (!slice_uint(word, &values[n])) {
            *rest = before;
            break;
        }
        words[n++] = word;
    }
    return n;
}

static void put_counts(struct evidence_job *job, size_t i, struct slice id, const struct table *t,
                       const struct slice *words, size_t n)
{
    if (n == t->cpu_count) {
        for (size_t k = 0; k < n; k++) {
            job_subject(job, "irq %.*s cpu %u", (int)id.len, id.at, t->cpus[k]);
            put_number(job, i, "interrupts", words[k], "");
        }
    } else { /* ERR and MIS have one value for all */
        job_subject(job, "irq %.*s", (int)id.len, id.at);
        if (n == 1 && (slice_is(id, "ERR") || slice_is(id, "MIS")))
            put_number(job, i, "interrupts", words[0], "");
        else
            put_unknown(job, i, "interrupts");
    }
    job_subject(job, "irq %.*s", (int)id.len, id.at);
}

struct scratch {
    struct table table;
    struct slice words[CPUS_MAX];
    uint64_t values[CPUS_MAX];
};

/* One row; the index of the line behind it, i when there is none. */
static size_t read_row(struct evidence_job *job, size_t i, struct scratch *s)
{
    struct slice id, rest, next_id, next_rest;
    if (!row_id(job_line(job, i), &id, &rest))
        return i;
    size_t n = read_counts(&s->table, &rest, s->words, s->values), end = i + 1;
    bool is_irq = id.at[0] >= '0' && id.at[0] <= '9';
    put_counts(job, i, id, &s->table, s->words, n);
    size_t name_line = i;
    if (rest.len == 0 && is_irq && !job_is_blank(job, end) &&
        !row_id(job_line(job, end), &next_id, &next_rest) && !job_stops(job, end, NULL)) {
        rest = job_line(job, end);
        name_line = end++;
    }
    if (!is_irq)
        return end;
    struct slice name = name_of(rest);
    if (name.len > 0) {
        put_text(job, name_line, "name", name);
        if (n == s->table.cpu_count)
            count(&s->table, i, name, s->values);
    }
    return end;
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct scratch *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        job->nomem = true;
        return job->line_count;
    }
    read_header(&s->table, job_line(job, i));
    for (i++; i < job->line_count;) {
        if (job_is_blank(job, i)) {
            i++;
            continue;
        }
        if (is_header(job_line(job, i)))
            break;
        size_t end = read_row(job, i, s);
        if (end == i)
            break;
        i = end;
    }
    judge(job, &s->table);
    for (size_t k = 0; k < s->table.device_count; k++)
        free(s->table.devices[k].of_cpu);
    free(s);
    return i;
}

const struct evidence_reader reader_interrupts = {
    .kind = "interrupts",
    .tool = "/proc/interrupts",
    .begins = begins,
    .read = read,
};
