/*
 * fleet/evidence/read_switch_nvue.c - Cumulus Linux: nv show qos roce, nv show interface X qos.
 *
 * The first table has the names in depth by indentation and a column for each revision
 * ("operational", "applied"); tables of mappings with titles follow.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/readers.h"
#include "fleet/evidence/ruled_table.h"
#include "fleet/evidence/rules_logs.h"

#define DEPTH_MAX 6

struct nvue {
    struct ruled_table table;
    bool settings; /* the first table */
    struct {
        uint32_t indent;
        char name[40];
    } path[DEPTH_MAX];
    size_t depth;
    char subject[80];
    bool lossless, no_pfc;
    size_t line;
};

static bool is_settings_head(struct slice line)
{
    return (slice_has(line, "operational") && slice_has(line, "applied")) ||
           slice_is(line, "applied") || slice_is(line, "operational");
}

static bool begins(const struct evidence_job *job, size_t i)
{
    struct ruled_table t;
    return is_settings_head(job_line(job, i)) && ruled_table_at(job, i + 1, &t);
}

static void set_subject(const struct evidence_job *job, struct nvue *n)
{
    char port[48];
    if (job_command_option(job, "interface", port, sizeof(port)))
        snprintf(n->subject, sizeof(n->subject), "switch-port %s", port);
    else
        snprintf(n->subject, sizeof(n->subject), "switch");
}

static void push(struct nvue *n, uint32_t indent, struct slice key)
{
    while (n->depth > 0 && n->path[n->depth - 1].indent >= indent)
        n->depth--;
    if (n->depth == DEPTH_MAX)
        return;
    n->path[n->depth].indent = indent;
    key_name(key, n->path[n->depth].name, sizeof(n->path[n->depth].name));
    n->depth++;
}

static void read_setting(struct evidence_job *job, size_t i, struct nvue *n)
{
    char path[EVIDENCE_NAME_MAX] = "", head[40], name[EVIDENCE_NAME_MAX];
    size_t len = 0;
    push(n, job->lines[i].indent, ruled_cell(job, &n->table, i, 0));
    for (size_t d = 0; d < n->depth && len < 80; d++)
        len += (size_t)snprintf(path + len, sizeof(path) - len, "%s%.25s", d > 0 ? "." : "",
                                n->path[d].name);
    job_subject(job, "%s", n->subject);
    for (size_t c = 1; c < n->table.count; c++) {
        struct slice value = ruled_cell(job, &n->table, i, c);
        ruled_head(job, &n->table, c, head, sizeof(head));
        if (value.len == 0 || strcmp(head, "description") == 0)
            continue;
        if (strcmp(head, "operational") == 0)
            snprintf(name, sizeof(name), "%.90s", path);
        else
            snprintf(name, sizeof(name), "%.60s.%.30s", path, head);
        put_measure(job, i, name, value);
        if (strcmp(name, "mode") == 0)
            n->lossless = slice_is(value, "lossless");
        if (strcmp(name, "pfc.tx_enabled") == 0 || strcmp(name, "pfc.rx_enabled") == 0)
            n->no_pfc = n->no_pfc || slice_is(value, "disabled") || slice_is(value, "no");
        n->line = i;
    }
}

/* A row of a mapping belongs to its switch priority; of the pools, to its name. */
static void read_mapping(struct evidence_job *job, size_t i, const struct nvue *n)
{
    char head[40];
    struct slice key = {.at = "", .len = 0};
    const char *type = NULL;
    size_t key_column = 0;
    for (size_t c = 0; c < n->table.count && type == NULL; c++) {
        ruled_head(job, &n->table, c, head, sizeof(head));
        if (strcmp(head, "switch_prio") == 0)
            type = "prio";
        else if (strcmp(head, "name") == 0)
            type = "pool";
        key = ruled_cell(job, &n->table, i, c);
        key_column = c;
    }
    if (type == NULL || key.len == 0)
        return;
    job_subject(job, "%s %s %.*s", n->subject, type, (int)(key.len < 60 ? key.len : 60), key.at);
    for (size_t c = 0; c < n->table.count; c++) {
        struct slice value = ruled_cell(job, &n->table, i, c);
        ruled_head(job, &n->table, c, head, sizeof(head));
        if (c != key_column && head[0] != '\0' && value.len > 0)
            put_measure(job, i, head, value);
    }
}

static size_t read(struct evidence_job *job, size_t i)
{
    struct nvue n = {.settings = true};
    struct ruled_table table;
    size_t next = i;
    bool any = false; /* rows of a table */
    set_subject(job, &n);
    for (; i < job->line_count && !job_stops(job, i, &reader_switch_nvue); i++) {
        struct slice line = job_line(job, i);
        if (line.len == 0)
            continue;
        if (ruled_table_at(job, i, &table)) {
            n.settings = is_settings_head(job_line(job, i - 1));
            n.table = table;
            n.depth = 0;
            any = true;
        } else if (any && ruled_table_at(job, i + 1, &table)) {
            any = false; /* a head */
        } else if (line.at[0] == '=' || slice_starts(job_line(job, i + 1), "===") ||
                   slice_starts(line, "Exception")) { /* the title of the next one */
            any = false;
        } else if (any && n.settings) {
            read_setting(job, i, &n);
        } else if (any) {
            read_mapping(job, i, &n);
        }
        next = i + 1;
    }
    job_subject(job, "%s", n.subject);
    if (n.lossless && n.no_pfc)
        put_finding(job, n.line, RULE_PFC_OFF, "RoCE is lossless, PFC is disabled");
    return next;
}

const struct evidence_reader reader_switch_nvue = {
    .kind = "switch-roce", .tool = "nv show", .begins = begins, .read = read};
