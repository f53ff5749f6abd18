/*
 * datapath/knob_sysctl.c - host.sysctl: kernel settings. id = dotted name.
 */
#include "datapath/linux.h"

#include "datapath/sys/sys.h"
#include "datapath/value.h"

static enum err_code get(struct dp_linux *dp, const char *id, char *out, size_t size,
                         struct err *err)
{
    enum err_code code = sysctl_get(dp->root, id, out, size, err);
    if (code == ERR_NOT_FOUND)
        return err_set(err, ERR_UNSUPPORTED, "this kernel has no setting %s", id);
    return code;
}

/* Plans come from the server: its own limit counts here as well. */
static enum err_code is_managed(const char *id, struct err *err)
{
    if (knob_sysctl_is_managed(id))
        return ERR_OK;
    return err_set(err, ERR_DENIED,
                   "the setting %s is not for plans: only those below net., vm., kernel.numa_ and "
                   "kernel.sched_ are",
                   id);
}

/* Without an id (all) there is nothing to tell: a kernel has thousands, and ours are in the plan.
 */
static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    char value[VALUE_TEXT_MAX];
    if (id == NULL)
        return ERR_OK;
    enum err_code code = get(dp, id, value, sizeof(value), err);
    if (code != ERR_OK)
        return code;
    return linux_observed(out, "host.sysctl", port, id, json_string(value), KNOB_OWNER_UNKNOWN,
                          err);
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    (void)port;
    char path[SYS_PATH_MAX], value[VALUE_TEXT_MAX];
    const char *text;
    enum err_code code = is_managed(step->id, err);
    if (code == ERR_OK)
        code = text_value_from_json(step->to, &text, err);
    if (code == ERR_OK)
        code = get(dp, step->id, value, sizeof(value), err);
    if (code == ERR_OK)
        code = sysctl_path(step->id, path, sizeof(path), err);
    if (code == ERR_OK && !sys_is_writable(dp->root, path))
        return err_set(err, ERR_UNSUPPORTED, "the setting %s is read-only", step->id);
    return code;
}

static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    (void)port;
    const char *text;
    enum err_code code = is_managed(step->id, err);
    if (code == ERR_OK)
        code = text_value_from_json(step->to, &text, err);
    return code != ERR_OK ? code : sysctl_set(dp->root, step->id, text, err);
}

const struct linux_knob knob_sysctl = {
    .kind = "host.sysctl",
    .observe = observe,
    .check = check,
    .apply = apply,
};
