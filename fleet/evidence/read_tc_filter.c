/*
 * fleet/evidence/read_tc_filter.c - tc filter show: what a filter matches, what it does, and
 * whether the NIC does it.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i);
    return slice_starts(line, "filter ") &&
           (slice_has(line, " pref ") || slice_has(line, " protocol "));
}

/* "filter parent 1: protocol ip pref 1 flower chain 0 handle 0x1": the subject; the head of a chain
 * has no handle. */
static bool read_head(struct evidence_job *job, size_t i, struct slice line, const char *device)
{
    struct slice rest, pref = slice_of("?"), handle = slice_of(""), kind = slice_of("");
    struct slice after;
    if (slice_after(line, " pref ", &after)) {
        rest = after;
        pref = slice_word(&rest);
        kind = slice_word(&rest);
    }
    if (slice_after(line, " handle ", &after))
        handle = slice_word(&after);
    else if (slice_after(line, " fh ", &after))
        handle = slice_word(&after);
    if (handle.len == 0)
        return false;
    job_subject(job, "netdev%s%s filter %.*s %.*s", device[0] != '\0' ? " " : "", device,
                (int)(pref.len < 20 ? pref.len : 20), pref.at,
                (int)(handle.len < 40 ? handle.len : 40), handle.at);
    put_text(job, i, "kind", kind);
    static const char *const keys[] = {"protocol", "chain", "classid", "hw_tc", "flowid"};
    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
        char before[24];
        snprintf(before, sizeof(before), " %s ", keys[k]);
        if (slice_after(line, before, &after))
            put_text(job, i, keys[k], slice_word(&after));
    }
    return true;
}

/* "eth_type ipv4", "ip_tos 0x68", "in_hw in_hw_count 1", "not_in_hw",
 * "action order 1: skbedit  priority :3 pipe", "Sent 1234 bytes 12 pkt (dropped 0, ...)" */
static void read_line(struct evidence_job *job, size_t i, struct slice line)
{
    static const char *const marks[] = {"skip_sw", "skip_hw", "not_in_hw", "in_hw"};
    struct slice rest = line, first = slice_word(&rest), after;
    for (size_t k = 0; k < sizeof(marks) / sizeof(marks[0]); k++) {
        if (slice_is(first, marks[k])) {
            put_text(job, i, k < 2 ? "skip" : "hardware", first);
            return;
        }
    }
    if (slice_starts(line, "action order ")) {
        if (slice_after(line, ": ", &after))
            put_text(job, i, "action", after);
    } else if (slice_is(first, "Sent")) {
        static const struct {
            const char *before, *name;
        } counts[] = {{"Sent ", "sent_bytes"}, {"bytes ", "sent_packets"}, {"dropped ", "dropped"}};
        for (size_t k = 0; k < 3; k++) {
            struct number number;
            if (slice_after(line, counts[k].before, &after) &&
                (number = number_front(after, &rest)).kind == NUMBER_INTEGER)
                put_number(job, i, counts[k].name, slice_of(number.text), "");
        }
    } else if (rest.len > 0 && !slice_has(first, ":") && !slice_is(first, "index") &&
               !slice_is(first, "Action")) {
        char name[EVIDENCE_NAME_MAX];
        slice_copy(first, name, sizeof(name));
        put_value(job, i, name, rest, "");
    }
}

static size_t read(struct evidence_job *job, size_t i)
{
    char device[64] = "";
    bool open = false;
    if (!job_netdev(job, "dev", device, sizeof(device)))
        device[0] = '\0';
    size_t first = i;
    for (; i < job->line_count && !job_is_prompt(job, i, NULL); i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0)
            continue;
        if (begins(job, i))
            open = read_head(job, i, line, device);
        else if (i > first && job->lines[i].indent == 0 && job_stops(job, i, &reader_tc_filter))
            break;
        else if (job->lines[i].indent == 0)
            break;
        else if (open)
            read_line(job, i, line);
    }
    return i;
}

const struct evidence_reader reader_tc_filter = {
    .kind = "tc", .tool = "tc filter", .begins = begins, .read = read};
