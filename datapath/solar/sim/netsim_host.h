#pragma once
/*
 * datapath/solar/sim/netsim_host.h - what a run is made of. Private to netsim*.c.
 */

#include "datapath/solar/arbiter.h"
#include "datapath/solar/credit.h"
#include "datapath/solar/place.h"
#include "datapath/solar/pump.h"
#include "datapath/solar/sim/netsim.h"

#define NETSIM_LABEL 1 /* of all flows */

/* Events beside those of the fabric. */
enum netsim_what { NETSIM_START = NETFAB_WHAT_END, NETSIM_TIMER, NETSIM_READY, NETSIM_ACK };

struct netsim_flow {
    struct netsim_flow_params params;
    bool started, ended, timer_armed, ack_armed;
    uint64_t sent_offset;
    uint8_t back_path; /* by which something arrived last: answers go that way */
    int64_t start_ns, received_ns, acked_ns, ack_wait_ns;
    int64_t ready_ns; /* of the earliest NETSIM_READY under way; INT64_MAX = none */
    uint16_t entry, sender;
    uint32_t first_then, next_then; /* flows that begin after this one */
    struct pump pump;
    struct track track;
    struct place place;
    struct track_packet *track_slots;
    struct place_slot *place_slots;
};

struct netsim_host {
    struct arbiter *arbiter; /* made with the first flow that it sends */
    struct credit *credit;   /* and that it receives */
    uint32_t *flow_of_sender;
};

struct netsim {
    struct netsim_params params;
    struct heap heap;
    struct netfab fabric;
    struct netsim_host *hosts;
    struct netsim_flow **flows;
    uint32_t count, room;
    int ended;
    int64_t now_ps, end_ns;
    uint64_t events, duplicates;
    struct err *err; /* of the run under way */
    enum err_code code;
};

/* What flows and hosts take for the round trip: the fabric's, and the packets that an
 * acknowledgement waits for. */
int64_t netsim_base_rtt_ns(const struct netsim *sim, int src, int dst);
int64_t netsim_bdp_bytes(const struct netsim *sim, int src, int dst);
int netsim_packet_bytes(const struct netsim *sim);
int64_t netsim_now_ns(const struct netsim *sim);
void netsim_fail(struct netsim *sim, enum err_code code);
void netsim_free_slots(struct netsim_flow *flow);

void netsim_on_packet(struct netsim *sim, const struct netfab_packet *packet); /* at its host */
void netsim_on_flow_event(struct netsim *sim, const struct heap_event *event);
void netsim_kick(struct netsim *sim, int host); /* its line is idle */
