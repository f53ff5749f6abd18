/*
 * datapath/solar/sim/scenario.c - see scenario.h.
 */
#include "datapath/solar/sim/scenario.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "datapath/solar/sim/gate.h"
#include "datapath/solar/sim/pattern.h"

#define TERA INT64_C(10000000000000) /* of rates and bytes; the parts have narrower limits */

static const char *const kinds[] = {"incast", "permutation", "all-reduce", NULL};
static const char *const laws[] = {"solar", "solar-literal", "dcqcn", "swift", "hpcc", NULL};

static void read_int(struct json_reader *r, const char *key, bool required, int64_t max, int *out)
{
    int64_t value;
    if (json_reader_int(r, key, required, 0, max, &value))
        *out = (int)value;
}

static void read_fabric(struct json_reader *root, struct netfab_params *p)
{
    struct json_reader r;
    if (!json_reader_object(root, "fabric", false, &r))
        return;
    read_int(&r, "leaves", false, NETFAB_HOSTS_MAX, &p->leaves);
    read_int(&r, "hosts_per_leaf", false, NETFAB_HOSTS_MAX, &p->hosts_per_leaf);
    read_int(&r, "spines", false, NETFAB_SPINES_MAX, &p->spines);
    read_int(&r, "loss_ppm", false, 1000000, &p->loss_ppm);
    json_reader_int(&r, "host_bps", false, 1, TERA, &p->host_bps);
    json_reader_int(&r, "core_bps", false, 1, TERA, &p->core_bps);
    json_reader_int(&r, "link_ns", false, 1, TERA, &p->link_ns);
    json_reader_int(&r, "queue_bytes", false, 1, TERA, &p->queue_bytes);
    json_reader_int(&r, "ecn_min_bytes", false, 0, TERA, &p->ecn_min_bytes);
    json_reader_int(&r, "ecn_max_bytes", false, 0, TERA, &p->ecn_max_bytes);
    json_reader_end(&r);
}

static void read_transport(struct json_reader *root, struct netsim_params *p)
{
    struct json_reader r;
    if (!json_reader_object(root, "transport", false, &r))
        return;
    int law;
    if (json_reader_enum(&r, "law", false, laws, &law))
        cc_kind_from_name(laws[law], &p->cc);
    read_int(&r, "payload_bytes", false, NETSIM_PACKET_MAX, &p->payload_bytes);
    read_int(&r, "header_bytes", false, NETSIM_PACKET_MAX, &p->header_bytes);
    read_int(&r, "paths", false, 64, &p->paths);
    read_int(&r, "ack_every", false, 1024, &p->ack_every);
    json_reader_bool(&r, "credit", false, &p->credit);
    json_reader_bool(&r, "ecn", false, &p->ecn);
    json_reader_end(&r);
}

static void read_pattern(struct json_reader *root, struct scenario *s)
{
    struct json_reader r;
    int kind;
    if (!json_reader_object(root, "pattern", true, &r))
        return;
    if (json_reader_enum(&r, "kind", true, kinds, &kind))
        s->kind = (enum scenario_kind)kind;
    read_int(&r, "hosts", true, NETFAB_HOSTS_MAX, &s->hosts);
    json_reader_int(&r, "bytes", true, 1, WIRE_MESSAGE_MAX - 1, &s->bytes);
    json_reader_end(&r);
}

static void read_failed(struct json_reader *root, struct scenario *s)
{
    const json_t *links;
    if (!json_reader_array(root, "failed_links", false, SCENARIO_LINKS_MAX, &links))
        return;
    for (size_t i = 0; i < json_array_size(links); i++) {
        struct json_reader r;
        json_reader_element(root, "failed_links", i, json_array_get(links, i), &r);
        read_int(&r, "leaf", true, s->params.fabric.leaves - 1, &s->failed[i].leaf);
        read_int(&r, "spine", true, s->params.fabric.spines - 1, &s->failed[i].spine);
        json_reader_end(&r);
        s->failed_count++;
    }
}

static void read_expect(struct json_reader *root, struct scenario *s)
{
    struct json_reader r;
    if (!json_reader_object(root, "expect", false, &r))
        return;
    json_reader_int(&r, "end_min_ns", false, 0, NETSIM_END_NS, &s->end_min_ns);
    json_reader_int(&r, "end_max_ns", false, 0, NETSIM_END_NS, &s->end_max_ns);
    json_reader_int(&r, "resent_max", false, 0, TERA, &s->resent_max);
    json_reader_end(&r);
}

enum err_code scenario_from_json(const json_t *document, struct scenario *out, struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    struct scenario s = {
        .params = netsim_defaults(), .end_min_ns = -1, .end_max_ns = -1, .resent_max = -1};
    struct json_reader r;
    const char *text;
    int64_t seed = (int64_t)s.params.seed;
    json_reader_init(&r, document, "", &findings);
    if (json_reader_string(&r, "name", true, 1, SCENARIO_NAME_MAX - 1, &text))
        snprintf(s.name, sizeof(s.name), "%s", text);
    json_reader_string(&r, "source", false, 1, 1024, &text);
    json_reader_int(&r, "seed", false, 0, INT64_MAX, &seed);
    s.params.seed = (uint64_t)seed;
    read_fabric(&r, &s.params.fabric);
    read_transport(&r, &s.params);
    read_pattern(&r, &s);
    read_failed(&r, &s);
    read_expect(&r, &s);
    json_reader_end(&r);
    if (findings.nomem)
        return err_nomem(err);
    if (findings.count > 0)
        return err_set_at(err, ERR_INVALID, findings.items[0].pointer, "%s",
                          findings.items[0].message);
    *out = s;
    return ERR_OK;
}

static enum err_code add_flows(const struct scenario *s, struct netsim *sim, struct err *err)
{
    switch (s->kind) {
    case SCENARIO_INCAST:
        return pattern_incast(sim, s->hosts, s->bytes, err);
    case SCENARIO_PERMUTATION:
        return pattern_permutation(sim, s->hosts, s->bytes, err);
    case SCENARIO_ALL_REDUCE:
        return pattern_all_reduce(sim, s->hosts, s->bytes, err);
    }
    return err_set(err, ERR_INVALID, "no such pattern");
}

enum err_code scenario_run(const struct scenario *s, struct netsim_totals *out, struct err *err)
{
    struct netsim *sim = NULL;
    enum err_code code = netsim_new(&s->params, &sim, err);
    if (code == ERR_OK)
        code = add_flows(s, sim, err);
    for (int i = 0; code == ERR_OK && i < s->failed_count; i++)
        netfab_fail_link(netsim_fabric(sim), s->failed[i].leaf, s->failed[i].spine);
    if (code == ERR_OK)
        code = netsim_run(sim, NETSIM_END_NS, err);
    if (code == ERR_OK)
        netsim_totals(sim, out);
    netsim_free(sim);
    return code;
}

enum err_code scenario_check_gate(const struct scenario *s, struct err *err)
{
    const char *why = gate_open(s->params.cc);
    if (why == NULL)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED, "%s: law %s is not validated: %s", s->name,
                   cc_kind_name(s->params.cc), why);
}

enum err_code scenario_check(const struct scenario *s, const struct netsim_totals *t,
                             struct err *err)
{
    if (t->finished < t->flows)
        return err_set(err, ERR_CONFLICT, "%s: only %d of %d flows ended", s->name, t->finished,
                       t->flows);
    if (s->end_min_ns >= 0 && t->end_ns < s->end_min_ns)
        return err_set(err, ERR_CONFLICT, "%s: ended at %lld ns, at least %lld are expected",
                       s->name, (long long)t->end_ns, (long long)s->end_min_ns);
    if (s->end_max_ns >= 0 && t->end_ns > s->end_max_ns)
        return err_set(err, ERR_CONFLICT, "%s: ended at %lld ns, at most %lld are expected",
                       s->name, (long long)t->end_ns, (long long)s->end_max_ns);
    if (s->resent_max >= 0 && t->resent > (uint64_t)s->resent_max)
        return err_set(err, ERR_CONFLICT, "%s: %llu packets sent again, at most %lld are expected",
                       s->name, (unsigned long long)t->resent, (long long)s->resent_max);
    return ERR_OK;
}

json_t *scenario_result_to_json(const struct scenario *s, const struct netsim_totals *t)
{
    const char *law = cc_kind_name(s->params.cc), *why = gate_open(s->params.cc);
    if (why != NULL)
        return json_pack("{s:s, s:s, s:b, s:s}", "name", s->name, "law", law, "validated", 0, "why",
                         why);
    return json_pack("{s:s, s:s, s:b, s:I, s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "name",
                     s->name, "law", law, "validated", 1, "end_ns", (json_int_t)t->end_ns, "flows",
                     t->flows, "finished", t->finished, "sent", (json_int_t)t->sent, "resent",
                     (json_int_t)t->resent, "duplicates", (json_int_t)t->duplicates, "drops",
                     (json_int_t)t->drops, "lost", (json_int_t)t->lost, "marks",
                     (json_int_t)t->marks, "events", (json_int_t)t->events);
}
