/*
 * fleet/evidence/read_devlink_show.c - devlink health show, port show, dev param show.
 */
#include <stdio.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules_logs.h"

/* "pci/0000:82:00.0:" or "pci/0000:82:00.0/1:", and nothing behind it. */
static bool handle_row(struct slice line, struct slice *handle)
{
    if (!slice_starts(line, "pci/") || !slice_ends(line, ":"))
        return false;
    line.len--;
    *handle = line;
    return !slice_has(line, " ");
}

/* "state healthy error 0 recover 0": a fact of each pair. */
static void put_pairs(struct evidence_job *job, size_t i, struct slice line, const char *prefix)
{
    char name[EVIDENCE_NAME_MAX];
    for (;;) {
        struct slice key = slice_word(&line), value = slice_word(&line);
        if (value.len == 0)
            return;
        fact_name(prefix, key, "", name);
        put_value(job, i, name, value, "");
    }
}

/* Health ----------------------------------------------------------------------------------------
 */

static bool health_begins(const struct evidence_job *job, size_t i)
{
    struct slice handle;
    return handle_row(job_line(job, i), &handle) && slice_starts(job_line(job, i + 1), "reporter ");
}

static void put_reporter(struct evidence_job *job, size_t i, struct slice line,
                         struct slice reporter)
{
    struct slice rest = line, state;
    put_pairs(job, i, line, "reporter");
    if (slice_skip(&rest, "state ") && (state = slice_word(&rest)).len > 0 &&
        slice_is(state, "error"))
        put_finding(job, i, RULE_DEVICE_HEALTH, "The reporter %.*s is in error", (int)reporter.len,
                    reporter.at);
}

static size_t health_read(struct evidence_job *job, size_t i)
{
    struct slice handle = slice_of(""), reporter = slice_of(""), line;
    (void)handle_row(job_line(job, i), &handle);
    for (i++; !job_stops(job, i, NULL); i++) {
        line = job_line(job, i);
        if (slice_skip(&line, "reporter ")) {
            reporter = slice_trim(line);
        } else if (slice_starts(line, "state ") && reporter.len > 0) {
            if (!devlink_subject(job, handle))
                break;
            char subject[EVIDENCE_SUBJECT_MAX];
            snprintf(subject, sizeof(subject), "%s", job->subject);
            job_subject(job, "%.128s reporter %.*s", subject,
                        (int)(reporter.len < 48 ? reporter.len : 48), reporter.at);
            put_reporter(job, i, line, reporter);
        } else {
            break;
        }
    }
    return i;
}

const struct evidence_reader reader_devlink_health = {
    .kind = "devlink-health",
    .tool = "devlink health show",
    .begins = health_begins,
    .read = health_read,
};

/* Ports -----------------------------------------------------------------------------------------
 */

/* "pci/0000:03:00.0/1: type eth netdev eth0 flavour physical port 0 splittable false" */
static bool port_row(struct slice line, struct slice *handle, struct slice *rest)
{
    const char *colon = slice_find(line, ": type ");
    if (!slice_starts(line, "pci/") || colon == NULL)
        return false;
    *handle = (struct slice){.at = line.at, .len = (size_t)(colon - line.at)};
    *rest = (struct slice){.at = colon + 2, .len = line.len - handle->len - 2};
    return !slice_has(*handle, " ");
}

static bool port_begins(const struct evidence_job *job, size_t i)
{
    struct slice handle, rest;
    return port_row(job_line(job, i), &handle, &rest);
}

static size_t port_read(struct evidence_job *job, size_t i)
{
    struct slice handle, rest;
    if (!port_row(job_line(job, i), &handle, &rest) || !devlink_subject(job, handle))
        return i + 1;
    put_pairs(job, i, rest, "devlink_port");
    if (!slice_is(job_line(job, i + 1), "function:"))
        return i + 1;
    for (i += 2; job->lines != NULL && i < job->line_count && !job_stops(job, i, NULL); i++) {
        if (job_is_blank(job, i) || job->lines[i].indent == 0)
            break;
        put_pairs(job, i, job_line(job, i), "function");
    }
    return i;
}

const struct evidence_reader reader_devlink_port = {
    .kind = "devlink-port",
    .tool = "devlink port show",
    .begins = port_begins,
    .read = port_read,
};

/* Parameters ------------------------------------------------------------------------------------
 */

static bool is_name_row(struct slice line)
{
    return slice_starts(line, "name ") && slice_has(line, " type ");
}

static bool param_begins(const struct evidence_job *job, size_t i)
{
    struct slice handle;
    return handle_row(job_line(job, i), &handle) && is_name_row(job_line(job, i + 1));
}

/* "cmode driverinit value true": NAME CMODE. */
static void put_param(struct evidence_job *job, size_t i, struct slice name, struct slice line)
{
    char full[EVIDENCE_NAME_MAX];
    struct slice rest = line, cmode, value;
    (void)slice_skip(&rest, "cmode ");
    cmode = slice_word(&rest);
    if (!slice_after(rest, "value ", &value))
        return;
    snprintf(full, sizeof(full), "param %.*s %.*s", (int)(name.len < 60 ? name.len : 60), name.at,
             (int)(cmode.len < 16 ? cmode.len : 16), cmode.at);
    put_value(job, i, full, slice_word(&value), "");
}

static size_t param_read(struct evidence_job *job, size_t i)
{
    struct slice handle = slice_of(""), name = slice_of(""), line;
    (void)handle_row(job_line(job, i), &handle);
    if (!devlink_subject(job, handle))
        return i + 1;
    for (i++; !job_stops(job, i, NULL); i++) {
        line = job_line(job, i);
        if (is_name_row(line)) {
            (void)slice_skip(&line, "name ");
            name = slice_word(&line);
        } else if (slice_starts(line, "cmode ")) {
            put_param(job, i, name, line);
        } else if (!slice_is(line, "values:")) {
            break;
        }
    }
    return i;
}

const struct evidence_reader reader_devlink_param = {
    .kind = "devlink-param",
    .tool = "devlink dev param show",
    .begins = param_begins,
    .read = param_read,
};
