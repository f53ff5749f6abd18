/*
 * fleet/evidence/read_switch_dcbx.c - Aruba OS-CX: show dcbx interface.
 *
 * Rows "key : value" under "Local advertisement:" and "Remote advertisement:", and tables of
 * priorities with one word each.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/readers.h"
#include "fleet/evidence/ruled_table.h"
#include "fleet/evidence/rules_logs.h"

#define PRIORITIES 8

enum side { SIDE_NONE = 0, SIDE_LOCAL, SIDE_REMOTE, SIDE_COUNT };
static const char *const side_names[SIDE_COUNT] = {
    [SIDE_NONE] = "", [SIDE_LOCAL] = "local.", [SIDE_REMOTE] = "remote."};

struct dcbx {
    enum side side;
    char part[32];   /* "pfc", "ets", ...: of the titles before */
    char column[48]; /* of the table of priorities; "" = none */
    char port[64];
    int enabled[SIDE_COUNT][PRIORITIES]; /* 0 = not told, 1 = off, 2 = on */
};

static bool begins(const struct evidence_job *job, size_t i)
{
    struct slice line = job_line(job, i);
    return slice_starts(line, "DCBx admin state") || slice_starts(line, "DCBX admin state") ||
           (slice_starts(line, "Priority Flow Control (PFC)") &&
            slice_starts(job_line(job, i + 1), "---"));
}

static void read_title(struct slice line, struct dcbx *d)
{
    static const struct {
        const char *text, *part;
    } parts[] = {{"Priority Flow Control", "pfc"},
                 {"Enhanced Transmission Selection", "ets"},
                 {"Application Priority Map", "application"}};
    if (slice_starts(line, "Local advertisement"))
        d->side = SIDE_LOCAL;
    else if (slice_starts(line, "Remote advertisement"))
        d->side = SIDE_REMOTE;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (!slice_starts(line, parts[i].text))
            continue;
        snprintf(d->part, sizeof(d->part), "%s.", parts[i].part);
        d->side = SIDE_NONE;
    }
    d->column[0] = '\0';
}

static bool read_row(struct evidence_job *job, size_t i, const struct dcbx *d)
{
    struct slice key, value;
    char name[EVIDENCE_NAME_MAX], own[64];
    if (!slice_split(job_line(job, i), ':', &key, &value) || slice_trim(value).len == 0)
        return false;
    key_name(slice_trim(key), own, sizeof(own));
    snprintf(name, sizeof(name), "%s%s%s", d->part, side_names[d->side], own);
    job_subject(job, "%s", d->port);
    put_value(job, i, name, slice_trim(value), "");
    return true;
}

/* "6           True" below "Priority    Enabled". */
static bool read_priority(struct evidence_job *job, size_t i, struct dcbx *d)
{
    struct slice words[3], line = job_line(job, i);
    char name[EVIDENCE_NAME_MAX];
    uint64_t priority;
    size_t count = slice_words(line, words, 3);
    if (count >= 2 && slice_is(words[0], "Priority") && !slice_is(words[1], "Flow")) {
        struct slice rest = line;
        (void)slice_word(&rest);
        key_name(slice_trim(rest), d->column, sizeof(d->column));
        return true;
    }
    if (count < 2 || d->column[0] == '\0' || !slice_uint(words[0], &priority) ||
        priority >= PRIORITIES)
        return false;
    job_subject(job, "%s prio %u", d->port, (unsigned)priority);
    snprintf(name, sizeof(name), "%s%s%s", d->part, side_names[d->side], d->column);
    struct slice rest = line;
    (void)slice_word(&rest);
    put_measure(job, i, name, slice_trim(rest));
    if (strcmp(d->part, "pfc.") == 0 && strcmp(d->column, "enabled") == 0)
        d->enabled[d->side][priority] = slice_is_nocase(words[1], "true") ? 2 : 1;
    return true;
}

static void judge(struct evidence_job *job, size_t i, const struct dcbx *d)
{
    for (unsigned p = 0; p < PRIORITIES; p++) {
        int local = d->enabled[SIDE_LOCAL][p], remote = d->enabled[SIDE_REMOTE][p];
        job_subject(job, "%s prio %u", d->port, p);
        if (local > 0 && remote > 0 && local != remote)
            put_finding(job, i, RULE_PFC_DISAGREES, "PFC is %s here and %s at the peer",
                        local == 2 ? "on" : "off", remote == 2 ? "on" : "off");
    }
}

static void set_port(const struct evidence_job *job, struct dcbx *d)
{
    char port[40] = "";
    if (job_command_option(job, "interface", port, sizeof(port)))
        snprintf(d->port, sizeof(d->port), "switch-port %s", port);
    else
        snprintf(d->port, sizeof(d->port), "switch-port");
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct dcbx d = {.side = SIDE_NONE};
    size_t next = i;
    set_port(job, &d);
    for (; i < job->line_count && !job_stops(job, i, &reader_switch_dcbx); i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0)
            continue;
        if (!slice_starts(line, "---") && !read_row(job, i, &d) && !read_priority(job, i, &d))
            read_title(line, &d);
        next = i + 1;
    }
    judge(job, next - 1, &d);
    return next;
}

const struct evidence_reader reader_switch_dcbx = {
    .kind = "switch-roce", .tool = "show dcbx", .begins = begins, .read = read};
