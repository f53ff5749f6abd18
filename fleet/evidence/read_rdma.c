/*
 * fleet/evidence/read_rdma.c - the rdma tool of iproute2: link, dev, resource, statistic.
 *
 * Rows are "link mlx5_0/1 key value key value ..." or "dev mlx5_0 ...", older ones and summaries
 * "1: mlx5_0: key value ..."; a mail or a terminal may have wrapped them anywhere between words.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"

struct token {
    struct slice text;
    size_t line;
};

/* Words of a row, over the lines that it was wrapped to. */
struct tokens {
    const struct evidence_job *job;
    size_t line;
    struct slice rest;
};

/* "0: mlx5_0: ..." or "1/1: mlx5_0/1: ...": the device with its port. */
static bool numbered_row(struct slice line, struct slice *device, struct slice *rest)
{
    struct slice index, after, port;
    uint64_t number;
    if (!slice_split(line, ':', &index, &after))
        return false;
    if (slice_split(index, '/', &index, &port) && !slice_uint(port, &number))
        return false;
    after = slice_trim(after);
    *device = slice_word(&after);
    if (!slice_uint(index, &number) || !slice_ends(*device, ":") || device->len < 2)
        return false;
    device->len--;
    *rest = after;
    return true;
}

static bool is_port(struct slice s)
{
    struct slice device, port;
    uint64_t number;
    if (!slice_split(s, '/', &device, &port))
        return false;
    return is_device_name(device) && (slice_is(port, "-") || slice_uint(port, &number));
}

static bool has_word(struct slice s, const char *const *words)
{
    for (struct slice word = slice_word(&s); word.len > 0; word = slice_word(&s)) {
        for (size_t i = 0; words[i] != NULL; i++) {
            if (slice_is(word, words[i]))
                return true;
        }
    }
    return false;
}

static const char *const row_words[] = {
    "state",
    "netdev",
    "lqpn",
    "ctxn",
    "cqn",
    "mrn",
    "pdn",
    "cm-idn",
    "srqn",
    "cntn",
    "qp",
    "node_type",
    "node_guid",
    "pid",
    "comm",
    "rx_write_requests",
    "lifespan",
    "fw",
    "cqe",
    "subnet_prefix",
    "adaptive-moderation",
    NULL,
};

/* The device or port of a row and what follows; false = no row. */
static bool row(struct slice line, struct slice *device, struct slice *rest)
{
    *rest = line;
    if (slice_skip(rest, "link ")) {
        *device = slice_word(rest);
        return is_port(*device);
    }
    *rest = line;
    if (slice_skip(rest, "dev ")) {
        *device = slice_word(rest);
        return is_device_name(*device) && has_word(*rest, row_words);
    }
    return numbered_row(line, device, rest) && (is_port(*device) || is_device_name(*device)) &&
           !slice_starts(*rest, "<") && /* flags, of "ip link" */
           has_word(*rest, row_words);
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice device, rest;
    return row(job_line(job, i), &device, &rest);
}

/* The next word of the row; a line that is blank, a prompt or another row ends it. */
static bool next(struct tokens *t, struct token *out)
{
    struct slice device, rest;
    out->text = slice_word(&t->rest);
    if (out->text.len == 0) {
        size_t line = t->line + 1;
        struct slice text = job_line(t->job, line);
        if (text.len == 0 || job_is_prompt(t->job, line, NULL) || row(text, &device, &rest) ||
            job_stops(t->job, line, NULL))
            return false;
        char first = text.at[0];
        if (!(first >= 'a' && first <= 'z') && !(first >= 'A' && first <= 'Z') &&
            !(first >= '0' && first <= '9') && first != '[' && first != '<')
            return false;
        t->line = line;
        t->rest = text;
        out->text = slice_word(&t->rest);
    }
    out->line = t->line;
    return true;
}

/* Keys whose value is the id of what the row is about. */
static const struct {
    const char *key, *type;
} ids[] = {
    {"lqpn", "qp"}, {"LQPN:", "qp"},     {"ctxn", "ctx"}, {"cqn", "cq"},       {"mrn", "mr"},
    {"pdn", "pd"},  {"cm-idn", "cm-id"}, {"srqn", "srq"}, {"cntn", "counter"},
};

static const char *id_type(struct slice key)
{
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        if (slice_is(key, ids[i].key))
            return ids[i].type;
    }
    return NULL;
}

/* The first pair of a row may say more of its subject: "lqpn 360". */
static void deepen(struct evidence_job *job, struct slice key, struct slice value)
{
    size_t len = strlen(job->subject);
    const char *type = id_type(key);
    uint64_t number;
    if (type != NULL && slice_uint(value, &number) && len < sizeof(job->subject))
        snprintf(job->subject + len, sizeof(job->subject) - len, " %s %llu", type,
                 (unsigned long long)number);
}

static void put_pair(struct evidence_job *job, const struct token *key, const struct token *value)
{
    static const char *const texts[] = {
        "state",     "physical_state", "type",     "subtype", "comm",           "netdev",
        "node_type", "node_guid",      "protocol", "qp-type", "sys_image_guid", "subnet_prefix",
    };
    char name[EVIDENCE_NAME_MAX];
    struct slice text = value->text;
    slice_copy(key->text, name, sizeof(name));
    if (slice_is(key->text, "LQPN:")) { /* of a bound counter: "<258>" */
        (void)slice_skip(&text, "<");
        text.len -= slice_ends(text, ">") ? 1 : 0;
        put_number(job, value->line, "lqpn", text, "");
        return;
    }
    if (slice_is(key->text, "fw")) {
        put_firmware(job, value->line, text);
        return;
    }
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (slice_is(key->text, texts[i])) {
            put_text(job, value->line, name, text);
            return;
        }
    }
    if (slice_has(text, ",")) /* "lqpn 258,259": a list, not thousands */
        put_text(job, value->line, name, text);
    else if (number_read(text).kind == NUMBER_NONE)
        put_value(job, value->line, name, text, "");
    else
        (void)put_rdma_counter(job, value->line, key->text, text);
}

/* "Optional-set: cc_rx_ce_pkts 7 cc_tx_cnp_pkts 5" are counters as others; without numbers they are
 * names. */
static void read_optional(struct evidence_job *job, struct tokens *t)
{
    struct slice words[3];
    size_t n = slice_words(t->rest, words, 3);
    if (n >= 2 && number_read(words[1]).kind != NUMBER_NONE)
        return;
    put_text(job, t->line, "optional_counters", slice_trim(t->rest));
    t->rest.len = 0;
}

/* "qp auto on", "qp auto type off" of statistic mode. */
static void read_auto(struct evidence_job *job, struct tokens *t)
{
    struct token word;
    const char *name = "qp_auto";
    if (next(t, &word) && slice_is(word.text, "type")) {
        name = "qp_auto_type";
        if (!next(t, &word))
            return;
    }
    if (word.text.len > 0)
        put_text(job, word.line, name, word.text);
}

static size_t read_row(struct evidence_job *job, size_t i)
{
    struct slice device, rest, state = {.at = "", .len = 0}, physical = state;
    if (!row(job_line(job, i), &device, &rest))
        return i + 1;
    bool port = is_port(device);
    job_subject(job, "%s %.*s", port ? "port" : "rdma", (int)device.len, device.at);
    struct tokens t = {.job = job, .line = i, .rest = rest};
    struct token key, value;
    bool first = true;
    while (next(&t, &key)) {
        if (slice_is(key.text, "caps:")) /* "caps: <A, B, C>", maybe over several lines */
            break;
        if (slice_is(key.text, "Optional-set:")) {
            read_optional(job, &t);
            continue;
        }
        size_t at = t.line;
        struct slice left = t.rest;
        if (!next(&t, &value)) {
            t.line = at;
            t.rest = left;
            break;
        }
        if (slice_is(key.text, "qp") && slice_is(value.text, "auto")) {
            read_auto(job, &t);
            continue;
        }
        if (slice_skip(&key.text, "<")) /* "<qp-type RC>" */
            value.text.len -= slice_ends(value.text, ">") ? 1 : 0;
        if (first)
            deepen(job, key.text, value.text);
        first = false;
        put_pair(job, &key, &value);
        if (slice_is(key.text, "state"))
            state = value.text;
        if (slice_is(key.text, "physical_state"))
            physical = value.text;
    }
    if (port && state.len > 0 && physical.len > 0)
        judge_port(job, i, state, physical);
    return t.line + 1;
}

static size_t read(struct evidence_job *job, size_t i)
{
    while (begins(job, i))
        i = read_row(job, i);
    return i;
}

const struct evidence_reader reader_rdma = {
    .kind = "rdma-tool",
    .tool = "rdma",
    .begins = begins,
    .read = read,
};

/* ibdev2netdev: "mlx5_0 port 1 ==> eth0 (Up)"; -v puts the card and its firmware in front. */
static bool ibdev_row(struct slice line, struct slice *before, struct slice *after)
{
    const char *arrow = slice_find(line, "==>");
    if (arrow == NULL || !slice_has(line, " port "))
        return false;
    *before = slice_trim((struct slice){.at = line.at, .len = (size_t)(arrow - line.at)});
    *after = slice_trim(
        (struct slice){.at = arrow + 3, .len = (size_t)(line.at + line.len - arrow - 3)});
    return after->len > 0;
}

static bool ibdev_begins(const struct evidence_job *job, size_t i)
{
    struct slice before, after;
    return ibdev_row(job_line(job, i), &before, &after);
}

static void read_ibdev_row(struct evidence_job *job, size_t i, struct slice before,
                           struct slice after)
{
    struct slice rest, device = slice_word(&before), netdev = slice_word(&after);
    char pci[16];
    bool verbose = is_pci_address(device, pci);
    if (verbose)
        device = slice_word(&before);
    if (!slice_after(before, "port ", &rest) && !slice_after(before, "port\t", &rest))
        return;
    if (verbose) {
        job_subject(job, "rdma %.*s", (int)device.len, device.at);
        put_text(job, i, "pci", slice_of(pci));
        struct slice fw;
        if (slice_after(before, " fw ", &fw))
            put_firmware(job, i, slice_word(&fw));
    }
    struct slice port = slice_word(&rest);
    job_subject(job, "port %.*s/%.*s", (int)device.len, device.at, (int)port.len, port.at);
    if (netdev.len > 0 && netdev.at[0] == '(') { /* no interface: "==> (Down)" */
        after = netdev;
        put_unknown(job, i, "netdev");
        netdev.len = 0;
    } else {
        put_text(job, i, "netdev", netdev);
    }
    if (!slice_skip(&after, "(") || !slice_ends(after, ")"))
        return;
    after.len--;
    put_value(job, i, "netdev_state", after, "");
    if (slice_is_nocase(after, "Down"))
        put_finding(job, i, RULE_PORT_DOWN, "The port's interface %.*s is down", (int)netdev.len,
                    netdev.at);
}

static size_t ibdev_read(struct evidence_job *job, size_t i)
{
    struct slice before, after;
    for (; ibdev_row(job_line(job, i), &before, &after); i++)
        read_ibdev_row(job, i, before, after);
    return i;
}

const struct evidence_reader reader_ibdev2netdev = {
    .kind = "rdma-tool",
    .tool = "ibdev2netdev",
    .begins = ibdev_begins,
    .read = ibdev_read,
};
