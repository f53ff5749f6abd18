/*
 * fleet/evidence/read_lspci.c - lspci -v/-vv/-vvv, whole or grepped for its links.
 *
 * An endpoint is judged by its own link: "(downgraded)", or a speed or width below LnkCap. A bridge
 * runs as fast as what is below it, so that says nothing of a fault.
 */
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules_logs.h"

enum role { ROLE_OTHER = 0, ROLE_RDMA, ROLE_GPU, ROLE_BRIDGE };

struct link { /* of the device that is read */
    enum role role;
    struct slice cap_speed, cap_width, sta_speed, sta_width;
    bool speed_low, width_low;
    size_t line;
};

/* "3b:00.0 Ethernet controller: Mellanox ..." */
static bool device_row(struct slice line, char bdf[16], struct slice *class, struct slice *name)
{
    struct slice rest = line, address = slice_word(&rest), class_id;
    if (!is_pci_address(address, bdf) || !slice_split(rest, ':', class, name))
        return false;
    *name = slice_trim(*name);
    if (slice_split(*class, '[', class, &class_id)) /* -nn puts the code behind: "[0200]" */
        *class = slice_trim(*class);
    return class->len > 0 && class->len < 64 && name->len > 0;
}

static bool link_row(struct slice line)
{
    return (slice_starts(line, "LnkCap:") || slice_starts(line, "LnkSta:")) &&
           slice_has(line, "Speed ") && slice_has(line, "Width ");
}

static bool begins(const struct evidence_job *job, size_t i)
{
    char bdf[16];
    struct slice class, name, line = job_line(job, i);
    return link_row(line) || (job->lines[i].indent < 4 && device_row(line, bdf, &class, &name));
}

static enum role role_of(struct slice class, struct slice name)
{
    static const char *const rdma[] = {
        "ConnectX",
        "BlueField",
        "Mellanox",
        "NetXtreme-E",
        "BCM574",
        "BCM575",
        "BCM576",
        "BCM588",
        "E810",
        "E82",
        "Ethernet Controller X722",
        "HNS",
        "Pensando",
        "DSC ",
        "Elastic Fabric",
        "FastLinQ",
        "T6",
        "Omni-Path",
    };
    if (slice_has(class, "bridge") || slice_has(class, "Bridge"))
        return ROLE_BRIDGE;
    if (slice_starts(class, "3D controller") || slice_starts(class, "VGA") ||
        slice_starts(class, "Processing accelerators") || slice_starts(class, "Display"))
        return ROLE_GPU;
    if (slice_starts(class, "Infiniband") || slice_starts(class, "InfiniBand"))
        return ROLE_RDMA;
    if (!slice_starts(class, "Ethernet") && !slice_starts(class, "Network"))
        return ROLE_OTHER;
    for (size_t i = 0; i < sizeof(rdma) / sizeof(rdma[0]); i++) {
        if (slice_has(name, rdma[i]))
            return ROLE_RDMA;
    }
    return ROLE_OTHER;
}

/* Up to the next comma or blank: "32GT/s", "x16". */
static struct slice value_after(struct slice line, const char *key)
{
    struct slice rest, empty = {.at = "", .len = 0};
    if (!slice_after(line, key, &rest))
        return empty;
    struct slice word = slice_word(&rest);
    while (word.len > 0 && (slice_ends(word, ",") || slice_ends(word, ";")))
        word.len--;
    return word;
}

static void put_speed(struct evidence_job *job, size_t i, const char *name, struct slice value)
{
    struct slice rest;
    struct number number = number_front(value, &rest);
    if (number.kind != NUMBER_NONE && slice_is(rest, "GT/s"))
        put_number(job, i, name, slice_of(number.text), "GT/s");
    else
        put_unknown(job, i, name);
}

static void put_width(struct evidence_job *job, size_t i, const char *name, struct slice value)
{
    if (slice_skip(&value, "x") && !slice_is(value, "0")) /* x0: there is no link */
        put_number(job, i, name, value, "lanes");
    else
        put_unknown(job, i, name);
}

/* a below b: both plain numbers of at most three digits and a decimal ("2.5", "16"). */
static bool is_below(struct slice a, struct slice b)
{
    struct slice rest;
    uint64_t values[2] = {0, 0};
    struct slice texts[2] = {a, b};
    for (size_t k = 0; k < 2; k++) {
        (void)slice_skip(&texts[k], "x");
        struct number number = number_front(texts[k], &rest);
        struct slice whole = slice_of(number.text), fraction = {.len = 0};
        bool decimal = slice_split(whole, '.', &whole, &fraction);
        if (number.kind == NUMBER_NONE || !slice_uint(whole, &values[k]) || values[k] > 1000)
            return false;
        values[k] = values[k] * 10 +
                    (decimal && fraction.len > 0 ? (uint64_t)(fraction.at[0] - '0') % 10 : 0);
    }
    return values[0] < values[1];
}

static void read_link(struct evidence_job *job, size_t i, struct slice line, struct link *link)
{
    struct slice speed = value_after(line, "Speed "), width = value_after(line, "Width ");
    struct slice before, after;
    if (slice_starts(line, "LnkCap:")) {
        link->cap_speed = speed;
        link->cap_width = width;
        put_speed(job, i, "pcie_speed_max", speed);
        put_width(job, i, "pcie_width_max", width);
        return;
    }
    link->line = i;
    link->sta_speed = speed;
    link->sta_width = width;
    put_speed(job, i, "pcie_speed", speed);
    put_width(job, i, "pcie_width", width);
    const char *at = slice_find(line, "Width ");
    before = (struct slice){.at = line.at, .len = (size_t)(at - line.at)};
    after = (struct slice){.at = at, .len = (size_t)(line.at + line.len - at)};
    if (slice_is(width, "x0"))
        return; /* no link at all: an empty slot, or a device that is gone */
    link->speed_low = slice_has(before, "(downgraded)") || is_below(speed, link->cap_speed);
    link->width_low = slice_has(after, "(downgraded)") || is_below(width, link->cap_width);
}

static void judge(struct evidence_job *job, struct link *link)
{
    bool low = link->speed_low || link->width_low;
    const char *rule = RULE_PCIE_SLOW_OTHER;
    if (link->role == ROLE_BRIDGE)
        rule = RULE_PCIE_SLOW_BRIDGE;
    else if (link->role == ROLE_RDMA || (link->role == ROLE_GPU && link->width_low))
        rule = RULE_PCIE_SLOW; /* an idle GPU lowers its speed, never its width */
    if (low)
        put_finding(job, link->line, rule, "The PCIe link runs at %.*s %.*s, it can %.*s %.*s",
                    (int)link->sta_speed.len, link->sta_speed.at, (int)link->sta_width.len,
                    link->sta_width.at, (int)link->cap_speed.len, link->cap_speed.at,
                    (int)link->cap_width.len, link->cap_width.at);
    enum role role = link->role;
    *link = (struct link){
        .role = role, .cap_speed = {.at = "", .len = 0}, .cap_width = {.at = "", .len = 0}};
}

static const struct {
    const char *key, *name;
} keys[] = {
    {"NUMA node:", "numa_node"},
    {"Subsystem:", "subsystem"},
    {"Kernel driver in use:", "driver"},
    {"DeviceName:", "slot_name"},
    {"Physical Slot:", "slot"},
    {"[PN] Part number:", "part_number"},
    {"[SN] Serial number:", "serial_number"},
    {"Product Name:", "product"},
};

static void read_key(struct evidence_job *job, size_t i, struct slice line)
{
    struct slice value;
    if (slice_starts(line, "!!! Unknown header type 7f"))
        put_finding(job, i, RULE_PCIE_LOST, "The device answers every read with all ones");
    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
        if (!slice_starts(line, keys[k].key) || !slice_after(line, keys[k].key, &value))
            continue;
        if (k == 0)
            put_number(job, i, keys[k].name, value, "");
        else if (slice_is_unknown(value))
            put_unknown(job, i, keys[k].name);
        else
            put_text(job, i, keys[k].name, value);
        return;
    }
    if (!slice_starts(line, "MaxPayload ") || !slice_has(line, "MaxReadReq "))
        return;
    put_number(job, i, "max_payload", value_after(line, "MaxPayload "), "bytes");
    put_number(job, i, "max_read_request", value_after(line, "MaxReadReq "), "bytes");
}

/* Of a grep: the address stands in the command ("lspci -s 02:00.0"). */
static void command_subject(struct evidence_job *job)
{
    char address[32], bdf[16];
    if (job_command_option(job, "-s", address, sizeof(address)) &&
        is_pci_address(slice_of(address), bdf))
        job_subject(job, "pci %s", bdf);
    else
        job_subject(job, "pci");
}

/* "... [ConnectX-6 Dx] [15b3:101d] (rev 01)" of -nn, "15b3:101d (rev 01)" of -n. */
static void put_ids(struct evidence_job *job, size_t i, struct slice name)
{
    for (size_t k = 0; k + 9 <= name.len; k++) {
        uint64_t vendor, device;
        struct slice ids = {.at = name.at + k, .len = 9};
        bool open = k == 0 || name.at[k - 1] == '[';
        bool end = k + 9 == name.len || name.at[k + 9] == ']' || name.at[k + 9] == ' ';
        if (!open || !end || ids.at[4] != ':' ||
            !slice_hex((struct slice){.at = ids.at, .len = 4}, &vendor) ||
            !slice_hex((struct slice){.at = ids.at + 5, .len = 4}, &device))
            continue;
        put_text(job, i, "pci_id", ids);
        return;
    }
}

static void start(struct evidence_job *job, size_t i, const char *bdf, struct slice class,
                  struct slice name)
{
    struct slice rest, rev;
    job_subject(job, "pci %s", bdf);
    put_text(job, i, "class", class);
    put_text(job, i, "device", name);
    put_ids(job, i, name);
    if (slice_after(name, "(rev ", &rest) && slice_split(rest, ')', &rev, &rest))
        put_text(job, i, "revision", rev);
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct link link = {.role = ROLE_OTHER};
    char bdf[16];
    struct slice class, name;
    bool grepped = link_row(job_line(job, i));
    command_subject(job);
    link.role = grepped ? ROLE_RDMA : ROLE_OTHER;
    judge(job, &link); /* sets what is not told to nothing */
    for (; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0)
            continue;
        if (job_stops(job, i, &reader_lspci))
            break;
        if (job->lines[i].indent < 4 && device_row(line, bdf, &class, &name)) {
            judge(job, &link);
            link.role = role_of(class, name);
            start(job, i, bdf, class, name);
        } else if (link_row(line)) {
            if (slice_starts(line, "LnkCap:"))
                judge(job, &link);
            read_link(job, i, line, &link);
        } else if (slice_starts(line, "Lnk")) {
            continue; /* beside the links in a grep */
        } else if (grepped || job->lines[i].indent == 0) {
            break;
        } else {
            read_key(job, i, line);
        }
    }
    judge(job, &link);
    return i;
}

const struct evidence_reader reader_lspci = {
    .kind = "lspci",
    .tool = "lspci",
    .begins = begins,
    .read = read,
};
