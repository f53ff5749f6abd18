/*
 * datapath/knob_flower.c - tc.flower: a job's filter, in software or in the NIC's flow table.
 * id = "egress/LABEL" or "ingress/LABEL"; the label is the handle, the family chooses the
 * preference. Ours by the cookie of the first action.
 */
#include "datapath/linux.h"

#include <stdlib.h>

#include "datapath/nl/ethtool.h"
#include "datapath/nl/nlx_run.h"
#include "datapath/nl/tc_flower.h"
#include "datapath/nl/tc_qdisc.h"

/* What may stand under an id is one filter a family; more than one is a leftover. */
static enum err_code find(struct dp_linux *dp, const struct dp_port *port, bool egress,
                          uint32_t label, struct flower_found *out, struct err *err)
{
    return tc_flower_find(dp->route, port->ifindex, egress, label, out, err);
}

static enum err_code add(const struct flower_info *info, bool more, const struct dp_port *port,
                         struct state *out, struct err *err)
{
    char id[KNOB_ID_SIZE];
    flower_id_format(info->egress, info->handle, id, sizeof(id));
    json_t *live = flower_value_to_json(&info->value);
    if (live != NULL && (info->foreign || more))
        json_object_set_new(live, "other", json_true()); /* more than our form can tell */
    return linux_observed(out, "tc.flower", port, id, live,
                          info->ours ? KNOB_OWNER_STELLAR : KNOB_OWNER_OTHER, err);
}

static enum err_code observe_id(struct dp_linux *dp, const struct dp_port *port, const char *id,
                                struct state *out, struct err *err)
{
    bool egress;
    uint32_t label;
    struct flower_found found;
    enum err_code code = flower_id_parse(id, &egress, &label, err);
    if (code == ERR_OK)
        code = find(dp, port, egress, label, &found, err);
    if (code != ERR_OK)
        return code;
    /* Of two the one that is ours counts: the other one is then what must go. */
    int first = found.present[0] && (found.items[0].ours || !found.present[1]) ? 0 : 1;
    bool both = found.present[0] && found.present[1];
    if (!found.present[first])
        return ERR_OK;
    return add(&found.items[first], both, port, out, err);
}

static bool is_candidate(const struct flower_info *info)
{
    return info->ours || info->pref == FLOWER_PREF_IPV4 || info->pref == FLOWER_PREF_IPV6;
}

static int compare_filters(const void *a, const void *b)
{
    const struct flower_info *x = a, *y = b;
    if (x->handle != y->handle)
        return x->handle < y->handle ? -1 : 1;
    return x->ours != y->ours ? (x->ours ? -1 : 1) : (x->pref > y->pref) - (x->pref < y->pref);
}

static enum err_code observe_hook(struct dp_linux *dp, const struct dp_port *port, bool egress,
                                  struct state *out, struct err *err)
{
    OWN_FLOWERS struct flower_list list = {0};
    enum err_code code = tc_flower_list(dp->route, port->ifindex, egress, &list, err);
    if (code != ERR_OK)
        return code;
    size_t count = 0;
    for (size_t i = 0; i < list.count; i++)
        if (is_candidate(&list.items[i]))
            list.items[count++] = list.items[i];
    if (count > 1)
        qsort(list.items, count, sizeof(list.items[0]), compare_filters);
    for (size_t i = 0; code == ERR_OK && i < count; i++) {
        bool more = i + 1 < count && list.items[i + 1].handle == list.items[i].handle;
        if (i == 0 || list.items[i - 1].handle != list.items[i].handle)
            code = add(&list.items[i], more, port, out, err);
    }
    return code;
}

static enum err_code observe(struct dp_linux *dp, const struct dp_port *port, const char *id,
                             struct state *out, struct err *err)
{
    if (id != NULL)
        return observe_id(dp, port, id, out, err);
    struct qdisc_state qdiscs;
    enum err_code code = tc_qdisc_get(dp->route, port->ifindex, &qdiscs, err);
    if (code != ERR_OK || !qdiscs.clsact)
        return code;
    code = observe_hook(dp, port, true, out, err);
    return code != ERR_OK ? code : observe_hook(dp, port, false, out, err);
}

static enum err_code ask_offload(struct dp_linux *dp, const struct dp_port *port, struct err *err)
{
    struct nlx *genl;
    struct ethtool_tc_offload offload = {0};
    if (dp->offload.ifindex == port->ifindex)
        return ERR_OK;
    enum err_code code = linux_genl(dp, &genl, err);
    if (code == ERR_OK)
        code = ethtool_tc_offload_get(genl, port->ifname, &offload, err);
    if (code != ERR_OK && code != ERR_UNSUPPORTED)
        return code;
    dp->offload = (struct dp_offload){port->ifindex, offload.possible, offload.active};
    return ERR_OK;
}

static enum err_code check_offload(struct dp_linux *dp, const struct dp_port *port, struct err *err)
{
    enum err_code code = ask_offload(dp, port, err);
    if (code != ERR_OK)
        return code;
    if (!dp->offload.possible)
        return err_set(err, ERR_UNSUPPORTED, "%s has no flow table (no hw-tc-offload)",
                       port->ifname);
    if (!dp->offload.active)
        return err_set(err, ERR_UNSUPPORTED, "hw-tc-offload of %s is off", port->ifname);
    return ERR_OK;
}

static enum err_code check(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    bool egress;
    uint32_t label;
    struct flower_value value;
    enum err_code code = flower_id_parse(step->id, &egress, &label, err);
    if (code != ERR_OK || step->op == STEP_REMOVE)
        return code;
    code = flower_value_from_json(step->to, &value, err);
    if (code == ERR_OK && value.hw)
        code = check_offload(dp, port, err);
    return code;
}

/* Takes our filters of an id away, in both families or in all but one. */
static enum err_code remove_ours(struct dp_linux *dp, const struct dp_port *port,
                                 const struct flower_found *found, int keep_family, struct err *err)
{
    for (int ipv6 = 0; ipv6 <= 1; ipv6++) {
        const struct flower_info *info = &found->items[ipv6];
        if (ipv6 == keep_family || !found->present[ipv6] || !info->ours)
            continue;
        enum err_code code =
            tc_flower_del(dp->route, port->ifindex, info->egress, ipv6 == 1, info->handle, err);
        if (code != ERR_OK)
            return code;
    }
    return ERR_OK;
}

/* The kernel's refusal of a filter in our words; ERR_OK: it did not refuse. */
static enum err_code refused(struct err *problem, struct err *err)
{
    if (problem->code == ERR_LIMIT)
        (void)err_context(problem, "flow table full");
    /* EINVAL "Parent Qdisc doesn't exists", ENOENT: no flower or no such action in this kernel. */
    if (problem->code == ERR_NOT_FOUND)
        problem->code = ERR_UNSUPPORTED;
    if (problem->code != ERR_OK && err != NULL)
        *err = *problem;
    return problem->code;
}

static enum err_code set(struct dp_linux *dp, const struct dp_port *port,
                         const struct flower_found *found, const struct plan_step *step,
                         struct err *err)
{
    bool egress;
    uint32_t label;
    struct flower_value value;
    enum err_code code = flower_id_parse(step->id, &egress, &label, err);
    if (code == ERR_OK)
        code = flower_value_from_json(step->to, &value, err);
    if (code != ERR_OK)
        return code;
    int family = value.ipv6 ? 1 : 0;
    if (found->present[family] && !found->items[family].ours)
        return err_set(err, ERR_CONFLICT, "a filter of somebody else has this handle");
    struct err problem = ERR_INIT;
    code = tc_flower_set(dp->route, port->ifindex, egress, label, &value, found->present[family],
                         &problem);
    return code != ERR_OK ? refused(&problem, err) : remove_ours(dp, port, found, family, err);
}

/* Where nothing stands nothing is looked for: a filter made meanwhile is a conflict in the kernel.
 */
static enum err_code apply(struct dp_linux *dp, const struct dp_port *port,
                           const struct plan_step *step, struct err *err)
{
    bool egress;
    uint32_t label;
    struct flower_found found = {0};
    enum err_code code = flower_id_parse(step->id, &egress, &label, err);
    if (code == ERR_OK && step->from != NULL)
        code = find(dp, port, egress, label, &found, err);
    if (code != ERR_OK)
        return code;
    return step->op == STEP_REMOVE ? remove_ours(dp, port, &found, -1, err)
                                   : set(dp, port, &found, step, err);
}

/* One filter of a run: what takes its place, or the key of what goes. */
struct rule_change {
    bool egress, remove, replace;
    uint32_t label;
    struct flower_value value; /* of a removal only its family counts */
};

struct changes {
    const struct linux_run *run;
    struct rule_change *items; /* owned */
    size_t count;
};

static struct nl_msg *make_change(void *arg, size_t i)
{
    const struct changes *changes = arg;
    const struct rule_change *change = &changes->items[i];
    int ifindex = changes->run->port->ifindex;
    return change->remove
               ? tc_flower_encode_del(ifindex, change->egress, change->value.ipv6, change->label)
               : tc_flower_encode(ifindex, change->egress, change->label, &change->value,
                                  change->replace);
}

/* The kernel's own picture of a filter that it took, as a list would show it. */
static enum err_code take_shown(void *arg, const struct nlmsghdr *msg, struct err *err)
{
    const struct linux_run *run = ((const struct changes *)arg)->run;
    struct flower_info info;
    enum flower_entry entry;
    enum err_code code = tc_flower_decode(msg, run->port->ifindex, &info, &entry, err);
    if (code != ERR_OK || entry != FLOWER_ENTRY_FILTER)
        return code;
    return add(&info, false, run->port, run->shown, err);
}

/* False: not one request's work (another family, more than our form tells): apply() does it. */
static bool plan_change(const struct plan_step *step, struct rule_change *out)
{
    struct flower_value from;
    bool has_from = step->from != NULL;
    *out = (struct rule_change){.remove = step->op == STEP_REMOVE, .replace = has_from};
    if (flower_id_parse(step->id, &out->egress, &out->label, NULL) ||
        (has_from && flower_value_from_json(step->from, &from, NULL)))
        return false;
    if (out->remove) {
        out->value = from;
        return has_from;
    }
    return flower_value_from_json(step->to, &out->value, NULL) == ERR_OK &&
           (!has_from || from.ipv6 == out->value.ipv6);
}

static enum err_code apply_run(struct dp_linux *dp, const struct linux_run *run,
                               struct dp_progress *out, struct err *err)
{
    bool remove = run->steps[0].op == STEP_REMOVE;
    struct changes todo = {.run = run, .items = calloc(run->count, sizeof(struct rule_change))};
    struct err problem = ERR_INIT;
    *out = (struct dp_progress){0};
    if (todo.items == NULL)
        return err_nomem(err);
    while (todo.count < run->count && plan_change(&run->steps[todo.count], &todo.items[todo.count]))
        todo.count++;
    const struct nlx_changes changes = {make_change, remove ? NULL : take_shown, &todo, todo.count};
    problem.code = linux_run_changes(dp, &changes, out, &problem);
    free(todo.items);
    if (!remove)
        return refused(&problem, err);
    if (problem.code != ERR_OK && err != NULL)
        *err = problem;
    return problem.code;
}

static bool same(const json_t *live, const json_t *want)
{
    struct flower_value is, wanted;
    struct err err = ERR_INIT;
    return flower_value_from_json(live, &is, &err) == ERR_OK &&
           flower_value_from_json(want, &wanted, &err) == ERR_OK && tc_flower_same(&is, &wanted);
}

const struct linux_knob knob_flower = {
    .kind = "tc.flower",
    .observe = observe,
    .check = check,
    .apply = apply,
    .apply_run = apply_run,
    .same = same,
};
