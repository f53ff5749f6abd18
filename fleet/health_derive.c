/*
 * fleet/health_derive.c - facts that follow from several others of one batch: shares of a PCIe
 * link, pause of an RDMA device's port, latencies against a job's other queue pairs.
 */
#include "fleet/health_private.h"

#include <stdlib.h>
#include <string.h>

const char *const health_derived_from[] = {
    "link_gen",
    "link_gen_max",
    "link_gen_idles",
    "link_width_lanes",
    "link_width_max_lanes",
    "vectors",
    "rx_pause",
    "tx_pause",
    "ecn_marked_packets",
    "cnp_sent",
    "cnp_handled",
    "rx_ecn_marked",
    "gid_index",
    "mtu_bytes",
    "firmware_hash",
    HEALTH_LATENCY_INPUT,
    NULL,
};

static int64_t value_of(const struct health *health, const struct health_slot *slot,
                        const char *name)
{
    const struct health_datum *datum = health_datum_find(slot, health_input(health->book, name));
    return datum == NULL || !datum->is_known ? HEALTH_NONE : datum->value;
}

/* What it counted; HEALTH_NONE = unknown. */
static int64_t counted(const struct health *health, const struct health_slot *slot,
                       const char *name, struct telemetry_sum *out)
{
    const struct health_datum *datum = health_datum_find(slot, health_input(health->book, name));
    if (datum == NULL || !datum->is_known || datum->span.weight == 0)
        return HEALTH_NONE;
    *out = datum->span;
    return datum->span.sum;
}

static enum err_code put_value(struct health *health, struct health_slot *slot, const char *name,
                               int64_t value, struct err *err)
{
    struct health_datum *datum;
    enum err_code code = health_datum_get(slot, health_input(health->book, name), &datum, err);
    if (code != ERR_OK)
        return code;
    datum->source = HEALTH_FROM_NODE;
    datum->value = value;
    datum->is_known = true;
    return ERR_OK;
}

static enum err_code put_sum(struct health *health, struct health_slot *slot, const char *name,
                             const struct telemetry_sum *sum, struct err *err)
{
    struct health_datum *datum;
    enum err_code code = put_value(health, slot, name, sum->sum, err);
    if (code == ERR_OK)
        code = health_datum_get(slot, health_input(health->book, name), &datum, err);
    if (code == ERR_OK)
        datum->span = *sum;
    return code;
}

/* Mb/s of a lane after coding; PCIe base specification 1.0 to 6.0. */
static int64_t lane_mbps(int64_t gen)
{
    static const int64_t mbps[] = {0, 2000, 4000, 7877, 15754, 31508, 60500};
    return gen >= 1 && gen < (int64_t)(sizeof(mbps) / sizeof(mbps[0])) ? mbps[gen] : 0;
}

int64_t health_pcie_share(int64_t gen, int64_t lanes, int64_t gen_max, int64_t lanes_max)
{
    int64_t is = lane_mbps(gen), can = lane_mbps(gen_max);
    if (is == 0 || can == 0 || lanes < 1 || lanes_max < 1 || lanes > 32 || lanes_max > 32)
        return HEALTH_NONE;
    return is * lanes * 100 / (can * lanes_max);
}

static enum err_code derive_pcie(struct health *health, struct health_slot *slot, struct err *err)
{
    int64_t gen = value_of(health, slot, "link_gen"),
            gen_max = value_of(health, slot, "link_gen_max");
    if (value_of(health, slot, "link_gen_idles") == 1 && gen >= 1 && gen < gen_max)
        gen = gen_max; /* only its lanes say something */
    int64_t share = health_pcie_share(gen, value_of(health, slot, "link_width_lanes"), gen_max,
                                      value_of(health, slot, "link_width_max_lanes"));
    return share == HEALTH_NONE ? ERR_OK
                                : put_value(health, slot, "link_share_percent", share, err);
}

static enum err_code derive_irq(struct health *health, struct health_slot *slot, struct err *err)
{
    int64_t vectors = value_of(health, slot, "vectors");
    return vectors == HEALTH_NONE ? ERR_OK
                                  : put_value(health, slot, "vectors_several", vectors > 1, err);
}

/* Pause frames of all priorities of the RDMA device's port, and marks that anybody saw. */
static enum err_code derive_marks(struct health *health, const struct health_wire *wire,
                                  struct err *err)
{
    static const char *const seen[] = {"ecn_marked_packets", "cnp_sent", "cnp_handled"};
    struct health_subject rdma = {.kind = TELEMETRY_RDMA, .number = wire->number};
    struct telemetry_sum paused = {0}, marked = {0}, one;
    memcpy(rdma.device, wire->rdma_device, sizeof(rdma.device));
    struct health_slot *slot = health_slot_find(health, &rdma);
    if (slot == NULL)
        return ERR_OK;
    for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++)
        if (counted(health, slot, seen[i], &one) != HEALTH_NONE)
            telemetry_sum_merge(&marked, &one);
    struct health_subject priority = {.kind = TELEMETRY_PRIORITY};
    memcpy(priority.device, wire->port, sizeof(priority.device));
    for (priority.number = 0; priority.number < 8; priority.number++) {
        const struct health_slot *of = health_slot_find(health, &priority);
        if (counted(health, of, "rx_pause", &one) != HEALTH_NONE)
            telemetry_sum_merge(&paused, &one);
        if (counted(health, of, "tx_pause", &one) != HEALTH_NONE)
            telemetry_sum_merge(&paused, &one);
        if (counted(health, of, "rx_ecn_marked", &one) != HEALTH_NONE)
            telemetry_sum_merge(&marked, &one);
    }
    if (paused.weight == 0 || marked.weight == 0)
        return ERR_OK;
    enum err_code code = put_sum(health, slot, "paused_frames", &paused, err);
    return code == ERR_OK ? put_sum(health, slot, "ecn_seen", &marked, err) : code;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

struct latency {
    uint32_t label;
    size_t slot;
    int64_t ns;
};

static int by_label(const void *a, const void *b)
{
    const struct latency *x = a, *y = b;
    return (x->label > y->label) - (x->label < y->label);
}

#define PEERS_MIN 4 /* queue pairs of a job, or there is nobody to compare with */

/* Of one job's queue pairs. */
static enum err_code compare_peers(struct health *health, const struct latency *peers, size_t count,
                                   int64_t *scratch, struct err *err)
{
    enum err_code code = ERR_OK;
    if (count < PEERS_MIN)
        return ERR_OK;
    for (size_t i = 0; i < count; i++)
        scratch[i] = peers[i].ns;
    qsort(scratch, count, sizeof(*scratch), by_value);
    int64_t median = scratch[count / 2];
    for (size_t i = 0; i < count && code == ERR_OK && median > 0; i++)
        code = put_value(
            health, &health->slots[peers[i].slot], "latency_of_peers_percent",
            peers[i].ns > INT64_MAX / 100 ? INT64_MAX / median : peers[i].ns * 100 / median, err);
    return code;
}

static enum err_code derive_latencies(struct health *health, struct err *err)
{
    struct latency *all = calloc(health->slot_count + 1, sizeof(*all));
    int64_t *scratch = calloc(health->slot_count + 1, sizeof(*scratch));
    enum err_code code = all == NULL || scratch == NULL ? err_nomem(err) : ERR_OK;
    size_t count = 0;
    for (size_t i = 0; i < health->slot_count && code == ERR_OK; i++) {
        const struct health_slot *slot = &health->slots[i];
        if (slot->subject.kind != TELEMETRY_QP || slot->subject.label == 0)
            continue;
        int64_t ns = value_of(health, slot, HEALTH_LATENCY_INPUT);
        if (ns > 0)
            all[count++] = (struct latency){slot->subject.label, i, ns};
    }
    if (count > 0)
        qsort(all, count, sizeof(*all), by_label);
    for (size_t from = 0, to = 0; from < count && code == ERR_OK; from = to) {
        while (to < count && all[to].label == all[from].label)
            to++;
        code = compare_peers(health, all + from, to - from, scratch, err);
    }
    free(all);
    free(scratch);
    return code;
}

enum err_code health_derive(struct health *health, struct err *err)
{
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < health->slot_count && code == ERR_OK; i++) {
        struct health_slot *slot = &health->slots[i];
        if (slot->subject.kind == TELEMETRY_PCIE)
            code = derive_pcie(health, slot, err);
        else if (slot->subject.kind == TELEMETRY_IRQ)
            code = derive_irq(health, slot, err);
    }
    for (size_t i = 0; i < health->wire_count && code == ERR_OK; i++)
        code = derive_marks(health, &health->wires[i], err);
    return code == ERR_OK ? derive_latencies(health, err) : code;
}
