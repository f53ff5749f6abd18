/*
 * fleet/evidence/kernel_gpu.c - the messages of the nvidia driver in a kernel log.
 */
#include "fleet/evidence/kernel_gpu.h"

#include <stdio.h>
#include <string.h>

#include "fleet/evidence/log_subject.h"
#include "fleet/evidence/rules_logs.h"
#include "fleet/evidence/xid_table.h"

/* "pid=2024380, " off the front of what follows the number. */
static void put_process(struct evidence_job *job, size_t line, struct slice *rest)
{
    static const struct {
        const char *tag, *name;
    } fields[] = {{"pid=", "pid"}, {"name=", "process"}};
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        struct slice value, behind, field = *rest;
        if (!slice_skip(&field, fields[i].tag))
            continue;
        if (!slice_split(field, ',', &value, &behind)) {
            value = field;
            behind = (struct slice){.at = field.at + field.len, .len = 0};
        }
        value = slice_trim(value);
        bool unknown = slice_has(value, "<unknown>") || value.len == 0;
        if (unknown)
            put_unknown(job, line, fields[i].name);
        else
            put_value(job, line, fields[i].name, value, "");
        *rest = slice_trim(behind);
    }
}

/* "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)": nothing is left to do.
 */
static const char *rule_of(const struct xid *xid, struct slice text)
{
    if (xid == NULL)
        return RULE_XID_UNLISTED;
    bool none = slice_has(text, "recovery action changed") && slice_has(text, "to 0x0 (None)");
    return none ? RULE_XID_NOTICE : xid_rule(xid->fault);
}

static void put_xid(struct evidence_job *job, size_t line, const char *address, uint64_t number,
                    struct slice text)
{
    const struct xid *xid = number < 100000 ? xid_find((unsigned)number) : NULL;
    unsigned n = (unsigned)number;
    job_subject(job, "gpu %s xid %u", address, n);
    size_t before = job->out->findings.count;
    if (xid != NULL)
        put_finding(job, line, rule_of(xid, text), "GPU %s reported Xid %u: %s; %.*s", address, n,
                    xid->meaning, (int)(text.len < 200 ? text.len : 200), text.at);
    else
        put_finding(job, line, rule_of(NULL, text),
                    "GPU %s reported Xid %u, which is not listed: %.*s", address, n,
                    (int)(text.len < 200 ? text.len : 200), text.at);
    if (job->out->findings.count == before)
        return; /* one more of the same */
    struct slice action;
    if (slice_after(text, "recovery action changed from ", &action) &&
        slice_after(action, " to ", &action))
        put_text(job, line, "recovery_action", action);
    put_uint(job, line, "xid", number, "");
    put_process(job, line, &text);
    if (xid != NULL) {
        put_text(job, line, "meaning", slice_of(xid->meaning));
        put_text(job, line, "fault", slice_of(xid_fault_name(xid->fault)));
    }
    put_text(job, line, "message", text);
}

/* "Xid (PCI:0000:9b:00): 119, pid=..., text"; older drivers: "Xid (0000:03:00): 14, text". */
static bool read_xid(struct evidence_job *job, size_t line, struct slice message)
{
    struct slice rest, inside, behind;
    char address[PCI_TEXT_MAX];
    if (slice_find(message, "SXid") != NULL || !slice_after(message, "Xid (", &rest) ||
        !slice_split(rest, ')', &inside, &behind))
        return false;
    (void)slice_skip(&inside, "PCI:");
    behind = slice_trim(behind);
    if (!pci_text(inside, address) || !slice_skip(&behind, ":"))
        return false;
    struct slice text;
    struct number number = number_front(slice_trim(behind), &text);
    struct slice digits;
    if (number.kind == NUMBER_NONE) { /* "13,0 ..." is a list to number_front() */
        if (!slice_split(slice_trim(behind), ',', &digits, &text))
            return false;
        number = number_read(digits);
    }
    if (!number.is_unsigned)
        return false;
    (void)slice_skip(&text, ",");
    put_xid(job, line, address, number.value, slice_trim(text));
    return true;
}

/* "GPU at PCI:0000:9b:00: GPU-509665ad-..." */
static bool read_gpu(struct evidence_job *job, size_t line, struct slice message)
{
    struct slice rest, behind;
    char address[PCI_TEXT_MAX];
    if (!slice_after(message, "GPU at ", &rest) || !slice_has(rest, "GPU-") ||
        !pci_find(rest, address, &behind))
        return false;
    (void)slice_skip(&behind, ":");
    job_subject(job, "gpu %s", address);
    put_text(job, line, "uuid", slice_trim(behind));
    return true;
}

bool kernel_gpu_read(struct evidence_job *job, size_t line, struct slice message)
{
    return read_xid(job, line, message) || read_gpu(job, line, message);
}
