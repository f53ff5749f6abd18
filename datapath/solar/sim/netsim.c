/*
 * datapath/solar/sim/netsim.c - see netsim.h: building, running, results.
 */
#include "datapath/solar/sim/netsim.h"

#include <stdlib.h>

#include "datapath/solar/sim/netsim_host.h"

#define AGE_NS 100000

struct netsim_params netsim_defaults(void)
{
    return (struct netsim_params){.fabric = {.leaves = 1,
                                             .hosts_per_leaf = 2,
                                             .host_bps = INT64_C(100000000000),
                                             .core_bps = INT64_C(100000000000),
                                             .link_ns = 3000,
                                             .queue_bytes = 1000000},
                                  .seed = 1,
                                  .cc = CC_SOLAR,
                                  .payload_bytes = 4096,
                                  .header_bytes = 64,
                                  .paths = 8,
                                  .ack_every = 4,
                                  .credit = true};
}

int64_t netsim_now_ns(const struct netsim *sim)
{
    return sim->now_ps / 1000;
}

void netsim_fail(struct netsim *sim, enum err_code code)
{
    if (sim->code == ERR_OK)
        sim->code = code;
}

int netsim_packet_bytes(const struct netsim *sim)
{
    return sim->params.payload_bytes + sim->params.header_bytes;
}

static int ack_bytes(const struct netsim *sim)
{
    return sim->params.header_bytes + WIRE_ACK_SIZE;
}

/* What the laws take for the round trip: the fabric's, and the packets an acknowledgement waits
 * for. */
int64_t netsim_base_rtt_ns(const struct netsim *sim, int src, int dst)
{
    int64_t packet_ps =
        (int64_t)netsim_packet_bytes(sim) * INT64_C(8000000000000) / sim->params.fabric.host_bps;
    return netfab_base_rtt_ns(&sim->fabric, src, dst, netsim_packet_bytes(sim), ack_bytes(sim)) +
           sim->params.ack_every * packet_ps / 1000;
}

int64_t netsim_bdp_bytes(const struct netsim *sim, int src, int dst)
{
    return netsim_base_rtt_ns(sim, src, dst) * (sim->params.fabric.host_bps / 1000000) / 8000;
}

/* Building ----------------------------------------------------------------------------------------
 */

enum err_code netsim_new(const struct netsim_params *params, struct netsim **out, struct err *err)
{
    if (params->payload_bytes < 64 || params->header_bytes < WIRE_HEADER_SIZE ||
        params->payload_bytes + params->header_bytes > NETSIM_PACKET_MAX)
        return err_set(err, ERR_INVALID, "packets of %d + %d bytes", params->header_bytes,
                       params->payload_bytes);
    struct netsim *sim = calloc(1, sizeof(*sim));
    if (sim == NULL)
        return err_nomem(err);
    sim->params = *params;
    enum err_code code = netfab_init(&sim->fabric, &params->fabric, &sim->heap, params->seed, err);
    if (code != ERR_OK) {
        netsim_free(sim);
        return code;
    }
    sim->hosts = calloc((size_t)sim->fabric.hosts, sizeof(*sim->hosts));
    if (sim->hosts == NULL) {
        netsim_free(sim);
        return err_nomem(err);
    }
    *out = sim;
    return ERR_OK;
}

void netsim_free_slots(struct netsim_flow *flow)
{
    free(flow->track_slots);
    free(flow->place_slots);
    flow->track_slots = NULL;
    flow->place_slots = NULL;
}

void netsim_free(struct netsim *sim)
{
    if (sim == NULL)
        return;
    for (uint32_t i = 0; i < sim->count; i++) {
        netsim_free_slots(sim->flows[i]);
        free(sim->flows[i]);
    }
    for (int i = 0; sim->hosts != NULL && i < sim->fabric.hosts; i++) {
        free(sim->hosts[i].arbiter);
        free(sim->hosts[i].credit);
        free(sim->hosts[i].flow_of_sender);
    }
    free(sim->flows);
    free(sim->hosts);
    netfab_release(&sim->fabric);
    heap_release(&sim->heap);
    free(sim);
}

static enum err_code make_sender(struct netsim *sim, int host, struct err *err)
{
    if (sim->hosts[host].arbiter != NULL)
        return ERR_OK;
    struct arbiter *a = malloc(sizeof(*a));
    if (a == NULL)
        return err_nomem(err);
    sim->hosts[host].arbiter = a;
    struct arbiter_config config = {netsim_packet_bytes(sim), AGE_NS, ARBITER_SMALL_FIRST};
    struct arbiter_share share = {.weight = 1};
    enum err_code code = arbiter_init(a, &config, err);
    return code != ERR_OK ? code : arbiter_label_set(a, NETSIM_LABEL, &share, 0, err);
}

static enum err_code make_receiver(struct netsim *sim, int src, int host, struct err *err)
{
    struct netsim_host *h = &sim->hosts[host];
    if (h->credit != NULL)
        return ERR_OK;
    h->credit = malloc(sizeof(*h->credit));
    h->flow_of_sender = calloc(CREDIT_SENDERS_MAX, sizeof(*h->flow_of_sender));
    if (h->credit == NULL || h->flow_of_sender == NULL)
        return err_nomem(err);
    int64_t bdp = netsim_bdp_bytes(sim, src, host);
    int64_t more = (int64_t)sim->params.ack_every * sim->params.payload_bytes;
    enum err_code code = credit_init(h->credit, bdp + more, sim->params.payload_bytes, err);
    if (code == ERR_OK && sim->params.paths > 1) {
        credit_set_alone(h->credit, (int64_t)((double)bdp * PUMP_SPRAY_BDPS) + more);
        credit_set_first(h->credit, CREDIT_FIRST_SPRAY);
    }
    return code;
}

static enum err_code check_flow(const struct netsim *sim, const struct netsim_flow_params *p,
                                struct err *err)
{
    if (p->src < 0 || p->dst < 0 || p->src >= sim->fabric.hosts || p->dst >= sim->fabric.hosts ||
        p->src == p->dst)
        return err_set(err, ERR_INVALID, "a flow from host %d to %d (there are %d)", p->src, p->dst,
                       sim->fabric.hosts);
    if (p->bytes < 1 || p->bytes >= WIRE_MESSAGE_MAX || p->start_ns < 0 ||
        p->start_ns > NETSIM_END_NS)
        return err_set(err, ERR_INVALID, "a flow of %lld bytes at %lld ns", (long long)p->bytes,
                       (long long)p->start_ns);
    if (p->after != NETSIM_NONE && p->after >= sim->count)
        return err_set(err, ERR_INVALID, "a flow after flow %u, which is not there", p->after);
    if (sim->count >= NETSIM_FLOWS_MAX)
        return err_set(err, ERR_LIMIT, "more than %d flows", NETSIM_FLOWS_MAX);
    return ERR_OK;
}

static struct netsim_flow *new_flow(struct netsim *sim)
{
    if (sim->count == sim->room) {
        uint32_t room = sim->room > 0 ? sim->room * 2 : 64;
        struct netsim_flow **flows = realloc(sim->flows, room * sizeof(struct netsim_flow *));
        if (flows == NULL)
            return NULL;
        sim->flows = flows;
        sim->room = room;
    }
    return calloc(1, sizeof(struct netsim_flow));
}

enum err_code netsim_add(struct netsim *sim, const struct netsim_flow_params *params,
                         uint32_t *out_index, struct err *err)
{
    enum err_code code = check_flow(sim, params, err);
    if (code == ERR_OK)
        code = make_sender(sim, params->src, err);
    if (code == ERR_OK)
        code = make_receiver(sim, params->src, params->dst, err);
    uint16_t sender = CREDIT_NONE;
    if (code == ERR_OK)
        code = credit_join(sim->hosts[params->dst].credit, params->weight, &sender, err);
    if (code != ERR_OK)
        return code;
    struct netsim_flow *flow = new_flow(sim);
    if (flow == NULL)
        return err_nomem(err);
    uint32_t index = sim->count++;
    sim->flows[index] = flow;
    flow->params = *params;
    flow->sender = sender;
    flow->entry = ARBITER_NONE;
    flow->start_ns = flow->received_ns = flow->acked_ns = -1;
    flow->first_then = flow->next_then = NETSIM_NONE;
    sim->hosts[params->dst].flow_of_sender[sender] = index;
    if (params->after == NETSIM_NONE) {
        heap_push(&sim->heap, params->start_ns * 1000, NETSIM_START, index);
    } else {
        flow->next_then = sim->flows[params->after]->first_then;
        sim->flows[params->after]->first_then = index;
    }
    *out_index = index;
    return ERR_OK;
}

/* Running -----------------------------------------------------------------------------------------
 */

enum err_code netsim_run(struct netsim *sim, int64_t until_ns, struct err *err)
{
    struct heap_event event;
    sim->err = err;
    if (until_ns > NETSIM_END_NS)
        until_ns = NETSIM_END_NS;
    while (sim->code == ERR_OK && sim->ended < (int)sim->count && heap_pop(&sim->heap, &event)) {
        if (event.at_ps > until_ns * 1000) {
            heap_push(&sim->heap, event.at_ps, event.what, event.which);
            break;
        }
        sim->now_ps = event.at_ps;
        sim->events++;
        if (event.what < NETFAB_WHAT_END) {
            struct netfab_packet *packet;
            int idle;
            netfab_event(&sim->fabric, &event, &packet, &idle);
            if (packet != NULL) {
                struct netfab_packet copy = *packet; /* more may be made, and the memory move */
                netfab_packet_free(&sim->fabric, packet);
                netsim_on_packet(sim, &copy);
            }
            if (idle >= 0)
                netsim_kick(sim, idle);
        } else {
            netsim_on_flow_event(sim, &event);
        }
        if (sim->fabric.failed || sim->heap.failed)
            return err_set(err, ERR_LIMIT,
                           "the simulation outgrew its memory: %d packets or %d events at once",
                           NETFAB_PACKETS_MAX, HEAP_EVENTS_MAX);
    }
    return sim->code;
}

void netsim_flow_result(const struct netsim *sim, uint32_t index, struct netsim_flow_result *out)
{
    const struct netsim_flow *flow = sim->flows[index];
    const struct track_counters *n = &flow->track.counters;
    int64_t acked = (int64_t)n->acked * sim->params.payload_bytes;
    *out = (struct netsim_flow_result){
        .start_ns = flow->start_ns,
        .received_ns = flow->received_ns,
        .acked_ns = flow->acked_ns,
        .acked_bytes = acked < flow->params.bytes ? acked : flow->params.bytes,
        .sent = n->sent,
        .resent = n->resent,
        .spurious = n->spurious,
    };
}

void netsim_totals(const struct netsim *sim, struct netsim_totals *out)
{
    *out = (struct netsim_totals){.end_ns = sim->end_ns,
                                  .finished = sim->ended,
                                  .flows = (int)sim->count,
                                  .duplicates = sim->duplicates,
                                  .drops = sim->fabric.drops,
                                  .lost = sim->fabric.lost,
                                  .marks = sim->fabric.marks,
                                  .events = sim->events};
    for (uint32_t i = 0; i < sim->count; i++) {
        out->sent += sim->flows[i]->track.counters.sent;
        out->resent += sim->flows[i]->track.counters.resent;
    }
}

struct netfab *netsim_fabric(struct netsim *sim)
{
    return &sim->fabric;
}
