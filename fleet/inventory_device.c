/*
 * fleet/inventory_device.c - see inventory_device.h.
 */
#include "fleet/inventory_device.h"

#include <string.h>

#include "fleet/read.h"

#define BACKEND_TEXT_MAX 31

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

void device_caps_from_json(struct json_reader *r, struct port_caps *caps)
{
    struct json_reader cc;
    const char *backend;
    json_reader_bool(r, "roce_tos", false, &caps->roce_tos);
    if (!json_reader_object(r, "roce_cc", false, &cc))
        return;
    json_reader_string(&cc, "backend", true, 1, BACKEND_TEXT_MAX, &backend);
    json_reader_bool(&cc, "notify", false, &caps->roce_cc_notify);
    json_reader_bool(&cc, "react", false, &caps->roce_cc_react);
    cc_parameters_from_json(&cc, caps);
    json_reader_end(&cc);
}
