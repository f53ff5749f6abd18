/*
 * fleet/evidence/read_lldp_json.c - lldpcli -f json and -f json0 show neighbors: the facts of
 * read_lldp.c.
 *
 * json names interfaces and chassis by keys and leaves out arrays of one; json0 has arrays
 * everywhere, names as members, and texts as {"value": TEXT}.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/evidence/common.h"
#include "fleet/evidence/readers.h"
#include "fleet/evidence/tool_json.h"

static bool begins(const struct evidence_job *job, size_t i)
{
    static const char *const keys[] = {"\"interface\"", NULL};
    return tool_json_begins(job, i, "\"lldp\"", keys);
}

/* The first of an array, or the thing itself. */
static const json_t *first_of(const json_t *value)
{
    return json_is_array(value) ? json_array_get(value, 0) : value;
}

/* A text, a number, or {"value": one of them}, also as the first of an array; "" = another thing.
 */
static void word_of(const json_t *value, char *out, size_t size)
{
    value = first_of(value);
    if (json_is_object(value))
        value = first_of(json_object_get(value, "value"));
    tool_json_word(value, out, size);
}

static const struct row {
    const char *key, *name;
    bool number;
} chassis_rows[] = {{"id", "neighbour_chassis_id", false},
                    {"descr", "neighbour_system_description", false},
                    {"mgmt-ip", "neighbour_management_address", false}},
  port_rows[] = {{"id", "neighbour_port_id", false},
                 {"descr", "neighbour_port_description", false},
                 {"ttl", "neighbour_ttl", true},
                 {"mfs", "neighbour_max_frame_size", true}};

static void put_rows(struct evidence_job *job, struct json_part *part, const json_t *object,
                     const struct row *rows, size_t count)
{
    char word[EVIDENCE_VALUE_MAX];
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        size_t line = json_part_line(part, key);
        for (size_t k = 0; k < count; k++) {
            if (strcmp(rows[k].key, key) != 0)
                continue;
            word_of(value, word, sizeof(word));
            if (rows[k].number)
                put_value(job, line, rows[k].name, slice_of(word), "");
            else
                put_text(job, line, rows[k].name, slice_of(word));
        }
    }
}

static bool is_chassis(const json_t *object)
{
    return json_object_get(object, "id") != NULL;
}

/* {"leaf01": {...}}, {...} of a neighbour that tells no name, [{"name": [{"value": ...}], ...}]. */
static void put_chassis(struct evidence_job *job, struct json_part *part, const json_t *chassis)
{
    char word[EVIDENCE_VALUE_MAX];
    const char *key;
    json_t *value;
    size_t line = json_part_line(part, "chassis");
    chassis = first_of(chassis);
    word_of(json_object_get(chassis, "name"), word, sizeof(word));
    if (is_chassis(chassis)) {
        if (word[0] != '\0')
            put_text(job, line, "neighbour_system_name", slice_of(word));
        put_rows(job, part, chassis, chassis_rows, sizeof(chassis_rows) / sizeof(chassis_rows[0]));
        return;
    }
    json_object_foreach((json_t *)chassis, key, value)
    {
        if (!is_chassis(value))
            continue;
        put_text(job, json_part_line(part, key), "neighbour_system_name", slice_of(key));
        put_rows(job, part, value, chassis_rows, sizeof(chassis_rows) / sizeof(chassis_rows[0]));
    }
}

static void put_interface(struct evidence_job *job, struct json_part *part, const char *name,
                          const json_t *interface)
{
    if (!is_device_name(slice_of(name)) || json_object_get(interface, "chassis") == NULL)
        return;
    job_subject(job, "netdev %s", name);
    put_chassis(job, part, json_object_get(interface, "chassis"));
    (void)json_part_line(part, "port");
    put_rows(job, part, first_of(json_object_get(interface, "port")), port_rows,
             sizeof(port_rows) / sizeof(port_rows[0]));
}

/* {"eth0": {...}, ...}, or json0's {"name": "eth0", ...}. */
static void read_interfaces(struct evidence_job *job, struct json_part *part, const json_t *object)
{
    const char *key, *name = tool_json_text(object, "name");
    json_t *value;
    if (name[0] != '\0') {
        put_interface(job, part, name, object);
        return;
    }
    json_object_foreach((json_t *)object, key, value)
    {
        (void)json_part_line(part, key);
        put_interface(job, part, key, value);
    }
}

static void read_object(struct evidence_job *job, struct json_part *part, const json_t *object)
{
    const json_t *root = first_of(json_object_get(object, "lldp"));
    const json_t *interfaces = json_object_get(root, "interface");
    if (json_is_object(interfaces))
        read_interfaces(job, part, interfaces);
    for (size_t k = 0; k < json_array_size(interfaces); k++)
        read_interfaces(job, part, json_array_get(interfaces, k));
}

static size_t read(struct evidence_job *job, size_t i)
{
    return tool_json_read(job, i, read_object);
}

const struct evidence_reader reader_lldpcli_json = {
    .kind = "lldp", .tool = "lldpcli -f json", .begins = begins, .read = read};
