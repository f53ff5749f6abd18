/*
 * fleet/evidence/read_lspci_vmm.c - lspci -vmm ("Slot:", "Class:", ... a line each) and -mm (a line
 * a device, its fields in quotes).
 */
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"

static const struct {
    const char *key, *name;
} keys[] = {
    {"Class:", "class"},        {"Vendor:", "vendor"},
    {"Device:", "device"},      {"SVendor:", "subsystem_vendor"},
    {"SDevice:", "subsystem"},  {"PhySlot:", "slot"},
    {"Rev:", "revision"},       {"ProgIf:", "prog_if"},
    {"Driver:", "driver"},      {"Module:", "module"},
    {"NUMANode:", "numa_node"}, {"IOMMUGroup:", "iommu_group"},
};
#define KEYS (sizeof(keys) / sizeof(keys[0]))

static bool slot_row(struct slice line, char bdf[16])
{
    return slice_skip(&line, "Slot:") && is_pci_address(slice_trim(line), bdf);
}

static bool begins(const struct evidence_job *job, size_t i)
{
    char bdf[16];
    return slot_row(job_line(job, i), bdf) && slice_starts(job_line(job, i + 1), "Class:");
}

static bool read_key(struct evidence_job *job, size_t i, struct slice line)
{
    for (size_t k = 0; k < KEYS; k++) {
        if (!slice_skip(&line, keys[k].key))
            continue;
        line = slice_trim(line);
        if (slice_is(line, "-1") && strcmp(keys[k].name, "numa_node") == 0)
            put_unknown(job, i, keys[k].name); /* the firmware does not tell */
        else if (strcmp(keys[k].name, "numa_node") == 0)
            put_number(job, i, keys[k].name, line, "");
        else
            put_text(job, i, keys[k].name, line);
        return true;
    }
    return false;
}

static size_t read(struct evidence_job *job, size_t i)
{
    char bdf[16];
    size_t end = i;
    for (; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0)
            continue;
        if (slot_row(line, bdf))
            job_subject(job, "pci %s", bdf);
        else if (!read_key(job, i, line))
            break;
        end = i + 1;
    }
    return end;
}

const struct evidence_reader reader_lspci_vmm = {
    .kind = "lspci", .tool = "lspci -vmm", .begins = begins, .read = read};

/* The next field in quotes off the front; false at the end or at an option ("-r01"). */
static bool take_quoted(struct slice *line, struct slice *field)
{
    struct slice before, rest;
    *line = slice_trim(*line);
    if (!slice_skip(line, "\"") || !slice_split(*line, '"', &before, &rest))
        return false;
    *field = before;
    *line = rest;
    return true;
}

static bool quoted_row(struct slice line, char bdf[16], struct slice *rest)
{
    struct slice address = slice_word(&line);
    *rest = slice_trim(line);
    return is_pci_address(address, bdf) && slice_starts(*rest, "\"");
}

static bool quoted_begins(const struct evidence_job *job, size_t i)
{
    char bdf[16];
    struct slice rest;
    return quoted_row(job_line(job, i), bdf, &rest);
}

static size_t quoted_read(struct evidence_job *job, size_t i)
{
    static const char *const names[] = {"class", "vendor", "device"};
    char bdf[16];
    struct slice rest, field;
    for (; i < job->line_count && quoted_row(job_line(job, i), bdf, &rest); i++) {
        job_subject(job, "pci %s", bdf);
        for (size_t k = 0; k < 3 && take_quoted(&rest, &field); k++)
            put_text(job, i, names[k], field);
        while (slice_starts(slice_trim(rest), "-")) {
            struct slice option = slice_word(&rest);
            if (slice_skip(&option, "-r"))
                put_text(job, i, "revision", option);
        }
    }
    return i;
}

const struct evidence_reader reader_lspci_quoted = {
    .kind = "lspci", .tool = "lspci -mm", .begins = quoted_begins, .read = quoted_read};
