/*
 * fleet/evidence/read_topology.c - what lists nodes of an InfiniBand subnet: ibnetdiscover's
 * topology, ibhosts and ibswitches, ibqueryerrors, sminfo.
 */
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"
#include "fleet/evidence/rules_logs.h"

/* What stands between the first pair of double quotes, and what follows. */
static bool quoted(struct slice s, struct slice *name, struct slice *rest)
{
    struct slice before;
    return slice_split(s, '"', &before, rest) && slice_split(*rest, '"', name, rest);
}

/* "Switch<TAB>36 "S-0002c903006e0a20"<TAB># "leaf" enhanced port 0 lid 6 lmc 0": the id and name.
 */
static bool node_row(struct slice line, bool *is_switch, struct slice *id, struct slice *rest)
{
    struct slice after = line, ports;
    uint64_t number;
    struct slice word = slice_word(&after);
    *is_switch = slice_is(word, "Switch");
    if (!*is_switch && !slice_is(word, "Ca") && !slice_is(word, "Rt"))
        return false;
    ports = slice_word(&after);
    return slice_uint(ports, &number) && quoted(after, id, rest) &&
           (slice_starts(*id, "S-") || slice_starts(*id, "H-") || slice_starts(*id, "R-"));
}

/* "[1](2c903)<TAB>"S-0002c9030050e0a0"[19]<TAB><TAB># lid 3 lmc 0 "leaf" lid 1 4xQDR" */
static bool port_row(struct slice line, struct slice *port, struct slice *peer, struct slice *rest)
{
    uint64_t number;
    if (!slice_skip(&line, "[") || !slice_split(line, ']', port, rest))
        return false;
    return slice_uint(*port, &number) && quoted(*rest, peer, rest);
}

static bool topology_begins(const struct evidence_job *job, size_t i)
{
    bool is_switch;
    struct slice id, rest;
    return node_row(job_line(job, i), &is_switch, &id, &rest);
}

static void put_port(struct evidence_job *job, size_t i, struct slice peer, struct slice rest)
{
    struct slice number, words[16];
    put_text(job, i, "peer", peer);
    if (slice_skip(&rest, "[") && slice_split(rest, ']', &number, &rest))
        put_number(job, i, "peer_port", number, "");
    size_t n = slice_words(rest, words, 16);
    if (n == 0 || n > 16 || !slice_has(words[n - 1], "x"))
        return;
    put_text(job, i, "speed", words[n - 1]);
    if (slice_starts(words[n - 1], "1x"))
        put_finding(job, i, RULE_IB_SLOW, "The link has one lane: %.*s", (int)words[n - 1].len,
                    words[n - 1].at);
}

static size_t topology_read(struct evidence_job *job, size_t i)
{
    bool is_switch = false;
    struct slice id = {.at = "", .len = 0}, found, port, peer, rest, name;
    for (; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0 || slice_starts(line, "vendid=") || slice_starts(line, "devid=") ||
            slice_starts(line, "sysimgguid=") || slice_starts(line, "switchguid=") ||
            slice_starts(line, "caguid="))
            continue;
        bool kind;
        if (node_row(line, &kind, &found, &rest)) {
            id = found;
            is_switch = kind;
            job_subject(job, "%s %.*s", is_switch ? "switch" : "node", (int)id.len, id.at);
            if (quoted(rest, &name, &rest))
                put_text(job, i, "name", name);
        } else if (id.len > 0 && port_row(line, &port, &peer, &rest)) {
            job_subject(job, "%s %.*s/%.*s", is_switch ? "switch-port" : "port", (int)id.len, id.at,
                        (int)port.len, port.at);
            put_port(job, i, peer, rest);
        } else {
            break;
        }
    }
    return i;
}

const struct evidence_reader reader_ib_topology = {
    .kind = "opensm",
    .tool = "ibnetdiscover",
    .begins = topology_begins,
    .read = topology_read,
};

/* "Ca<TAB>: 0x506b4b0300776a26 ports 1 "n1 HCA-1"" */
static bool host_row(struct slice line, struct slice *guid, struct slice *rest)
{
    struct slice word = slice_word(&line);
    if ((!slice_is(word, "Ca") && !slice_is(word, "Switch")) || !slice_skip(&line, ": 0x"))
        return false;
    line.at -= 2;
    line.len += 2;
    *guid = slice_word(&line);
    *rest = line;
    return slice_starts(line, "ports ");
}

static bool hosts_begin(const struct evidence_job *job, size_t i)
{
    struct slice guid, rest;
    return host_row(job_line(job, i), &guid, &rest);
}

static size_t hosts_read(struct evidence_job *job, size_t i)
{
    struct slice guid, rest, name, after;
    for (; host_row(job_line(job, i), &guid, &rest); i++) {
        bool is_switch = slice_starts(job_line(job, i), "Switch");
        job_subject(job, "%s %.*s", is_switch ? "switch" : "node", (int)guid.len, guid.at);
        (void)slice_word(&rest);
        put_number(job, i, "ports", slice_word(&rest), "");
        if (quoted(rest, &name, &after))
            put_text(job, i, "name", name);
        if (slice_after(rest, " lid ", &after))
            put_number(job, i, "lid", slice_word(&after), "");
    }
    return i;
}

const struct evidence_reader reader_ibhosts = {
    .kind = "opensm",
    .tool = "ibhosts",
    .begins = hosts_begin,
    .read = hosts_read,
};

/* "   GUID 0x506b port 1: [SymbolErrorCounter == 5] [LinkDownedCounter == 1]" */
static bool errors_row(struct slice line, struct slice *guid, struct slice *port,
                       struct slice *rest)
{
    if (!slice_skip(&line, "GUID 0x"))
        return false;
    line.at -= 2;
    line.len += 2;
    *guid = slice_word(&line);
    if (!slice_skip(&line, "port ") || !slice_split(line, ':', port, rest))
        return false;
    *rest = slice_trim(*rest);
    return slice_starts(*rest, "[");
}

static bool errors_begin(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i), guid, port, rest;
    return errors_row(line, &guid, &port, &rest) ||
           (slice_starts(line, "Errors for ") && slice_has(line, "\""));
}

static void put_errors(struct evidence_job *job, size_t i, struct slice rest)
{
    struct slice one, before, after;
    while (slice_split(rest, '[', &before, &after) && slice_split(after, ']', &one, &rest)) {
        const char *equal = slice_find(one, " == ");
        if (equal == NULL)
            continue;
        struct slice name = {.at = one.at, .len = (size_t)(equal - one.at)};
        struct slice value = {.at = equal + 4, .len = (size_t)(one.at + one.len - equal - 4)};
        (void)put_rdma_counter(job, i, name, slice_word(&value));
    }
}

static size_t errors_read(struct evidence_job *job, size_t i)
{
    struct slice guid, port, rest;
    for (; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0 || slice_starts(line, "Link info:") ||
            slice_starts(line, "Errors for ") || slice_starts(line, "## "))
            continue;
        if (!errors_row(line, &guid, &port, &rest))
            break;
        job_subject(job, "port %.*s/%.*s", (int)guid.len, guid.at, (int)port.len, port.at);
        put_errors(job, i, rest);
    }
    return i;
}

const struct evidence_reader reader_ibqueryerrors = {
    .kind = "opensm",
    .tool = "ibqueryerrors",
    .begins = errors_begin,
    .read = errors_read,
};

/* "sminfo: sm lid 1 sm guid 0x506b, activity count 12 priority 14 state 3 SMINFO_MASTER" */
static bool sm_begins(const struct evidence_job *job, size_t i)
{
    return slice_starts(job_line(job, i), "sminfo: sm lid ");
}

static size_t sm_read(struct evidence_job *job, size_t i)
{
    static const struct {
        const char *before, *name;
    } keys[] = {
        {"sm lid ", "lid"},
        {"activity count ", "activity_count"},
        {"priority ", "priority"},
        {"state ", "state"},
    };
    struct slice line = job_line(job, i), rest;
    job_subject(job, "sm");
    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
        if (slice_after(line, keys[k].before, &rest))
            put_number(job, i, keys[k].name, slice_word(&rest), "");
    }
    if (rest.len > 0)
        put_text(job, i, "state_name", rest);
    return i + 1;
}

const struct evidence_reader reader_sminfo = {
    .kind = "opensm",
    .tool = "sminfo",
    .begins = sm_begins,
    .read = sm_read,
};
