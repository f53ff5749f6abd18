/*
 * datapath/solar/sim/netsim_host.c - what hosts of a run do.
 *
 *   kick(host) -> arbiter -> pump -> fabric ~~~> place, credit -> acknowledgement ~~~> pump -> kick
 */
#include "datapath/solar/sim/netsim_host.h"

#include <stdlib.h>

#define TIMEOUT_RTTS 8 /* the least timer, in base round trips */
#define ACK_PARTS    8 /* of a base round trip: how long an acknowledgement may wait */
#define SLOT_BDPS    8 /* what may follow a gap until its repair, and that one's, is there */
#define TOKEN        0

static int ack_bytes(const struct netsim *sim)
{
    return sim->params.header_bytes + WIRE_ACK_SIZE;
}

/* Sending -----------------------------------------------------------------------------------------
 */

static void send_control(struct netsim *sim, uint32_t index, bool back,
                         const struct wire_packet *wire, int size)
{
    struct netsim_flow *flow = sim->flows[index];
    struct netfab_packet *packet = netfab_packet_new(&sim->fabric);
    if (packet == NULL)
        return;
    packet->flow = index;
    packet->src = (uint16_t)(back ? flow->params.dst : flow->params.src);
    packet->dst = (uint16_t)(back ? flow->params.src : flow->params.dst);
    packet->size = (uint16_t)size;
    packet->control = true;
    packet->wire = *wire;
    if (back)
        packet->wire.path = flow->back_path;
    netfab_send(&sim->fabric, packet, sim->now_ps);
}

static void send_data(struct netsim *sim, uint32_t index, const struct track_packet *p)
{
    struct netsim_flow *flow = sim->flows[index];
    struct netfab_packet *packet = netfab_packet_new(&sim->fabric);
    if (packet == NULL)
        return;
    bool last = p->offset + p->len == (uint64_t)flow->params.bytes;
    packet->flow = index;
    packet->src = (uint16_t)flow->params.src;
    packet->dst = (uint16_t)flow->params.dst;
    packet->size = (uint16_t)(p->len + sim->params.header_bytes);
    packet->wire = (struct wire_packet){
        .type = WIRE_WRITE,
        .flags =
            (uint8_t)((p->offset == 0 ? WIRE_F_START : 0) | (last ? WIRE_F_LAST | WIRE_F_ASK : 0)),
        .path = p->path,
        .attempt = p->attempt,
        .offset = p->offset,
        .sent_ticks = wire_ticks(netsim_now_ns(sim)),
        .psn = p->psn,
        .payload_len = p->len,
    };
    packet->wire.start.length = (uint32_t)flow->params.bytes;
    netfab_send(&sim->fabric, packet, sim->now_ps);
}

static void arm_timer(struct netsim *sim, uint32_t index)
{
    struct netsim_flow *flow = sim->flows[index];
    int64_t deadline_ns = pump_deadline_ns(&flow->pump);
    if (flow->timer_armed || deadline_ns == INT64_MAX)
        return;
    flow->timer_armed = true;
    heap_push(&sim->heap, deadline_ns * 1000, NETSIM_TIMER, index);
}

static void ask(struct netsim *sim, uint32_t index)
{
    struct netsim_flow *flow = sim->flows[index];
    int64_t now_ns = netsim_now_ns(sim);
    struct wire_packet probe = {.type = WIRE_PROBE,
                                .flags = WIRE_F_START,
                                .path = track_next_path(&flow->track, now_ns),
                                .sent_ticks = wire_ticks(now_ns)};
    probe.start.length = (uint32_t)flow->params.bytes;
    pump_announced(&flow->pump, (uint64_t)flow->params.bytes, now_ns);
    track_asked(&flow->track, now_ns);
    send_control(sim, index, false, &probe, sim->params.header_bytes + WIRE_START_SIZE);
}

/* One packet of the flow that the arbiter chose, or it is parked. */
static void serve(struct netsim *sim, struct arbiter *a, uint32_t index)
{
    struct netsim_flow *flow = sim->flows[index];
    int64_t left = flow->params.bytes - (int64_t)flow->sent_offset, ready_ns;
    int64_t len =
        pump_fit(&flow->pump, left < sim->params.payload_bytes ? left : sim->params.payload_bytes);
    const struct track_packet *p = NULL;
    switch (pump_next(&flow->pump, len, netsim_now_ns(sim), &ready_ns)) {
    case PUMP_NEW:
        p = pump_send(&flow->pump, TOKEN, flow->sent_offset, (uint16_t)len, netsim_now_ns(sim));
        pump_announced(&flow->pump, (uint64_t)flow->params.bytes, netsim_now_ns(sim));
        flow->sent_offset += (uint64_t)len;
        arbiter_sent(a, flow->entry, len + sim->params.header_bytes, len, netsim_now_ns(sim));
        break;
    case PUMP_REPAIR:
        p = pump_repair(&flow->pump, netsim_now_ns(sim));
        arbiter_sent(a, flow->entry, p->len + sim->params.header_bytes, 0, netsim_now_ns(sim));
        break;
    case PUMP_PROBE:
        ask(sim, index);
        return;
    case PUMP_WAIT:
        arbiter_park(a, flow->entry);
        if (ready_ns < flow->ready_ns) {
            flow->ready_ns = ready_ns;
            heap_push(&sim->heap, ready_ns * 1000, NETSIM_READY, index);
        }
        return;
    }
    send_data(sim, index, p);
    arm_timer(sim, index);
}

void netsim_kick(struct netsim *sim, int host)
{
    struct arbiter *a = sim->hosts[host].arbiter;
    struct arbiter_grant grant;
    int64_t ready_ns;
    while (a != NULL && netfab_host_is_idle(&sim->fabric, host) && !sim->fabric.failed &&
           arbiter_pick(a, netsim_now_ns(sim), &grant, &ready_ns))
        serve(sim, a, grant.token);
}

static void wake(struct netsim *sim, uint32_t index)
{
    struct netsim_flow *flow = sim->flows[index];
    if (!flow->started || flow->ended)
        return;
    arbiter_unpark(sim->hosts[flow->params.src].arbiter, flow->entry, netsim_now_ns(sim));
    netsim_kick(sim, flow->params.src);
}

static enum err_code start_transport(struct netsim *sim, uint32_t index)
{
    struct netsim_flow *flow = sim->flows[index];
    const struct netsim_params *sp = &sim->params;
    int src = flow->params.src, dst = flow->params.dst;
    int64_t rtt_ns = netsim_base_rtt_ns(sim, src, dst);
    size_t slots = TRACK_SLOTS_MIN;
    while (slots < TRACK_SLOTS_MAX &&
           (int64_t)slots * sp->payload_bytes < SLOT_BDPS * netsim_bdp_bytes(sim, src, dst))
        slots *= 2;
    flow->track_slots = malloc(slots * sizeof(*flow->track_slots));
    flow->place_slots = malloc(slots * sizeof(*flow->place_slots));
    if (flow->track_slots == NULL || flow->place_slots == NULL)
        return err_nomem(sim->err);
    struct cc_params params = cc_defaults(sp->fabric.host_bps, rtt_ns, netsim_packet_bytes(sim));
    params.weight = flow->params.weight;
    params.weight_assumed *= flow->params.weight;
    params.eta = sp->eta > 0 ? sp->eta : params.eta;
    params.beta = sp->beta > 0 ? sp->beta : params.beta;
    params.damping = sp->damping > 0 ? sp->damping : params.damping;
    struct cc cc;
    enum err_code code = cc_init(&cc, sp->cc, &params, sim->err);
    if (code == ERR_OK)
        code = track_init(&flow->track, flow->track_slots, slots, sp->paths, TIMEOUT_RTTS * rtt_ns,
                          sim->err);
    if (code == ERR_OK)
        code = place_init(&flow->place, flow->place_slots, slots, sp->ack_every, sim->err);
    uint64_t credit = sp->credit ? credit_sum(sim->hosts[dst].credit, flow->sender) : UINT64_MAX;
    pump_init(&flow->pump, &flow->track, &cc, sp->header_bytes, credit, sp->ecn);
    if (code == ERR_OK && sp->paths > 1) {
        track_set_order(&flow->track, (uint64_t)index ^ sp->seed << 32);
        pump_set_window(&flow->pump, PUMP_SPRAY_BDPS);
    }
    flow->ack_wait_ns = rtt_ns / ACK_PARTS;
    return code;
}

static void start(struct netsim *sim, uint32_t index)
{
    struct netsim_flow *flow = sim->flows[index];
    enum err_code code = start_transport(sim, index);
    /* One byte more than the message: the entry stays until all is acknowledged. */
    if (code == ERR_OK)
        code =
            arbiter_push(sim->hosts[flow->params.src].arbiter, NETSIM_LABEL, 1,
                         flow->params.bytes + 1, index, netsim_now_ns(sim), &flow->entry, sim->err);
    if (code != ERR_OK) {
        netsim_fail(sim, code);
        return;
    }
    flow->started = true;
    flow->ready_ns = INT64_MAX;
    flow->start_ns = netsim_now_ns(sim);
    netsim_kick(sim, flow->params.src);
}

/* Receiving ---------------------------------------------------------------------------------------
 */

static void put_credit(const struct netsim *sim, const struct netsim_flow *flow,
                       struct wire_ack *ack)
{
    const struct credit *c = sim->hosts[flow->params.dst].credit;
    ack->credit_bytes = sim->params.credit ? credit_sum(c, flow->sender) : UINT64_MAX;
    ack->weight_total = credit_weight_total(c);
}

static void acknowledge(struct netsim *sim, uint32_t index)
{
    struct netsim_flow *flow = sim->flows[index];
    do {
        struct wire_packet wire = {.type = WIRE_ACK};
        place_ack(&flow->place, netsim_now_ns(sim), &wire.ack);
        put_credit(sim, flow, &wire.ack);
        send_control(sim, index, true, &wire, ack_bytes(sim));
    } while (place_wants_ack(&flow->place));
}

/* Grants what is due at a receiver; tells all but `but`, which hears it with its acknowledgement.
 */
static void grant(struct netsim *sim, int host, uint32_t but)
{
    struct netsim_host *h = &sim->hosts[host];
    uint16_t sender;
    while (sim->params.credit && credit_grant(h->credit, &sender)) {
        uint32_t index = h->flow_of_sender[sender];
        if (index == but)
            continue;
        struct wire_packet wire = {.type = WIRE_CREDIT};
        put_credit(sim, sim->flows[index], &wire.ack);
        send_control(sim, index, true, &wire, sim->params.header_bytes + WIRE_CREDIT_SIZE);
    }
}

static void on_received(struct netsim *sim, struct netsim_flow *flow)
{
    flow->received_ns = netsim_now_ns(sim);
    for (uint32_t i = flow->first_then; i != NETSIM_NONE; i = sim->flows[i]->next_then)
        heap_push(&sim->heap, sim->now_ps + sim->flows[i]->params.start_ns * 1000, NETSIM_START, i);
}

static void on_data(struct netsim *sim, uint32_t index, const struct netfab_packet *packet)
{
    struct netsim_flow *flow = sim->flows[index];
    struct credit *c = sim->hosts[flow->params.dst].credit;
    flow->back_path = packet->wire.path;
    enum place_verdict verdict =
        place_arrive(&flow->place, &packet->wire, packet->marked, netsim_now_ns(sim));
    sim->duplicates += verdict == PLACE_DUPLICATE;
    if (verdict == PLACE_NEW) {
        if ((packet->wire.flags & WIRE_F_START) != 0)
            credit_demand(c, flow->sender, packet->wire.start.length);
        credit_arrived(c, flow->sender, (int64_t)packet->wire.payload_len);
    }
    bool has = true;
    struct place_message message;
    while (has) {
        if (place_message(&flow->place, &has, &message, sim->err) != ERR_OK) {
            netsim_fail(sim, ERR_INVALID);
            return;
        }
        if (has)
            on_received(sim, flow);
    }
    grant(sim, flow->params.dst, index);
    if (place_wants_ack(&flow->place)) {
        acknowledge(sim, index);
    } else if (place_owes_ack(&flow->place) && !flow->ack_armed) {
        flow->ack_armed = true;
        heap_push(&sim->heap, sim->now_ps + flow->ack_wait_ns * 1000, NETSIM_ACK, index);
    }
}

static void end(struct netsim *sim, struct netsim_flow *flow)
{
    flow->ended = true;
    flow->acked_ns = sim->end_ns = netsim_now_ns(sim);
    sim->ended++;
    arbiter_remove(sim->hosts[flow->params.src].arbiter, flow->entry);
    credit_leave(sim->hosts[flow->params.dst].credit, flow->sender);
    netsim_free_slots(flow);
    netsim_kick(sim, flow->params.src);
}

void netsim_on_packet(struct netsim *sim, const struct netfab_packet *packet)
{
    uint32_t index = packet->flow;
    struct netsim_flow *flow = sim->flows[index];
    if (flow->ended)
        return;
    switch (packet->wire.type) {
    case WIRE_ACK:
        if (pump_on_ack(&flow->pump, &packet->wire.ack, netsim_now_ns(sim), sim->err) != ERR_OK)
            netsim_fail(sim, ERR_INVALID);
        if (flow->track.una == flow->track.next &&
            flow->sent_offset == (uint64_t)flow->params.bytes)
            end(sim, flow);
        else
            wake(sim, index);
        break;
    case WIRE_CREDIT:
        pump_on_credit(&flow->pump, &packet->wire.ack, netsim_now_ns(sim));
        wake(sim, index);
        break;
    case WIRE_PROBE:
        flow->back_path = packet->wire.path;
        credit_demand(sim->hosts[flow->params.dst].credit, flow->sender, packet->wire.start.length);
        grant(sim, flow->params.dst, NETSIM_NONE);
        place_probed(&flow->place, packet->wire.sent_ticks);
        if (place_wants_ack(&flow->place))
            acknowledge(sim, index);
        break;
    case WIRE_WRITE:
    case WIRE_SEND:
    case WIRE_READ:
    case WIRE_READ_DATA:
    case WIRE_NAK:
        on_data(sim, index, packet);
        break;
    }
}

void netsim_on_flow_event(struct netsim *sim, const struct heap_event *event)
{
    uint32_t index = event->which;
    struct netsim_flow *flow = sim->flows[index];
    if (event->what == NETSIM_START) {
        start(sim, index);
        return;
    }
    if (flow->ended)
        return;
    if (event->what == NETSIM_TIMER) {
        flow->timer_armed = false;
        if (pump_deadline_ns(&flow->pump) <= netsim_now_ns(sim)) {
            pump_on_tick(&flow->pump, netsim_now_ns(sim));
            if (track_wants_ask(&flow->track, netsim_now_ns(sim)))
                ask(sim, index);
            wake(sim, index);
        }
        arm_timer(sim, index);
    } else if (event->what == NETSIM_READY) {
        if (flow->ready_ns <= event->at_ps / 1000)
            flow->ready_ns = INT64_MAX;
        wake(sim, index);
    } else if (event->what == NETSIM_ACK) {
        flow->ack_armed = false;
        if (place_owes_ack(&flow->place))
            acknowledge(sim, index);
    }
}
