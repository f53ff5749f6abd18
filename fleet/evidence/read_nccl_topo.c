/*
 * fleet/evidence/read_nccl_topo.c - the topology that NCCL writes (NCCL_TOPO_DUMP_FILE): XML, one
 * element a line.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/log_subject.h"
#include "fleet/evidence/nccl_line.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules_logs.h"

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i);
    return slice_starts(line, "<system version=") ||
           (slice_starts(line, "<pci busid=") && slice_has(line, "link_width="));
}

/* The text of an attribute; empty = there is none. */
static struct slice attribute(struct slice line, const char *name)
{
    char before[32];
    struct slice rest, value, behind;
    snprintf(before, sizeof(before), " %s=\"", name);
    if (!slice_after(line, before, &rest) || !slice_split(rest, '"', &value, &behind))
        return (struct slice){.at = "", .len = 0};
    return value;
}

static void put_attributes(struct evidence_job *job, size_t i, struct slice line,
                           const char *const *names, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        struct slice value = attribute(line, names[k]);
        if (value.len > 0)
            put_value(job, i, names[k], value, "");
    }
}

static void read_pci(struct evidence_job *job, size_t i, struct slice line, char *address)
{
    struct slice speed = attribute(line, "link_speed"), width = attribute(line, "link_width"), rest;
    if (!pci_text(attribute(line, "busid"), address)) {
        address[0] = '\0';
        return;
    }
    job_subject(job, "pci %s", address);
    struct number number = number_front(speed, &rest);
    if (number.kind != NUMBER_NONE)
        put_number(job, i, "pcie_speed", slice_of(number.text), "GT/s");
    else if (speed.len > 0)
        put_unknown(job, i, "pcie_speed");
    put_number(job, i, "pcie_width", width, "lanes");
    put_text(job, i, "class", attribute(line, "class"));
}

/* <net name="mlx5_0" speed="200000" gdr="1"/>; <gpu dev="0" sm="80" rank="0" gdr="1"> */
static void read_end(struct evidence_job *job, size_t i, struct slice line, const char *address)
{
    static const char *const net[] = {"dev", "port", "maxconn", "gdr", "coll"};
    static const char *const gpu[] = {"dev", "sm", "rank", "gdr"};
    struct slice name = attribute(line, "name");
    if (slice_starts(line, "<net ")) {
        job_subject(job, "rdma %.*s", (int)(name.len < 60 ? name.len : 60), name.at);
        if (address[0] != '\0')
            put_text(job, i, "pci", slice_of(address));
        put_number(job, i, "speed", attribute(line, "speed"), "Mb/s");
        put_attributes(job, i, line, net, sizeof(net) / sizeof(net[0]));
        if (slice_is(attribute(line, "gdr"), "0"))
            put_finding(job, i, RULE_NCCL_NO_GDR, "NCCL sees no GPUDirect RDMA on this NIC");
    } else {
        job_subject(job, "gpu %s", address);
        put_attributes(job, i, line, gpu, sizeof(gpu) / sizeof(gpu[0]));
    }
}

static size_t read(struct evidence_job *job, size_t i)
{
    char address[PCI_TEXT_MAX] = "";
    for (; i < job->line_count && slice_starts(job_line(job, i), "<"); i++) {
        struct slice line = job_line(job, i);
        if (slice_starts(line, "<pci ")) {
            read_pci(job, i, line, address);
        } else if (slice_starts(line, "<net ") || slice_starts(line, "<gpu ")) {
            read_end(job, i, line, address);
        } else if (slice_starts(line, "<nvlink ") && address[0] != '\0') {
            struct slice target = attribute(line, "target");
            job_subject(job, "gpu %s peer %.*s", address, (int)(target.len < 40 ? target.len : 40),
                        target.at);
            put_number(job, i, "nvlink_links", attribute(line, "count"), "");
        }
    }
    return i;
}

const struct evidence_reader reader_nccl_topo = {
    .kind = "nccl-log", .tool = "NCCL topology", .begins = begins, .read = read};
