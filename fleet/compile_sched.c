/*
 * fleet/compile_sched.c - the kernel's other scheduler: ets, a band for each traffic class; and red
 * queues that mark packets as switches do.
 *
 * Bands go by the NIC's rules (compile_dcb.c): strict classes come first, the highest class before
 * the others, then those that share, with their shares as rounds.
 */
#include <stdio.h>

#include "fleet/compile_job.h"
#include "fleet/read.h"

#define ROOT           "5e11:"
#define QUANTUM_BYTES  1514 /* a full frame for each percent */
#define PRIOMAP        16   /* priorities of packets in the kernel, TC_PRIO_MAX + 1 */
#define RED_LIMIT_MIN  (INT64_C(1) << 20)
#define RED_LIMIT_KMAX 4 /* the queue is so many times Kmax: beyond that ECN did not help */
#define ID_MAX         16

void compile_red(struct compile *c, const char *parent, const struct site_job *job)
{
    const struct fabric *fabric = c->view->fabric;
    if (!fabric->scheduler_ecn)
        return;
    int64_t limit = RED_LIMIT_KMAX * fabric->ecn_kmax_bytes;
    OWN(json) json_t *want = json_object();
    bool whole =
        write_member(want, "ecn", json_true()) &&
        write_member(want, "limit_bytes",
                     json_integer(limit < RED_LIMIT_MIN ? RED_LIMIT_MIN : limit)) &&
        write_member(want, "max_bytes", json_integer(fabric->ecn_kmax_bytes)) &&
        write_member(want, "min_bytes", json_integer(fabric->ecn_kmin_bytes)) &&
        write_member(want, "probability_permyriad", json_integer(fabric->ecn_pmax_permyriad));
    compile_add(c, &(struct compile_knob){.kind = "tc.red",
                                          .id = parent,
                                          .want = whole ? GIVE(want) : NULL,
                                          .enforcement = ENFORCEMENT_KERNEL,
                                          .job = job});
}

struct bands {
    int of_class[TC_COUNT]; /* -1 = the class is not used */
    int strict, count;
    int quanta[TC_COUNT]; /* of the bands that share, in their order */
};

static void order(const struct ets_class classes[TC_COUNT], struct bands *out)
{
    int percent[TC_COUNT];
    *out = (struct bands){.count = 0};
    compile_ets_shares(classes, percent);
    for (int i = TC_COUNT - 1; i >= 0; i--)
        out->of_class[i] = classes[i].used && classes[i].strict ? out->count++ : -1;
    out->strict = out->count;
    for (int i = 0; i < TC_COUNT; i++) {
        if (!classes[i].used || classes[i].strict)
            continue;
        out->quanta[out->count - out->strict] = percent[i] * QUANTUM_BYTES;
        out->of_class[i] = out->count++;
    }
}

static json_t *bands_to_json(const struct bands *bands, const int prio_tc[PRIORITY_COUNT])
{
    OWN(json) json_t *object = json_object();
    json_t *quanta = json_array(), *priomap = json_array();
    for (int i = 0; i < bands->count - bands->strict; i++)
        json_array_append_new(quanta, json_integer(bands->quanta[i]));
    for (int i = 0; i < PRIOMAP; i++)
        json_array_append_new(priomap,
                              json_integer(bands->of_class[prio_tc[i < PRIORITY_COUNT ? i : 0]]));
    bool whole = json_array_size(priomap) == PRIOMAP &&
                 json_array_size(quanta) == (size_t)(bands->count - bands->strict);
    whole &= write_member(object, "quanta", quanta);
    whole &= write_member(object, "priomap", priomap);
    if (!whole || !write_member(object, "bands", json_integer(bands->count)) ||
        !write_member(object, "handle", json_string(ROOT)) ||
        !write_member(object, "kind", json_string("ets")) ||
        !write_member(object, "strict", json_integer(bands->strict)))
        return NULL;
    return GIVE(object);
}

void compile_bands(struct compile *c)
{
    struct ets_class classes[TC_COUNT];
    int prio_tc[PRIORITY_COUNT];
    struct bands bands;
    char id[ID_MAX];
    compile_classes(c, classes, prio_tc);
    order(classes, &bands);
    compile_add(c, &(struct compile_knob){.kind = "tc.qdisc",
                                          .id = "root",
                                          .want = bands_to_json(&bands, prio_tc),
                                          .enforcement = ENFORCEMENT_KERNEL});
    for (int band = bands.strict; band < bands.count; band++) {
        snprintf(id, sizeof(id), ROOT "%x", (unsigned)band + 1);
        compile_red(c, id, NULL);
    }
    for (size_t i = 0; i < c->site->job_count; i++) {
        const struct site_job *job = &c->site->jobs[i];
        if (job->traffic_class < 0)
            continue;
        snprintf(id, sizeof(id), ROOT "%x", (unsigned)bands.of_class[job->traffic_class] + 1);
        compile_classifier(c, job, id);
    }
}
