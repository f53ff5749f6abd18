/*
 * datapath/dp_linux.c - the provider over this node's kernel; see dp_linux.h.
 *
 * This file knows no knob: the rows of linux_knobs[] do. Here stands what is the same for all of
 * them: which ports, and what an unreadable knob looks like. linux_apply.c changes them.
 */
#include "datapath/dp_linux.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/netlink.h>

#include "base/json.h"
#include "datapath/linux.h"
#include "datapath/sys/gpu.h"
#include "datapath/sys/topology.h"

const struct linux_knob *const linux_knobs[] = {
    &knob_modparam, &knob_sysctl,   &knob_thp,          &knob_devlink_param, &knob_file,
    &knob_coalesce, &knob_arp,      &knob_pause,        &knob_mtu,           &knob_dcbx,
    &knob_app,      &knob_ets,      &knob_maxrate,      &knob_buffer,        &knob_pfc,
    &knob_roce_cc,  &knob_roce_tos, &knob_devlink_rate, &knob_clsact,        &knob_qdisc,
    &knob_class,    &knob_red,      &knob_flower,       &knob_solar,         NULL,
};

const struct linux_knob *linux_knob_get(const char *kind)
{
    for (const struct linux_knob *const *row = linux_knobs; *row != NULL; row++)
        if (strcmp((*row)->kind, kind) == 0)
            return *row;
    return NULL;
}

enum err_code linux_genl(struct dp_linux *dp, struct nlx **out, struct err *err)
{
    if (dp->genl == NULL) {
        enum err_code code = nlx_open(NETLINK_GENERIC, &dp->genl, err);
        if (code != ERR_OK)
            return code;
    }
    *out = dp->genl;
    return ERR_OK;
}

void linux_start_deadline(struct dp_linux *dp)
{
    nlx_set_budget(dp->route, DP_DEADLINE_MS);
    if (dp->genl != NULL)
        nlx_set_budget(dp->genl, DP_DEADLINE_MS);
}

bool linux_is_host(const char *kind)
{
    return strncmp(kind, "host.", 5) == 0;
}

/* Observe ------------------------------------------------------------------------------------- */

enum err_code linux_observed(struct state *out, const char *kind, const struct dp_port *port,
                             const char *id, json_t *live, enum knob_owner owner, struct err *err)
{
    struct state_knob knob = {.kind = knob_kind_get(kind), .live = live, .owner = owner};
    if (live == NULL)
        return err_nomem(err);
    snprintf(knob.subject, sizeof(knob.subject), "%s", port == NULL ? "host" : port->id);
    snprintf(knob.id, sizeof(knob.id), "%s", id);
    return state_add(out, &knob, err);
}

static enum err_code add_problem(struct state *out, const struct knob_kind *kind,
                                 const char *subject, const char *id, const char *problem,
                                 struct err *err)
{
    struct state_knob knob = {.kind = kind};
    snprintf(knob.subject, sizeof(knob.subject), "%s", subject);
    snprintf(knob.id, sizeof(knob.id), "%s", id);
    snprintf(knob.problem, sizeof(knob.problem), "%.*s", (int)sizeof(knob.problem) - 1, problem);
    return state_add(out, &knob, err);
}

/* Every knob of the plan of this kind and subject is unreadable; without a plan, one entry tells.
 */
static enum err_code add_problems(struct state *out, const struct plan *plan,
                                  const struct knob_kind *kind, const char *subject,
                                  const char *problem, struct err *err)
{
    if (plan == NULL)
        return add_problem(out, kind, subject, "", problem, err);
    for (size_t i = 0; i < plan->knob_count; i++) {
        const struct plan_knob *want = &plan->knobs[i];
        if (want->kind != kind || strcmp(want->subject, subject) != 0)
            continue;
        enum err_code code = add_problem(out, kind, subject, want->id, problem, err);
        if (code != ERR_OK)
            return code;
    }
    return ERR_OK;
}

static void drop_from(struct state *state, size_t count)
{
    while (state->knob_count > count) {
        struct state_knob *last = &state->knobs[--state->knob_count];
        json_decref(last->live);
        json_decref(last->persisted);
        json_decref(last->next_boot);
    }
}

/* What the node cannot do is absent, so that check() tells; what fails is there with its problem.
 */
static enum err_code observe_one(struct dp_linux *dp, const struct linux_knob *row,
                                 const struct dp_port *port, const char *id,
                                 const struct plan *plan, struct state *out)
{
    struct err problem = ERR_INIT;
    size_t before = out->knob_count;
    linux_start_deadline(dp); /* one stuck device costs itself, not the others */
    sys_watch_trace(linux_watch_files(dp->watch));
    enum err_code code = row->observe(dp, port, id, out, &problem);
    sys_watch_trace(NULL);
    if (code == ERR_OK || code == ERR_UNSUPPORTED)
        return ERR_OK;
    if (code == ERR_NOMEM)
        return code;
    drop_from(out, before); /* half a list would look like knobs that are gone */
    const struct knob_kind *kind = knob_kind_get(row->kind);
    const char *subject = port == NULL ? "host" : port->id;
    if (id != NULL)
        return add_problem(out, kind, subject, id, problem.text, NULL);
    return add_problems(out, plan, kind, subject, problem.text, NULL);
}

/* A kind of which only what the plan names is looked at. */
static enum err_code observe_named(struct dp_linux *dp, const struct linux_knob *row,
                                   const struct plan *plan, struct state *out, struct err *err)
{
    for (size_t i = 0; i < plan->knob_count; i++) {
        const struct plan_knob *want = &plan->knobs[i];
        if (strcmp(want->kind->name, row->kind) != 0)
            continue;
        const struct dp_port *port = linux_port_listed(dp, want->subject);
        enum err_code code = port == NULL && !linux_is_host(row->kind)
                                 ? add_problem(out, want->kind, want->subject, want->id,
                                               "the port is not there", err)
                                 : observe_one(dp, row, port, want->id, plan, out);
        if (code != ERR_OK)
            return err_set(err, code, "cannot observe %s of %s", row->kind, want->subject);
    }
    return ERR_OK;
}

/* A kind with members of ours: of every port, so that what a plan no longer names is found. */
static enum err_code observe_all(struct dp_linux *dp, const struct linux_knob *row,
                                 const struct plan *plan, struct state *out, struct err *err)
{
    if (linux_is_host(row->kind)) {
        enum err_code code = observe_one(dp, row, NULL, NULL, plan, out);
        return code == ERR_OK ? ERR_OK : err_set(err, code, "cannot observe %s", row->kind);
    }
    for (size_t i = 0; i < dp->port_count; i++) {
        enum err_code code = observe_one(dp, row, &dp->ports[i], NULL, plan, out);
        if (code != ERR_OK)
            return err_set(err, code, "cannot observe %s of %s", row->kind, dp->ports[i].id);
    }
    return ERR_OK;
}

static enum err_code observe_gone_ports(struct dp_linux *dp, const struct plan *plan,
                                        struct state *out, struct err *err)
{
    for (size_t i = 0; i < plan->knob_count; i++) {
        const struct plan_knob *want = &plan->knobs[i];
        if (!want->kind->is_set || linux_is_host(want->kind->name) ||
            linux_port_listed(dp, want->subject) != NULL)
            continue;
        enum err_code code =
            add_problem(out, want->kind, want->subject, want->id, "the port is not there", err);
        if (code != ERR_OK)
            return code;
    }
    return ERR_OK;
}

/* Where the kernel's unit cannot tell live and wanted apart, live is what was wanted. */
static void settle(const struct plan *plan, struct state *state)
{
    size_t j = 0;
    for (size_t i = 0; i < plan->knob_count; i++) {
        const struct plan_knob *want = &plan->knobs[i];
        const struct linux_knob *row = linux_knob_get(want->kind->name);
        int order = -1;
        while (j < state->knob_count &&
               (order = knob_compare(state->knobs[j].kind, state->knobs[j].subject,
                                     state->knobs[j].id, want->kind, want->subject, want->id)) < 0)
            j++;
        if (j == state->knob_count || order != 0 || row == NULL || row->same == NULL)
            continue;
        struct state_knob *knob = &state->knobs[j];
        bool next = want->kind->view == KNOB_VIEW_NEXT_BOOT;
        json_t **counts = next ? &knob->next_boot : &knob->live;
        if (*counts == NULL || json_equal(*counts, want->want) || !row->same(*counts, want->want))
            continue;
        json_decref(*counts);
        *counts = json_incref(want->want);
    }
}

static enum err_code linux_observe(struct dp *base, const struct plan *plan, struct state *out,
                                   struct err *err)
{
    struct dp_linux *dp = (struct dp_linux *)base;
    OWN_STATE struct state state;
    state_init(&state);
    linux_start_deadline(dp);
    dp->offload.ifindex = 0;
    linux_writers_observed(dp);
    sys_watch_round(linux_watch_files(dp->watch));
    enum err_code code = linux_scan(dp, NULL, err);
    for (const struct linux_knob *const *row = linux_knobs; code == ERR_OK && *row != NULL; row++) {
        if (plan == NULL || knob_kind_get((*row)->kind)->is_set)
            code = observe_all(dp, *row, plan, &state, err);
        else
            code = observe_named(dp, *row, plan, &state, err);
    }
    if (code == ERR_OK && plan != NULL)
        code = observe_gone_ports(dp, plan, &state, err);
    if (code != ERR_OK)
        return code;
    state_seal(&state);
    if (plan != NULL)
        settle(plan, &state);
    *out = state;
    state_init(&state);
    return ERR_OK;
}

/* Events and life ----------------------------------------------------------------------------- */

static int linux_event_fd(struct dp *base)
{
    const struct dp_linux *dp = (struct dp_linux *)base;
    return dp->watch == NULL ? -1 : linux_watch_fd(dp->watch);
}

static enum err_code linux_drain(struct dp *base, bool *out_changed, struct err *err)
{
    struct dp_linux *dp = (struct dp_linux *)base;
    bool devices = false;
    *out_changed = false;
    enum err_code code =
        dp->watch == NULL ? ERR_OK : linux_watch_drain(dp->watch, out_changed, &devices, err);
    *out_changed |= aside_drain(dp->aside); /* what could not be read then can be now */
    dp->devices_changed |= devices || code != ERR_OK;
    bool neighbours = dp->lldp != NULL && lldp_listen_drain(dp->lldp);
    dp->inventory_stale |= dp->devices_changed || neighbours;
    dp->offload.ifindex = 0;
    return code;
}

static bool linux_inventory_stale(const struct dp *base)
{
    return ((const struct dp_linux *)base)->inventory_stale;
}

static void linux_free(struct dp *base)
{
    struct dp_linux *dp = (struct dp_linux *)base;
    for (char **name = dp->devices; name != NULL && *name != NULL; name++)
        free(*name);
    free(dp->devices);
    free(dp->root);
    free(dp->nvml);
    free(dp->ports);
    free(dp->representors);
    json_decref(dp->kept);
    aside_free(dp->aside);
    nlx_free(dp->route);
    nlx_free(dp->genl);
    linux_watch_close(dp->watch);
    lldp_listen_close(dp->lldp);
    free(dp);
}

static const struct dp_ops linux_ops = {
    .name = "dp_linux",
    .inventory = linux_inventory,
    .observe = linux_observe,
    .check = linux_check,
    .apply = linux_apply,
    .apply_run = linux_apply_run,
    .link = linux_link,
    .ping = linux_ping,
    .event_fd = linux_event_fd,
    .drain = linux_drain,
    .inventory_stale = linux_inventory_stale,
    .writer = linux_writer,
    .free = linux_free,
};

static enum err_code copy_config(struct dp_linux *dp, const struct dp_linux_config *config,
                                 struct err *err)
{
    size_t count = 0;
    dp->root = strdup(config->root == NULL ? "" : config->root);
    dp->nvml = strdup(config->nvml == NULL ? GPU_NVML : config->nvml);
    if (dp->root == NULL || dp->nvml == NULL)
        return err_nomem(err);
    if (config->devices == NULL)
        return ERR_OK;
    while (config->devices[count] != NULL)
        count++;
    if (count > INVENTORY_PORTS_MAX)
        return err_set(err, ERR_LIMIT, "more than %d devices", INVENTORY_PORTS_MAX);
    dp->devices = calloc(count + 1, sizeof(*dp->devices));
    for (size_t i = 0; dp->devices != NULL && i < count; i++) {
        dp->devices[i] = strdup(config->devices[i]);
        if (dp->devices[i] == NULL)
            return err_nomem(err);
    }
    return dp->devices == NULL ? err_nomem(err) : ERR_OK;
}

enum err_code dp_linux_new(const struct dp_linux_config *config, struct dp **out, struct err *err)
{
    struct dp_linux *linux_dp = calloc(1, sizeof(*linux_dp));
    if (linux_dp == NULL) {
        lldp_listen_close(config->lldp);
        return err_nomem(err);
    }
    linux_dp->base.ops = &linux_ops;
    linux_dp->lldp = config->lldp;
    OWN(dp) struct dp *dp = &linux_dp->base;
    enum err_code code = copy_config(linux_dp, config, err);
    if (code == ERR_OK)
        topology_prepare(linux_dp->root);
    if (code == ERR_OK)
        code = aside_new(&linux_dp->aside, err);
    if (code == ERR_OK)
        code = nlx_open(NETLINK_ROUTE, &linux_dp->route, err);
    struct nlx *genl = NULL;
    if (code == ERR_OK && linux_genl(linux_dp, &genl, NULL) != ERR_OK)
        genl = NULL;
    if (code == ERR_OK)
        code = linux_watch_open(linux_dp->route, genl, &linux_dp->watch, err);
    if (code == ERR_OK && linux_dp->lldp != NULL)
        code = linux_watch_add(linux_dp->watch, lldp_listen_fd(linux_dp->lldp), err);
    if (code == ERR_OK) {
        linux_watch_on_change(linux_dp->watch, linux_changed, linux_dp);
        code = linux_watch_add(linux_dp->watch, aside_fd(linux_dp->aside), err);
    }
    if (code == ERR_OK)
        *out = GIVE(dp);
    return code;
}
