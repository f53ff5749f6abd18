/*
 * datapath/knob_devlink_param.c - devlink.param: a driver's parameter. id = its name.
 *
 * What counts is what is set, cmode by cmode: whether the driver was reloaded since, the kernel
 * does not tell. So next_boot holds all that is set, persisted the part that the device keeps, and
 * live only a runtime value.
 */
#include <stdio.h>
#include <string.h>

#include "datapath/linux_devlink.h"

static json_t *scalar(enum devlink_type type, const struct devlink_value *value)
{
    if (type == DEVLINK_TYPE_BOOL)
        return json_boolean(value->number);
    return type == DEVLINK_TYPE_TEXT ? json_string(value->text) : json_integer(value->number);
}

/* The cmodes of the mask that the parameter has; NULL: none, or no memory. */
static json_t *values_to_json(const struct devlink_param *param, unsigned mask)
{
    OWN(json) json_t *object = json_object();
    for (unsigned i = 0; i < DEVLINK_CMODES; i++)
        if (param->has[i] && (mask >> i & 1) != 0 &&
            json_object_set_new(object, param_cmodes[i], scalar(param->type, &param->values[i])))
            return NULL;
    return json_object_size(object) == 0 ? NULL : GIVE(object);
}

static enum err_code add(const struct dp_port *port, const struct devlink_param *param,
                         struct state *out, struct err *err)
{
    struct state_knob knob = {.kind = knob_kind_get("devlink.param")};
    snprintf(knob.subject, sizeof(knob.subject), "%s", port->id);
    snprintf(knob.id, sizeof(knob.id), "%s", param->name);
    knob.live = values_to_json(param, 1U << DEVLINK_CMODE_RUNTIME);
    knob.persisted = values_to_json(param, 1U << DEVLINK_CMODE_PERMANENT);
    knob.next_boot = values_to_json(param, ~0U);
    return state_add(out, &knob, err);
}

static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    struct nlx *nlx;
    struct devlink_param param;
    OWN(mem) void *memory = NULL;
    enum err_code code = linux_devlink(dp, port, &nlx, err);
    if (code == ERR_OK && id != NULL) {
        code = devlink_param_get(nlx, port->bus, port->device, id, &param, err);
        return code != ERR_OK ? code : add(port, &param, out, err);
    }
    if (code != ERR_OK)
        return code;
    memory = calloc(1, sizeof(struct devlink_param_list));
    struct devlink_param_list *list = memory;
    if (list == NULL)
        return err_nomem(err);
    code = devlink_param_all(nlx, port->bus, port->device, list, err);
    for (size_t i = 0; code == ERR_OK && i < list->count; i++)
        code = add(port, &list->items[i], out, err);
    return code;
}

static bool take_number(const json_t *json, uint32_t max, struct devlink_value *out)
{
    json_int_t n = json_integer_value(json);
    if (!json_is_integer(json) || n < 0 || n > max)
        return false;
    out->number = (uint32_t)n;
    return true;
}

static bool take_scalar(enum devlink_type type, const json_t *json, struct devlink_value *out)
{
    const char *text = json_string_value(json);
    *out = (struct devlink_value){.number = 0};
    switch (type) {
    case DEVLINK_TYPE_BOOL:
        out->number = json_is_true(json);
        return json_is_boolean(json);
    case DEVLINK_TYPE_U8:
        return take_number(json, UINT8_MAX, out);
    case DEVLINK_TYPE_U16:
        return take_number(json, UINT16_MAX, out);
    case DEVLINK_TYPE_U32:
        return take_number(json, UINT32_MAX, out);
    case DEVLINK_TYPE_TEXT:
        if (text == NULL || strlen(text) >= sizeof(out->text))
            return false;
        memcpy(out->text, text, strlen(text) + 1);
        return true;
    }
    return false;
}

/* Every value of `to` fits the parameter; with `set`, those that differ are written. */
static enum err_code each(struct nlx *nlx, const struct dp_port *port,
                          const struct devlink_param *param, const json_t *to, bool set,
                          struct err *err)
{
    static const char *const types[] = {"a boolean", "a number of 8 bits", "a number of 16 bits",
                                        "a number of 32 bits", "a text"};
    for (unsigned i = 0; i < DEVLINK_CMODES; i++) {
        const json_t *want = json_object_get(to, param_cmodes[i]);
        struct devlink_value value;
        if (want == NULL)
            continue;
        if (!param->has[i])
            return err_set(err, ERR_UNSUPPORTED, "parameter %s of %s has no %s value", param->name,
                           port->device, param_cmodes[i]);
        if (!take_scalar(param->type, want, &value))
            return err_set(err, ERR_INVALID, "the %s value of parameter %s must be %s",
                           param_cmodes[i], param->name, types[param->type]);
        if (!set || (value.number == param->values[i].number &&
                     strcmp(value.text, param->values[i].text) == 0))
            continue;
        enum err_code code = devlink_param_set(nlx, port->bus, port->device, param,
                                               (enum devlink_cmode)i, &value, err);
        if (code != ERR_OK)
            return err_context(err, "%s", param_cmodes[i]);
    }
    return ERR_OK;
}

static enum err_code run(struct dp_linux *dp, const struct dp_port *port,
                         const struct plan_step *step, bool set, struct err *err)
{
    struct nlx *nlx;
    struct devlink_param param;
    enum err_code code = param_value_check(step->to, err);
    if (code == ERR_OK)
        code = linux_devlink(dp, port, &nlx, err);
    if (code == ERR_OK)
        code = devlink_param_get(nlx, port->bus, port->device, step->id, &param, err);
    return code != ERR_OK ? code : each(nlx, port, &param, step->to, set, err);
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    return step->op == STEP_REMOVE ? ERR_OK : run(dp, port, step, false, err);
}

/* A parameter cannot go away: there is nothing to take back to. */
static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    return step->op == STEP_REMOVE ? ERR_OK : run(dp, port, step, true, err);
}

/* The plan speaks of some cmodes; the others are not managed. */
static bool same(const json_t *live, const json_t *want)
{
    const char *key;
    json_t *value;
    if (!json_is_object(live) || !json_is_object(want))
        return false;
    json_object_foreach((json_t *)(uintptr_t)want, key, value)
    {
        if (!json_equal(json_object_get(live, key), value))
            return false;
    }
    return true;
}

const struct linux_knob knob_devlink_param = {
    .kind = "devlink.param",
    .observe = observe,
    .check = check,
    .apply = apply,
    .same = same,
};
