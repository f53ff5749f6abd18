/*
 * datapath/knob_class.c - tc.class: an htb class of our scheduler. id = its handle, "5e11:1a".
 */
#include "datapath/linux.h"

#include <stdlib.h>

#include "datapath/nl/nlx_run.h"
#include "datapath/nl/tc_class.h"
#include "datapath/nl/tc_rate.h"

static enum err_code parse_id(const char *id, uint32_t *out, struct err *err)
{
    if (tc_handle_parse(id, out) && *out >> 16 == TC_OUR_MAJOR && (*out & 0xffff) != 0)
        return ERR_OK;
    return err_set(err, ERR_INVALID, "the id \"%s\" is no class of 5e11:", id);
}

static enum err_code add(const struct class_info *info, const struct dp_port *port,
                         struct state *out, struct err *err)
{
    char id[TC_HANDLE_TEXT_MAX];
    tc_handle_format(info->handle, id);
    return linux_observed(out, "tc.class", port, id, class_value_to_json(&info->value),
                          KNOB_OWNER_STELLAR, err);
}

static enum err_code observe_id(struct dp_linux *dp, const struct dp_port *port, const char *id,
                                struct state *out, struct err *err)
{
    uint32_t handle;
    struct class_info info;
    bool present = false;
    enum err_code code = parse_id(id, &handle, err);
    if (code == ERR_OK)
        code = tc_class_get(dp->route, port->ifindex, handle, &info, &present, err);
    return code != ERR_OK || !present ? code : add(&info, port, out, err);
}

static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    if (id != NULL)
        return observe_id(dp, port, id, out, err);
    OWN_CLASSES struct class_list list = {0};
    enum err_code code = tc_class_list(dp->route, port->ifindex, TC_OUR_MAJOR, &list, err);
    for (size_t i = 0; code == ERR_OK && i < list.count; i++)
        code = add(&list.items[i], port, out, err);
    return code;
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    (void)dp;
    (void)port;
    uint32_t handle;
    struct class_value value;
    enum err_code code = parse_id(step->id, &handle, err);
    if (code != ERR_OK || step->op == STEP_REMOVE)
        return code;
    return class_value_from_json(step->to, &value, err);
}

static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    uint32_t handle;
    struct class_value value;
    struct class_info info;
    bool present;
    enum err_code code = parse_id(step->id, &handle, err);
    if (code == ERR_OK && step->op == STEP_REMOVE)
        return tc_class_del(dp->route, port->ifindex, handle, err);
    if (code == ERR_OK)
        code = class_value_from_json(step->to, &value, err);
    if (code == ERR_OK)
        code = tc_class_get(dp->route, port->ifindex, handle, &info, &present, err);
    if (code != ERR_OK)
        return code;
    if (present && info.value.parent != value.parent)
        return err_set(err, ERR_CONFLICT, "a class cannot move to another parent while it lives");
    return tc_class_set(dp->route, port->ifindex, handle, &value, !present, err);
}

/* One class of a run. */
struct class_change {
    bool remove, create;
    uint32_t handle;
    struct class_value value; /* not of a removal */
};

struct changes {
    const struct linux_run *run;
    struct class_change *items; /* owned */
    size_t count;
};

static struct nl_msg *make_change(void *arg, size_t i)
{
    const struct changes *changes = arg;
    const struct class_change *change = &changes->items[i];
    int ifindex = changes->run->port->ifindex;
    return change->remove
               ? tc_class_encode_del(ifindex, change->handle)
               : tc_class_encode(ifindex, change->handle, &change->value, change->create);
}

/* The kernel's own picture of a class that it took, as a list would show it. */
static enum err_code take_shown(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    const struct linux_run *run = ((const struct changes *)arg)->run;
    struct class_info info;
    bool htb;
    enum err_code code = tc_class_decode(msg, run->port->ifindex, &info, &htb, err);
    return code != ERR_OK || !htb ? code : add(&info, run->port, run->shown, err);
}

/* False: apply() does it, or says why not: a class cannot move. */
static bool plan_change(const struct plan_step *step, struct class_change *out)
{
    struct class_value from;
    *out = (struct class_change){.remove = step->op == STEP_REMOVE, .create = step->from == NULL};
    if (parse_id(step->id, &out->handle, NULL))
        return false;
    if (out->remove)
        return step->from != NULL;
    return class_value_from_json(step->to, &out->value, NULL) == ERR_OK &&
           (out->create || (class_value_from_json(step->from, &from, NULL) == ERR_OK &&
                            from.parent == out->value.parent));
}

static enum err_code apply_run(struct dp_linux *dp, const struct linux_run *run,
                               struct dp_progress *out, struct err *err)
{
    struct changes todo = {.run = run, .items = calloc(run->count, sizeof(struct class_change))};
    *out = (struct dp_progress){0};
    if (todo.items == NULL)
        return err_nomem(err);
    while (todo.count < run->count && plan_change(&run->steps[todo.count], &todo.items[todo.count]))
        todo.count++;
    const struct nlx_changes changes = {
        make_change, run->steps[0].op == STEP_REMOVE ? NULL : take_shown, &todo, todo.count};
    enum err_code code = linux_run_changes(dp, &changes, out, err);
    free(todo.items);
    return code;
}

/* The kernel counts in bytes per second. */
static bool same(const json_t *live, const json_t *want)
{
    struct class_value is, wanted;
    return class_value_from_json(live, &is, NULL) == ERR_OK &&
           class_value_from_json(want, &wanted, NULL) == ERR_OK && is.parent == wanted.parent &&
           tc_rate_bytes(is.rate_bps) == tc_rate_bytes(wanted.rate_bps) &&
           tc_rate_bytes(is.ceil_bps) == tc_rate_bytes(wanted.ceil_bps);
}

const struct linux_knob knob_class = {
    .kind = "tc.class",
    .observe = observe,
    .check = check,
    .apply = apply,
    .apply_run = apply_run,
    .same = same,
};
