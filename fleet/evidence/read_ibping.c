/*
 * fleet/evidence/read_ibping.c - ibping, and ping's like summary is none of it. A round trip is one
 * of user-space MADs: its time is a fact and no measure of a link's health.
 */
#include <string.h>

#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"

static bool pong(struct slice line, struct slice *peer, struct slice *time)
{
    const char *colon;
    if (!slice_starts(line, "Pong from ") || (colon = slice_find(line, "): time ")) == NULL)
        return false;
    size_t skip = strlen("Pong from ");
    *peer = (struct slice){.at = line.at + skip, .len = (size_t)(colon + 1 - line.at) - skip};
    return slice_after(line, "): time ", time);
}

static bool summary(struct slice line, struct slice *peer)
{
    (void)slice_skip(&line, "^C");
    const char *end = slice_find(line, " ibping statistics");
    if (!slice_starts(line, "--- ") || end == NULL)
        return false;
    *peer = (struct slice){.at = line.at + 4, .len = (size_t)(end - line.at) - 4};
    return true;
}

static bool is_counts(struct slice line)
{
    return slice_has(line, " packets transmitted, ") && slice_has(line, "packet loss");
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i), peer, time;
    return pong(line, &peer, &time) || summary(line, &peer) ||
           (slice_starts(line, "ibwarn:") && slice_has(line, "ibping"));
}

/* "node2.(none) (Lid 2)" */
static void set_peer(struct evidence_job *job, struct slice peer)
{
    job_subject(job, "peer %.*s", (int)peer.len, peer.at);
}

/* A decimal in ms: a comma before three digits is a decimal comma here. */
static void put_ms(struct evidence_job *job, size_t i, const char *name, struct slice text)
{
    char copy[NUMBER_TEXT_MAX];
    slice_copy(text, copy, sizeof(copy));
    char *comma = strchr(copy, ',');
    if (comma != NULL && strchr(copy, '.') == NULL && strchr(comma + 1, ',') == NULL)
        *comma = '.';
    put_number(job, i, name, slice_of(copy), "ms");
}

/* *answered = whether any ping was. */
static void read_counts(struct evidence_job *job, size_t i, struct slice line, bool *answered)
{
    struct slice rest = line, sent = slice_word(&rest), got, loss, after;
    uint64_t transmitted, received;
    put_number(job, i, "packets_transmitted", sent, "");
    if (!slice_after(line, "transmitted, ", &after))
        return;
    got = slice_word(&after);
    put_number(job, i, "packets_received", got, "");
    *answered = !slice_uint(got, &received) || received > 0;
    if (slice_after(after, "received, ", &loss))
        put_number(job, i, "packet_loss", slice_word(&loss), "%");
    if (slice_after(line, ", time ", &rest)) {
        struct slice ms = slice_word(&rest);
        if (slice_ends(ms, "ms"))
            ms.len -= 2;
        put_number(job, i, "time", ms, "ms");
    }
    if (slice_uint(sent, &transmitted) && slice_uint(got, &received) && received < transmitted)
        put_finding(job, i, RULE_PING_LOSS, "%llu of %llu pings were not answered",
                    (unsigned long long)(transmitted - received), (unsigned long long)transmitted);
}

/* Without an answer the tool prints zeros, which are no times. */
static bool read_times(struct evidence_job *job, size_t i, struct slice line, bool answered)
{
    static const char *const names[] = {"rtt_min", "rtt_avg", "rtt_max"};
    struct slice rest, part;
    if (!slice_starts(line, "rtt min/avg/max") || !slice_after(line, "= ", &rest))
        return false;
    struct slice times = slice_word(&rest);
    for (size_t k = 0; k < 3; k++) {
        if (!slice_split(times, '/', &part, &times)) {
            part = times;
            times.len = 0;
        }
        if (!slice_is(rest, "ms") || part.len == 0 || !answered)
            put_unknown(job, i, names[k]);
        else
            put_ms(job, i, names[k], part);
    }
    return true;
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct slice peer, time;
    bool answered = true;
    for (; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0 || slice_is(line, "(...)") || slice_is(line, "...") ||
            slice_is(line, "^C"))
            continue;
        if (pong(line, &peer, &time)) {
            struct slice value = slice_word(&time);
            set_peer(job, peer);
            put_ms(job, i, "rtt", value);
        } else if (summary(line, &peer)) {
            set_peer(job, peer);
            answered = true;
        } else if (is_counts(line)) {
            read_counts(job, i, line, &answered);
        } else if (slice_starts(line, "ibwarn:") && slice_has(line, "ibping")) {
            put_finding(job, i, RULE_PING_LOSS, "%.*s", (int)line.len, line.at);
        } else if (!read_times(job, i, line, answered)) {
            break;
        }
    }
    return i;
}

const struct evidence_reader reader_ibping = {
    .kind = "ibping",
    .tool = "ibping",
    .begins = begins,
    .read = read,
};
