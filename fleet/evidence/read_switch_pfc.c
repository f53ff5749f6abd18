/*
 * fleet/evidence/read_switch_pfc.c - SONiC: show pfc counters, show pfcwd stats.
 */
#include <stdio.h>

#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"

#define FIELDS_MAX 16

static bool is_rule_line(struct slice line)
{
    for (size_t i = 0; i < line.len; i++) {
        if (line.at[i] != '-' && line.at[i] != ' ' && line.at[i] != '\t')
            return false;
    }
    return line.len > 0;
}

/* "Port Rx    PFC0 ...": the direction, or '\0'. */
static char pfc_header(struct slice line)
{
    if (!slice_starts(line, "Port Rx") && !slice_starts(line, "Port Tx"))
        return '\0';
    return slice_has(line, "PFC0") || slice_has(line, "PFC3") ? line.at[5] : '\0';
}

static bool counters_begin(const struct evidence_job *job, size_t i)
{
    return pfc_header(job_line(job, i)) != '\0';
}

/* Priorities of the columns of a header; how many. */
static size_t read_header(struct slice line, int prios[FIELDS_MAX])
{
    struct slice words[FIELDS_MAX];
    size_t n = slice_words(line, words, FIELDS_MAX), count = 0;
    for (size_t i = 2; i < n && i < FIELDS_MAX; i++) {
        uint64_t prio;
        struct slice word = words[i];
        if (!slice_skip(&word, "PFC") || !slice_uint(word, &prio) || prio > 7)
            return 0;
        prios[count++] = (int)prio;
    }
    return count;
}

static size_t read_counters(struct evidence_job *job, size_t i)
{
    struct slice words[FIELDS_MAX];
    int prios[FIELDS_MAX];
    bool rx = pfc_header(job_line(job, i)) == 'R';
    size_t columns = read_header(job_line(job, i), prios);
    for (i++; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0 || is_rule_line(line))
            continue;
        size_t n = slice_words(line, words, FIELDS_MAX);
        if (n != columns + 1 || columns == 0 || job_stops(job, i, NULL))
            break;
        for (size_t k = 0; k < columns; k++) {
            job_subject(job, "switch-port %.*s prio %d", (int)words[0].len, words[0].at, prios[k]);
            put_number(job, i, rx ? "rx_pause" : "tx_pause", words[k + 1], "");
        }
    }
    return i;
}

const struct evidence_reader reader_sonic_pfc_counters = {
    .kind = "pfc",
    .tool = "sonic show pfc counters",
    .begins = counters_begin,
    .read = read_counters,
};

static bool pfcwd_begins(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i);
    return slice_starts(line, "QUEUE") && slice_has(line, "STORM DETECTED/RESTORED");
}

/* "0/41507426" under two names. */
static void put_pair(struct evidence_job *job, size_t i, const char *const names[2],
                     struct slice pair)
{
    struct slice first, second;
    if (!slice_split(pair, '/', &first, &second)) {
        put_unknown(job, i, names[0]);
        put_unknown(job, i, names[1]);
        return;
    }
    put_number(job, i, names[0], first, "");
    put_number(job, i, names[1], second, "");
}

static bool put_queue(struct evidence_job *job, size_t i, const struct slice *words, size_t n)
{
    static const char *const names[][2] = {
        {"storms_detected", "storms_restored"},
        {"tx_ok", "tx_drop"},
        {"rx_ok", "rx_drop"},
        {"tx_last_ok", "tx_last_drop"},
        {"rx_last_ok", "rx_last_drop"},
    };
    struct slice port, queue;
    uint64_t prio;
    if (!slice_split(words[0], ':', &port, &queue) || !slice_uint(queue, &prio) || n < 3)
        return false;
    /* Queues up to 7 are those of the priorities; a switch may have more. */
    job_subject(job, "switch-port %.*s %s %.*s", (int)port.len, port.at,
                prio < 8 ? "prio" : "queue", (int)queue.len, queue.at);
    put_value(job, i, "pfcwd_status", words[1], "");
    for (size_t k = 0; k < 5 && k + 2 < n; k++)
        put_pair(job, i, names[k], words[k + 2]);
    uint64_t storms = 0;
    struct slice detected, restored;
    bool counted = slice_split(words[2], '/', &detected, &restored) &&
                   slice_uint(detected, &storms) && storms > 0;
    if (counted || slice_is(words[1], "stormed"))
        put_finding(job, i, RULE_PAUSE_STORM, "Queue %.*s is %.*s, storms detected/restored %.*s",
                    (int)words[0].len, words[0].at, (int)words[1].len, words[1].at,
                    (int)words[2].len, words[2].at);
    return true;
}

static size_t read_pfcwd(struct evidence_job *job, size_t i)
{
    struct slice words[FIELDS_MAX];
    for (i++; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0 || is_rule_line(line) || pfcwd_begins(job, i))
            continue;
        size_t n = slice_words(line, words, FIELDS_MAX);
        if (n < 2 || n > FIELDS_MAX || !put_queue(job, i, words, n))
            break;
    }
    return i;
}

const struct evidence_reader reader_sonic_pfcwd = {
    .kind = "pfc",
    .tool = "sonic show pfcwd stats",
    .begins = pfcwd_begins,
    .read = read_pfcwd,
};
