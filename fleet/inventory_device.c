/*
 * fleet/inventory_device.c - see inventory_device.h.
 */
#include "fleet/inventory_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/read.h"

#define BACKEND_TEXT_MAX 31
#define PARAMS_MAX       128
#define PARAMS_TEXT_MAX  8192
#define PARAM_NAME_MAX   63
#define CMODE_MAX        15
#define WORD_CHARS       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

/* A name that this version does not know is a newer agent's: no profile here can ask for it. */
static void cc_parameters_from_json(struct json_reader *r, struct port_caps *caps)
{
    const json_t *array;
    if (!json_reader_array(r, "parameters", false, ROCE_CC_IDS * 4, &array))
        return;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *name = json_string_value(json_array_get(array, i));
        if (name == NULL) {
            read_problem(r, "parameters", "element %zu of 'parameters' is no name", i);
            return;
        }
        int id = roce_cc_param_get(name);
        if (id >= 0)
            caps->roce_cc |= roce_cc_bit((enum roce_cc_id)id);
    }
}

static void cc_from_json(struct json_reader *r, struct port_caps *caps)
{
    struct json_reader cc;
    const char *backend;
    if (!json_reader_object(r, "roce_cc", false, &cc))
        return;
    json_reader_string(&cc, "backend", true, 1, BACKEND_TEXT_MAX, &backend);
    json_reader_bool(&cc, "notify", false, &caps->roce_cc_notify);
    json_reader_bool(&cc, "react", false, &caps->roce_cc_react);
    cc_parameters_from_json(&cc, caps);
    json_reader_end(&cc);
}

static void coalesce_from_names(struct json_reader *r, struct port_caps *caps)
{
    const json_t *array;
    if (!json_reader_array(r, "coalesce", false, COALESCE_IDS * 4, &array))
        return;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *name = json_string_value(json_array_get(array, i));
        int id = name == NULL ? -1 : coalesce_param_get(name);
        if (name == NULL)
            read_problem(r, "coalesce", "element %zu of 'coalesce' is no name", i);
        if (id >= 0)
            caps->coalesce |= coalesce_bit(id);
    }
}

/* "NAME CMODE\n" a value; names and cmodes are words. */
static bool is_word(const char *text, size_t max)
{
    size_t len = text == NULL ? 0 : strlen(text);
    return len > 0 && len <= max && strspn(text, WORD_CHARS) == len;
}

static void add_param(struct json_reader *r, const char *name, const json_t *cmodes,
                      char text[PARAMS_TEXT_MAX])
{
    bool valid = is_word(name, PARAM_NAME_MAX) && json_is_array(cmodes);
    for (size_t i = 0; valid && i < json_array_size(cmodes); i++) {
        const char *cmode = json_string_value(json_array_get(cmodes, i));
        size_t used = strlen(text);
        valid = is_word(cmode, CMODE_MAX) &&
                snprintf(text + used, PARAMS_TEXT_MAX - used, "%s %s\n", name, cmode) <
                    (int)(PARAMS_TEXT_MAX - used);
    }
    if (!valid)
        read_problem(r, NULL,
                     "a device parameter needs a name and an array of cmodes; at most %d "
                     "bytes of them",
                     PARAMS_TEXT_MAX);
}

static void params_from_json(struct json_reader *r, struct port *port)
{
    char text[PARAMS_TEXT_MAX] = "";
    struct json_reader params;
    const char *name;
    json_t *cmodes;
    if (!json_reader_object(r, "devlink_params", false, &params))
        return;
    if (json_object_size(params.object) > PARAMS_MAX) {
        read_problem(&params, NULL, "more than %d device parameters", PARAMS_MAX);
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)params.object, name, cmodes)
        add_param(&params, name, cmodes, text);
    port->params = strdup(text); /* without memory: none, as of an old agent */
}

static void rate_from_json(struct json_reader *r, struct port *port)
{
    struct json_reader rate;
    if (!json_reader_object(r, "devlink_rate", false, &rate))
        return;
    read_text(&rate, "port", true, 1, port->rate_port, sizeof(port->rate_port));
    if (read_text(&rate, "leaf", true, 1, port->rate_leaf, sizeof(port->rate_leaf)) &&
        (strncmp(port->rate_leaf, "leaf/", 5) != 0 ||
         !is_word(port->rate_leaf + 5, RATE_LEAF_SIZE)))
        read_problem(&rate, "leaf", "a rate leaf is \"leaf/\" and a port's name");
    json_reader_end(&rate);
}

void device_caps_from_json(struct json_reader *r, struct port *port)
{
    struct port_caps *caps = &port->caps;
    json_reader_bool(r, "roce_tos", false, &caps->roce_tos);
    read_text(r, "dcbx_agent", false, 1, caps->dcbx_agent, sizeof(caps->dcbx_agent));
    json_reader_bool(r, "pause", false, &caps->pause);
    coalesce_from_names(r, caps);
    cc_from_json(r, caps);
    params_from_json(r, port);
    rate_from_json(r, port);
}

bool port_has_param(const struct port *port, const char *name, const char *cmode)
{
    size_t name_len = strlen(name), cmode_len = strlen(cmode);
    for (const char *line = port->params; line != NULL && *line != '\0';) {
        size_t len = strcspn(line, "\n");
        if (len == name_len + 1 + cmode_len && strncmp(line, name, name_len) == 0 &&
            line[name_len] == ' ' && strncmp(line + name_len + 1, cmode, cmode_len) == 0)
            return true;
        line += len + 1;
    }
    return false;
}

bool port_has_other_dcbx(const struct port *port)
{
    return port->caps.dcbx_agent[0] != '\0' && strcmp(port->caps.dcbx_agent, "none") != 0;
}
