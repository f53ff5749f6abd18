/*
 * fleet/evidence/read_ethtool_stats.c - ethtool -S DEVICE, whole or grepped, of any driver.
 *
 * "NIC statistics:" and then "     name: value" rows; standard groups ("Standard stats for eth0:")
 * have "group-name: value". A grep loses the headline: a row is then known by its counter's name.
 */
#include <string.h>

#include "fleet/evidence/counter.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"

#define QUEUE_TAG_MAX 16

static bool is_name(struct slice name)
{
    bool letter = false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        bool alpha = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        letter = letter || alpha;
        if (!alpha && !(c >= '0' && c <= '9') && strchr("_-.[]#/", c) == NULL)
            return false;
    }
    return letter && name.len < EVIDENCE_NAME_MAX;
}

/* "[3]: rx_discards: 7" is queue 3; the queue is -1 elsewhere. */
static bool split_row(struct slice line, struct slice *name, struct slice *value, int *queue)
{
    struct slice tag, rest;
    uint64_t number;
    *queue = -1;
    if (slice_skip(&line, "[") && slice_split(line, ']', &tag, &rest)) {
        if (!slice_uint(tag, &number) || number > 9999)
            return false;
        *queue = (int)number;
        (void)slice_skip(&rest, ":");
        line = slice_trim(rest);
    }
    const char *colon = line.len > 0 ? memrchr(line.at, ':', line.len) : NULL;
    if (colon == NULL)
        return false;
    *name = slice_trim((struct slice){.at = line.at, .len = (size_t)(colon - line.at)});
    *value = slice_trim(
        (struct slice){.at = colon + 1, .len = (size_t)(line.at + line.len - colon - 1)});
    return is_name(*name);
}

/* A row whose counter we know: enough to know the output without its headline. */
static bool known_row(struct slice line)
{
    struct slice name, value;
    struct counter counter;
    int queue;
    if (!split_row(line, &name, &value, &queue) || !counter_find(name, &counter))
        return false;
    return number_read(value).kind == NUMBER_INTEGER && counter.width == 0;
}

static bool any_row(struct slice line)
{
    struct slice name, value;
    int queue;
    return split_row(line, &name, &value, &queue) && number_read(value).kind == NUMBER_INTEGER;
}

/* rx_ and tx_ rows of a driver that the table does not hold. */
static bool likely_row(struct slice line)
{
    return (slice_starts(line, "rx_") || slice_starts(line, "tx_") || slice_starts(line, "port.") ||
            slice_starts(line, "[0]: ")) &&
           any_row(line);
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i);
    if (slice_is(line, "NIC statistics:") || slice_starts(line, "Standard stats for "))
        return true;
    return known_row(line) || likely_row(line);
}

/* The interface that the command names: "ethtool -S eth0", ".../ethtool_-S_eth0". */
static void set_subject(struct evidence_job *job)
{
    struct slice rest;
    char name[64] = "";
    if (job_command_option(job, "-S", name, sizeof(name)) ||
        job_command_option(job, "--statistics", name, sizeof(name))) {
        job_subject(job, "netdev %s", name);
    } else if (slice_after(job->command, "ethtool_-S_", &rest)) {
        slice_copy(slice_word(&rest), name, sizeof(name));
        job_subject(job, "netdev %s", name);
    } else {
        job_subject(job, "netdev");
    }
}

/* What the rules want to know of the whole section. */
struct seen {
    bool done[COUNTER_STORM + 1]; /* a counter of the class was judged: one of two names counts */
};

static void judge(struct evidence_job *job, size_t line, struct slice name, uint64_t value,
                  struct seen *seen)
{
    struct counter counter;
    if (!counter_find(name, &counter) || value == 0)
        return;
    if (counter.class == COUNTER_FCS && !seen->done[COUNTER_FCS]) {
        seen->done[COUNTER_FCS] = true;
        put_finding(job, line, RULE_FCS_ERRORS, "%.*s is %llu: frames with a wrong check sequence",
                    (int)name.len, name.at, (unsigned long long)value);
    }
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct seen seen = {.done = {false}};
    struct slice name, value;
    size_t first = i;
    int queue;
    set_subject(job);
    for (; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0)
            continue;
        if (i > first && job_stops(job, i, &reader_ethtool_stats))
            break;
        if (slice_is(line, "NIC statistics:"))
            continue;
        if (!split_row(line, &name, &value, &queue))
            break;
        uint64_t number;
        if (put_counter(job, i, name, value, &number) && queue < 0)
            judge(job, i, name, number, &seen);
    }
    return i;
}

const struct evidence_reader reader_ethtool_stats = {
    .kind = "ethtool-S",
    .tool = "ethtool",
    .begins = begins,
    .read = read,
};
