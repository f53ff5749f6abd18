/*
 * agent/telemetry.c - what was collected goes to the server, one batch at a time, the oldest first.
 */
#include <stdlib.h>

#include "agent/agent_private.h"
#include "agent/collect.h"
#include "base/log.h"

static void send_first(struct agent *agent)
{
    OWN(str) char *data = NULL;
    size_t len;
    if (agent->spool == NULL || agent->telemetry_out || !spool_first(agent->spool, &data, &len))
        return;
    agent->telemetry_out = true;
    agent->link->ops->telemetry(agent->link, data, len);
}

static void on_ready(void *arg)
{
    send_first(arg);
}

static bool sends(const struct agent *agent)
{
    return !agent->telemetry_stays && agent->link != NULL && agent->link->ops->telemetry != NULL;
}

static enum err_code start(struct agent *agent, struct err *err)
{
    enum err_code code = sends(agent) ? spool_new(agent->state_dir, &agent->spool, err) : ERR_OK;
    if (code != ERR_OK)
        return code;
    const struct collect_config config = {.node = agent->node,
                                          .counters = agent->counters,
                                          .spool = agent->spool,
                                          .exporter = agent->exporter,
                                          .clock = agent->clock,
                                          .interval_ns = agent->telemetry_ns,
                                          .samples = agent->telemetry_samples,
                                          .loop = agent->loop,
                                          .ready = on_ready,
                                          .arg = agent};
    agent->counters = NULL;
    return collect_new(&config, &agent->collect, err);
}

void agent_telemetry_start(struct agent *agent)
{
    struct err err = ERR_INIT;
    if (agent->counters == NULL || (!sends(agent) && agent->exporter == NULL))
        return;
    if (start(agent, &err) != ERR_OK) /* a node without telemetry still has its plan */
        log_error("agent", "node %s: no telemetry: %s", agent->node, err.text);
    else
        send_first(agent);
}

void agent_telemetry_done(struct agent *agent)
{
    agent->telemetry_out = false;
    spool_drop(agent->spool);
    send_first(agent);
}

void agent_telemetry_stop(struct agent *agent)
{
    collect_free(agent->collect);
    spool_free(agent->spool);
    counters_free(agent->counters);
}
