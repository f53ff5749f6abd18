/*
 * fleet/evidence/read_ethtool_stats.c - ethtool -S DEVICE, whole or grepped, of any driver.
 *
 * "NIC statistics:" and then "     name: value" rows; standard groups ("Standard stats for eth0:")
 * have "group-name: value". A grep loses the headline: a row is then known by its counter's name.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"

#define DISCARDS_FEW 100000 /* one in as many packets, and fewer, is a note only */

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

/* "12:     rx_bytes: 7" and "13-     tx_bytes: 7" of grep -n, whose rows are five blanks in; the
 * number of a queue stands one blank before its counter. */
static struct slice skip_number(struct slice line)
{
    size_t n = 0, blanks = 0;
    while (n < line.len && line.at[n] >= '0' && line.at[n] <= '9')
        n++;
    if (n == 0 || n >= line.len || (line.at[n] != ':' && line.at[n] != '-'))
        return line;
    for (n++; n < line.len && (line.at[n] == ' ' || line.at[n] == '\t'); n++)
        blanks += line.at[n] == '\t' ? 3 : 1;
    return blanks >= 3 ? (struct slice){.at = line.at + n, .len = line.len - n} : line;
}

/* "rxq3: rx_bytes", "3: rcv_pkts": the queue, and the name without it. */
static void take_queue(struct slice *name, int *queue)
{
    struct slice tag, rest;
    uint64_t number;
    if (!slice_split(*name, ':', &tag, &rest))
        return;
    if (slice_starts(tag, "rxq") || slice_starts(tag, "txq")) {
        tag.at += 3;
        tag.len -= 3;
    }
    if (!slice_uint(slice_trim(tag), &number) || number > 9999)
        return;
    *queue = (int)number;
    *name = slice_trim(rest);
}

/* "[3]: rx_discards: 7" is queue 3; the queue is -1 elsewhere. */
static bool split_row(struct slice line, struct slice *name, struct slice *value, int *queue)
{
    struct slice tag, rest;
    uint64_t number;
    *queue = -1;
    const char *tagged = slice_find(line, "ethtool_-S_"); /* grep with file names */
    if (tagged != NULL && slice_split(line, ':', &tag, &rest))
        line = slice_trim(rest);
    line = skip_number(line);
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
    take_queue(name, queue);
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
    return number_read(value).kind == NUMBER_INTEGER && counter.width == 0 &&
           counter.class != COUNTER_RDMA && counter.class != COUNTER_RDMA_RETRY &&
           counter.class != COUNTER_RDMA_LOSS;
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
    struct slice name, value;
    struct counter counter;
    int queue;
    if (split_row(line, &name, &value, &queue) && counter_find(name, &counter))
        return false; /* one of another tool */
    return (slice_starts(line, "rx_") || slice_starts(line, "tx_") || slice_starts(line, "port.") ||
            slice_starts(line, "[0]: ")) &&
           any_row(line);
}

static bool is_headline(struct slice line)
{
    return slice_is(line, "NIC statistics:") || slice_is(line, "PHY statistics:") ||
           slice_starts(line, "Standard stats for ");
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i);
    if (is_headline(line))
        return true;
    return known_row(line) || likely_row(line);
}

/* The interface that the headline or the command names: "Standard stats for eth0:",
 * "ethtool -S eth0", ".../ethtool_-S_eth0". */
static void set_subject(struct evidence_job *job, size_t i)
{
    struct slice rest;
    char name[64] = "";
    if (slice_after(job_line(job, i), "Standard stats for ", &rest) && slice_ends(rest, ":")) {
        rest.len--;
        slice_copy(rest, name, sizeof(name));
        job_subject(job, "netdev %s", name);
    } else if (job_command_option(job, "--statistics", name, sizeof(name)) ||
               job_command_option(job, "--phy-statistics", name, sizeof(name)) ||
               job_netdev(job, "-S", name, sizeof(name))) {
        job_subject(job, "netdev %s", name);
    } else if (slice_after(job->command, "ethtool_-S_", &rest)) {
        slice_copy(slice_word(&rest), name, sizeof(name));
        job_subject(job, "netdev %s", name);
    } else {
        job_subject(job, "netdev");
    }
}

/* What the rules want to know of a whole section. */
struct seen {
    struct {
        uint64_t value;
        size_t line;
        struct slice name;
    } worst[COUNTER_CLASSES]; /* two names of one counter are one: the larger stays */
    uint64_t paused[8];       /* frames either way */
    uint64_t discarded[8];
    size_t discarded_line[8];
    uint64_t packets;     /* received */
    uint64_t by_queue;    /* discards that only the queues count */
    size_t by_queue_line; /* of the queue with the most */
    uint64_t by_queue_most;
};

static void see(struct seen *seen, size_t line, struct slice name, uint64_t value)
{
    struct counter counter;
    if (!counter_find(name, &counter) || value == 0 || counter.queue >= 0)
        return;
    if (counter.class == COUNTER_PRIO_PAUSE && counter.prio >= 0)
        seen->paused[counter.prio] |= value;
    if (counter.class == COUNTER_PRIO_DISCARD && counter.prio >= 0 &&
        value > seen->discarded[counter.prio]) {
        seen->discarded[counter.prio] = value;
        seen->discarded_line[counter.prio] = line;
    }
    if (counter.prio < 0 && slice_starts(name, "rx") && slice_has(name, "packets") &&
        value > seen->packets)
        seen->packets = value;
    if (value > seen->worst[counter.class].value) {
        seen->worst[counter.class].value = value;
        seen->worst[counter.class].line = line;
        seen->worst[counter.class].name = name;
    }
}

/* bnxt_en has discards a queue, and their sum only since Linux 5.6. */
static void see_queue(struct seen *seen, size_t line, struct slice name, uint64_t value)
{
    struct counter counter;
    if (!counter_find(name, &counter) || counter.class != COUNTER_RX_DISCARD || value == 0)
        return;
    seen->by_queue = seen->by_queue + value < value ? UINT64_MAX : seen->by_queue + value;
    if (value > seen->by_queue_most) {
        seen->by_queue_most = value;
        seen->by_queue_line = line;
    }
}

static void see_packets(struct seen *seen, struct slice name, uint64_t value)
{
    static const char *const names[] = {"rx_total_frames", "rx_unicast", "rx_ucast_packets",
                                        "[hw] rx frames"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (slice_is(name, names[i]) && value > seen->packets)
            seen->packets = value;
    }
    if (slice_is(name, "rx_packets") && value > seen->packets)
        seen->packets = value;
}

/* Of a class: "NAME is N: words". */
static const struct {
    enum counter_class class;
    const char *rule, *words;
    uint64_t many; /* fewer may be old and say less */
} judgements[] = {
    {COUNTER_FCS, RULE_FCS_ERRORS, "frames arrived with a wrong check sequence", UINT64_MAX},
    {COUNTER_SYMBOL, RULE_SYMBOL_ERRORS, "the link delivered symbols that do not exist",
     SYMBOLS_MANY},
    {COUNTER_LINK_PAUSE, RULE_LINK_PAUSE, "the whole link was paused (802.3x)", 1},
    {COUNTER_STORM, RULE_PAUSE_STORM, "the device saw pause for longer than it should last",
     UINT64_MAX},
    {COUNTER_PCI_ERROR, RULE_PCIE_SIGNAL, "the PCIe link had errors in its signal", UINT64_MAX},
};

static void judge_discards(struct evidence_job *job, const struct seen *seen)
{
    char subject[EVIDENCE_SUBJECT_MAX];
    memcpy(subject, job->subject, sizeof(subject));
    for (int prio = 0; prio < 8; prio++) {
        size_t len = strlen(subject);
        if (seen->discarded[prio] == 0 || len + 8 > sizeof(subject))
            continue;
        memcpy(job->subject, subject, len);
        memcpy(job->subject + len, " prio ", 6);
        job->subject[len + 6] = (char)('0' + prio);
        job->subject[len + 7] = '\0';
        put_finding(job, seen->discarded_line[prio],
                    seen->paused[prio] > 0 ? RULE_LOSSLESS_DISCARD : RULE_RX_DISCARDS,
                    "%llu frames of priority %d were dropped",
                    (unsigned long long)seen->discarded[prio], prio);
    }
    memcpy(job->subject, subject, sizeof(subject));
}

static void judge_queues(struct evidence_job *job, const struct seen *seen)
{
    if (seen->by_queue > 0 && seen->worst[COUNTER_RX_DISCARD].value == 0)
        put_past(job, seen->by_queue_line, RULE_RX_DISCARDS, "its queues discarded %llu frames",
                 (unsigned long long)seen->by_queue);
}

static void judge_downs(struct evidence_job *job, const struct seen *seen)
{
    uint64_t downs = seen->worst[COUNTER_LINK_DOWN].value;
    if (downs >= LINK_DOWNS_MANY)
        put_finding(job, seen->worst[COUNTER_LINK_DOWN].line, RULE_LINK_FLAPPING,
                    "The link went down %llu times", (unsigned long long)downs);
}

static void judge(struct evidence_job *job, const struct seen *seen)
{
    for (size_t i = 0; i < sizeof(judgements) / sizeof(judgements[0]); i++) {
        enum counter_class class = judgements[i].class;
        struct slice name = seen->worst[class].name;
        if (seen->worst[class].value >= judgements[i].many)
            put_finding(job, seen->worst[class].line, judgements[i].rule, "%.*s is %llu: %s",
                        (int)name.len, name.at, (unsigned long long)seen->worst[class].value,
                        judgements[i].words);
        else if (seen->worst[class].value > 0)
            put_past(job, seen->worst[class].line, judgements[i].rule, "%.*s is %llu: %s",
                     (int)name.len, name.at, (unsigned long long)seen->worst[class].value,
                     judgements[i].words);
    }
    uint64_t dropped = seen->worst[COUNTER_RX_DISCARD].value;
    struct slice name = seen->worst[COUNTER_RX_DISCARD].name;
    bool few = seen->packets / DISCARDS_FEW > dropped;
    if (dropped > 0 && seen->packets == 0) /* a grep does not tell */
        put_past(job, seen->worst[COUNTER_RX_DISCARD].line, RULE_RX_DISCARDS, "%.*s is %llu",
                 (int)name.len, name.at, (unsigned long long)dropped);
    else if (dropped > 0)
        put_finding(job, seen->worst[COUNTER_RX_DISCARD].line,
                    few ? RULE_RX_DISCARDS_FEW : RULE_RX_DISCARDS,
                    "%.*s is %llu of %" PRIu64 " packets", (int)name.len, name.at,
                    (unsigned long long)dropped, seen->packets);
    judge_discards(job, seen);
    judge_queues(job, seen);
    judge_downs(job, seen);
}

/* mlx5 shows global pause while PFC is off and pause of priorities while it is on
 * (en_stats.c, mlx5e_stats_grp_pfc). */
static void put_pfc_mode(struct evidence_job *job, size_t i, struct slice name)
{
    if (slice_is(name, "rx_global_pause"))
        put_text(job, i, "pfc_configured", slice_of("no"));
}

/* Below the headline some drivers print names with blanks (vmxnet3 has a block for each queue, "Tx
 * Queue#: 3"; dpaa2: "[mac] rx pause"), or rows without a value (cxgb4). */
static bool read_odd_row(struct evidence_job *job, size_t i, struct slice line, int *block,
                         struct seen *seen)
{
    struct slice name, value;
    char subject[EVIDENCE_SUBJECT_MAX];
    uint64_t number;
    if (!slice_split(line, ':', &name, &value))
        return false;
    name = slice_trim(name);
    value = slice_trim(value);
    if (slice_ends(name, " Queue#") && slice_uint(value, &number) && number <= 9999) {
        *block = (int)number;
        return true;
    }
    if (number_read(value).kind != NUMBER_INTEGER)
        return value.len == 0;
    memcpy(subject, job->subject, sizeof(subject));
    size_t len = strlen(subject);
    if (*block >= 0)
        snprintf(job->subject + len, sizeof(subject) - len, " queue %d", *block);
    bool known = put_counter(job, i, name, value, &number);
    memcpy(job->subject, subject, sizeof(subject));
    if (known && *block < 0) {
        see(seen, i, name, number);
        see_packets(seen, name, number);
    }
    return true;
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct seen seen = {.packets = 0};
    struct slice name, value;
    size_t first = i;
    int queue, block = -1;
    bool headed = false;
    set_subject(job, i);
    for (; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        uint64_t number;
        if (line.len == 0)
            continue;
        if (i > first && (job_stops(job, i, &reader_ethtool_stats) || is_headline(line)))
            break;
        if (is_headline(line)) {
            headed = true;
            continue;
        }
        if (!split_row(line, &name, &value, &queue)) {
            if (headed && read_odd_row(job, i, line, &block, &seen))
                continue;
            break;
        }
        queue = queue < 0 ? block : queue;
        char subject[EVIDENCE_SUBJECT_MAX];
        memcpy(subject, job->subject, sizeof(subject));
        size_t len = strlen(subject);
        if (queue >= 0)
            snprintf(job->subject + len, sizeof(subject) - len, " queue %d", queue);
        bool known = put_counter(job, i, name, value, &number);
        memcpy(job->subject, subject, sizeof(subject));
        if (known && queue >= 0)
            see_queue(&seen, i, name, number);
        if (!known || queue >= 0)
            continue;
        see(&seen, i, name, number);
        see_packets(&seen, name, number);
        put_pfc_mode(job, i, name);
    }
    judge(job, &seen);
    return i;
}

const struct evidence_reader reader_ethtool_stats = {
    .kind = "ethtool-S",
    .tool = "ethtool",
    .begins = begins,
    .read = read,
};
