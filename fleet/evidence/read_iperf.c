/*
 * fleet/evidence/read_iperf.c - iperf and iperf3, as text: rows of a stream and an interval.
 *
 *   [ ID] Interval           Transfer     Bitrate         Retr
 *   [  5]   0.00-2.00   sec  2.19 GBytes  9.42 Gbits/sec   12             sender
 */
#include <string.h>

#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"

#define FAILED "iperf3: error - "

static bool is_head(struct slice line)
{
    return slice_starts(line, "[ ID] Interval");
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i);
    return is_head(line) || slice_starts(line, FAILED) ||
           (slice_starts(line, "Connecting to host ") && slice_has(line, ", port ")) ||
           (slice_starts(line, "Client connecting to ") && slice_has(line, " port "));
}

/* Units as iperf prints them; NULL = another word. */
static const char *unit_of(struct slice word)
{
    static const char *const units[] = {"bits/sec",   "Kbits/sec", "Mbits/sec",  "Gbits/sec",
                                        "Tbits/sec",  "Bytes/sec", "KBytes/sec", "MBytes/sec",
                                        "GBytes/sec", "Bytes",     "KBytes",     "MBytes",
                                        "GBytes",     "TBytes"};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (slice_is(word, units[i]))
            return units[i];
    }
    return NULL;
}

/* "[  5]   0.00-2.00   sec": the stream, the interval, and what follows. iperf 2 may leave a blank
 * behind the dash. */
static bool split_row(struct slice line, struct slice *stream, struct slice *from, struct slice *to,
                      struct slice *rest)
{
    struct slice interval;
    if (!slice_skip(&line, "[") || !slice_split(line, ']', stream, rest))
        return false;
    *stream = slice_trim(*stream);
    interval = slice_trim(*rest);
    if (!slice_split(interval, '-', from, rest))
        return false;
    *rest = slice_trim(*rest);
    *to = slice_word(rest);
    return number_read(*from).kind != NUMBER_NONE && number_read(*to).kind != NUMBER_NONE &&
           slice_is(slice_word(rest), "sec") && stream->len > 0 && stream->len < 8;
}

/* "12/8500 (0.14%)" of UDP. */
static void put_lost(struct evidence_job *job, size_t i, struct slice word)
{
    struct slice lost, total;
    uint64_t number;
    if (!slice_split(word, '/', &lost, &total) || !slice_uint(lost, &number) ||
        !slice_uint(total, &number))
        return;
    put_number(job, i, "lost", lost, "");
    put_number(job, i, "datagrams", total, "");
}

static bool read_row(struct evidence_job *job, size_t i, bool retries)
{
    struct slice stream, from, to, rest, word, before = slice_of("");
    if (!split_row(job_line(job, i), &stream, &from, &to, &rest))
        return false;
    const char *side = slice_ends(rest, "sender")     ? " sender"
                       : slice_ends(rest, "receiver") ? " receiver"
                                                      : "";
    job_subject(job, "run stream %.*s %.*s-%.*s%s", (int)stream.len, stream.at,
                (int)(from.len < 16 ? from.len : 16), from.at, (int)(to.len < 16 ? to.len : 16),
                to.at, side);
    for (bool after_rate = false; (word = slice_word(&rest)).len > 0; before = word) {
        const char *unit = unit_of(word);
        uint64_t number;
        if (unit != NULL && !after_rate) {
            after_rate = strstr(unit, "/sec") != NULL;
            put_number(job, i, after_rate ? "bitrate" : "transfer", before, unit);
            continue;
        }
        if (after_rate && retries && slice_uint(word, &number)) {
            put_number(job, i, "retransmits", word, "");
            break; /* behind it is the window */
        }
        if (after_rate && slice_is(word, "ms"))
            put_number(job, i, "jitter", before, "ms");
        if (after_rate)
            put_lost(job, i, word);
    }
    return true;
}

static bool is_note(struct slice line)
{
    static const char *const starts[] = {"Connecting to host",
                                         "Client connecting",
                                         "Server listening",
                                         "TCP window size",
                                         "UDP buffer size",
                                         "Sending ",
                                         "Accepted ",
                                         "Reverse mode",
                                         "- - - ",
                                         "-----",
                                         "iperf Done.",
                                         "WARNING: ",
                                         "Time: ",
                                         "Cookie: ",
                                         "TCP MSS: ",
                                         "Starting Test",
                                         "Test Complete",
                                         "CPU Utilization",
                                         "snd_tcp_",
                                         "rcv_tcp_"};
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        if (slice_starts(line, starts[i]))
            return true;
    }
    return slice_starts(line, "[") && slice_has(line, "] local ");
}

static size_t read(struct evidence_job *job, size_t i)
{
    bool retries = false;
    size_t first = i;
    for (; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0)
            continue;
        if (i > first && job_stops(job, i, &reader_iperf))
            break;
        if (is_head(line)) {
            retries = slice_has(line, "Retr");
        } else if (slice_starts(line, FAILED)) {
            job_subject(job, "run");
            put_finding(job, i, RULE_RUN_FAILED, "%.*s", (int)(line.len < 200 ? line.len : 200),
                        line.at);
        } else if (!read_row(job, i, retries) && !is_note(line)) {
            break;
        }
    }
    return i > first ? i : first + 1;
}

const struct evidence_reader reader_iperf = {
    .kind = "perftest", .tool = "iperf", .begins = begins, .read = read};
