/*
 * fleet/fabric_device.c - what the operator wants of NICs' drivers: who manages dcb, parameters.
 */
#include <stdlib.h>
#include <string.h>

#include "fleet/fabric_roce.h"
#include "fleet/read.h"

#define NAME_CHARS     "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
#define TEXT_CHARS     NAME_CHARS ".,:+/"
#define PARAM_TEXT_MAX 31 /* the kernel's own limit */

static bool value_is_valid(const json_t *value)
{
    if (json_is_boolean(value))
        return true;
    if (json_is_integer(value))
        return json_integer_value(value) >= 0 && json_integer_value(value) <= UINT32_MAX;
    const char *text = json_string_value(value);
    size_t len = text == NULL ? 0 : json_string_length(value);
    return len > 0 && len <= PARAM_TEXT_MAX && strspn(text, TEXT_CHARS) == len;
}

static bool read_word(struct json_reader *r, const char *key, char *out, size_t size)
{
    if (!read_text(r, key, true, 1, out, size))
        return false;
    if (strspn(out, NAME_CHARS) == strlen(out))
        return true;
    read_problem(r, key, "'%s' has letters, digits, '_' and '-'", key);
    return false;
}

static void param_from_json(struct json_reader *r, struct fabric_param *out)
{
    static const char *const cmodes[] = {"runtime", "driverinit", "permanent", NULL};
    int cmode = 0;
    read_word(r, "driver", out->driver, sizeof(out->driver));
    read_word(r, "name", out->name, sizeof(out->name));
    json_reader_enum(r, "cmode", true, cmodes, &cmode);
    out->cmode = cmodes[cmode];
    if (json_reader_any(r, "value", true, &out->value) && !value_is_valid(out->value))
        read_problem(r, "value",
                     "must be a boolean, an integer of 32 bits or a text of up to %d letters, "
                     "digits and \"_-.,:+/\"",
                     PARAM_TEXT_MAX);
    json_reader_end(r);
}

static int compare_params(const void *a, const void *b)
{
    const struct fabric_param *x = a, *y = b;
    int order = strcmp(x->driver, y->driver);
    if (order == 0)
        order = strcmp(x->name, y->name);
    return order != 0 || x->cmode == NULL || y->cmode == NULL ? order : strcmp(x->cmode, y->cmode);
}

void fabric_device_from_json(struct json_reader *profile, struct fabric *fabric)
{
    static const char *const managers[] = {"host", "unmanaged", NULL};
    const json_t *array;
    int manager = 0;
    json_reader_enum(profile, "dcbx", false, managers, &manager);
    fabric->dcbx_unmanaged = manager == 1;
    if (!json_reader_array(profile, "devlink_params", false, FABRIC_PARAMS_MAX, &array))
        return;
    for (size_t i = 0; i < json_array_size(array); i++) {
        struct json_reader element;
        json_reader_element(profile, "devlink_params", i, json_array_get(array, i), &element);
        param_from_json(&element, &fabric->params[fabric->param_count++]);
    }
    qsort(fabric->params, fabric->param_count, sizeof(fabric->params[0]), compare_params);
    for (size_t i = 1; i < fabric->param_count; i++)
        if (fabric->params[i].driver[0] != '\0' &&
            compare_params(&fabric->params[i - 1], &fabric->params[i]) == 0)
            read_problem(profile, "devlink_params", "the %s value of %s of %s stands here twice",
                         fabric->params[i].cmode, fabric->params[i].name, fabric->params[i].driver);
}
