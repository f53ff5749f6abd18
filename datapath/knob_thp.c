/*
 * datapath/knob_thp.c - host.thp: transparent huge pages.
 */
#include "datapath/linux.h"

#include <string.h>

#include "datapath/sys/sys.h"
#include "datapath/value.h"

static enum err_code get(struct dp_linux *dp, char *out, size_t size, struct err *err)
{
    enum err_code code = thp_get(dp->root, out, size, err);
    if (code == ERR_NOT_FOUND)
        return err_set(err, ERR_UNSUPPORTED, "this kernel has no transparent huge pages");
    return code;
}

static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    (void)id;
    char value[32];
    enum err_code code = get(dp, value, sizeof(value), err);
    if (code != ERR_OK)
        return code;
    return linux_observed(out, "host.thp", port, "", json_string(value), KNOB_OWNER_UNKNOWN, err);
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    (void)port;
    char value[32];
    const char *text;
    enum err_code code = text_value_from_json(step->to, &text, err);
    if (code != ERR_OK)
        return code;
    if (strcmp(text, "always") != 0 && strcmp(text, "madvise") != 0 && strcmp(text, "never") != 0)
        return err_set(err, ERR_INVALID, "the value is not always, madvise or never");
    return get(dp, value, sizeof(value), err);
}

static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    enum err_code code = check(dp, port, step, err);
    return code != ERR_OK ? code : thp_set(dp->root, json_string_value(step->to), err);
}

const struct linux_knob knob_thp = {
    .kind = "host.thp",
    .observe = observe,
    .check = check,
    .apply = apply,
};
