/*
 * fleet/chain.c - see chain.h. Called by the agent, after each pass and in its self-test.
 */
#include "fleet/chain.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DSCP_MAX       63
#define TOS_DSCP_SHIFT 2
#define NONE           (-1) /* in chain_port.priority_of */
#define SEVERAL        (-2)

static const char *const hop_names[] = {
    [CHAIN_DSCP] = "dscp", [CHAIN_PRIORITY] = "priority", [CHAIN_CLASS] = "class",
    [CHAIN_PFC] = "pfc",   [CHAIN_BUFFER] = "buffer",
};
static const char *const verdict_names[] = {
    [CHAIN_WHOLE] = "whole", [CHAIN_BROKEN] = "broken", [CHAIN_UNKNOWN] = "unknown"};

const char *const chain_kinds[] = {"roce.tos",   "dcb.app",   "dcb.ets", "dcb.pfc",
                                   "dcb.buffer", "tc.flower", NULL};

const char *chain_hop_name(enum chain_hop hop)
{
    return hop_names[hop];
}

const char *chain_verdict_name(enum chain_verdict verdict)
{
    return verdict_names[verdict];
}

/* Values -------------------------------------------------------------------------------------- */

static bool number_in(const json_t *value, int64_t max, int64_t *out)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > max)
        return false;
    *out = json_integer_value(value);
    return true;
}

/* Exactly CHAIN_PRIOS numbers of 0..max. */
static bool eight(const json_t *array, int64_t max, int64_t out[CHAIN_PRIOS])
{
    if (json_array_size(array) != CHAIN_PRIOS)
        return false;
    for (size_t i = 0; i < CHAIN_PRIOS; i++)
        if (!number_in(json_array_get(array, i), max, &out[i]))
            return false;
    return true;
}

/* The kernel keeps several entries of one DSCP; which of them a NIC takes is its driver's affair.
 */
static bool read_app(const json_t *value, struct chain_port *out)
{
    if (!json_is_array(value))
        return false;
    for (size_t i = 0; i < CHAIN_DSCPS; i++)
        out->priority_of[i] = NONE;
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *entry = json_array_get(value, i);
        int64_t dscp, priority;
        if (!number_in(json_object_get(entry, "dscp"), DSCP_MAX, &dscp) ||
            !number_in(json_object_get(entry, "priority"), CHAIN_PRIOS - 1, &priority))
            return false;
        int had = out->priority_of[dscp];
        out->priority_of[dscp] = had == NONE || had == priority ? (int)priority : SEVERAL;
    }
    return true;
}

static bool read_ets(const json_t *value, struct chain_port *out)
{
    int64_t classes[CHAIN_PRIOS], percent[CHAIN_PRIOS];
    const json_t *tsa = json_object_get(value, "tsa");
    if (!eight(json_object_get(value, "prio_tc"), CHAIN_PRIOS - 1, classes) ||
        !eight(json_object_get(value, "bw_percent"), 100, percent))
        return false;
    for (size_t i = 0; i < CHAIN_PRIOS; i++) {
        const char *name = json_string_value(json_array_get(tsa, i));
        if (name == NULL)
            return false;
        out->class_of[i] = (int)classes[i];
        out->starved[i] = strcmp(name, "ets") == 0 && percent[i] == 0;
    }
    return true;
}

static bool read_pfc(const json_t *value, struct chain_port *out)
{
    const json_t *list = json_object_get(value, "priorities");
    if (!json_is_array(list))
        return false;
    out->lossless = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        int64_t priority;
        if (!number_in(json_array_get(list, i), CHAIN_PRIOS - 1, &priority))
            return false;
        out->lossless |= 1U << priority;
    }
    return true;
}

static bool read_buffer(const json_t *value, struct chain_port *out)
{
    int64_t buffers[CHAIN_PRIOS];
    if (!eight(json_object_get(value, "prio_buffer"), CHAIN_PRIOS - 1, buffers) ||
        !eight(json_object_get(value, "size_bytes"), INT64_MAX, out->size_bytes))
        return false;
    for (size_t i = 0; i < CHAIN_PRIOS; i++)
        out->buffer_of[i] = (int)buffers[i];
    return true;
}

static const struct {
    const char *kind;
    enum chain_hop hop;
    bool (*read)(const json_t *value, struct chain_port *out);
} readers[] = {
    {"dcb.app", CHAIN_PRIORITY, read_app},
    {"dcb.ets", CHAIN_CLASS, read_ets},
    {"dcb.pfc", CHAIN_PFC, read_pfc},
    {"dcb.buffer", CHAIN_BUFFER, read_buffer},
};

static const json_t *live_of(const struct state *state, const char *kind, const char *subject,
                             const char *id)
{
    const struct state_knob *knob = state_get(state, knob_kind_get(kind), subject, id);
    return knob == NULL ? NULL : knob->live;
}

void chain_port_is(const struct state *state, const char *subject, struct chain_port *out)
{
    *out = (struct chain_port){0};
    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
        const json_t *value = live_of(state, readers[i].kind, subject, "");
        if (value != NULL && readers[i].read(value, out))
            out->has |= 1U << readers[i].hop;
    }
}

void chain_port_wanted(const struct plan *plan, const char *subject, struct chain_port *out)
{
    *out = (struct chain_port){0};
    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
        const struct plan_knob *knob =
            plan_knob_get(plan, knob_kind_get(readers[i].kind), subject, "");
        if (knob != NULL && readers[i].read(knob->want, out))
            out->has |= 1U << readers[i].hop;
    }
}

static bool told_priority(const json_t *entry, int64_t *out)
{
    return number_in(json_object_get(entry, "priority"), CHAIN_PRIOS - 1, out);
}

static void read_told_dscps(const json_t *list, struct chain_port *out)
{
    for (size_t i = 0; i < CHAIN_DSCPS; i++)
        out->priority_of[i] = NONE;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        int64_t dscp, priority;
        if (!number_in(json_object_get(entry, "dscp"), DSCP_MAX, &dscp) ||
            !told_priority(entry, &priority))
            return;
        out->priority_of[dscp] = (int)priority;
        out->has |= 1U << CHAIN_PRIORITY;
    }
}

/* A hop is known when it is told of every priority. */
static void read_told_priorities(const json_t *list, struct chain_port *out)
{
    unsigned classes = 0, pauses = 0;
    const unsigned all = (1U << CHAIN_PRIOS) - 1;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i), *tsa = json_object_get(entry, "tsa");
        const json_t *lossless = json_object_get(entry, "lossless");
        int64_t priority, tc, percent;
        if (!told_priority(entry, &priority))
            return;
        if (json_is_boolean(lossless)) {
            out->lossless |= json_is_true(lossless) ? 1U << priority : 0;
            pauses |= 1U << priority;
        }
        if (!number_in(json_object_get(entry, "class"), CHAIN_PRIOS - 1, &tc) ||
            !number_in(json_object_get(entry, "percent"), 100, &percent) || !json_is_string(tsa))
            continue;
        out->class_of[priority] = (int)tc;
        out->starved[tc] = strcmp(json_string_value(tsa), "ets") == 0 && percent == 0;
        classes |= 1U << priority;
    }
    out->has |= classes == all ? 1U << CHAIN_CLASS : 0;
    out->has |= pauses == all ? 1U << CHAIN_PFC : 0;
}

void chain_port_neighbour(const json_t *neighbour, struct chain_port *out)
{
    *out = (struct chain_port){0};
    read_told_dscps(json_object_get(neighbour, "dscps"), out);
    read_told_priorities(json_object_get(neighbour, "priorities"), out);
}

/* Hops ---------------------------------------------------------------------------------------- */

/* The end of a chain that is not whole; false for the hops below. */
__attribute__((format(printf, 4, 5))) static bool
ends(struct chain *out, enum chain_verdict verdict, enum chain_hop at, const char *fmt, ...)
{
    va_list args;
    out->verdict = verdict;
    out->at = at;
    va_start(args, fmt);
    vsnprintf(out->why, sizeof(out->why), fmt, args);
    va_end(args);
    return false;
}

static bool has(const struct chain_port *port, enum chain_hop hop)
{
    return (port->has >> hop & 1) != 0;
}

static bool follow_priority(const struct chain_port *is, const struct chain_port *wanted,
                            struct chain *out)
{
    int priority = is->priority_of[out->dscp];
    if (priority == SEVERAL)
        return ends(out, CHAIN_BROKEN, CHAIN_PRIORITY, "DSCP %d has several priorities on the port",
                    out->dscp);
    if (priority < 0)
        return ends(out, CHAIN_BROKEN, CHAIN_PRIORITY,
                    "the port has no priority for DSCP %d: such packets go with the rest",
                    out->dscp);
    out->priority = priority;
    if (has(wanted, CHAIN_PRIORITY) && wanted->priority_of[out->dscp] != priority)
        return ends(out, CHAIN_BROKEN, CHAIN_PRIORITY,
                    "DSCP %d has priority %d on the port and %d in the plan", out->dscp, priority,
                    wanted->priority_of[out->dscp]);
    return true;
}

static bool follow_class(const struct chain_port *is, const struct chain_port *wanted,
                         struct chain *out)
{
    int tc = is->class_of[out->priority];
    out->traffic_class = tc;
    if (has(wanted, CHAIN_CLASS) && wanted->class_of[out->priority] != tc)
        return ends(out, CHAIN_BROKEN, CHAIN_CLASS,
                    "priority %d is in traffic class %d on the port and in %d in the plan",
                    out->priority, tc, wanted->class_of[out->priority]);
    if (is->starved[tc])
        return ends(out, CHAIN_BROKEN, CHAIN_CLASS,
                    "traffic class %d of priority %d has a share of 0 %%", tc, out->priority);
    return true;
}

static bool follow_pfc(const struct chain_port *is, const struct chain_port *wanted,
                       struct chain *out)
{
    out->lossless = (is->lossless >> out->priority & 1) != 0;
    bool want = (wanted->lossless >> out->priority & 1) != 0;
    if (!has(wanted, CHAIN_PFC) || want == out->lossless)
        return true;
    return ends(out, CHAIN_BROKEN, CHAIN_PFC,
                want ? "priority %d has no PFC on the port: under load its packets are dropped"
                     : "priority %d has PFC on the port, which the plan does not want",
                out->priority);
}

static bool follow_buffer(const struct chain_port *is, const struct chain_port *wanted,
                          struct chain *out)
{
    int buffer = is->buffer_of[out->priority];
    out->buffer = buffer;
    if (has(wanted, CHAIN_BUFFER) && wanted->buffer_of[out->priority] != buffer)
        return ends(out, CHAIN_BROKEN, CHAIN_BUFFER,
                    "priority %d is in buffer %d on the port and in %d in the plan", out->priority,
                    buffer, wanted->buffer_of[out->priority]);
    if (out->lossless && is->size_bytes[buffer] == 0)
        return ends(out, CHAIN_BROKEN, CHAIN_BUFFER,
                    "buffer %d of lossless priority %d has 0 bytes", buffer, out->priority);
    return true;
}

static const struct {
    enum chain_hop hop;
    const char *what;
    bool (*follow)(const struct chain_port *is, const struct chain_port *wanted, struct chain *out);
} hops[] = {
    {CHAIN_PRIORITY, "which priority a DSCP has", follow_priority},
    {CHAIN_CLASS, "which traffic class a priority is in", follow_class},
    {CHAIN_PFC, "which priorities have PFC", follow_pfc},
    {CHAIN_BUFFER, "which buffer a priority is in", follow_buffer},
};

void chain_follow(const struct chain_port *is, const struct chain_port *wanted, int dscp,
                  struct chain *out)
{
    out->dscp = dscp;
    out->priority = out->traffic_class = out->buffer = -1;
    out->lossless = false;
    out->verdict = CHAIN_WHOLE;
    out->why[0] = '\0';
    for (size_t i = 0; i < sizeof(hops) / sizeof(hops[0]); i++) {
        if (hops[i].hop == CHAIN_BUFFER && !out->lossless)
            return; /* packets that may be dropped need no place to wait */
        if (!has(is, hops[i].hop)) {
            (void)ends(out, CHAIN_UNKNOWN, hops[i].hop, "the port does not show %s", hops[i].what);
            return;
        }
        if (!hops[i].follow(is, wanted, out))
            return;
    }
}

/* All of a plan ------------------------------------------------------------------------------- */

static int tos_dscp(const json_t *value)
{
    int64_t tos;
    return number_in(json_object_get(value, "tos"), 255, &tos) ? (int)(tos >> TOS_DSCP_SHIFT) : -1;
}

static int flower_dscp(const json_t *value)
{
    int64_t dscp;
    const json_t *match = json_object_get(value, "match");
    return number_in(json_object_get(match, "dscp"), DSCP_MAX, &dscp) ? (int)dscp : -1;
}

/* The application's own: a number of 0..255 as text. */
static int nccl_dscp(const json_t *value)
{
    const char *text = json_string_value(json_object_get(value, "NCCL_IB_TC"));
    char *end;
    if (text == NULL || *text < '0' || *text > '9')
        return -1;
    long tos = strtol(text, &end, 10);
    return *end == '\0' && tos <= 255 ? (int)(tos >> TOS_DSCP_SHIFT) : -1;
}

static const struct source {
    const char *kind;
    const char *name;  /* NULL = the kind's */
    const char *where; /* the kind of which each knob is a port that is marked; NULL = its own */
    int (*dscp)(const json_t *value); /* -1 = it marks nothing */
} sources[] = {
    {"roce.tos", NULL, NULL, tos_dscp},
    {"host.file", "NCCL_IB_TC", "dcb.app", nccl_dscp},
    {"tc.flower", NULL, NULL, flower_dscp},
};

static bool is_listed(const struct chain *list, size_t count, const struct chain *one)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].dscp == one->dscp && strcmp(list[i].subject, one->subject) == 0 &&
            strcmp(list[i].source, one->source) == 0)
            return true;
    return false;
}

struct proof {
    const struct plan *plan;
    const struct state *state;
    struct chain *list;
    size_t count, room;
};

static int64_t label_of(const struct plan_knob *knob)
{
    const char *slash = strchr(knob->id, '/');
    char *end;
    if (strcmp(knob->kind->name, "tc.flower") != 0 || slash == NULL)
        return -1;
    long label = strtol(slash + 1, &end, 10);
    return end != slash + 1 && *end == '\0' && label >= 0 ? label : -1;
}

static void name_source(const struct source *source, const struct plan_knob *knob,
                        struct chain *out)
{
    if (knob->job[0] != '\0')
        snprintf(out->source, sizeof(out->source), "%s/%s", knob->tenant, knob->job);
    else
        snprintf(out->source, sizeof(out->source), "%s",
                 source->name != NULL ? source->name : source->kind);
}

/* Adds the chain of one knob of the plan on a port; nothing when it gives no mark. */
static void prove_one(struct proof *proof, const struct source *source,
                      const struct plan_knob *knob, const char *subject)
{
    int want = source->dscp(knob->want);
    const json_t *live = live_of(proof->state, knob->kind->name, knob->subject, knob->id);
    if (want < 0 || proof->count == proof->room)
        return;
    struct chain *out = &proof->list[proof->count];
    *out = (struct chain){.dscp = want, .priority = -1, .traffic_class = -1, .buffer = -1};
    out->label = label_of(knob);
    snprintf(out->subject, sizeof(out->subject), "%s", subject);
    name_source(source, knob, out);
    int is = live == NULL ? -1 : source->dscp(live);
    struct chain_port port, wanted;
    if (live == NULL) {
        (void)ends(out, CHAIN_UNKNOWN, CHAIN_DSCP, "the port does not show what marks the packets");
    } else if (is != want) {
        (void)ends(out, CHAIN_BROKEN, CHAIN_DSCP, "packets are marked with DSCP %d, not %d", is,
                   want);
    } else {
        chain_port_is(proof->state, subject, &port);
        chain_port_wanted(proof->plan, subject, &wanted);
        chain_follow(&port, &wanted, want, out);
    }
    if (!is_listed(proof->list, proof->count, out))
        proof->count++;
}

static void prove_knob(struct proof *proof, const struct source *source,
                       const struct plan_knob *knob)
{
    const struct plan *plan = proof->plan;
    if (source->where == NULL)
        prove_one(proof, source, knob, knob->subject);
    for (size_t i = 0; source->where != NULL && i < plan->knob_count; i++)
        if (strcmp(plan->knobs[i].kind->name, source->where) == 0)
            prove_one(proof, source, knob, plan->knobs[i].subject);
}

enum err_code chain_prove(const struct plan *plan, const struct state *state, struct chain **out,
                          size_t *out_count, struct err *err)
{
    struct proof proof = {.plan = plan, .state = state, .room = 2 * plan->knob_count + 1};
    proof.list = calloc(proof.room, sizeof(*proof.list));
    if (proof.list == NULL)
        return err_nomem(err);
    for (size_t i = 0; i < plan->knob_count; i++)
        for (size_t s = 0; s < sizeof(sources) / sizeof(sources[0]); s++)
            if (strcmp(plan->knobs[i].kind->name, sources[s].kind) == 0)
                prove_knob(&proof, &sources[s], &plan->knobs[i]);
    *out = proof.list;
    *out_count = proof.count;
    return ERR_OK;
}
