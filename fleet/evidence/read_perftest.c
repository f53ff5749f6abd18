/*
 * fleet/evidence/read_perftest.c - perftest (ib_write_bw, ib_send_lat, ...), ibv_*_pingpong.
 *
 * A run has a headline ("RDMA_Write BW Test"), "key : value" pairs, two a line, a header of columns
 * and rows of numbers; warnings stand anywhere between. A row counts only when it has a number for
 * each column of the header above it.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"

#define COLUMNS_MAX 16
#define FOREIGN_MAX 12 /* lines of warnings and waiting within a run */

struct column {
    char name[32];
    const char *unit;
};

struct run {
    struct column columns[COLUMNS_MAX];
    size_t column_count;
    uint64_t mtu;
    size_t mtu_line;
    bool is_ethernet, is_software, is_raw;
};

static bool is_title(struct slice line)
{
    return slice_ends(line, " BW Test") || slice_ends(line, "Latency Test") ||
           slice_ends(line, "Message Rate Test") || slice_ends(line, "BW Post List Test");
}

static bool is_header(struct slice line)
{
    return slice_starts(line, "#bytes") && (slice_has(line, "#iterations") ||
                                            slice_has(line, "[usec]") || slice_has(line, "/sec]"));
}

static bool is_failure(struct slice line)
{
    static const char *const starts[] = {
        "Completion with error at ",
        "Failed status ",
        "Failed to complete run_iter",
        "Couldn't connect to ",
        "Unable to find the Infiniband/RoCE device",
        "Couldn't allocate MR",
        "Couldn't create rdma QP",
        "Failed to modify QP",
        "Failed to create QP",
        "Couldn't get context for the device",
        "Event: RDMA_CM_EVENT_", /* below "RDMA CM event error:" */
        "ethernet_read_keys: Couldn't",
        "ethernet_write_keys: Couldn't",
        "Unable to read to socket",
        "Unable to write to socket",
        "Failed to exchange data between",
        "Unable to Connect the HCA",
        "Unable to open file descriptor for socket",
        "Unable to init the socket connection",
        "Unable to create QP",
        "Couldn't create IB resources",
        "failed to create mr",
        "Failed to create MR",
        "Couldn't set the link layer",
        "Failed to handle RDMA CM event",
        "Failed to connect RDMA CM event",
    };
    if (slice_starts(line, "IB device ") && slice_ends(line, "not found"))
        return true;
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        if (slice_starts(line, starts[i]))
            return true;
    }
    return false;
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i);
    return is_title(line) || is_header(line) || is_failure(line) ||
           (slice_starts(line, "Dual-port") && slice_has(line, ": "));
}

static const struct {
    const char *text, *unit;
} units[] = {
    {"[Gb/sec]", "Gb/s"}, {"[MB/sec]", "MB/s"}, {"[MiB/sec]", "MiB/s"},
    {"[GB/sec]", "GB/s"}, {"[Mpps]", "Mpps"},   {"[usec]", "us"},
    {"[%]", "%"},         {"[Gbps]", "Gb/s"},   {"[cycles]", "cycles"},
};

/* "BW peak[Gb/sec]" is bw_peak in Gb/s. */
static void set_column(struct run *run, struct slice text)
{
    struct column *c = &run->columns[run->column_count++];
    size_t at = 0;
    c->unit = "";
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (slice_ends(text, units[i].text)) {
            c->unit = units[i].unit;
            text.len -= strlen(units[i].text);
        }
    }
    for (size_t i = 0; i < text.len && at + 1 < sizeof(c->name); i++) {
        char ch = text.at[i];
        if (ch >= 'A' && ch <= 'Z')
            ch = (char)(ch + 'a' - 'A');
        if (ch == ' ' || ch == '\t' || ch == '%')
            ch = '_';
        if (ch != '#' && !(ch == '_' && at > 0 && c->name[at - 1] == '_'))
            c->name[at++] = ch;
    }
    c->name[at] = '\0';
}

/* Columns are words up to one with a unit; "#bytes" and "#iterations" stand alone. */
static void read_header(struct run *run, struct slice line)
{
    struct slice rest = line, name = {.len = 0};
    run->column_count = 0;
    for (struct slice word = slice_word(&rest); word.len > 0; word = slice_word(&rest)) {
        if (name.len == 0)
            name.at = word.at;
        name.len = (size_t)(word.at + word.len - name.at);
        if (word.at[0] != '#' && !slice_ends(word, "]"))
            continue;
        if (run->column_count == COLUMNS_MAX)
            break;
        set_column(run, name);
        name.len = 0;
    }
    if (name.len > 0 && run->column_count < COLUMNS_MAX)
        set_column(run, name); /* "tps average" has no unit */
}

static bool read_row(struct evidence_job *job, size_t i, const struct run *run)
{
    struct slice words[COLUMNS_MAX];
    uint64_t bytes, iterations;
    size_t n = slice_words(job_line(job, i), words, COLUMNS_MAX);
    if (n < 3 || n != run->column_count || !slice_uint(words[0], &bytes) ||
        !slice_uint(words[1], &iterations))
        return false;
    job_subject(job, "run %llu", (unsigned long long)bytes);
    for (size_t k = 1; k < n; k++) {
        /* With a duration (-D) nobody measures the peak, and 0.00 stands in its place. */
        if (strcmp(run->columns[k].name, "bw_peak") == 0 && slice_is(words[k], "0.00"))
            put_unknown(job, i, run->columns[k].name);
        else
            put_number(job, i, run->columns[k].name, words[k], run->columns[k].unit);
    }
    job_subject(job, "run");
    return true;
}

/* "key : value" pairs */

static const struct {
    const char *key, *name;
} keys[] = {
    {"Dual-port", "dual_port"},
    {"Device", "device"},
    {"Number of qps", "qps"},
    {"Transport type", "transport"},
    {"Connection type", "connection"},
    {"Using SRQ", "srq"},
    {"TX depth", "tx_depth"},
    {"RX depth", "rx_depth"},
    {"CQ Moderation", "cq_moderation"},
    {"Mtu", "mtu"},
    {"Link type", "link_layer"},
    {"GID index", "gid_index"},
    {"Gid index", "gid_index"},
    {"Max inline data", "max_inline"},
    {"rdma_cm QPs", "rdma_cm"},
    {"Data ex. method", "exchange"},
    {"PCIe relax order", "relaxed_ordering"},
    {"ibv_wr* API", "ibv_wr_api"},
    {"Outstand reads", "outstanding_reads"},
    {"Lock-free", "lock_free"},
    {"Number of threads", "threads"},
    {"Using DDP", "ddp"},
    {"Using Enhanced Reorder", "enhanced_reorder"},
};
#define KEYS (sizeof(keys) / sizeof(keys[0]))

/* Where the next known key stands with its colon, at or behind `from`; NULL = none. */
static const char *next_key(struct slice line, size_t from, size_t *key, const char **value)
{
    const char *best = NULL;
    for (size_t k = 0; k < KEYS; k++) {
        struct slice rest = {.at = line.at + from, .len = line.len - from};
        const char *at = slice_find(rest, keys[k].key);
        if (at == NULL || (best != NULL && at >= best) ||
            (at > line.at && at[-1] != ' ' && at[-1] != '\t'))
            continue;
        const char *colon = at + strlen(keys[k].key), *end = line.at + line.len;
        while (colon < end && (*colon == ' ' || *colon == '\t'))
            colon++;
        if (colon == end || *colon != ':')
            continue;
        best = at;
        *key = k;
        *value = colon + 1;
    }
    return best;
}

static void note(struct run *run, size_t i, const char *name, struct slice value)
{
    struct slice rest;
    struct number number = number_front(value, &rest);
    if (strcmp(name, "mtu") == 0 && number.is_unsigned) {
        run->mtu = number.value;
        run->mtu_line = i;
    } else if (strcmp(name, "link_layer") == 0) {
        run->is_ethernet = slice_is(value, "Ethernet");
    } else if (strcmp(name, "connection") == 0) {
        run->is_raw = slice_is(value, "RawEth"); /* its MTU is the link's */
    } else if (strcmp(name, "device") == 0) {
        run->is_software = slice_starts(value, "rxe") || slice_starts(value, "siw");
    }
}

static void put_pair(struct evidence_job *job, size_t i, const char *name, struct slice value)
{
    struct slice rest;
    struct number number = number_front(value, &rest);
    if (number.kind != NUMBER_NONE && slice_is(rest, "[B]"))
        put_number(job, i, name, slice_of(number.text), "bytes");
    else if (strcmp(name, "device") == 0)
        put_text(job, i, name, value);
    else
        put_value(job, i, name, value, "");
}

static bool read_pairs(struct evidence_job *job, size_t i, struct run *run)
{
    struct slice line = job_line(job, i);
    size_t key = 0, other = 0;
    const char *text = NULL, *after = NULL;
    const char *at = next_key(line, 0, &key, &text);
    if (at != line.at)
        return false;
    while (at != NULL) {
        size_t from = (size_t)(text - line.at);
        const char *follows = next_key(line, from, &other, &after);
        const char *end = follows != NULL ? follows : line.at + line.len;
        struct slice value = slice_trim((struct slice){.at = text, .len = (size_t)(end - text)});
        put_pair(job, i, keys[key].name, value);
        note(run, i, keys[key].name, value);
        at = follows;
        key = other;
        text = after;
    }
    return true;
}

/* addresses */

/* 16 octets, which perftest prints in decimal ("255:255" is ffff). */
static bool read_gid(struct slice text, unsigned octets[16])
{
    for (size_t n = 0; n < 16; n++) {
        struct slice part;
        uint64_t value;
        if (n == 15)
            part = slice_trim(text);
        else if (!slice_split(text, ':', &part, &text))
            return false;
        if (!slice_uint(part, &value) || value > 255)
            return false;
        octets[n] = (unsigned)value;
    }
    return true;
}

static bool read_address(struct evidence_job *job, size_t i, const char **side)
{
    struct slice line = job_line(job, i), rest;
    unsigned o[16];
    char text[64];
    if (slice_starts(line, "local address:") || slice_starts(line, "remote address:")) {
        *side = slice_starts(line, "local") ? "local" : "remote";
        job_subject(job, "run %s", *side);
        if (slice_after(line, "QPN ", &rest))
            put_number(job, i, "qpn", slice_word(&rest), "");
        job_subject(job, "run");
        return true;
    }
    if (!slice_starts(line, "GID: "))
        return false;
    slice_after(line, "GID: ", &rest);
    job_subject(job, "run %s", *side);
    if (!read_gid(rest, o)) {
        put_text(job, i, "gid", rest);
    } else {
        snprintf(text, sizeof(text),
                 "%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x", o[0],
                 o[1], o[2], o[3], o[4], o[5], o[6], o[7], o[8], o[9], o[10], o[11], o[12], o[13],
                 o[14], o[15]);
        put_text(job, i, "gid", slice_of(text));
    }
    job_subject(job, "run");
    return true;
}

/* failures */

/* enum ibv_wc_status. */
static const char *const statuses[] = {
    "success",
    "local length error",
    "local QP operation error",
    "local EEC operation error",
    "local protection error",
    "work request flushed",
    "memory window bind error",
    "bad response",
    "local access error",
    "remote invalid request",
    "remote access error",
    "remote operation error",
    "transport retry counter exceeded",
    "RNR retry counter exceeded",
    "local RDD violation",
    "remote invalid RD request",
    "remote aborted",
    "invalid EEC number",
    "invalid EEC state",
    "fatal error",
    "response timeout",
    "general error",
};

#define STATUSES (sizeof(statuses) / sizeof(statuses[0]))

/* "12", or newer in words: "transport retry counter exceeded", "... (12)". STATUSES = unknown. */
static uint64_t status_of(struct slice text)
{
    struct slice words = text, number = text;
    uint64_t status = STATUSES;
    if (slice_split(text, '(', &words, &number))
        (void)slice_split(number, ')', &number, &text);
    if (slice_uint(slice_trim(number), &status))
        return status;
    for (status = 0; status < STATUSES; status++) {
        if (slice_is_nocase(slice_trim(words), statuses[status]))
            break;
    }
    return status;
}

static void read_status(struct evidence_job *job, size_t i, struct slice line)
{
    struct slice rest, word;
    uint64_t status;
    if (!slice_after(line, "Failed status ", &rest) || !slice_split(rest, ':', &word, &rest))
        return;
    word = slice_trim(word);
    status = status_of(word);
    if (status < STATUSES)
        put_uint(job, i, "completion_status", status, "");
    else
        put_number(job, i, "completion_status", word, "");
    if (slice_after(line, "syndrom ", &rest) || slice_after(line, "syndrome ", &rest))
        put_number(job, i, "vendor_syndrome", slice_word(&rest), "");
    put_finding(job, i, RULE_RUN_FAILED, "The run failed with status %.*s (%s)", (int)word.len,
                word.at, status < STATUSES ? statuses[status] : "no known status");
}

/* "scnt=128, ccnt=0" */
static bool read_counts(struct evidence_job *job, size_t i, struct slice line)
{
    struct slice sent, completed, rest = line;
    if (!slice_skip(&rest, "scnt=") || !slice_split(rest, ',', &sent, &completed))
        return false;
    put_number(job, i, "sent", sent, "");
    completed = slice_trim(completed);
    if (slice_skip(&completed, "ccnt="))
        put_number(job, i, "completed", slice_word(&completed), "");
    return true;
}

static bool read_failure(struct evidence_job *job, size_t i, struct slice line)
{
    if (!is_failure(line))
        return read_counts(job, i, line);
    if (slice_starts(line, "Failed status "))
        read_status(job, i, line);
    else if (!slice_starts(line, "Completion with error at ") ||
             !slice_starts(job_line(job, i + 1), "Failed status "))
        put_finding(job, i, RULE_RUN_FAILED, "%.*s", (int)line.len, line.at);
    return true;
}

static void end_run(struct evidence_job *job, struct run *run)
{
    if (run->mtu > 0 && run->is_ethernet && !run->is_software && !run->is_raw)
        judge_mtu(job, run->mtu_line, run->mtu, 4096);
    *run = (struct run){.mtu = 0};
}

static bool is_frame(struct slice line)
{
    return slice_starts(line, "-----") || slice_starts(line, "*****") || slice_starts(line, "* ");
}

static void read_title(struct evidence_job *job, size_t i, struct slice line)
{
    put_text(job, i, "test", line);
    put_text(job, i, "direction",
             slice_of(slice_has(line, "Bidirectional") ? "bidirectional" : "unidirectional"));
}

/* One line of a run; false = foreign. */
static bool read_line(struct evidence_job *job, size_t i, struct run *run, const char **side)
{
    struct slice line = job_line(job, i);
    if (is_title(line)) {
        end_run(job, run);
        read_title(job, i, line);
        return true;
    }
    if (is_header(line)) {
        read_header(run, line);
        return true;
    }
    return read_pairs(job, i, run) || read_address(job, i, side) || read_failure(job, i, line) ||
           read_row(job, i, run);
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct run run = {.mtu = 0};
    const char *side = "local";
    size_t end = i + 1, foreign = 0;
    job_subject(job, "run");
    for (; i < job->line_count && foreign <= FOREIGN_MAX; i++) {
        if (job_is_blank(job, i) || is_frame(job_line(job, i)))
            continue;
        if (i >= end && job_stops(job, i, &reader_perftest))
            break;
        if (read_line(job, i, &run, &side)) {
            end = i + 1;
            foreign = 0;
        } else {
            foreign++;
        }
    }
    end_run(job, &run);
    return end;
}

const struct evidence_reader reader_perftest = {
    .kind = "perftest",
    .tool = "perftest",
    .begins = begins,
    .read = read,
};

/* ibv_rc_pingpong: "8192000 bytes in 0.01 seconds = 6500.00 Mbit/sec" */

static bool pong_row(struct slice line)
{
    return (slice_has(line, " bytes in ") && slice_ends(line, "Mbit/sec")) ||
           (slice_has(line, " iters in ") && slice_ends(line, "usec/iter"));
}

static bool pong_begins(const struct evidence_job *job, size_t i)
{
    return pong_row(job_line(job, i));
}

static size_t pong_read(struct evidence_job *job, size_t i)
{
    struct slice rest;
    job_subject(job, "run");
    for (; pong_row(job_line(job, i)); i++) {
        bool bytes = slice_ends(job_line(job, i), "Mbit/sec");
        if (slice_after(job_line(job, i), "= ", &rest))
            put_number(job, i, bytes ? "bw_average" : "t_avg", slice_word(&rest),
                       bytes ? "Mb/s" : "us");
    }
    return i;
}

const struct evidence_reader reader_pingpong = {
    .kind = "perftest",
    .tool = "ibv_pingpong",
    .begins = pong_begins,
    .read = pong_read,
};
