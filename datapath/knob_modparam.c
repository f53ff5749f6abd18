/*
 * datapath/knob_modparam.c - host.modparam: kernel module parameters, persisted for the next load
 * and set live where the module lets us. id = "MODULE.PARAM".
 */
#include "datapath/linux.h"

#include <string.h>

#include "datapath/sys/modparam.h"
#include "datapath/value.h"

static enum err_code add_state(const struct modparam_state *is, const char *id, struct state *out,
                               struct err *err)
{
    struct state_knob knob = {.kind = knob_kind_get("host.modparam")};
    memcpy(knob.subject, "host", 5);
    strncpy(knob.id, id, sizeof(knob.id) - 1);
    knob.live = is->has_live ? json_string(is->live) : NULL;
    knob.persisted = is->has_persisted ? json_string(is->persisted) : NULL;
    knob.next_boot = is->has_next ? json_string(is->next) : NULL;
    knob.owner = is->next_is_ours ? KNOB_OWNER_STELLAR : KNOB_OWNER_UNKNOWN;
    return state_add(out, &knob, err);
}

/* Without an id (all) there is nothing to tell: a kernel has thousands, and ours are in the plan.
 */
static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    (void)port;
    struct modparam_name name;
    struct modparam_state is;
    if (id == NULL)
        return ERR_OK;
    enum err_code code = modparam_parse(id, &name, err);
    if (code == ERR_OK)
        code = modparam_get(dp->root, &name, &is, err);
    return code != ERR_OK ? code : add_state(&is, id, out, err);
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    (void)port;
    struct modparam_name name;
    struct modparam_state is;
    enum err_code code = modparam_parse(step->id, &name, err);
    if (code == ERR_OK)
        code = modparam_get(dp->root, &name, &is, err);
    if (code != ERR_OK || step->op == STEP_REMOVE)
        return code;
    const char *text;
    code = text_value_from_json(step->to, &text, err);
    if (code != ERR_OK)
        return code;
    /* A blank would start the next option, a quote or # the rest of the line. */
    if (strpbrk(text, " \"'#\\") != NULL)
        return err_set(err, ERR_INVALID, "the value holds a blank, a quote, # or \\");
    if (!is.module_known)
        return err_set(err, ERR_UNSUPPORTED, "this node has no module %s", name.module);
    char path[SYS_PATH_MAX] = "/sys/module/";
    strncat(path, name.module, sizeof(path) - strlen(path) - 1);
    if (!is.has_live && sys_exists(dp->root, path))
        return err_set(err, ERR_UNSUPPORTED, "module %s shows no parameter %s", name.module,
                       name.param);
    return ERR_OK;
}

static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    enum err_code code = check(dp, port, step, err);
    struct modparam_name name;
    const char *text = NULL;
    if (code == ERR_OK)
        code = modparam_parse(step->id, &name, err);
    if (code == ERR_OK && step->op != STEP_REMOVE)
        code = text_value_from_json(step->to, &text, err);
    return code != ERR_OK ? code : modparam_set(dp->root, &name, text, err);
}

const struct linux_knob knob_modparam = {
    .kind = "host.modparam",
    .observe = observe,
    .check = check,
    .apply = apply,
};
