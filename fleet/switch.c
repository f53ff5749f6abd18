/*
 * fleet/switch.c - see switch.h.
 */
#include "fleet/switch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "fleet/read.h"

#define DESCRIPTION_MAX 1024
#define PORT_NAME_SIZE  64
#define PRIORITIES      8
#define MTU_BYTES_MIN   68
#define MTU_BYTES_MAX   65535

static void take_name(struct json_reader *r, const char *name, struct switch_info *out)
{
    struct err err = ERR_INIT;
    if (!read_text(r, "name", name == NULL, 1, out->name, sizeof(out->name)))
        return;
    if (name_check(out->name, "switch", &err) != ERR_OK)
        read_problem(r, "name", "%s", err.text);
    else if (name != NULL && strcmp(name, out->name) != 0)
        read_problem(r, "name", "the address says '%s'; a name cannot be changed", name);
}

static void read_priorities(struct json_reader *r)
{
    const json_t *array;
    unsigned seen = 0;
    if (!json_reader_array(r, "lossless_priorities", false, PRIORITIES, &array))
        return;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        json_int_t priority = json_integer_value(item);
        if (!json_is_integer(item) || priority < 0 || priority >= PRIORITIES)
            read_problem(r, "lossless_priorities", "element %zu is no priority from 0 to 7", i);
        else if (seen & (1u << priority))
            read_problem(r, "lossless_priorities", "priority %d stands twice", (int)priority);
        else
            seen |= 1u << priority;
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void read_port(struct json_reader *r, const char **out_name)
{
    char node[NAME_SIZE], port[PORT_ID_SIZE];
    int64_t number;
    *out_name = "";
    json_reader_string(r, "name", true, 1, PORT_NAME_SIZE - 1, out_name);
    json_reader_int(r, "speed_bps", false, 1, RATE_BPS_MAX, &number);
    json_reader_int(r, "mtu_bytes", false, MTU_BYTES_MIN, MTU_BYTES_MAX, &number);
    read_name(r, "node", false, node);
    read_text(r, "port", false, 1, port, sizeof(port));
    json_reader_end(r);
}

static enum err_code read_ports(struct json_reader *r, struct switch_info *out, struct err *err)
{
    const json_t *array;
    if (!json_reader_array(r, "ports", false, SWITCH_PORTS_MAX, &array) ||
        json_array_size(array) == 0)
        return ERR_OK;
    const char **names = calloc(json_array_size(array), sizeof(*names));
    if (names == NULL)
        return err_nomem(err);
    out->port_count = json_array_size(array);
    for (size_t i = 0; i < out->port_count; i++) {
        struct json_reader element;
        json_reader_element(r, "ports", i, json_array_get(array, i), &element);
        read_port(&element, &names[i]);
    }
    qsort(names, out->port_count, sizeof(*names), compare_names);
    for (size_t i = 1; i < out->port_count; i++)
        if (names[i][0] != '\0' && strcmp(names[i - 1], names[i]) == 0)
            read_problem(r, "ports", "two ports have the name '%s'", names[i]);
    free(names);
    return ERR_OK;
}

static void read_flag(struct json_reader *r, const char *key, int *out)
{
    bool value = false;
    *out = json_reader_bool(r, key, false, &value) ? value : -1;
}

enum err_code switch_from_json(const json_t *document, const char *pointer, const char *name,
                               struct switch_info *out, struct finding_list *findings,
                               struct err *err)
{
    struct switch_info info = {.pfc = -1, .ecn = -1};
    OWN_FINDINGS struct finding_list own;
    finding_list_init(&own);
    struct json_reader r;
    const char *text;
    json_reader_init(&r, document, pointer, &own);
    take_name(&r, name, &info);
    json_reader_string(&r, "description", false, 0, DESCRIPTION_MAX, &text);
    json_reader_string(&r, "serial", false, 0, INVENTORY_TEXT_MAX - 1, &text);
    read_text(&r, "vendor", false, 0, info.vendor, sizeof(info.vendor));
    read_text(&r, "model", false, 0, info.model, sizeof(info.model));
    read_text(&r, "firmware", false, 0, info.firmware, sizeof(info.firmware));
    read_flag(&r, "pfc", &info.pfc);
    read_flag(&r, "ecn", &info.ecn);
    read_priorities(&r);
    enum err_code code = read_ports(&r, &info, err);
    json_reader_end(&r);
    if (code == ERR_OK)
        code = read_result(&own, err);
    if (findings != NULL)
        finding_list_append(findings, &own);
    if (code == ERR_OK)
        *out = info;
    return code;
}
