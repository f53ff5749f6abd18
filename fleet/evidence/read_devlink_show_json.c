/*
 * fleet/evidence/read_devlink_show_json.c - devlink -j health show, port show, dev param show: the
 * facts of read_devlink_show.c.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules_logs.h"
#include "fleet/evidence/tool_json.h"

/* The members that are no containers, each as PREFIX_KEY. */
static void put_members(struct evidence_job *job, struct json_part *part, const char *prefix,
                        const json_t *object)
{
    char name[EVIDENCE_NAME_MAX];
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        fact_name(prefix, slice_of(key), "", name);
        json_part_put(job, json_part_line(part, key), name, value, "");
    }
}

/* Health ----------------------------------------------------------------------------------------
 */

static bool health_begins(const struct evidence_job *job, size_t i)
{
    static const char *const keys[] = {"\"reporter\"", NULL};
    return tool_json_begins(job, i, "\"health\"", keys);
}

static void put_reporter(struct evidence_job *job, struct json_part *part, const char *handle,
                         const json_t *reporter)
{
    char subject[EVIDENCE_SUBJECT_MAX], name[EVIDENCE_NAME_MAX];
    const char *key, *who = tool_json_text(reporter, "reporter");
    json_t *value;
    if (who[0] == '\0' || !devlink_subject(job, slice_of(handle)))
        return;
    snprintf(subject, sizeof(subject), "%s", job->subject);
    job_subject(job, "%.128s reporter %.48s", subject, who);
    size_t line = json_part_line(part, "reporter");
    if (strcmp(tool_json_text(reporter, "state"), "error") == 0)
        put_finding(job, line, RULE_DEVICE_HEALTH, "The reporter %.48s is in error", who);
    json_object_foreach((json_t *)reporter, key, value)
    {
        if (strcmp(key, "reporter") == 0)
            continue;
        fact_name("reporter", slice_of(key), "", name);
        json_part_put(job, json_part_line(part, key), name, value, "");
    }
}

static void read_health(struct evidence_job *job, struct json_part *part, const json_t *object)
{
    const char *handle;
    json_t *reporters;
    json_object_foreach(json_object_get(object, "health"), handle, reporters)
    {
        (void)json_part_line(part, handle);
        for (size_t k = 0; k < json_array_size(reporters); k++)
            put_reporter(job, part, handle, json_array_get(reporters, k));
        if (json_is_object(reporters)) /* one alone: devlink health show DEV reporter NAME */
            put_reporter(job, part, handle, reporters);
    }
}

static size_t health_read(struct evidence_job *job, size_t i)
{
    return tool_json_read(job, i, read_health);
}

const struct evidence_reader reader_devlink_health_json = {
    .kind = "devlink-health",
    .tool = "devlink -j health show",
    .begins = health_begins,
    .read = health_read,
};

/* Ports -----------------------------------------------------------------------------------------
 */

static bool port_begins(const struct evidence_job *job, size_t i)
{
    static const char *const keys[] = {"\"flavour\"", "\"splittable\"", NULL};
    return tool_json_begins(job, i, "\"port\"", keys);
}

static void read_ports(struct evidence_job *job, struct json_part *part, const json_t *object)
{
    const char *handle;
    json_t *port;
    json_object_foreach(json_object_get(object, "port"), handle, port)
    {
        (void)json_part_line(part, handle);
        if (!devlink_subject(job, slice_of(handle)))
            continue;
        put_members(job, part, "devlink_port", port);
        put_members(job, part, "function", json_object_get(port, "function"));
    }
}

static size_t port_read(struct evidence_job *job, size_t i)
{
    return tool_json_read(job, i, read_ports);
}

const struct evidence_reader reader_devlink_port_json = {
    .kind = "devlink-port",
    .tool = "devlink -j port show",
    .begins = port_begins,
    .read = port_read,
};

/* Parameters ------------------------------------------------------------------------------------
 */

static bool param_begins(const struct evidence_job *job, size_t i)
{
    static const char *const keys[] = {"\"cmode\"", NULL};
    return tool_json_begins(job, i, "\"param\"", keys);
}

static void put_param(struct evidence_job *job, struct json_part *part, const json_t *param)
{
    char full[EVIDENCE_NAME_MAX];
    const char *name = tool_json_text(param, "name");
    json_t *values = json_object_get(param, "values");
    for (size_t k = 0; name[0] != '\0' && k < json_array_size(values); k++) {
        const json_t *value = json_array_get(values, k);
        const char *cmode = tool_json_text(value, "cmode");
        snprintf(full, sizeof(full), "param %.60s %.16s", name, cmode);
        size_t line = json_part_line(part, "cmode");
        if (cmode[0] != '\0' && json_object_get(value, "value") != NULL)
            json_part_put(job, line, full, json_object_get(value, "value"), "");
    }
}

static void read_params(struct evidence_job *job, struct json_part *part, const json_t *object)
{
    const char *handle;
    json_t *params;
    json_object_foreach(json_object_get(object, "param"), handle, params)
    {
        (void)json_part_line(part, handle);
        if (!devlink_subject(job, slice_of(handle)))
            continue;
        for (size_t k = 0; k < json_array_size(params); k++)
            put_param(job, part, json_array_get(params, k));
    }
}

static size_t param_read(struct evidence_job *job, size_t i)
{
    return tool_json_read(job, i, read_params);
}

const struct evidence_reader reader_devlink_param_json = {
    .kind = "devlink-param",
    .tool = "devlink -j dev param show",
    .begins = param_begins,
    .read = param_read,
};
