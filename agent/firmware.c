/*
 * agent/firmware.c - the agent and its firmware worker (flash.h): a device that is written is left
 * alone by everything else. Called by agent.c.
 */
#include <stdio.h>

#include "agent/agent_private.h"
#include "base/log.h"

bool agent_is_held(struct agent *agent)
{
    const char *device = agent->flash == NULL ? "" : flash_held(agent->flash);
    if (agent->reloading[0] != '\0')
        device = agent->reloading;
    reconcile_hold(agent->reconcile, device);
    return device[0] != '\0';
}

static bool recheck(void *arg, char why[ERR_TEXT_MAX])
{
    return agent_in_sync(arg, why);
}

static bool is_busy(void *arg, char why[ERR_TEXT_MAX])
{
    return agent_reboot_is_busy(arg, why);
}

/* Another device is held, or none any more: what was put off is done now. */
static void on_changed(void *arg)
{
    struct agent *agent = arg;
    bool was = agent->held;
    agent->held = agent_is_held(agent);
    if (agent->held && !was && agent->reloading[0] == '\0')
        log_info("agent", "node %s: device %s is left alone while its firmware is written",
                 agent->node, flash_held(agent->flash));
    if (agent->held || !agent->started)
        return;
    agent_tell_inventory(agent);
    if (was)
        agent_check_soon(agent);
}

bool agent_on_flash(void *arg, const char *body, size_t len)
{
    struct agent *agent = arg;
    return agent->flash != NULL && flash_take(agent->flash, body, len);
}

enum err_code agent_flash_init(struct agent *agent, struct err *err)
{
    struct flasher *flasher = agent->flasher;
    agent->flasher = NULL;
    if (flasher == NULL)
        return ERR_OK;
    const struct flash_config config = {
        .node = agent->node,
        .state_dir = agent->state_dir,
        .loop = agent->loop,
        .clock = agent->clock,
        .link = agent->link,
        .recheck = recheck,
        .busy = is_busy,
        .changed = on_changed,
        .arg = agent,
    };
    return flash_new(&config, flasher, &agent->flash, err);
}
