/*
 * fleet/evidence/read_dcb.c - the dcb tool of iproute2: "name index:value index:value ...".
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/dcb_rows.h"
#include "fleet/evidence/readers.h"

static const struct {
    const char *key, *part; /* what the index is: "tc", "prio", "" = of the device */
} rows[] = {
    {"prio-tc", "prio"},
    {"tc-tsa", "tc"},
    {"tc-bw", "tc"},
    {"tc-pg", "tc"},
    {"pg-bw", "pg"},
    {"reco-prio-tc", "prio"},
    {"reco-tc-tsa", "tc"},
    {"reco-tc-bw", "tc"},
    {"prio-pfc", "prio"},
    {"indications", "prio"},
    {"requests", "prio"},
    {"prio-buffer", "prio"},
    {"buffer-size", "buffer"},
    {"tc-maxrate", "tc"},
    {"dscp-prio", "dscp"},
    {"pcp-prio", "pcp"},
    {"ethtype-prio", "ethertype"},
    {"port-prio", "port-number"},
    {"stream-port-prio", "port-number"},
    {"dgram-port-prio", "port-number"},
    {"prio-dscp", "prio"},
    {"prio-pcp", "prio"},
};

/* Rows of the device: "pfc-cap 8 macsec-bypass off delay 4096". */
static const char *const flat_keys[] = {
    "pfc-cap", "macsec-bypass", "delay",        "willing", "ets-cap",
    "cbs",     "total-size",    "default-prio", "order",
};

const char *dcb_row_part(struct slice word)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (slice_is(word, rows[i].key))
            return rows[i].part;
    }
    return NULL;
}

static bool is_flat(struct slice word)
{
    if (word.len > 1 && word.at[word.len - 1] == ':')
        word.len--;
    for (size_t i = 0; i < sizeof(flat_keys) / sizeof(flat_keys[0]); i++) {
        if (slice_is(word, flat_keys[i]))
            return true;
    }
    return false;
}

static bool pair(struct slice word, struct slice *index, struct slice *value)
{
    return slice_split(word, ':', index, value) && index->len > 0 && value->len > 0;
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice rest = job_line(job, i), index, value;
    struct slice first = slice_word(&rest), second = slice_word(&rest);
    if (dcb_row_part(first) != NULL)
        return pair(second, &index, &value);
    return is_flat(first) && second.len > 0 &&
           (slice_has(first, "-") || job_command_has(job, "dcb "));
}

static const char *const units[] = {
    "b", "Kb", "Mb", "Gb", "bit", "Kbit", "Mbit", "Gbit", "Tbit", "bps", "KBps", "MBps", "GBps",
};

static void put_sized(struct evidence_job *job, size_t i, const char *name, struct slice value)
{
    struct slice rest;
    struct number number = number_front(value, &rest);
    for (size_t k = 0; number.kind != NUMBER_NONE && k < sizeof(units) / sizeof(units[0]); k++) {
        if (slice_is(rest, units[k])) {
            put_number(job, i, name, slice_of(number.text), units[k]);
            return;
        }
    }
    put_value(job, i, name, value, strcmp(name, "tc-bw") == 0 ? "%" : "");
}

/* "prio-tc 0:0 1:1": netdev eth0 prio 0 has prio-tc 0. The key and part may come from a line before
 * this one. */
static void put_pairs(struct evidence_job *job, size_t i, struct slice rest, const char *name,
                      const char *part)
{
    char subject[EVIDENCE_SUBJECT_MAX];
    struct slice index, value;
    memcpy(subject, job->subject, sizeof(subject));
    size_t len = strlen(subject);
    for (struct slice word = slice_word(&rest); word.len > 0; word = slice_word(&rest)) {
        if (!pair(word, &index, &value))
            continue;
        snprintf(job->subject + len, sizeof(subject) - len, " %s %.*s", part, (int)index.len,
                 index.at);
        put_sized(job, i, name, value);
    }
    memcpy(job->subject, subject, sizeof(subject));
}

static void put_flat(struct evidence_job *job, size_t i, struct slice rest)
{
    char name[EVIDENCE_NAME_MAX];
    for (struct slice word = slice_word(&rest); word.len > 0; word = slice_word(&rest)) {
        if (!is_flat(word))
            continue;
        word.len -= word.at[word.len - 1] == ':' ? 1 : 0;
        slice_copy(word, name, sizeof(name));
        if (slice_is(word, "order")) { /* "order: dscp pcp" */
            put_text(job, i, name, rest);
            return;
        }
        struct slice value = slice_word(&rest);
        if (value.len > 0)
            put_sized(job, i, name, value);
    }
}

/* A row that was wrapped goes on with pairs alone. */
static bool only_pairs(struct slice rest)
{
    struct slice index, value;
    uint64_t number;
    size_t count = 0;
    for (struct slice word = slice_word(&rest); word.len > 0; word = slice_word(&rest), count++) {
        if (!pair(word, &index, &value) || !slice_uint(index, &number))
            return false;
    }
    return count > 0;
}

static size_t read(struct evidence_job *job, size_t i)
{
    static const char *const options[] = {"dev", NULL};
    char name[EVIDENCE_NAME_MAX] = "";
    const char *part = NULL;
    netdev_subject(job, options);
    for (; i < job->line_count; i++) {
        struct slice rest = job_line(job, i), line = rest;
        if (line.len == 0)
            continue;
        struct slice first = slice_word(&rest);
        if (begins(job, i) && dcb_row_part(first) != NULL) {
            part = dcb_row_part(first);
            slice_copy(first, name, sizeof(name));
            put_pairs(job, i, rest, name, part);
        } else if (begins(job, i)) {
            part = NULL;
            put_flat(job, i, line);
        } else if (part != NULL && only_pairs(line)) {
            put_pairs(job, i, line, name, part);
        } else {
            break;
        }
    }
    return i;
}

const struct evidence_reader reader_dcb = {
    .kind = "dcb",
    .tool = "dcb",
    .begins = begins,
    .read = read,
};
