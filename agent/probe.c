/*
 * agent/probe.c - see probe.h. Called by the agent around a pass over a new plan.
 */
#include "agent/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/marking.h"

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
    probe->peers = plan->peers;
    peers_ask(dp, &probe->peers, &probe->heard);
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

static void tell_chains(const struct chain *chains, size_t count, struct receipt_probe *out)
{
    size_t of[CHAIN_UNKNOWN + 1] = {0};
    const struct chain *worst = NULL;
    for (size_t i = 0; i < count; i++) {
        of[chains[i].verdict]++;
        if (chains[i].verdict != CHAIN_WHOLE &&
            (worst == NULL ||
             (worst->verdict == CHAIN_UNKNOWN && chains[i].verdict == CHAIN_BROKEN)))
            worst = &chains[i];
    }
    out->ok = of[CHAIN_BROKEN] == 0;
    char text[2 * ERR_TEXT_MAX] = "";
    if (worst != NULL)
        snprintf(text, sizeof(text), "; %s %s at %s: %s", worst->subject, worst->source,
                 chain_hop_name(worst->at), worst->why);
    snprintf(out->detail, sizeof(out->detail),
             "marks of flows: %zu whole, %zu broken, %zu unknown%.180s", of[CHAIN_WHOLE],
             of[CHAIN_BROKEN], of[CHAIN_UNKNOWN], text);
}

/* Marks are followed through what the ports show now; only a hop that is seen to be wrong is bad.
 */
static void ask_marking(const struct probe *probe, struct receipt_probe *out)
{
    struct err why = ERR_INIT;
    struct chain *chains = NULL;
    size_t count = 0;
    enum err_code code = marking_prove(probe->dp, probe->plan, &chains, &count, &why);
    if (code == ERR_OK)
        tell_chains(chains, count, out);
    else
        snprintf(out->detail, sizeof(out->detail), "cannot be seen: %.200s", why.text);
    free(chains);
}

/* Who is silent right after a change is asked once more: addresses resolve anew behind a link that
 * was reset. */
static void ask_peers(const struct probe *probe, struct receipt_probe *out)
{
    struct peers_heard after;
    struct receipt_probe again = *out;
    peers_ask(probe->dp, &probe->peers, &after);
    peers_judge(&probe->peers, &probe->heard, &after, out);
    if (out->ok || out->not_possible)
        return;
    peers_ask(probe->dp, &probe->peers, &after);
    peers_judge(&probe->peers, &probe->heard, &after, &again);
    if (again.ok)
        *out = again;
}

static const struct {
    const char *name;
    void (*ask)(const struct probe *probe, struct receipt_probe *out);
} probes[] = {
    {"links", ask_links},
    {"marking", ask_marking}, /* after the links: a port that comes back is set by then */
    {"peers", ask_peers},
};

void probe_end(struct probe *probe, const struct plan *plan, struct receipt *receipt)
{
    probe->plan = plan;
    for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
        if (receipt->probe_count == RECEIPT_PROBES_MAX)
            return;
        struct receipt_probe *out = &receipt->probes[receipt->probe_count++];
        snprintf(out->name, sizeof(out->name), "%s", probes[i].name);
        probes[i].ask(probe, out);
    }
}
