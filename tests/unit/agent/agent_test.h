#pragma once
/*
 * tests/unit/agent/agent_test.h - two plans for the simulator that differ in every way (removals,
 * changes, additions), and pictures of a node to compare.
 */

#include "tests/unit/test.h"

#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/keep.h"
#include "base/file.h"
#include "base/json.h"
#include "datapath/dp_sim.h"
#include "fleet/plan.h"

#define NODE "n1"

struct row {
    const char *kind, *subject, *id, *want;
    bool strict, observe_only;
};

#define ETS(bw)                                                                                    \
    "{\"bw_percent\":" bw ",\"prio_tc\":[0,1,2,3,4,5,6,7],\"tsa\":[\"ets\",\"ets\",\"ets\","       \
    "\"ets\",\"strict\",\"strict\",\"strict\",\"strict\"]}"
#define CLASS(rate, parent)                                                                        \
    "{\"ceil_bps\":100000000000,\"parent\":\"" parent "\",\"rate_bps\":" rate "}"
#define FLOWER(label, dst, class)                                                                  \
    "{\"actions\":[{\"class\":\"" class "\"}],\"cookie\":\"53544c52" label                         \
                                        "0011223344556677\",\"hw\":\"no\",\"match\":{\"dst\":"     \
                                        "\"" dst "\",\"eth_type\":\"ipv4\"}}"
#define QDISC "{\"default_class\":\"5e11:ffff\",\"handle\":\"5e11:\",\"kind\":\"htb\"}"

/* What the node is before. */
static const struct row plan_a[] = {
    {"host.sysctl", "host", "net.solar.flow_steering", "\"1\"", false, false},
    {"link.mtu", "sim.0/0", "", "4200", false, false},
    {"dcb.app", "sim.0/0", "", "[{\"dscp\":26,\"priority\":3}]", false, false},
    {"dcb.ets", "sim.0/0", "", ETS("[10,20,30,40,0,0,0,0]"), false, false},
    {"dcb.pfc", "sim.0/0", "", "{\"delay\":0,\"priorities\":[3]}", false, false},
    {"tc.clsact", "sim.0/0", "", "true", false, false},
    {"tc.qdisc", "sim.0/0", "root", QDISC, false, false},
    {"tc.class", "sim.0/0", "5e11:fffe", CLASS("100000000000", "5e11:"), false, false},
    {"tc.class", "sim.0/0", "5e11:1", CLASS("40000000000", "5e11:fffe"), false, false},
    {"tc.class", "sim.0/0", "5e11:ffff", CLASS("5000000000", "5e11:fffe"), false, false},
    {"tc.flower", "sim.0/0", "egress/1", FLOWER("00000001", "10.1.0.0/16", "5e11:1"), false, false},
    {"tc.clsact", "sim.1/0", "", "true", false, false},
    {NULL, NULL, NULL, NULL, false, false},
};

/* What it shall be: job 1 gone, job 2 new, most knobs changed, port 1 not named any more. */
static const struct row plan_b[] = {
    {"host.modparam", "host", "solar_rdma.max_sge", "\"256\"", false, false},
    {"host.sysctl", "host", "net.solar.flow_steering", "\"2\"", false, false},
    {"link.mtu", "sim.0/0", "", "9000", false, false},
    {"dcb.app", "sim.0/0", "", "[{\"dscp\":18,\"priority\":2},{\"dscp\":26,\"priority\":3}]", false,
     false},
    {"dcb.ets", "sim.0/0", "", ETS("[40,30,20,10,0,0,0,0]"), false, false},
    {"dcb.maxrate", "sim.0/0", "", "[null,null,null,60000000000,null,null,null,null]", false,
     false},
    {"dcb.pfc", "sim.0/0", "", "{\"delay\":0,\"priorities\":[2,3]}", false, false},
    {"tc.clsact", "sim.0/0", "", "true", false, false},
    {"tc.qdisc", "sim.0/0", "root", QDISC, false, false},
    {"tc.class", "sim.0/0", "5e11:fffe", CLASS("100000000000", "5e11:"), false, false},
    {"tc.class", "sim.0/0", "5e11:2", CLASS("30000000000", "5e11:fffe"), false, false},
    {"tc.class", "sim.0/0", "5e11:ffff", CLASS("9000000000", "5e11:fffe"), false, false},
    {"tc.flower", "sim.0/0", "egress/2", FLOWER("00000002", "10.2.0.0/16", "5e11:2"), false, false},
    {NULL, NULL, NULL, NULL, false, false},
};

static inline struct plan *make_plan_of(const char *node, int64_t generation,
                                        const struct row *rows)
{
    struct err err = ERR_INIT;
    struct plan *plan = NULL;
    assert_ok(plan_new(node, generation, &plan, &err));
    for (; rows->kind != NULL; rows++) {
        struct plan_knob knob = {
            .kind = knob_kind_get(rows->kind),
            .want = json_loads(rows->want, JSON_DECODE_ANY, NULL),
            .strict = rows->strict,
            .observe_only = rows->observe_only,
        };
        snprintf(knob.subject, sizeof(knob.subject), "%s", rows->subject);
        snprintf(knob.id, sizeof(knob.id), "%s", rows->id);
        assert_non_null(knob.kind);
        assert_non_null(knob.want);
        assert_ok(plan_add(plan, &knob, &err));
    }
    assert_ok(plan_seal(plan, &err));
    return plan;
}

static inline struct plan *make_plan(int64_t generation, const struct row *rows)
{
    return make_plan_of(NODE, generation, rows);
}

/* On trial for a rollout. */
static inline struct plan *make_trial(int64_t generation, const struct row *rows,
                                      const char *rollout, int32_t timeout_s)
{
    struct plan *plan = make_plan(generation, rows);
    snprintf(plan->confirm.rollout, sizeof(plan->confirm.rollout), "%s", rollout);
    plan->confirm.timeout_s = timeout_s;
    return plan;
}

static inline struct dp *make_sim(void)
{
    struct err err = ERR_INIT;
    struct dp *dp = NULL;
    struct dp_sim_config config = {.port_count = 2};
    assert_ok(dp_sim_new(&config, &dp, &err));
    return dp;
}

/* Every knob that either plan names, as text. */
static inline char *picture(struct dp *dp)
{
    struct err err = ERR_INIT;
    struct plan *a = make_plan(1, plan_a);
    struct plan *all = NULL;
    assert_ok(plan_new(NODE, 1, &all, &err));
    for (const struct row *row = plan_b; row->kind != NULL; row++) {
        struct plan_knob knob = {.kind = knob_kind_get(row->kind), .want = json_true()};
        snprintf(knob.subject, sizeof(knob.subject), "%s", row->subject);
        snprintf(knob.id, sizeof(knob.id), "%s", row->id);
        assert_ok(plan_add(all, &knob, &err));
    }
    for (size_t i = 0; i < a->knob_count; i++) {
        bool there = false;
        for (const struct row *row = plan_b; row->kind != NULL; row++)
            there = there || (strcmp(row->kind, a->knobs[i].kind->name) == 0 &&
                              strcmp(row->subject, a->knobs[i].subject) == 0 &&
                              strcmp(row->id, a->knobs[i].id) == 0);
        if (there)
            continue;
        struct plan_knob knob = a->knobs[i];
        json_incref(knob.want);
        assert_ok(plan_add(all, &knob, &err));
    }
    assert_ok(plan_seal(all, &err));
    struct state state;
    state_init(&state);
    assert_ok(dp_observe(dp, all, &state, &err));
    json_t *json = state_to_json(&state);
    char *text = json_canonical(json, NULL);
    json_decref(json);
    state_release(&state);
    plan_free(all);
    plan_free(a);
    return text;
}

static inline void assert_picture(struct dp *dp, const char *wanted)
{
    char *now = picture(dp);
    if (strcmp(now, wanted) != 0)
        fail_msg("the node is\n%s\nand should be\n%s", now, wanted);
    free(now);
}

static inline void poke(struct dp *dp, const char *kind, const char *subject, const char *id,
                        const char *value)
{
    struct err err = ERR_INIT;
    json_t *json = value == NULL ? NULL : json_loads(value, JSON_DECODE_ANY, NULL);
    assert_ok(dp_sim_poke(dp, kind, subject, id, json, &err));
    json_decref(json);
}

static inline bool kept(const char *state_dir, const char *name)
{
    char path[KEEP_PATH_MAX];
    struct err err = ERR_INIT;
    assert_ok(keep_path(state_dir, name, path, &err));
    return access(path, F_OK) == 0;
}

static inline void scribble(const char *state_dir, const char *name, const char *text)
{
    char path[KEEP_PATH_MAX];
    struct err err = ERR_INIT;
    assert_ok(keep_path(state_dir, name, path, &err));
    assert_ok(file_write_atomic(path, text, strlen(text), 0600, &err));
}

/* Files of the folder whose names begin so. */
static inline int count_files(const char *state_dir, const char *prefix)
{
    char command[2 * KEEP_PATH_MAX];
    snprintf(command, sizeof(command), "ls -1 '%s' | grep -c '^%s'", state_dir, prefix);
    FILE *pipe = popen(command, "r");
    int count = -1;
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%d", &count), 1);
    pclose(pipe);
    return count;
}

static inline void remove_folder(const char *path)
{
    char command[KEEP_PATH_MAX + 16];
    snprintf(command, sizeof(command), "rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
}
