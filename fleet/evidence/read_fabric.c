/*
 * fleet/evidence/read_fabric.c - what tools of an InfiniBand subnet print: ibnetdiscover -p and
 * iblinkinfo (links), perfquery (counters of a port), sminfo, the log of opensm.
 */
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"
#include "fleet/evidence/rules_logs.h"

/* ibnetdiscover -p:
 * "SW  1719 10 0x7cfe900300275603 4x EDR - CA   134  1 0x7cfe90030080f0e5 ( 'leaf' - 'n1 HCA-1' )"
 */
struct end {
    struct slice type, lid, port, guid;
};

static bool read_end(struct slice *rest, struct end *out)
{
    uint64_t number;
    out->type = slice_word(rest);
    if (!slice_is(out->type, "CA") && !slice_is(out->type, "SW") && !slice_is(out->type, "RT"))
        return false;
    out->lid = slice_word(rest);
    out->port = slice_word(rest);
    out->guid = slice_word(rest);
    return slice_uint(out->lid, &number) && slice_uint(out->port, &number) &&
           slice_starts(out->guid, "0x") && slice_hex(out->guid, &number);
}

static bool discover_begins(const struct evidence_job *job, size_t i)
{
    struct slice rest = job_line(job, i);
    struct end end;
    return read_end(&rest, &end);
}

static struct slice quoted(struct slice s)
{
    struct slice before, name, after;
    if (!slice_split(s, '\'', &before, &after) || !slice_split(after, '\'', &name, &after))
        return (struct slice){.at = "", .len = 0};
    return name;
}

static void discover_row(struct evidence_job *job, size_t i)
{
    struct slice rest = job_line(job, i);
    struct end near, far;
    if (!read_end(&rest, &near))
        return;
    job_subject(job, "%s %.*s/%.*s", slice_is(near.type, "SW") ? "switch-port" : "port",
                (int)near.guid.len, near.guid.at, (int)near.port.len, near.port.at);
    put_number(job, i, "lid", near.lid, "");
    struct slice width = slice_word(&rest), speed = slice_word(&rest), after = rest;
    put_value(job, i, "width", width, "");
    put_value(job, i, "speed", speed, "");
    struct slice name = quoted(rest);
    bool peer = slice_is(slice_word(&after), "-") && read_end(&after, &far);
    if (name.len == 0 && !peer && !slice_starts(rest, "-"))
        name = rest; /* without quotes */
    if (name.len > 0)
        put_text(job, i, "node", name);
    if (slice_is(width, "1x"))
        put_finding(job, i, RULE_IB_SLOW, "The link has one lane: %.*s %.*s", (int)width.len,
                    width.at, (int)speed.len, speed.at);
    if (peer) {
        put_text(job, i, "peer_guid", far.guid);
        put_number(job, i, "peer_port", far.port, "");
        put_number(job, i, "peer_lid", far.lid, "");
        return;
    }
    put_unknown(job, i, "peer_guid");
    put_finding(job, i, RULE_PORT_DOWN, "Port %.*s of '%.*s' shows %.*s %.*s and has no peer",
                (int)near.port.len, near.port.at, (int)name.len, name.at, (int)width.len, width.at,
                (int)speed.len, speed.at);
}

static size_t discover_read(struct evidence_job *job, size_t i)
{
    for (; discover_begins(job, i); i++)
        discover_row(job, i);
    return i;
}

const struct evidence_reader reader_ibnetdiscover = {
    .kind = "opensm",
    .tool = "ibnetdiscover",
    .begins = discover_begins,
    .read = discover_read,
};

/* perfquery: "# Port extended counters: Lid 133 port 1 (...)", "PortXmitData:......37108676853855"
 */
static bool counter_row(struct slice line, struct slice *name, struct slice *value)
{
    if (!slice_split(line, ':', name, value) || value->len < 2 || value->at[0] != '.')
        return false;
    while (value->len > 0 && value->at[0] == '.') {
        value->at++;
        value->len--;
    }
    struct slice rest = *name;
    (void)slice_word(&rest);
    return rest.len == 0 && name->len > 0 && value->len > 0;
}

static bool perf_header(struct slice line)
{
    /* "# Port counters: ", "# Port extended counters: ", "# PortRcvErrorDetails counters: " */
    return slice_starts(line, "# Port") && slice_has(line, "counters: Lid ");
}

static bool perf_begins(const struct evidence_job *job, size_t i)
{
    struct slice name, value, line = job_line(job, i);
    return perf_header(line) ||
           (counter_row(line, &name, &value) &&
            (slice_is(name, "PortSelect") || slice_starts(name, "Port") ||
             slice_ends(name, "Counter") || slice_ends(name, "Errors") || slice_is(name, "lid")));
}

static void put_perf(struct evidence_job *job, size_t i, struct slice name, struct slice value)
{
    uint64_t words, bytes;
    struct counter counter;
    if (slice_starts(name, "CounterSelect") || slice_is(name, "PortSelect")) {
        char text[EVIDENCE_NAME_MAX];
        slice_copy(name, text, sizeof(text));
        put_number(job, i, text, value, "");
        return;
    }
    (void)put_rdma_counter(job, i, name, value);
    if (!counter_find(name, &counter) || strcmp(counter.unit, "4-octet words") != 0 ||
        !slice_uint(value, &words) || words == UINT32_MAX)
        return;
    if (!__builtin_mul_overflow(words, 4u, &bytes)) /* IBTA: data are counted in 4 octets */
        put_uint(job, i, strcmp(counter.name, "port_xmit_data") == 0 ? "tx_bytes" : "rx_bytes",
                 bytes, "bytes");
}

static size_t perf_read(struct evidence_job *job, size_t i)
{
    struct slice name, value, rest;
    size_t first = i;
    job_subject(job, "port");
    for (; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0)
            continue;
        if (perf_header(line)) {
            if (i > first)
                break;
            (void)slice_after(line, "counters: Lid ", &rest);
            struct slice lid = slice_word(&rest);
            if (slice_is(slice_word(&rest), "port")) {
                struct slice port = slice_word(&rest);
                job_subject(job, "lid %.*s port %.*s", (int)lid.len, lid.at, (int)port.len,
                            port.at);
            }
        } else if (counter_row(line, &name, &value)) {
            put_perf(job, i, name, value);
        } else {
            break;
        }
    }
    return i;
}

const struct evidence_reader reader_perfquery = {
    .kind = "opensm",
    .tool = "perfquery",
    .begins = perf_begins,
    .read = perf_read,
};

/* iblinkinfo: "134 1[  ] ==( 4X 25.78125 Gbps Active/  LinkUp)==>  1719 10[  ] "leaf" ( )" */
static bool link_row(struct slice line, struct slice *before, struct slice *state)
{
    const char *from = slice_find(line, "==("), *to = slice_find(line, ")==>");
    if (from == NULL || to == NULL || to < from + 3)
        return false;
    *before = slice_trim((struct slice){.at = line.at, .len = (size_t)(from - line.at)});
    *state = slice_trim((struct slice){.at = from + 3, .len = (size_t)(to - from) - 3});
    return true;
}

/* "CA: n1 HCA-1:", "Switch: 0x0002c9 leaf:": what the rows below are of. */
static bool link_heading(struct slice line)
{
    return slice_ends(line, ":") && (slice_starts(line, "CA: ") || slice_starts(line, "Switch: ") ||
                                     slice_starts(line, "Router: "));
}

static bool linkinfo_begins(const struct evidence_job *job, size_t i)
{
    struct slice before, state;
    return link_row(job_line(job, i), &before, &state) ||
           (link_heading(job_line(job, i)) && link_row(job_line(job, i + 1), &before, &state));
}

/* What stands behind the arrow: "  1719   10[  ] "leaf" ( Could be 4X Could be 14.0625 Gbps)". */
static void put_peer(struct evidence_job *job, size_t i, struct slice line, bool active)
{
    struct slice rest, words[3], name, lid, port, tail, text;
    if (!slice_after(line, ")==>", &rest))
        return;
    size_t n = slice_words(rest, words, 3);
    size_t guid = n > 0 && slice_starts(words[0], "0x") ? 1 : 0;
    if (n > guid + 1 && slice_split(words[guid + 1], '[', &port, &tail)) {
        lid = words[guid];
        uint64_t number;
        if (slice_uint(lid, &number) && slice_uint(port, &number)) {
            put_number(job, i, "peer_lid", lid, "");
            put_number(job, i, "peer_port", port, "");
        }
    }
    if (slice_split(rest, '"', &tail, &text) && slice_split(text, '"', &name, &text) &&
        name.len > 0)
        put_text(job, i, "peer", slice_trim(name));
    if (active && slice_after(line, "Could be ", &rest)) {
        (void)slice_split(rest, ')', &rest, &tail);
        put_finding(job, i, RULE_IB_SLOW, "The link could be %.*s", (int)rest.len, rest.at);
    }
}

/* "0x0002c9 "leaf" 1 2[  ]" of iblinkinfo -l: the lid and port stand behind the name. */
static struct slice without_name(struct slice before)
{
    const char *quote = before.len > 0 ? memrchr(before.at, '"', before.len) : NULL;
    if (quote == NULL)
        return before;
    size_t len = (size_t)(before.at + before.len - quote) - 1;
    return slice_trim((struct slice){.at = quote + 1, .len = len});
}

static void linkinfo_row(struct evidence_job *job, size_t i, struct slice before, struct slice text)
{
    struct slice words[6], state, physical, rest = text, width = {.at = "", .len = 0};
    size_t n = slice_words(without_name(before), words, 6);
    size_t guid = n > 0 && slice_starts(words[0], "0x") ? 1 : 0;
    if (n < guid + 2 || n > 6)
        return;
    struct slice port = words[guid + 1], tail;
    (void)slice_split(port, '[', &port, &tail);
    job_subject(job, "lid %.*s port %.*s", (int)words[guid].len, words[guid].at, (int)port.len,
                port.at);
    struct slice first = slice_word(&rest);
    if (slice_ends(first, "X")) {
        width = first;
        put_text(job, i, "width", width);
        put_number(job, i, "speed", slice_word(&rest), "Gb/s");
        (void)slice_word(&rest);
    } else {
        rest = text;
    }
    if (!slice_split(rest, '/', &state, &physical))
        return;
    put_text(job, i, "state", slice_trim(state));
    put_text(job, i, "physical_state", slice_trim(physical));
    judge_port(job, i, slice_trim(state), slice_trim(physical));
    put_peer(job, i, job_line(job, i), slice_is(slice_trim(state), "Active"));
}

static size_t linkinfo_read(struct evidence_job *job, size_t i)
{
    struct slice before, state;
    for (; i < job->line_count; i++) {
        if (link_row(job_line(job, i), &before, &state))
            linkinfo_row(job, i, before, state);
        else if (!link_heading(job_line(job, i)))
            break;
    }
    return i;
}

const struct evidence_reader reader_iblinkinfo = {
    .kind = "opensm",
    .tool = "iblinkinfo",
    .begins = linkinfo_begins,
    .read = linkinfo_read,
};

/* opensm.log: "Jan 05 10:11:12 123456 [8A4C7700] 0x01 -> osm_x: ERR 0F12: text" */
static bool log_row(struct slice line, struct slice *text)
{
    const char *thread = slice_find(line, "] 0x");
    if (thread == NULL || !slice_after(line, " -> ", text) || !slice_has(line, "["))
        return false;
    return text->at > thread;
}

static bool log_begins(const struct evidence_job *job, size_t i)
{
    struct slice text;
    return log_row(job_line(job, i), &text);
}

/* "Received Generic Notice type:1 num:128 (Link state change) Producer:2 (Switch) from LID:5" */
static bool read_trap(struct evidence_job *job, size_t i, struct slice text)
{
    struct slice rest, lid, number, what, tail;
    if (!slice_has(text, "Received ") || !slice_has(text, " Notice type:") ||
        !slice_after(text, " num:", &rest))
        return false;
    number = slice_word(&rest);
    if (!slice_split(rest, ')', &what, &tail) || !slice_skip(&what, "("))
        what = slice_of("");
    if (slice_after(text, "from LID:", &lid))
        lid = slice_word(&lid);
    else
        lid = slice_of("");
    if (lid.len > 0 && slice_after(text, " Port ", &tail) && slice_has(text, " TID:")) {
        tail = slice_word(&tail);
        job_subject(job, "lid %.*s port %.*s", (int)lid.len, lid.at, (int)tail.len, tail.at);
    } else if (lid.len > 0) {
        job_subject(job, "lid %.*s", (int)lid.len, lid.at);
    } else {
        job_subject(job, "sm");
    }
    put_number(job, i, "trap", number, "");
    put_finding(job, i, RULE_IB_WARNING, "trap %.*s: %.*s", (int)number.len, number.at,
                (int)what.len, what.at);
    return true;
}

/* What is no ERR and tells something. */
static void read_event(struct evidence_job *job, size_t i, struct slice text)
{
    struct slice rest, state, guid;
    if (read_trap(job, i, text))
        return;
    if (slice_after(text, "Removed port with GUID:", &rest)) {
        guid = slice_word(&rest);
        job_subject(job, "port %.*s", (int)guid.len, guid.at);
        put_finding(job, i, RULE_IB_WARNING, "the port left the subnet: %.*s", (int)rest.len,
                    rest.at);
        return;
    }
    job_subject(job, "sm");
    if (slice_after(text, "Entering ", &rest) && slice_ends(rest, " state")) {
        state = slice_word(&rest);
        put_text(job, i, "state_name", state);
    } else if (slice_starts(text, "SUBNET UP")) {
        put_text(job, i, "subnet", slice_of("up"));
    } else if (slice_starts(text, "OpenSM ")) {
        put_text(job, i, "version",
                 slice_trim((struct slice){.at = text.at + 7, .len = text.len - 7}));
    } else if (slice_starts(text, "Errors during initialization")) {
        put_finding(job, i, RULE_SM_ERROR, "%.*s", (int)text.len, text.at);
    }
}

#define LOG_GAP_MAX 12 /* lines of one message: banners of sweeps, dumps of packets */

/* A line between two of the log that goes on with a message: blank, a frame of stars, or what a
 * message has below it. */
static bool log_goes_on(const struct evidence_job *job, size_t i, size_t last)
{
    struct slice line = job_line(job, i);
    if (line.len == 0)
        return true;
    if (i - last > LOG_GAP_MAX || job_is_prompt(job, i, NULL))
        return false;
    return line.at[0] == '*' || job->lines[i].indent > 0;
}

static void log_line(struct evidence_job *job, size_t i, struct slice text)
{
    struct slice rest;
    if (!slice_after(text, ": ERR ", &rest)) {
        read_event(job, i, text);
        return;
    }
    struct slice code = slice_word(&rest);
    code.len -= slice_ends(code, ":") ? 1 : 0;
    job_subject(job, "sm error %.*s", (int)code.len, code.at);
    put_text(job, i, "message", rest);
    put_finding(job, i, RULE_SM_ERROR, "%.*s", (int)text.len, text.at);
}

static size_t log_read(struct evidence_job *job, size_t i)
{
    struct slice text;
    size_t next = i;
    for (; i < job->line_count; i++) {
        if (log_row(job_line(job, i), &text)) {
            log_line(job, i, text);
            next = i + 1;
        } else if (!log_goes_on(job, i, next)) {
            break;
        }
    }
    return next;
}

const struct evidence_reader reader_opensm_log = {
    .kind = "opensm",
    .tool = "opensm",
    .begins = log_begins,
    .read = log_read,
};
