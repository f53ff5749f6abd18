/*
 * datapath/knob_red.c - tc.red: the queue of a class of our scheduler marks with ECN. id = the
 * class it stands under, "5e11:1a".
 */
#include "datapath/linux.h"

#include "datapath/nl/nlx_run.h"
#include "datapath/nl/tc_red.h"

static enum err_code parse_id(const char *id, uint32_t *out, struct err *err)
{
    if (tc_handle_parse(id, out) && *out >> 16 == TC_OUR_MAJOR && (*out & 0xffff) != 0)
        return ERR_OK;
    return err_set(err, ERR_INVALID, "the id \"%.32s\" is no class of 5e11:", id);
}

static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    uint32_t wanted = 0;
    OWN_REDS struct red_list list = {.items = NULL};
    enum err_code code = id == NULL ? ERR_OK : parse_id(id, &wanted, err);
    if (code == ERR_OK)
        code = tc_red_list(dp->route, port->ifindex, TC_OUR_MAJOR, &list, err);
    for (size_t i = 0; code == ERR_OK && i < list.count; i++) {
        char parent[TC_HANDLE_TEXT_MAX];
        if (id != NULL && list.items[i].parent != wanted)
            continue;
        tc_handle_format(list.items[i].parent, parent);
        code = linux_observed(out, "tc.red", port, parent, red_value_to_json(&list.items[i].value),
                              KNOB_OWNER_STELLAR, err);
    }
    return code;
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    (void)dp;
    (void)port;
    uint32_t parent;
    struct red_value value;
    enum err_code code = parse_id(step->id, &parent, err);
    return code != ERR_OK || step->op == STEP_REMOVE ? code
                                                     : red_value_from_json(step->to, &value, err);
}

static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    uint32_t parent;
    struct red_value value;
    enum err_code code = parse_id(step->id, &parent, err);
    if (code == ERR_OK && step->op == STEP_REMOVE)
        return tc_red_del(dp->route, port->ifindex, parent, err);
    if (code == ERR_OK)
        code = red_value_from_json(step->to, &value, err);
    return code != ERR_OK ? code : tc_red_set(dp->route, port->ifindex, parent, &value, err);
}

static struct nl_msg *make_change(void *arg, size_t i)
{
    const struct linux_run *run = arg;
    const struct plan_step *step = &run->steps[i];
    uint32_t parent;
    struct red_value value;
    if (parse_id(step->id, &parent, NULL))
        return NULL;
    if (step->op == STEP_REMOVE)
        return tc_red_encode_del(run->port->ifindex, parent);
    return red_value_from_json(step->to, &value, NULL)
               ? NULL
               : tc_red_encode(run->port->ifindex, parent, &value);
}

static bool is_one_request(const struct plan_step *step)
{
    uint32_t parent;
    struct red_value value;
    return parse_id(step->id, &parent, NULL) == ERR_OK &&
           (step->op == STEP_REMOVE || red_value_from_json(step->to, &value, NULL) == ERR_OK);
}

/* Read back with one list: an answer to a queue tells of the one that it took the place of, too. */
static enum err_code apply_run(struct dp_linux *dp, const struct linux_run *run,
                               struct dp_progress *out, struct err *err)
{
    struct linux_run borrowed = *run;
    struct nlx_changes changes = {.make = make_change, .arg = &borrowed};
    while (changes.count < run->count && is_one_request(&run->steps[changes.count]))
        changes.count++;
    return linux_run_changes(dp, &changes, out, err);
}

/* Whether the NIC does it is told, not asked for. */
static bool same(const json_t *live, const json_t *want)
{
    struct red_value is, wanted;
    return red_value_from_json(live, &is, NULL) == ERR_OK &&
           red_value_from_json(want, &wanted, NULL) == ERR_OK && red_value_same(&is, &wanted);
}

const struct linux_knob knob_red = {
    .kind = "tc.red",
    .observe = observe,
    .check = check,
    .apply = apply,
    .apply_run = apply_run,
    .same = same,
};
