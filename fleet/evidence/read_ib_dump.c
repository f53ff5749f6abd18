/*
 * fleet/evidence/read_ib_dump.c - what the tools of InfiniBand print as "Name:.....value":
 * smpquery, ibportstate, saquery; and how they fail.
 */
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules_logs.h"

/* "LinkState:.......................Down", "lid.....................0x4". */
static bool dotted(struct slice line, struct slice *name, struct slice *value)
{
    const char *dots = slice_find(line, "..");
    if (dots == NULL || dots == line.at)
        return false;
    *name = (struct slice){.at = line.at, .len = (size_t)(dots - line.at)};
    *value = (struct slice){.at = dots, .len = (size_t)(line.at + line.len - dots)};
    if (name->at[name->len - 1] == ':')
        name->len--;
    while (value->len > 0 && value->at[0] == '.') {
        value->at++;
        value->len--;
    }
    return name->len > 0 && value->len > 0 && memchr(name->at, ' ', name->len) == NULL &&
           memchr(name->at, ':', name->len) == NULL;
}

/* "# Port info: Lid 5 port 1", "# Node info: Lid 4", "PortInfo:", "CA/RT PortInfo:",
 * "NodeRecord dump:" */
static bool is_head(struct slice line)
{
    return (slice_starts(line, "# ") && slice_has(line, " info: ")) ||
           slice_ends(line, "PortInfo:") || slice_ends(line, "Record dump:");
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice name, value;
    return is_head(job_line(job, i)) &&
           (is_head(job_line(job, i + 1)) || dotted(job_line(job, i + 1), &name, &value));
}

static void set_head(struct evidence_job *job, struct slice line)
{
    struct slice rest, lid, port;
    if (!slice_after(line, " info: ", &rest) || !slice_after(rest, "Lid ", &rest)) {
        job_subject(job, slice_ends(line, "Record dump:") ? "record" : "port");
        return;
    }
    lid = slice_word(&rest);
    if (slice_skip(&rest, "port ")) {
        port = slice_word(&rest);
        job_subject(job, "lid %.*s port %.*s", (int)lid.len, lid.at, (int)port.len, port.at);
    } else {
        job_subject(job, "lid %.*s", (int)lid.len, lid.at);
    }
}

struct port {
    struct slice state, physical, width, widths, speed, speeds;
    size_t line;
};

/* "1X or 4X": the last one is the most. */
static struct slice last_of(struct slice list)
{
    struct slice rest;
    while (slice_after(list, " or ", &rest))
        list = rest;
    return slice_trim(list);
}

static void judge(struct evidence_job *job, struct port *p)
{
    if (p->state.len > 0)
        judge_port(job, p->line, p->state, p->physical);
    struct slice width = last_of(p->widths), speed = last_of(p->speeds);
    bool narrow = p->width.len > 0 && width.len > 0 &&
                  number_front(p->width, &p->widths).value < number_front(width, &p->widths).value;
    if (slice_is(p->state, "Active") && narrow)
        put_finding(job, p->line, RULE_IB_SLOW, "The link is %.*s wide, it could be %.*s",
                    (int)p->width.len, p->width.at, (int)width.len, width.at);
    else if (slice_is(p->state, "Active") && p->speed.len > 0 && speed.len > 0 &&
             slice_has(p->speeds, " or ") && !slice_starts(speed, "Extended") &&
             (speed.len != p->speed.len || memcmp(speed.at, p->speed.at, speed.len) != 0))
        put_finding(job, p->line, RULE_IB_SLOW, "The link runs at %.*s, it could run at %.*s",
                    (int)p->speed.len, p->speed.at, (int)speed.len, speed.at);
    *p = (struct port){.line = p->line};
}

static void note(struct port *p, size_t i, struct slice name, struct slice value)
{
    const struct {
        const char *name;
        struct slice *field;
    } fields[] = {
        {"LinkState", &p->state},          {"PhysLinkState", &p->physical},
        {"LinkWidthActive", &p->width},    {"LinkWidthSupported", &p->widths},
        {"LinkSpeedActive", &p->speed},    {"LinkSpeedSupported", &p->speeds},
        {"LinkSpeedExtActive", &p->speed}, {"LinkSpeedExtSupported", &p->speeds},
    };
    for (size_t k = 0; k < sizeof(fields) / sizeof(fields[0]); k++) {
        if (!slice_is(name, fields[k].name) || slice_is(value, "0") ||
            slice_starts(value, "No Extended"))
            continue;
        *fields[k].field = value;
        p->line = k == 0 ? i : p->line;
    }
}

static bool is_identity(struct slice name)
{
    static const char *const parts[] = {"guid", "Guid", "GUID", "key",   "Key",
                                        "Mask", "mask", "gid",  "Prefix"};
    for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++) {
        if (slice_has(name, parts[k]))
            return true;
    }
    return false;
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct port port = {.line = i};
    struct slice name, value;
    for (; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (is_head(line)) {
            judge(job, &port);
            set_head(job, line);
        } else if (dotted(line, &name, &value)) {
            char key[EVIDENCE_NAME_MAX];
            slice_copy(name, key, sizeof(key));
            if (is_identity(name) || slice_is(name, "NodeDescription"))
                put_text(job, i, key, value);
            else
                put_value(job, i, key, value, "");
            note(&port, i, name, value);
        } else {
            break;
        }
    }
    judge(job, &port);
    return i;
}

const struct evidence_reader reader_ib_dump = {
    .kind = "opensm", .tool = "smpquery", .begins = begins, .read = read};

/* "ibwarn: [3224] mad_rpc_open_port: can't open UMAD port ((null):0)",
 * "perfquery: iberror: failed: ...", "-E- Failed to open device: ..." of ibswinfo. */
static bool is_failure(struct slice line)
{
    /* With -d the library tells all it does in the same form. */
    bool warned =
        slice_starts(line, "ibwarn: [") && (slice_has(line, "fail") || slice_has(line, "can't") ||
                                            slice_has(line, "rror") || slice_has(line, " not "));
    return warned || slice_has(line, ": iberror: ") || slice_starts(line, "ibpanic: [") ||
           (slice_starts(line, "Fatal error: ") && slice_has(line, "sys files not found")) ||
           slice_starts(line, "-E- Failed to open device") ||
           slice_starts(line, "Error: unable to access device") ||
           slice_starts(line, "Failed to open IB device");
}

static bool failure_begins(const struct evidence_job *job, size_t i)
{
    return is_failure(job_line(job, i));
}

static size_t failure_read(struct evidence_job *job, size_t i)
{
    struct slice line;
    for (; is_failure(line = job_line(job, i)); i++) {
        job_subject(job, "host");
        put_text(job, i, "failure", line);
        put_finding(job, i, RULE_TOOL_FAILED, "%.*s", (int)(line.len < 200 ? line.len : 200),
                    line.at);
    }
    return i;
}

const struct evidence_reader reader_ib_failure = {
    .kind = "opensm", .tool = "infiniband-diags", .begins = failure_begins, .read = failure_read};

/* ibv_devinfo and ibv_devices without a device, or without the one that was asked for. */
static bool verbs_begins(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i);
    return slice_is(line, "No IB devices found") || slice_is(line, "Failed to open device") ||
           (slice_starts(line, "IB device '") && slice_ends(line, "wasn't found")) ||
           slice_starts(line, "Failed to get IB devices list");
}

static size_t verbs_read(struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i);
    job_subject(job, "host");
    put_text(job, i, "failure", line);
    put_finding(job, i, RULE_TOOL_FAILED, "%.*s", (int)(line.len < 200 ? line.len : 200), line.at);
    return i + 1;
}

const struct evidence_reader reader_verbs_failure = {
    .kind = "ibv_devinfo", .tool = "ibv_devinfo", .begins = verbs_begins, .read = verbs_read};
