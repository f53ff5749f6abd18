/*
 * agent/probe.c - see probe.h. Called by the agent around a pass over a new plan.
 */
#include "agent/probe.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define LINK_LOOK_NS (50 * NS_PER_MS)

static bool is_listed(const struct probe *probe, const char *subject)
{
    for (size_t i = 0; i < probe->port_count; i++)
        if (strcmp(probe->ports[i].id, subject) == 0)
            return true;
    return false;
}

void probe_begin(struct probe *probe, struct dp *dp, const struct plan *plan)
{
    *probe = (struct probe){.dp = dp};
    for (size_t i = 0; i < plan->knob_count; i++) {
        const char *subject = plan->knobs[i].subject;
        bool up = false;
        if (strcmp(subject, "host") == 0 || is_listed(probe, subject) ||
            probe->port_count == INVENTORY_PORTS_MAX)
            continue;
        struct probe_port *port = &probe->ports[probe->port_count++];
        snprintf(port->id, sizeof(port->id), "%s", subject);
        port->was_up = dp_link(dp, subject, &up, NULL) == ERR_OK && up;
    }
}

/* Ports that were up and are not; the first one's id. */
static size_t count_down(const struct probe *probe, const char **out_first)
{
    size_t down = 0;
    for (size_t i = probe->port_count; i-- > 0;) {
        const struct probe_port *port = &probe->ports[i];
        bool up = false;
        if (!port->was_up || (dp_link(probe->dp, port->id, &up, NULL) == ERR_OK && up))
            continue;
        *out_first = port->id;
        down++;
    }
    return down;
}

/* Setting a port's buffers or its MTU may reset the link: it gets time to come back. */
static void ask_links(const struct probe *probe, struct receipt_probe *out)
{
    const char *first = "";
    size_t up = 0, down = count_down(probe, &first);
    for (int64_t waited_ns = 0; down > 0 && waited_ns < PROBE_LINK_WAIT_NS;
         waited_ns += LINK_LOOK_NS) {
        nanosleep(&(struct timespec){.tv_nsec = LINK_LOOK_NS}, NULL);
        down = count_down(probe, &first);
    }
    for (size_t i = 0; i < probe->port_count; i++)
        up += probe->ports[i].was_up;
    out->ok = down == 0;
    if (down == 0)
        snprintf(out->detail, sizeof(out->detail), "%zu ports of the plan were up and are", up);
    else
        snprintf(out->detail, sizeof(out->detail),
                 "of %zu ports that were up %zu are down; the first is %s", up, down, first);
}

static const struct {
    const char *name;
    void (*ask)(const struct probe *probe, struct receipt_probe *out);
} probes[] = {
    {"links", ask_links},
};

void probe_end(const struct probe *probe, struct receipt *receipt)
{
    for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
        if (receipt->probe_count == RECEIPT_PROBES_MAX)
            return;
        struct receipt_probe *out = &receipt->probes[receipt->probe_count++];
        snprintf(out->name, sizeof(out->name), "%s", probes[i].name);
        probes[i].ask(probe, out);
    }
}
