/*
 * fleet/evidence/read_ip.c - ip [-j] [-s] link and address: MTU, state and counters of interfaces.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"
#include "fleet/evidence/tool_json.h"

#define COUNTS 6 /* bytes packets errors dropped, and two that the direction has */

/* "4: eth0@if3: <BROADCAST,UP,LOWER_UP> mtu 9000 ...": the name and what follows the flags. */
static bool head_row(struct slice line, struct slice *name, struct slice *flags, struct slice *rest)
{
    struct slice index, after, below;
    uint64_t number;
    if (!slice_split(line, ':', &index, &after) || !slice_uint(index, &number))
        return false;
    after = slice_trim(after);
    *name = slice_word(&after);
    if (!slice_ends(*name, ":") || !slice_skip(&after, "<") ||
        !slice_split(after, '>', flags, rest))
        return false;
    name->len--;
    (void)slice_split(*name, '@', name, &below);
    *rest = slice_trim(*rest);
    return is_device_name(*name);
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice name, flags, rest;
    return head_row(job_line(job, i), &name, &flags, &rest);
}

static void put_head(struct evidence_job *job, size_t i, struct slice flags, struct slice rest)
{
    static const struct {
        const char *key, *name;
    } keys[] = {{"mtu", "mtu"}, {"qdisc", "qdisc"}, {"master", "master"}, {"state", "operstate"}};
    put_text(job, i, "flags", flags);
    for (struct slice key = slice_word(&rest); key.len > 0; key = slice_word(&rest)) {
        for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
            if (!slice_is(key, keys[k].key))
                continue;
            put_value(job, i, keys[k].name, slice_word(&rest), "");
            break;
        }
    }
}

/* "RX: bytes packets errors dropped ..." and the numbers below it. */
static void put_counts(struct evidence_job *job, size_t i, const char *direction,
                       struct slice titles)
{
    struct slice numbers = job_line(job, i + 1);
    for (size_t k = 0; k < COUNTS; k++) {
        char name[EVIDENCE_NAME_MAX], text[64];
        struct slice title = slice_word(&titles), number = slice_word(&numbers);
        uint64_t value;
        if (title.len == 0 || !slice_uint(number, &value))
            return;
        slice_copy(title, text, sizeof(text));
        snprintf(name, sizeof(name), "%s_%s", direction, text);
        put_number(job, i + 1, name, number, slice_is(title, "bytes") ? "bytes" : "");
    }
}

/* "RX errors: length crc frame ..." of -s -s: what is in the errors. */
static void put_errors(struct evidence_job *job, size_t i, const char *direction,
                       struct slice titles)
{
    struct slice rest = titles, numbers = job_line(job, i + 1);
    uint64_t value;
    put_counts(job, i, direction, titles);
    for (struct slice title = slice_word(&rest); title.len > 0; title = slice_word(&rest)) {
        struct slice number = slice_word(&numbers);
        if (slice_is(title, "crc") && slice_uint(number, &value) && value > 0)
            put_past(job, i + 1, RULE_FCS_ERRORS,
                     "crc is %llu: frames arrived with a wrong check "
                     "sequence",
                     (unsigned long long)value);
    }
}

static bool read_detail(struct evidence_job *job, size_t i)
{
    struct slice rest = job_line(job, i);
    if (slice_skip(&rest, "RX errors:")) {
        put_errors(job, i, "rx_errors", rest);
    } else if (slice_skip(&rest, "TX errors:")) {
        put_errors(job, i, "tx_errors", rest);
    } else if (slice_skip(&rest, "RX:")) {
        put_counts(job, i, "rx", rest);
    } else if (slice_skip(&rest, "TX:")) {
        put_counts(job, i, "tx", rest);
    } else if (slice_skip(&rest, "link/")) {
        (void)slice_word(&rest);
        struct slice address = slice_word(&rest);
        if (address.len > 0)
            put_text(job, i, "address", address);
    } else if (slice_skip(&rest, "inet ") || slice_skip(&rest, "inet6 ")) {
        put_text(job, i, "ip", slice_word(&rest));
    }
    return job->lines[i].indent > 0;
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct slice name, flags, rest;
    for (; i < job->line_count; i++) {
        if (job_is_blank(job, i))
            continue;
        if (head_row(job_line(job, i), &name, &flags, &rest)) {
            job_subject(job, "netdev %.*s", (int)name.len, name.at);
            put_head(job, i, flags, rest);
        } else if (job_is_prompt(job, i, NULL) || !read_detail(job, i)) {
            break;
        }
    }
    return i;
}

const struct evidence_reader reader_ip = {
    .kind = "ip-link", .tool = "ip", .begins = begins, .read = read};

static bool json_begins(const struct evidence_job *job, size_t i)
{
    static const char *const keys[] = {"\"operstate\"", "\"link_type\"", NULL};
    return tool_json_begins(job, i, "\"ifname\"", keys);
}

static void put_stats(struct evidence_job *job, struct json_part *part, const json_t *stats)
{
    static const char *const names[][2] = {{"over_errors", "overrun"},
                                           {"multicast", "mcast"},
                                           {"carrier_errors", "carrier"},
                                           {"collisions", "collsns"}};
    const char *direction, *key;
    json_t *counts, *value;
    json_object_foreach((json_t *)stats, direction, counts)
    {
        (void)json_part_line(part, direction);
        json_object_foreach(counts, key, value)
        {
            char name[EVIDENCE_NAME_MAX];
            const char *own = key;
            for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
                own = strcmp(key, names[i][0]) == 0 ? names[i][1] : own;
            snprintf(name, sizeof(name), "%.8s_%s", direction, own);
            json_part_put(job, json_part_line(part, key), name, value,
                          strcmp(key, "bytes") == 0 ? "bytes" : "");
        }
    }
}

static void read_object(struct evidence_job *job, struct json_part *part, const json_t *object)
{
    static const char *const plain[] = {"mtu", "qdisc", "master", "operstate", "address"};
    const char *key, *name = tool_json_text(object, "ifname");
    char text[EVIDENCE_VALUE_MAX];
    json_t *value;
    if (name[0] == '\0')
        return;
    job_subject(job, "netdev %.64s", name);
    json_object_foreach((json_t *)object, key, value)
    {
        size_t line = json_part_line(part, key);
        for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
            if (strcmp(key, plain[i]) == 0)
                json_part_put(job, line, key, value, "");
        }
        if (strcmp(key, "flags") == 0 && tool_json_list(value, text, sizeof(text)))
            put_text(job, line, "flags", slice_of(text));
        if (strcmp(key, "stats64") == 0 || strcmp(key, "stats") == 0)
            put_stats(job, part, value);
    }
}

static size_t json_read(struct evidence_job *job, size_t i)
{
    return tool_json_read(job, i, read_object);
}

const struct evidence_reader reader_ip_json = {
    .kind = "ip-link", .tool = "ip -j", .begins = json_begins, .read = json_read};
