/*
 * datapath/knob_file.c - host.file: files of environment variables for jobs. id = name of the file
 * in ENV_FOLDER; ours by the mark in it.
 */
#include "datapath/linux.h"

#include <stdio.h>
#include <string.h>

#include "datapath/sys/env_file.h"
#include "datapath/sys/sys.h"
#include "datapath/sys/watch.h"

static enum err_code observe_one(const struct dp_linux *dp, const char *id, struct state *out,
                                 struct err *err)
{
    OWN_ENV_FILE struct env_file file = {.present = false};
    enum err_code code = env_file_get(dp->root, id, &file, err);
    if (code != ERR_OK || !file.present)
        return code;
    struct state_knob knob = {.kind = knob_kind_get("host.file"), .live = json_incref(file.value)};
    memcpy(knob.subject, "host", sizeof("host"));
    snprintf(knob.id, sizeof(knob.id), "%s", id);
    /* It is on the disk, and is so after a boot. */
    knob.persisted = json_incref(file.value);
    knob.next_boot = json_incref(file.value);
    knob.owner = file.ours ? KNOB_OWNER_STELLAR : KNOB_OWNER_OTHER;
    return state_add(out, &knob, err);
}

static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    (void)port;
    char folder[SYS_PATH_MAX];
    OWN_SYS_LIST struct sys_list list = {.count = 0};
    enum err_code code = ERR_OK;
    if (id != NULL)
        return observe_one(dp, id, out, err);
    snprintf(folder, sizeof(folder), "%s" ENV_FOLDER, dp->root);
    sys_watch_seen(folder);
    sys_list(dp->root, ENV_FOLDER, &list);
    if (list.count > ENV_FILES_MAX)
        return err_set(err, ERR_LIMIT, "%s holds more than %d files", folder, ENV_FILES_MAX);
    for (size_t i = 0; i < list.count && code == ERR_OK; i++)
        if (env_name_check(list.names[i], NULL) == ERR_OK)
            code = observe_one(dp, list.names[i], out, err);
    return code;
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    (void)port;
    OWN_ENV_FILE struct env_file file = {.present = false};
    enum err_code code = env_file_get(dp->root, step->id, &file, err);
    if (code == ERR_OK && file.present && !file.ours)
        code =
            err_set(err, ERR_CONFLICT,
                    ENV_FOLDER "/%s is not ours and is left alone: move it away first", step->id);
    return code != ERR_OK || step->op == STEP_REMOVE ? code : env_value_check(step->to, err);
}

static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    enum err_code code = check(dp, port, step, err);
    if (code != ERR_OK)
        return code;
    return step->op == STEP_REMOVE ? env_file_remove(dp->root, step->id, err)
                                   : env_file_set(dp->root, step->id, step->to, err);
}

const struct linux_knob knob_file = {
    .kind = "host.file",
    .observe = observe,
    .check = check,
    .apply = apply,
};
