/*
 * fleet/compile_dcb.c - a port's DCB knobs: DSCP trust, traffic classes and their shares, class
 * rate limits, receive buffers, PFC.
 *
 * Priorities that the profile does not name go to traffic class 0. The class of priority 0 carries
 * what nobody claims (the host's own traffic): it is ETS with at least the default class's reserve,
 * unless the profile makes it strict. Classes that nothing uses are strict with 0 %: drivers take
 * that (dcb-ets(8) shows it), while an ETS class with 0 % is refused by some.
 */
#include <string.h>

#include "fleet/compile_job.h"

#define PERCENT_FULL      100
#define PERMYRIAD_PERCENT 100

static json_t *ints_to_json(const int *values, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_integer(values[i]));
    if (json_array_size(array) == count)
        return array;
    json_decref(array);
    return NULL;
}

static void add_knob(struct compile *c, const char *kind, json_t *want)
{
    compile_add(c,
                &(struct compile_knob){.kind = kind, .want = want, .enforcement = ENFORCEMENT_NIC});
}

/* DSCP to priority; -1 = not mapped. Of two priorities the lower one wins (a rule refuses that). */
static void dscp_map(const struct fabric *fabric, int out[FABRIC_DSCPS_MAX])
{
    for (int i = 0; i < FABRIC_DSCPS_MAX; i++)
        out[i] = -1;
    if (fabric->has_cnp)
        out[fabric->cnp_dscp] = fabric->cnp_priority;
    for (int i = PRIORITY_COUNT - 1; i >= 0; i--)
        for (size_t j = 0; fabric->priorities[i].used && j < fabric->priorities[i].dscp_count; j++)
            out[fabric->priorities[i].dscps[j]] = i;
}

static json_t *app_to_json(const struct fabric *fabric)
{
    OWN(json) json_t *array = json_array();
    int map[FABRIC_DSCPS_MAX];
    dscp_map(fabric, map);
    for (int dscp = 0; dscp < FABRIC_DSCPS_MAX && fabric->trust == FABRIC_TRUST_DSCP; dscp++) {
        if (map[dscp] < 0)
            continue;
        OWN(json) json_t *entry = json_object();
        if (json_object_set_new_nocheck(entry, "dscp", json_integer(dscp)) != 0 ||
            json_object_set_new_nocheck(entry, "priority", json_integer(map[dscp])) != 0 ||
            json_array_append(array, entry) != 0)
            return NULL;
    }
    return GIVE(array);
}

/* The whole percents of what each class is promised, if these fit into 100; rounded up, because a
 * share rounded down would break the promise. */
static bool shares_rounded_up(const struct ets_class classes[TC_COUNT], int out[TC_COUNT],
                              int *out_rest)
{
    int64_t sum = 0;
    for (int i = 0; i < TC_COUNT; i++) {
        int64_t percent = (classes[i].wanted_permyriad + PERMYRIAD_PERCENT - 1) / PERMYRIAD_PERCENT;
        sum += percent;
        out[i] = percent > PERCENT_FULL ? PERCENT_FULL : (int)percent;
    }
    *out_rest = sum > PERCENT_FULL ? 0 : (int)(PERCENT_FULL - sum);
    return sum <= PERCENT_FULL;
}

/* Adds `amount` to the classes in proportion to `weights`, largest remainder first (of equal ones
 * the lower class), so that exactly `amount` is given out. */
static void split(int amount, const int64_t weights[TC_COUNT], int out[TC_COUNT])
{
    int64_t sum = 0, remainder[TC_COUNT];
    int given = 0;
    for (int i = 0; i < TC_COUNT; i++)
        sum += weights[i];
    if (sum == 0)
        return;
    for (int i = 0; i < TC_COUNT; i++) {
        int64_t exact = amount * weights[i];
        out[i] += (int)(exact / sum);
        given += (int)(exact / sum);
        remainder[i] = exact % sum;
    }
    for (; given < amount; given++) {
        int largest = -1;
        for (int i = 0; i < TC_COUNT; i++)
            if (weights[i] > 0 && (largest < 0 || remainder[i] > remainder[largest]))
                largest = i;
        out[largest]++;
        remainder[largest] = -1;
    }
}

void compile_ets_shares(const struct ets_class classes[TC_COUNT], int out_percent[TC_COUNT])
{
    int rest;
    int64_t weights[TC_COUNT];
    bool fits = shares_rounded_up(classes, out_percent, &rest);
    for (int i = 0; i < TC_COUNT; i++)
        weights[i] = fits ? classes[i].weight : classes[i].wanted_permyriad;
    if (!fits) { /* promised too much: in proportion to the promises */
        memset(out_percent, 0, TC_COUNT * sizeof(*out_percent));
        rest = PERCENT_FULL;
    }
    split(rest, weights, out_percent);
    /* An ETS class must not have 0 %: it takes one from the largest. */
    for (int i = 0; i < TC_COUNT; i++) {
        int largest = 0;
        if (!classes[i].used || classes[i].strict || out_percent[i] > 0)
            continue;
        for (int j = 1; j < TC_COUNT; j++)
            if (out_percent[j] > out_percent[largest])
                largest = j;
        out_percent[largest]--;
        out_percent[i]++;
    }
}

/* Classes as the profile has them, with what the jobs on the port were promised. */
void compile_classes(const struct compile *c, struct ets_class classes[TC_COUNT],
                     int prio_tc[PRIORITY_COUNT])
{
    const struct fabric *fabric = c->view->fabric;
    memset(classes, 0, TC_COUNT * sizeof(*classes));
    for (int i = 0; i < PRIORITY_COUNT; i++) {
        const struct fabric_priority *priority = &fabric->priorities[i];
        prio_tc[i] = priority->used ? priority->traffic_class : 0;
        struct ets_class *class = &classes[prio_tc[i]];
        class->used = true;
        class->strict |= priority->used && priority->strict;
        class->weight += priority->used && !priority->strict ? priority->ets_weight : 0;
    }
    for (size_t i = 0; i < c->site->job_count; i++) {
        const struct site_job *job = &c->site->jobs[i];
        if (job->traffic_class >= 0 && !classes[job->traffic_class].strict)
            classes[job->traffic_class].wanted_permyriad +=
                bandwidth_on_port_permyriad(&job->job->guarantee, c->site->port->speed_bps);
    }
    struct ets_class *unclaimed = &classes[prio_tc[0]];
    if (!unclaimed->strict)
        unclaimed->wanted_permyriad += fabric->reserve_permyriad;
    for (int i = 0; i < TC_COUNT; i++)
        if (classes[i].used && !classes[i].strict && classes[i].weight == 0)
            classes[i].weight = 1;
}

static json_t *ets_to_json(const struct ets_class classes[TC_COUNT],
                           const int prio_tc[PRIORITY_COUNT])
{
    int percent[TC_COUNT];
    bool any = false;
    compile_ets_shares(classes, percent);
    OWN(json) json_t *tsa = json_array();
    for (int i = 0; i < TC_COUNT; i++) {
        bool ets = classes[i].used && !classes[i].strict;
        any |= ets;
        if (json_array_append_new(tsa, json_string(ets ? "ets" : "strict")) != 0)
            return NULL;
    }
    if (!any)
        memset(percent, 0, sizeof(percent));
    OWN(json) json_t *object = json_object();
    if (json_object_set_new_nocheck(object, "bw_percent", ints_to_json(percent, TC_COUNT)) != 0 ||
        json_object_set_new_nocheck(object, "prio_tc", ints_to_json(prio_tc, PRIORITY_COUNT)) !=
            0 ||
        json_object_set_nocheck(object, "tsa", tsa) != 0)
        return NULL;
    return GIVE(object);
}

static void compile_ets(struct compile *c)
{
    struct ets_class classes[TC_COUNT];
    int prio_tc[PRIORITY_COUNT];
    const struct port_caps *caps = &c->site->port->caps;
    if (!caps->dcb_ets) {
        compile_leave_out(c, "it cannot share bandwidth between traffic classes (ETS)");
        return;
    }
    if (!site_has_classes(c->view->fabric, caps)) {
        compile_leave_out(c, "it has %d traffic classes; the profile uses more", caps->ets_tcs);
        return;
    }
    compile_classes(c, classes, prio_tc);
    add_knob(c, "dcb.ets", ets_to_json(classes, prio_tc));
}

/* In whole steps of the NIC. Less than one step is one step: 0 would mean no limit. */
static int64_t rounded_limit(struct compile *c, int traffic_class, int64_t limit_bps)
{
    int64_t unit = c->site->port->caps.maxrate_unit_bps;
    if (unit <= 1)
        return limit_bps;
    if (limit_bps < unit) {
        compile_leave_out(c,
                          "the limit of traffic class %d is below its step of %lld bit/s and was "
                          "raised to one step",
                          traffic_class, (long long)unit);
        return unit;
    }
    return limit_bps / unit * unit;
}

static void compile_maxrate(struct compile *c)
{
    bool any = false;
    OWN(json) json_t *array = json_array();
    for (int i = 0; i < TC_COUNT; i++) {
        int64_t limit = site_class_limit_bps(c->view, c->site, i);
        bool limited = limit > 0 && limit < c->site->port->speed_bps;
        any |= limited;
        if (limited && c->site->port->caps.dcb_maxrate)
            limit = rounded_limit(c, i, limit);
        json_array_append_new(array, limited ? json_integer(limit) : json_null());
    }
    if (c->site->port->caps.dcb_maxrate)
        add_knob(c, "dcb.maxrate", json_array_size(array) == TC_COUNT ? GIVE(array) : NULL);
    else if (any)
        compile_leave_out(c, "it cannot limit traffic classes");
}

static json_t *buffer_to_json(const struct fabric *fabric)
{
    OWN(json) json_t *sizes = json_array();
    for (int i = 0; i < TC_COUNT; i++)
        json_array_append_new(sizes, json_integer(fabric->buffer_size_bytes[i]));
    OWN(json) json_t *object = json_object();
    if (json_array_size(sizes) != TC_COUNT ||
        json_object_set_new_nocheck(
            object, "prio_buffer", ints_to_json(fabric->buffer_of_priority, PRIORITY_COUNT)) != 0 ||
        json_object_set_nocheck(object, "size_bytes", sizes) != 0)
        return NULL;
    return GIVE(object);
}

static json_t *pfc_to_json(const struct fabric *fabric)
{
    int lossless[PRIORITY_COUNT];
    size_t count = 0;
    for (int i = 0; i < PRIORITY_COUNT; i++)
        if (fabric->priorities[i].used && fabric->priorities[i].lossless)
            lossless[count++] = i;
    OWN(json) json_t *object = json_object();
    if (json_object_set_new_nocheck(object, "delay", json_integer(0)) != 0 ||
        json_object_set_new_nocheck(object, "priorities", ints_to_json(lossless, count)) != 0)
        return NULL;
    return GIVE(object);
}

static bool wants_lossless(const struct fabric *fabric)
{
    for (int i = 0; i < PRIORITY_COUNT; i++)
        if (fabric->priorities[i].used && fabric->priorities[i].lossless)
            return true;
    return false;
}

/* A knob that is the same on every port: its value is made once and shared. */
static void add_shared(struct compile *c, const char *kind, json_t **made,
                       json_t *(*make)(const struct fabric *fabric))
{
    if (*made == NULL)
        *made = make(c->view->fabric);
    add_knob(c, kind, json_incref(*made));
}

void compile_dcb(struct compile *c)
{
    const struct fabric *fabric = c->view->fabric;
    const struct port_caps *caps = &c->site->port->caps;
    if (caps->dcbx_agent[0] != '\0' && !fabric->dcbx_unmanaged)
        add_knob(c, "dcb.dcbx",
                 json_pack("{s:s,s:[s,s]}", "agent", "none", "mode", "host", "ieee"));
    if (caps->dcb_pfc && wants_lossless(fabric))
        compile_pause(c);
    if (caps->dcb_app)
        add_shared(c, "dcb.app", &c->app, app_to_json);
    else if (fabric->trust == FABRIC_TRUST_DSCP)
        compile_leave_out(c, "it cannot map DSCPs to priorities");
    compile_ets(c);
    compile_maxrate(c);
    if (fabric->has_buffer && caps->dcb_buffer)
        add_shared(c, "dcb.buffer", &c->buffer, buffer_to_json);
    else if (fabric->has_buffer)
        compile_leave_out(c, "its receive buffers cannot be set");
    if (caps->dcb_pfc)
        add_shared(c, "dcb.pfc", &c->pfc, pfc_to_json);
    else if (wants_lossless(fabric))
        compile_leave_out(c, "it cannot pause single priorities (PFC), so nothing is lossless");
}
