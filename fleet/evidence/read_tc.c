/*
 * fleet/evidence/read_tc.c - tc [-s] qdisc show, tc [-s] class show.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"
#include "fleet/evidence/tc_rows.h"

#define QUEUES_MAX 16
#define ROOTS_MAX  64

struct head { /* of a row */
    struct slice what, kind, handle, netdev, parent;
    bool is_root;
    struct slice options;
};

struct section {
    struct slice roots[ROOTS_MAX]; /* netdevs whose root is shown: its drops are all drops */
    size_t root_count;
    struct slice netdev;
    bool is_root, is_qdisc;
    char subject[EVIDENCE_SUBJECT_MAX];
};

static bool is_handle(struct slice s)
{
    struct slice major, minor;
    uint64_t number;
    return slice_split(s, ':', &major, &minor) && slice_hex(major, &number) &&
           (minor.len == 0 || slice_hex(minor, &number));
}

/* "qdisc htb 1: dev eth1 root ...", "class htb 1:10 parent 1: ...". */
static bool read_head(struct slice line, struct head *out)
{
    *out = (struct head){.is_root = false};
    while (line.len > 0 && line.at[0] == '`') {
        line.at++;
        line.len--;
    }
    struct slice rest = line;
    out->what = slice_word(&rest);
    if (!slice_is(out->what, "qdisc") && !slice_is(out->what, "class"))
        return false;
    out->kind = slice_word(&rest);
    out->handle = slice_word(&rest);
    if (!is_handle(out->handle))
        return false;
    for (;;) {
        struct slice before = rest, word = slice_word(&rest);
        if (slice_is(word, "dev")) {
            out->netdev = slice_word(&rest);
        } else if (slice_is(word, "parent")) {
            out->parent = slice_word(&rest);
        } else if (slice_is(word, "root")) {
            out->is_root = true;
        } else {
            out->options = before;
            return true;
        }
    }
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct head head;
    return read_head(job_line(job, i), &head);
}

static const char *const units[] = {
    "us", "ms", "s", "b", "p", "Kb", "Mb", "bit", "Kbit", "Mbit", "Gbit", "Tbit", "%", "ns", "pps",
};

static void put_sized(struct evidence_job *job, size_t i, struct slice key, struct slice value)
{
    char name[EVIDENCE_NAME_MAX];
    struct slice rest;
    slice_copy(key, name, sizeof(name));
    struct number number = number_front(value, &rest);
    for (size_t k = 0; number.kind != NUMBER_NONE && k < sizeof(units) / sizeof(units[0]); k++) {
        if (slice_is(rest, units[k])) {
            put_number(job, i, name, slice_of(number.text), units[k]);
            return;
        }
    }
    put_value(job, i, name, value, "");
}

/* Puts one fact on a part of the row's subject. */
static void put_part(struct evidence_job *job, size_t i, const char *part, size_t index,
                     const char *name, struct slice value, const char *unit)
{
    char subject[EVIDENCE_SUBJECT_MAX];
    memcpy(subject, job->subject, sizeof(subject));
    size_t len = strlen(subject);
    snprintf(job->subject + len, sizeof(subject) - len, " %s %zu", part, index);
    put_number(job, i, name, value, unit);
    memcpy(job->subject, subject, sizeof(subject));
}

/* Numbers at the front of rest, at most TC_BANDS_MAX. */
static size_t take_numbers(struct slice *rest, struct slice out[TC_BANDS_MAX])
{
    size_t count = 0;
    uint64_t number;
    for (;;) {
        struct slice before = *rest, word = slice_word(rest);
        struct slice digits = word;
        digits.len -= slice_ends(digits, "b") ? 1 : 0;
        if (count == TC_BANDS_MAX || !slice_uint(digits, &number)) {
            *rest = before;
            return count;
        }
        out[count++] = digits;
    }
}

/* Strict bands come first, the quanta are of those behind them: their shares of what is left. */
void tc_put_ets(struct evidence_job *job, size_t i, const struct tc_ets *ets)
{
    uint64_t sum = 0;
    for (size_t k = 0; k < ets->count; k++)
        sum += ets->quanta[k] & 0xffffffff;
    for (size_t k = 0; k < ets->strict && k < TC_BANDS_MAX; k++)
        put_part(job, i, "band", k, "strict", slice_of("1"), "");
    for (size_t k = 0; k < ets->count; k++) {
        char share[32];
        size_t band = (size_t)ets->strict + k;
        put_part(job, i, "band", band, "quantum", ets->texts[k], "bytes");
        uint64_t permyriad = sum > 0 ? (ets->quanta[k] & 0xffffffff) * 10000 / sum : 0;
        snprintf(share, sizeof(share), "%" PRIu64 ".%02" PRIu64, permyriad / 100, permyriad % 100);
        if (sum > 0 && ets->bands == ets->strict + ets->count)
            put_part(job, i, "band", band, "share", slice_of(share), "%");
    }
}

/* "(0:0) (1:1) (2:3)": first and last queue of each class. */
static void put_queues(struct evidence_job *job, size_t i, struct slice rest)
{
    for (size_t k = 0; k < QUEUES_MAX; k++) {
        struct slice word = slice_word(&rest), first, last;
        if (!slice_skip(&word, "(") || !slice_ends(word, ")"))
            return;
        word.len--;
        if (!slice_split(word, ':', &first, &last))
            return;
        put_part(job, i, "tc", k, "queue_first", first, "");
        put_part(job, i, "tc", k, "queue_last", last, "");
    }
}

static void put_map(struct evidence_job *job, size_t i, struct slice *rest, bool mqprio)
{
    struct slice list[TC_BANDS_MAX];
    size_t count = take_numbers(rest, list);
    for (size_t k = 0; k < count; k++)
        put_part(job, i, "prio", k, mqprio ? "tc" : "band", list[k], "");
}

static void take_quanta(struct slice *rest, struct tc_ets *ets)
{
    ets->count = take_numbers(rest, ets->texts);
    for (size_t k = 0; k < ets->count; k++)
        (void)slice_uint(ets->texts[k], &ets->quanta[k]);
}

/* "key value key value flag ...": a value begins with a digit or a minus, or follows a key whose
 * values are words. */
static void put_options(struct evidence_job *job, size_t i, const struct head *head)
{
    static const char *const worded[] = {"rate", "ceil", "prio", "hash", "mode", "shaper", "leaf"};
    struct slice rest = head->options;
    struct tc_ets ets = {.bands = 0};
    bool mqprio = slice_is(head->kind, "mqprio") || slice_is(head->kind, "taprio");
    for (struct slice key = slice_word(&rest); key.len > 0; key = slice_word(&rest)) {
        struct slice after = rest, value = slice_word(&after);
        bool wants = value.len > 0 && ((value.at[0] >= '0' && value.at[0] <= '9') ||
                                       (value.at[0] == '-' && value.len > 1));
        for (size_t k = 0; k < sizeof(worded) / sizeof(worded[0]); k++)
            wants = wants || (value.len > 0 && slice_is(key, worded[k]));
        if (slice_starts(key, "queues:")) {
            put_queues(
                job, i,
                (struct slice){.at = key.at + 7, .len = (size_t)(rest.at + rest.len - key.at) - 7});
            break;
        }
        if (slice_is(key, "priomap") || slice_is(key, "map")) {
            put_map(job, i, &rest, mqprio);
        } else if (slice_is(key, "quanta")) {
            take_quanta(&rest, &ets);
        } else if (wants) {
            put_sized(job, i, key, value);
            if (slice_is(key, "bands"))
                (void)slice_uint(value, &ets.bands);
            if (slice_is(key, "strict"))
                (void)slice_uint(value, &ets.strict);
            rest = after;
        }
    }
    if (slice_is(head->kind, "ets"))
        tc_put_ets(job, i, &ets);
}

static bool root_is_known(const struct section *s, struct slice netdev)
{
    for (size_t i = 0; i < s->root_count; i++) {
        if (s->roots[i].len == netdev.len &&
            (netdev.len == 0 || memcmp(s->roots[i].at, netdev.at, netdev.len) == 0))
            return true;
    }
    return false;
}

static void start_row(struct evidence_job *job, size_t i, const struct head *head,
                      struct section *s)
{
    char netdev[64] = "";
    if (head->netdev.len > 0)
        slice_copy(head->netdev, netdev, sizeof(netdev));
    else
        (void)job_command_option(job, "dev", netdev, sizeof(netdev));
    s->is_root = head->is_root;
    s->netdev = head->netdev;
    s->is_qdisc = slice_is(head->what, "qdisc");
    if (head->is_root && s->is_qdisc && s->root_count < ROOTS_MAX)
        s->roots[s->root_count++] = head->netdev;
    snprintf(s->subject, sizeof(s->subject), "netdev%s%s", netdev[0] != '\0' ? " " : "", netdev);
    job_subject(job, "%s %.*s %.*s%s%.*s", s->subject, (int)head->what.len, head->what.at,
                (int)head->handle.len, head->handle.at,
                !head->is_root && s->is_qdisc && head->parent.len > 0 ? " parent " : "",
                !head->is_root && s->is_qdisc ? (int)head->parent.len : 0,
                head->parent.len > 0 ? head->parent.at : "");
    put_text(job, i, "kind", head->kind);
    if (head->parent.len > 0)
        put_text(job, i, "parent", head->parent);
    put_options(job, i, head);
}

static void judge_drops(struct evidence_job *job, size_t i, uint64_t dropped, uint64_t sent,
                        const struct section *s)
{
    char subject[EVIDENCE_SUBJECT_MAX];
    if (dropped == 0 || !s->is_qdisc || (!s->is_root && root_is_known(s, s->netdev)))
        return;
    memcpy(subject, job->subject, sizeof(subject));
    job_subject(job, "%s", s->subject);
    if (sent / QDISC_DROPS_FEW > dropped)
        put_past(job, i, RULE_QDISC_DROPS, "%" PRIu64 " of %" PRIu64 " packets were dropped in %s",
                 dropped, sent, subject);
    else
        put_finding(job, i, RULE_QDISC_DROPS, "%" PRIu64 " packets were dropped in %s", dropped,
                    subject);
    memcpy(job->subject, subject, sizeof(subject));
}

/* "Sent 1997199 bytes 2629 pkt (dropped 81, overlimits 2968 requeues 0)" */
static bool read_sent(struct evidence_job *job, size_t i, struct slice line,
                      const struct section *s)
{
    static const char *const names[][2] = {
        {"Sent ", "sent_bytes"},       {" bytes ", "sent_packets"}, {"dropped ", "dropped"},
        {"overlimits ", "overlimits"}, {"requeues ", "requeues"},
    };
    struct slice rest;
    uint64_t dropped, sent = 0;
    if (!slice_starts(line, "Sent "))
        return false;
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
        if (!slice_after(line, names[k][0], &rest))
            continue;
        struct slice word = slice_word(&rest);
        while (word.len > 0 && (slice_ends(word, ",") || slice_ends(word, ")")))
            word.len--;
        put_number(job, i, names[k][1], word, k == 0 ? "bytes" : "");
        if (k == 1 && !slice_uint(word, &sent))
            sent = 0;
        if (k == 2 && slice_uint(word, &dropped))
            judge_drops(job, i, dropped, sent, s);
    }
    return true;
}

static void judge_flow_limit(struct evidence_job *job, size_t i, struct slice value,
                             const struct section *s)
{
    char subject[EVIDENCE_SUBJECT_MAX];
    uint64_t dropped;
    if (!slice_uint(value, &dropped) || dropped == 0)
        return;
    memcpy(subject, job->subject, sizeof(subject));
    job_subject(job, "%s", s->subject);
    put_finding(job, i, RULE_FLOW_LIMIT,
                "Flows met their own queue limit, %" PRIu64 " packets in %s", dropped, subject);
    memcpy(job->subject, subject, sizeof(subject));
}

/* "backlog 0b 0p requeues 0", "flows 93 (inactive 85 throttled 0)", "gc 0 highprio 0 ...": pairs.
 */
static bool read_more(struct evidence_job *job, size_t i, struct slice line,
                      const struct section *s)
{
    struct slice rest = line;
    if (slice_starts(line, "queues:")) {
        put_queues(job, i, (struct slice){.at = line.at + 7, .len = line.len - 7});
        return true;
    }
    if (slice_starts(line, "backlog ") || slice_starts(line, "rate ")) {
        struct slice after;
        if (slice_after(line, "backlog ", &after)) {
            put_sized(job, i, slice_of("backlog_bytes"), slice_word(&after));
            put_sized(job, i, slice_of("backlog_packets"), slice_word(&after));
        }
        return true;
    }
    if (slice_starts(line, "mode:") || slice_starts(line, "shaper:")) {
        put_text(job, i, "mqprio", line);
        return true;
    }
    bool any = false;
    for (struct slice key = slice_word(&rest); key.len > 0; key = slice_word(&rest)) {
        struct slice after = rest, value = slice_word(&after);
        while (key.len > 0 && key.at[0] == '(') {
            key.at++;
            key.len--;
        }
        while (value.len > 0 && (slice_ends(value, ")") || slice_ends(value, ",")))
            value.len--;
        key.len -= slice_ends(key, ":") ? 1 : 0;
        bool minus = value.len > 1 && value.at[0] == '-';
        if (value.len == 0 || value.at[minus] < '0' || value.at[minus] > '9')
            continue;
        put_sized(job, i, key, value);
        if (slice_is(key, "flows_plimit"))
            judge_flow_limit(job, i, value, s);
        rest = after;
        any = true;
    }
    return any;
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct section s = {.root_count = 0};
    struct head head;
    for (; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0 || slice_is(line, "`") || slice_is(line, "```"))
            continue;
        if (read_head(line, &head)) {
            start_row(job, i, &head, &s);
            continue;
        }
        /* What belongs to a row stands below it, further in. */
        if (job->lines[i].indent == 0 || job_stops(job, i, &reader_tc) ||
            (!read_sent(job, i, line, &s) && !read_more(job, i, line, &s)))
            break;
    }
    return i;
}

const struct evidence_reader reader_tc = {
    .kind = "tc",
    .tool = "tc",
    .begins = begins,
    .read = read,
};
