/*
 * agent/hardware.c - see hardware.h: what is told of the node's hardware, and how often.
 */
#include "agent/hardware.h"

#include <string.h>

#include "agent/agent_private.h"
#include "base/log.h"

bool hardware_rate_take(struct hardware_rate *rate, int64_t now_ns, int64_t *out_wait_ns)
{
    int64_t refills = (now_ns - rate->since_ns) / AGENT_INVENTORY_REFILL_NS;
    *out_wait_ns = 0;
    if (rate->spent == 0 || refills >= rate->spent) {
        rate->spent = 0;
        rate->since_ns = now_ns;
    } else {
        rate->spent -= (int)refills;
        rate->since_ns += refills * AGENT_INVENTORY_REFILL_NS;
    }
    if (rate->spent == AGENT_INVENTORY_BURST) {
        *out_wait_ns = rate->since_ns + AGENT_INVENTORY_REFILL_NS - now_ns;
        return false;
    }
    rate->spent++;
    return true;
}

enum err_code hardware_identity(const json_t *inventory, char out[DIGEST_TEXT_MAX], struct err *err)
{
    OWN(json) json_t *copy = json_deep_copy(inventory);
    size_t i;
    json_t *item;
    if (copy == NULL)
        return err_nomem(err);
    json_array_foreach(json_object_get(copy, "ports"), i, item)
    {
        json_object_del(json_object_get(item, "irq"), "affinity");
    }
    json_array_foreach(json_object_get(copy, "gpus"), i, item)
    {
        json_object_del(json_object_get(item, "pcie"), "current_gen");
    }
    return json_digest(copy, out, err);
}

static enum err_code set_node(json_t *document, const char *node, struct err *err)
{
    return json_object_set_new(document, "node", json_string(node)) == 0 ? ERR_OK : err_nomem(err);
}

static void look_in(struct agent *agent, int64_t delay_ns)
{
    if (agent->look_armed)
        return;
    agent->look_armed = true;
    loop_timer_set(agent->look, delay_ns);
}

void agent_inventory_soon(struct agent *agent)
{
    int64_t since_ns = agent->clock->mono_ns(agent->clock) - agent->looked_ns;
    int64_t delay_ns = AGENT_INVENTORY_DEBOUNCE_NS;
    if (agent->looked_ns != 0 && since_ns < AGENT_INVENTORY_LOOK_NS - delay_ns)
        delay_ns = AGENT_INVENTORY_LOOK_NS - since_ns;
    if (agent->started)
        look_in(agent, delay_ns);
}

void agent_inventory_look(void *arg)
{
    struct agent *agent = arg;
    agent->look_armed = false;
    agent_tell_inventory(agent);
}

void agent_tell_inventory(struct agent *agent)
{
    OWN(json) json_t *inventory = NULL;
    struct err err = ERR_INIT;
    char digest[DIGEST_TEXT_MAX];
    int64_t wait_ns;
    /* A device that is written answers nothing until it is done. */
    if (!agent->started || agent_is_held(agent))
        return;
    agent->looked_ns = agent->clock->mono_ns(agent->clock);
    /* The name lets the server refuse a token that is another node's. */
    if (dp_inventory(agent->dp, &inventory, &err) || set_node(inventory, agent->node, &err) ||
        agent_reboot_tell(agent, inventory, &err) || hardware_identity(inventory, digest, &err)) {
        log_error("agent", "node %s: no inventory: %s", agent->node, err.text);
        return;
    }
    if (strcmp(digest, agent->inventory) == 0)
        return;
    /* The first, and one that was asked for, is owed. */
    if (agent->inventory[0] != '\0' &&
        !hardware_rate_take(&agent->inventory_rate, agent->looked_ns, &wait_ns)) {
        look_in(agent, wait_ns);
        return;
    }
    memcpy(agent->inventory, digest, sizeof(digest));
    agent->link->ops->inventory(agent->link, inventory);
}
