/*
 * fleet/evidence/read_ethtool_tune.c - how a device is tuned: ethtool -c (coalescing), -g (rings),
 * -l (channels), -k (features), --show-priv-flags, -T (time stamping).
 */
#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"

struct table {
    const char *headline; /* before the interface */
    const char *prefix;   /* of the facts' names */
    bool gaps;            /* blank lines between its groups of rows */
};

static const struct table tables[] = {
    {"Coalesce parameters for ", "coalesce", true},
    {"Ring parameters for ", "ring", true},
    {"Channel parameters for ", "channels", true},
    {"Features for ", "feature", false},
    {"Private flags for ", "private_flag", false},
    {"Time stamping parameters for ", "timestamping", false},
};

static const struct table *table_of(struct slice line, struct slice *netdev)
{
    for (size_t k = 0; k < sizeof(tables) / sizeof(tables[0]); k++) {
        struct slice rest = line;
        if (!slice_skip(&rest, tables[k].headline) || !slice_ends(rest, ":"))
            continue;
        rest.len--;
        *netdev = slice_trim(rest);
        return netdev->len > 0 ? &tables[k] : NULL;
    }
    return NULL;
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice netdev;
    return table_of(job_line(job, i), &netdev) != NULL;
}

static void put_row(struct evidence_job *job, size_t i, const char *name, struct slice value)
{
    struct slice rest = value, word = slice_word(&rest);
    if (slice_is(word, "on") || slice_is(word, "off")) /* "off [fixed]" */
        put_text(job, i, name, word);
    else
        put_value(job, i, name, value, "");
}

/* "Adaptive RX: on  TX: off": two rows in one. */
static bool put_adaptive(struct evidence_job *job, size_t i, struct slice line)
{
    struct slice rx, tx;
    if (!slice_skip(&line, "Adaptive RX:") || !slice_after(line, "TX:", &tx))
        return false;
    rx = slice_word(&line);
    put_value(job, i, "coalesce_adaptive_rx", rx, "");
    put_value(job, i, "coalesce_adaptive_tx", tx, "");
    return true;
}

/* Rings and channels are told twice: what can be, and what is. */
static size_t read(struct evidence_job *job, size_t i)
{
    struct slice netdev, key, value;
    const struct table *table = table_of(job_line(job, i), &netdev);
    const char *suffix = "";
    if (table == NULL) /* begins() was true, so that this does not happen */
        return i + 1;
    job_subject(job, "netdev %.*s", (int)netdev.len, netdev.at);
    for (i++; i < job->line_count; i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0 && table->gaps)
            continue;
        if (job_stops(job, i, NULL))
            break;
        if (!slice_split(line, ':', &key, &value)) {
            if (job->lines[i].indent == 0)
                break;
            continue; /* an item of a list: what the device can stamp */
        }
        key = slice_trim(key);
        value = slice_trim(value);
        char name[EVIDENCE_NAME_MAX];
        fact_name(table->prefix, key, suffix, name);
        if (slice_starts(key, "Pre-set maximums"))
            suffix = "_max";
        else if (slice_starts(key, "Current hardware settings"))
            suffix = "";
        else if (!put_adaptive(job, i, line) && value.len > 0)
            put_row(job, i, name, value);
    }
    return i;
}

const struct evidence_reader reader_ethtool_tune = {
    .kind = "ethtool-tune",
    .tool = "ethtool",
    .begins = begins,
    .read = read,
};
