/*
 * fleet/rollout_gates.c - what a wave must show before the next one begins.
 *
 * receipts: each node applied its plan and observes just that; of the whole rollout at most
 * unavailable_max nodes may have failed or be absent. findings: nothing was found on the nodes
 * since the wave began. probe: each node that applied was heard from after its receipt, and the
 * self-test in it is good: a plan that cuts a node off never passes. verification: once the others
 * have passed, the tests between the nodes that the settings ask for (rollout_verify.h).
 */
#include "fleet/rollout.h"

#include <stdio.h>
#include <string.h>

static bool is_unavailable(const struct rollout_node *node)
{
    return node->state == ROLLOUT_NODE_FAILED || node->state == ROLLOUT_NODE_EXPIRED ||
           node->state == ROLLOUT_NODE_ABSENT;
}

static bool has_applied(const struct rollout_node *node)
{
    return node->state == ROLLOUT_NODE_APPLIED || node->state == ROLLOUT_NODE_CONFIRMED;
}

static void name_node(struct rollout_gate *gate, size_t index)
{
    if (gate->node_count < ROLLOUT_GATE_NODES)
        gate->nodes[gate->node_count++] = index;
}

/* Of the waves up to this one. */
static size_t count_unavailable(const struct rollout *r, uint32_t wave)
{
    size_t count = 0;
    for (size_t i = 0; i < r->node_count; i++)
        count += r->nodes[i].wave <= wave && is_unavailable(&r->nodes[i]);
    return count;
}

static void add_receipt(struct rollout_gate *gate, const struct rollout_node *node, size_t index,
                        size_t *out_pending)
{
    gate->wanted++;
    if (has_applied(node))
        gate->value++;
    else if (node->state == ROLLOUT_NODE_OFFERED || node->state == ROLLOUT_NODE_WAITING)
        (*out_pending)++;
    else
        name_node(gate, index);
}

static void add_probe(struct rollout_gate *gate, const struct rollout_node *node, size_t index,
                      bool *out_failed)
{
    if (!has_applied(node))
        return;
    gate->wanted++;
    if (node->heard && !node->probe_failed)
        gate->value++;
    else
        name_node(gate, index);
    *out_failed |= node->probe_failed;
}

/* A wave that is over had passed. */
static struct rollout_gate verification_of(const struct rollout *r, uint32_t wave)
{
    bool over = wave < r->wave;
    enum rollout_gate_state state = over ? ROLLOUT_GATE_OK : r->verify_state;
    return (struct rollout_gate){
        .name = "verification", .state = state, .value = state == ROLLOUT_GATE_OK, .wanted = 1};
}

size_t rollout_gates(const struct rollout *r, uint32_t wave, struct rollout_gate out[ROLLOUT_GATES])
{
    struct rollout_gate receipts = {.name = "receipts"}, findings = {.name = "findings"},
                        probe = {.name = "probe"};
    size_t pending = 0;
    bool probe_failed = false;
    for (size_t i = 0; i < r->node_count; i++) {
        const struct rollout_node *node = &r->nodes[i];
        if (node->wave != wave)
            continue;
        add_receipt(&receipts, node, i, &pending);
        add_probe(&probe, node, i, &probe_failed);
        if (node->finding) {
            findings.value++;
            name_node(&findings, i);
        }
    }
    receipts.state = count_unavailable(r, wave) > r->unavailable_max ? ROLLOUT_GATE_FAILED
                     : pending > 0                                   ? ROLLOUT_GATE_PENDING
                                                                     : ROLLOUT_GATE_OK;
    findings.state = findings.value > 0 ? ROLLOUT_GATE_FAILED
                     : pending > 0      ? ROLLOUT_GATE_PENDING
                                        : ROLLOUT_GATE_OK;
    probe.state = probe_failed                                ? ROLLOUT_GATE_FAILED
                  : pending > 0 || probe.value < probe.wanted ? ROLLOUT_GATE_PENDING
                                                              : ROLLOUT_GATE_OK;
    out[0] = receipts;
    out[1] = findings;
    out[2] = probe;
    if (r->settings.verify == NULL)
        return 3;
    out[3] = verification_of(r, wave);
    return 4;
}

static void explain(const struct rollout *r, const struct rollout_gate *gate,
                    char text[ROLLOUT_TEXT_SIZE])
{
    size_t used = (size_t)snprintf(text, ROLLOUT_TEXT_SIZE, "gate %s: %zu of %zu", gate->name,
                                   gate->value, gate->wanted);
    for (size_t i = 0; i < gate->node_count && used + NAME_SIZE + 2 < ROLLOUT_TEXT_SIZE; i++)
        used += (size_t)snprintf(text + used, ROLLOUT_TEXT_SIZE - used, "%s %s", i == 0 ? ":" : ",",
                                 r->nodes[gate->nodes[i]].name);
    if (gate->state == ROLLOUT_GATE_FAILED && strcmp(gate->name, "verification") == 0)
        snprintf(text, ROLLOUT_TEXT_SIZE, "gate verification: %.200s", r->verify_why);
}

/* A wave of absent nodes shows nothing; it passes only behind nodes that did. */
static bool is_unproven(const struct rollout *r)
{
    size_t in_wave = 0;
    for (size_t i = 0; i < r->node_count; i++) {
        in_wave += r->nodes[i].wave == r->wave;
        if (has_applied(&r->nodes[i]))
            return false;
    }
    return in_wave > 0;
}

enum rollout_gate_state rollout_judge(const struct rollout *r, char text[ROLLOUT_TEXT_SIZE])
{
    struct rollout_gate gates[ROLLOUT_GATES];
    bool pending = false;
    size_t count = rollout_gates(r, r->wave, gates);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        if (gates[i].state == ROLLOUT_GATE_FAILED) {
            explain(r, &gates[i], text);
            return ROLLOUT_GATE_FAILED;
        }
        pending |= gates[i].state == ROLLOUT_GATE_PENDING;
    }
    if (pending)
        return ROLLOUT_GATE_PENDING;
    if (!is_unproven(r))
        return ROLLOUT_GATE_OK;
    snprintf(text, ROLLOUT_TEXT_SIZE, "no node has applied its plan: nothing is proven");
    return ROLLOUT_GATE_FAILED;
}
