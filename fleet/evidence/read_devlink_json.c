/*
 * fleet/evidence/read_devlink_json.c - devlink -j dev info.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/rules.h"
#include "fleet/evidence/tool_json.h"

static const char *const keys[] = {"\"versions\"", "\"serial_number\"", "\"driver\"", NULL};

static bool begins(const struct evidence_job *job, size_t i)
{
    return tool_json_begins(job, i, "\"info\"", keys);
}

/* A version of one group; a stored one that is not the running one waits for a reload. */
static void put_version(struct evidence_job *job, size_t line, const char *group, const char *name,
                        const json_t *versions)
{
    char full[EVIDENCE_NAME_MAX];
    const char *value = tool_json_text(json_object_get(versions, group), name);
    const char *running = tool_json_text(json_object_get(versions, "running"), name);
    snprintf(full, sizeof(full), "%s %s", group, name);
    if (slice_is_unknown(slice_of(value)))
        put_unknown(job, line, full);
    else
        put_text(job, line, full, slice_of(value));
    if (strcmp(group, "stored") == 0 && running[0] != '\0' && strcmp(running, value) != 0)
        put_finding(job, line, RULE_FIRMWARE_STAGED, "%s %s is stored, %s runs", name, value,
                    running);
}

static void read_device(struct evidence_job *job, struct json_part *part, const json_t *device)
{
    const char *key, *name;
    json_t *value, *versions, *version;
    json_object_foreach((json_t *)device, key, value)
    {
        size_t line = json_part_line(part, key);
        if (json_is_string(value) && strstr(key, "serial") != NULL &&
            devlink_placeholder(slice_of(json_string_value(value))))
            put_unknown(job, line, key);
        else if (json_is_string(value))
            put_text(job, line, key, slice_of(json_string_value(value)));
        if (strcmp(key, "versions") != 0)
            continue;
        versions = value;
        json_object_foreach(versions, key, value)
        {
            (void)json_part_line(part, key);
            json_object_foreach(value, name, version)
            {
                put_version(job, json_part_line(part, name), key, name, versions);
            }
        }
    }
}

static void read_object(struct evidence_job *job, struct json_part *part, const json_t *object)
{
    const char *handle;
    json_t *device;
    json_object_foreach(json_object_get(object, "info"), handle, device)
    {
        (void)json_part_line(part, handle);
        const char *slash = strchr(handle, '/');
        char pci[16];
        if (slash != NULL && is_pci_address(slice_of(slash + 1), pci))
            job_subject(job, "pci %s", pci);
        else
            job_subject(job, "devlink %.100s", handle);
        read_device(job, part, device);
    }
}

static size_t read(struct evidence_job *job, size_t i)
{
    return tool_json_read(job, i, read_object);
}

const struct evidence_reader reader_devlink_json = {
    .kind = "devlink-info", .tool = "devlink -j", .begins = begins, .read = read};
