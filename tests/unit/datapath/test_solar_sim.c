/*
 * tests/unit/datapath/test_solar_sim.c - the simulator against figures that others' simulators and
 * arithmetic give: only then do its own figures mean something.
 */
#include "tests/unit/test.h"

#include "base/json.h"
#include "datapath/solar/sim/gate.h"
#include "datapath/solar/sim/pattern.h"
#include "datapath/solar/sim/scenario.h"

#define FLOW_BYTES INT64_C(2007040) /* 490 packets of 4096, as the reference counts 2 MB */

static struct err err;

static struct netsim *make(const struct netsim_params *params)
{
    err = (struct err)ERR_INIT;
    struct netsim *sim = NULL;
    assert_ok(netsim_new(params, &sim, &err));
    return sim;
}

static uint32_t add(struct netsim *sim, int src, int dst, int64_t bytes, int64_t start_ns)
{
    uint32_t index;
    struct netsim_flow_params flow = {src, dst, bytes, start_ns, NETSIM_NONE, 1};
    assert_ok(netsim_add(sim, &flow, &index, &err));
    return index;
}

static struct netsim_totals run(struct netsim *sim)
{
    struct netsim_totals totals;
    assert_ok(netsim_run(sim, NETSIM_END_NS, &err));
    netsim_totals(sim, &totals);
    return totals;
}

static void tell(const char *what, const struct netsim_totals *t, const struct netfab_port *port)
{
    print_message(
        "# %s: %.1f us, %llu sent, %llu again, %llu drops, queue %lld bytes, %llu events\n", what,
        (double)t->end_ns / 1e3, (unsigned long long)t->sent, (unsigned long long)t->resent,
        (unsigned long long)t->drops, port != NULL ? (long long)port->data_max : -1,
        (unsigned long long)t->events);
}

static void one_flow_takes_as_long_as_the_reference_says(void **state)
{
    (void)state;
    struct netsim_params params = netsim_defaults();
    for (int kind = 0; kind < CC_KINDS; kind++) {
        params.cc = (enum cc_kind)kind;
        struct netsim *sim = make(&params);
        add(sim, 0, 1, FLOW_BYTES, 0);
        struct netsim_totals t = run(sim);
        if (gate_open(params.cc) == NULL)
            tell(cc_kind_name(params.cc), &t, netfab_last_port(netsim_fabric(sim), 1));
        assert_int_equal(t.finished, 1);
        if (params.cc == CC_SOLAR)
            assert_in_range(t.end_ns, 176000 * 98 / 100, 176000 * 102 / 100);
        netsim_free(sim);
    }
}

static struct netsim_totals incast(int senders, int64_t bytes)
{
    struct netsim_params params = netsim_defaults();
    params.fabric.hosts_per_leaf = senders + 1;
    struct netsim *sim = make(&params);
    assert_ok(pattern_incast(sim, senders, bytes, &err));
    struct netsim_totals t = run(sim);
    char what[32];
    snprintf(what, sizeof(what), "%d:1", senders);
    tell(what, &t, netfab_last_port(netsim_fabric(sim), 0));
    netsim_free(sim);
    return t;
}

static void an_incast_takes_as_long_as_the_wire(void **state)
{
    (void)state;
    static const struct {
        int senders;
        int64_t payload_us;
    } rows[] = {{15, 2400}, {127, 20320}};
    for (size_t i = 0; i < 2; i++) {
        struct netsim_totals t = incast(rows[i].senders, FLOW_BYTES);
        assert_int_equal(t.finished, rows[i].senders);
        int64_t wire_ns = rows[i].payload_us * 1000 * 4160 / 4096 + 12000;
        assert_in_range(t.end_ns, wire_ns * 97 / 100, wire_ns * 103 / 100);
        assert_int_equal(t.resent, 0);
        assert_int_equal(t.drops, 0);
    }
}

/* Two senders, one receiver, no credit: what the law alone does. Bytes between 2 and 4 ms. */
static double fairness_of_two(enum cc_kind kind, double *out_load)
{
    struct netsim_params params = netsim_defaults();
    params.fabric.hosts_per_leaf = 3;
    params.credit = false;
    params.cc = kind;
    struct netsim *sim = make(&params);
    add(sim, 1, 0, 100000000, 0);
    add(sim, 2, 0, 100000000, 500000); /* the second comes later */
    double got[2] = {0, 0}, sum = 0, squares = 0;
    for (int end = 0; end < 2; end++) {
        assert_ok(netsim_run(sim, end == 0 ? 2000000 : 4000000, &err));
        for (uint32_t i = 0; i < 2; i++) {
            struct netsim_flow_result r;
            netsim_flow_result(sim, i, &r);
            got[i] = (double)r.acked_bytes - got[i];
        }
    }
    for (int i = 0; i < 2; i++) {
        sum += got[i];
        squares += got[i] * got[i];
    }
    *out_load = sum * 8 / 0.002 / 100e9 * 4160 / 4096;
    netsim_free(sim);
    return sum * sum / 2 / squares;
}

static void two_flows_share_a_link(void **state)
{
    (void)state;
    double load, fair = fairness_of_two(CC_SOLAR, &load);
    print_message("# two flows, solar: Jain %.4f, link %.3f\n", fair, load);
    assert_true(fair >= 0.99);
    assert_true(load >= 0.98);
}

static int64_t all_reduce(int paths, bool credit)
{
    struct netsim_params params = netsim_defaults();
    params.fabric.leaves = 4;
    params.fabric.hosts_per_leaf = params.fabric.spines = 16;
    params.fabric.host_bps = params.fabric.core_bps = INT64_C(200000000000);
    params.fabric.link_ns = 500;
    params.paths = paths;
    params.credit = credit;
    struct netsim *sim = make(&params);
    assert_ok(pattern_all_reduce(sim, 64, 4 * 1024 * 1024, &err));
    struct netsim_totals t = run(sim);
    char what[64];
    snprintf(what, sizeof(what), "all-reduce of 64, %d paths, credit %d", paths, credit);
    tell(what, &t, NULL);
    assert_int_equal(t.finished, t.flows);
    assert_int_equal(t.resent, 0);
    netsim_free(sim);
    return t.end_ns;
}

static void spraying_gains_what_the_reference_says(void **state)
{
    (void)state;
    int64_t spray_ns = all_reduce(16, false), ecmp_ns = all_reduce(1, false);
    assert_in_range(ecmp_ns * 100 / spray_ns, 230, 290);
    /* No run is faster than its wires: 2 * 63/64 of 4 MiB, with headers, and 12 steps of 2 us. */
    int64_t wire_ns = INT64_C(2) * 63 * 65536 * 4160 / 4096 * 8 / 200;
    assert_true(spray_ns >= wire_ns + 12 * 2000);
    assert_true(spray_ns <= (wire_ns + 12 * 2000) * 110 / 100);
    assert_true(all_reduce(16, true) <= spray_ns * 108 / 100);
}

static void the_same_seed_gives_the_same_run(void **state)
{
    (void)state;
    struct netsim_totals of[3];
    for (int i = 0; i < 3; i++) {
        struct netsim_params params = netsim_defaults();
        params.seed = i < 2 ? 7 : 8;
        params.fabric.leaves = 2;
        params.fabric.hosts_per_leaf = params.fabric.spines = 4;
        params.fabric.loss_ppm = 5000;
        struct netsim *sim = make(&params);
        assert_ok(pattern_permutation(sim, 8, 1000000, &err));
        of[i] = run(sim);
        netsim_free(sim);
    }
    assert_memory_equal(&of[0], &of[1], sizeof(of[0]));
    assert_memory_not_equal(&of[0], &of[2], sizeof(of[0]));
}

/* Both of the two tiers lose: of 2e-2 at most 0.98 is left. */
static void random_loss_is_repaired_without_waste(void **state)
{
    (void)state;
    static const struct {
        int ppm, least; /* percent of the goodput without loss */
    } losses[] = {{0, 100}, {5, 99}, {50, 99}, {100, 98}, {5000, 95}, {10000, 93}};
    int64_t clean_ns = 0;
    for (size_t i = 0; i < 3 * sizeof(losses) / sizeof(losses[0]); i++) {
        struct netsim_params params = netsim_defaults();
        params.fabric.leaves = 2;
        params.fabric.hosts_per_leaf = params.fabric.spines = 4;
        params.fabric.link_ns = 1000;
        params.fabric.loss_ppm = losses[i / 3].ppm;
        params.seed = 1 + i % 3;
        /* One loss at the very end costs some round trips: of so much that they are no percent. */
        int64_t bytes = losses[i / 3].ppm <= 100 ? 40000000 : 20000000;
        struct netsim *sim = make(&params);
        assert_ok(pattern_permutation(sim, 8, bytes, &err));
        struct netsim_totals t = run(sim);
        clean_ns = i == 0 ? t.end_ns : clean_ns;
        print_message(
            "# loss %d ppm twice: %.1f us (%.3f), %llu lost, %llu again, %llu for nothing\n",
            losses[i / 3].ppm, (double)t.end_ns / 1e3,
            (double)(clean_ns * bytes / 40000000) / (double)t.end_ns, (unsigned long long)t.lost,
            (unsigned long long)t.resent, (unsigned long long)t.duplicates);
        assert_int_equal(t.finished, 8);
        assert_int_equal(t.resent, t.lost + t.drops + t.duplicates);
        assert_int_equal(t.duplicates, 0);
        assert_true(t.end_ns * losses[i / 3].least / 100 <=
                    clean_ns * bytes / 40000000); /* of virtual time */
        netsim_free(sim);
    }
}

static void a_failed_link_is_gone_around(void **state)
{
    (void)state;
    struct netsim_params params = netsim_defaults();
    params.fabric.leaves = 2;
    params.fabric.hosts_per_leaf = 2;
    params.fabric.spines = 4;
    params.paths = 4;
    struct netsim *sim = make(&params);
    assert_ok(pattern_permutation(sim, 4, 4000000, &err));
    netfab_fail_link(netsim_fabric(sim), 0, 1);
    struct netsim_totals t = run(sim);
    tell("one of 4 spines cut off", &t, NULL);
    assert_int_equal(t.finished, 4);
    assert_true(t.drops > 0);
    assert_true(t.end_ns < 5000000);
    netsim_free(sim);
}

static void runs_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    err = (struct err)ERR_INIT;
    struct netsim_params good = netsim_defaults();
    struct netsim *sim = NULL;
    struct netsim_params bad[8];
    for (int i = 0; i < 8; i++)
        bad[i] = good;
    bad[0].fabric.leaves = 0;
    bad[1].fabric.hosts_per_leaf = NETFAB_HOSTS_MAX + 1;
    bad[2].fabric.leaves = 2; /* and no spine */
    bad[3].fabric.host_bps = 1;
    bad[4].fabric.queue_bytes = 1;
    bad[5].fabric.loss_ppm = 1000001;
    bad[6].payload_bytes = NETSIM_PACKET_MAX;
    bad[7].header_bytes = 0;
    for (int i = 0; i < 8; i++)
        assert_fails(netsim_new(&bad[i], &sim, &err), ERR_INVALID);
    sim = make(&good);
    static const struct netsim_flow_params flows[] = {
        {0, 0, 1, 0, NETSIM_NONE, 1}, {0, 2, 1, 0, NETSIM_NONE, 1},  {-1, 0, 1, 0, NETSIM_NONE, 1},
        {0, 1, 0, 0, NETSIM_NONE, 1}, {0, 1, 1, -1, NETSIM_NONE, 1}, {0, 1, 1, 0, 0, 1},
        {0, 1, 1, 0, NETSIM_NONE, 0},
    };
    uint32_t index;
    for (size_t i = 0; i < sizeof(flows) / sizeof(flows[0]); i++)
        assert_fails(netsim_add(sim, &flows[i], &index, &err), ERR_INVALID);
    assert_fails(pattern_all_reduce(sim, 3, 1000, &err), ERR_INVALID);
    netsim_free(sim);
    netsim_free(NULL);
}

static enum err_code parse(const char *text, struct scenario *out)
{
    OWN(json) json_t *document = NULL;
    assert_ok(json_parse(text, strlen(text), &document, &err));
    return scenario_from_json(document, out, &err);
}

/* Those that need no more than a second of a slow machine; solar-sim runs all. */
static void scenarios_of_the_repository_give_what_they_expect(void **state)
{
    (void)state;
    static const char *const names[] = {"one-flow", "incast-15", "failed-link"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[64];
        snprintf(path, sizeof(path), "data/solar/%s.json", names[i]);
        char *text = test_load(path, NULL);
        struct scenario s;
        struct netsim_totals t;
        assert_ok(parse(text, &s));
        assert_string_equal(s.name, names[i]);
        assert_ok(scenario_run(&s, &t, &err));
        assert_ok(scenario_check(&s, &t, &err));
        OWN(json) json_t *result = scenario_result_to_json(&s, &t);
        assert_int_equal(json_integer_value(json_object_get(result, "end_ns")), t.end_ns);
        free(text);
    }
}

static void a_scenario_that_misses_is_told(void **state)
{
    (void)state;
    err = (struct err)ERR_INIT;
    struct scenario s;
    assert_ok(parse("{\"name\":\"x\",\"pattern\":{\"kind\":\"incast\",\"hosts\":1,\"bytes\":1},"
                    "\"expect\":{\"end_min_ns\":10,\"end_max_ns\":20,\"resent_max\":0}}",
                    &s));
    struct netsim_totals t = {.end_ns = 10, .flows = 1, .finished = 1};
    assert_ok(scenario_check(&s, &t, &err));
    t.end_ns = 9;
    assert_fails(scenario_check(&s, &t, &err), ERR_CONFLICT);
    t.end_ns = 21;
    assert_fails(scenario_check(&s, &t, &err), ERR_CONFLICT);
    t.end_ns = 20;
    t.resent = 1;
    assert_fails(scenario_check(&s, &t, &err), ERR_CONFLICT);
    t.resent = 0;
    t.finished = 0;
    assert_fails(scenario_check(&s, &t, &err), ERR_CONFLICT);
}

static void scenarios_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    err = (struct err)ERR_INIT;
    static const struct {
        const char *text, *pointer;
    } rows[] = {
        {"{\"pattern\":{\"kind\":\"incast\",\"hosts\":1,\"bytes\":1}}", "/name"},
        {"{\"name\":\"x\"}", "/pattern"},
        {"{\"name\":\"x\",\"pattern\":{\"kind\":\"ring\",\"hosts\":1,\"bytes\":1}}",
         "/pattern/kind"},
        {"{\"name\":\"x\",\"pattern\":{\"kind\":\"incast\",\"hosts\":1,\"bytes\":0}}",
         "/pattern/bytes"},
        {"{\"name\":\"x\",\"pattern\":{\"kind\":\"incast\",\"hosts\":1,\"bytes\":1},"
         "\"transport\":{\"law\":\"reno\"}}",
         "/transport/law"},
        {"{\"name\":\"x\",\"pattern\":{\"kind\":\"incast\",\"hosts\":1,\"bytes\":1},"
         "\"fabric\":{\"leafs\":1}}",
         "/fabric/leafs"},
        {"{\"name\":\"x\",\"pattern\":{\"kind\":\"incast\",\"hosts\":1,\"bytes\":1},"
         "\"failed_links\":[{\"leaf\":1,\"spine\":0}]}",
         "/failed_links/0/leaf"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct scenario s;
        assert_fails(parse(rows[i].text, &s), ERR_INVALID);
        assert_string_equal(err.pointer, rows[i].pointer);
    }
}

static void a_law_that_is_not_validated_has_no_figures(void **state)
{
    (void)state;
    struct scenario s;
    const struct netsim_totals t = {.end_ns = 123456789, .flows = 1, .finished = 1};
    for (int kind = 0; kind < CC_KINDS; kind++) {
        err = (struct err)ERR_INIT;
        char text[256];
        const char *law = cc_kind_name((enum cc_kind)kind);
        snprintf(text, sizeof(text),
                 "{\"name\":\"x\",\"pattern\":{\"kind\":\"incast\",\"hosts\":1,\"bytes\":1},"
                 "\"transport\":{\"law\":\"%s\"}}",
                 law);
        assert_ok(parse(text, &s));
        OWN(json) json_t *result = scenario_result_to_json(&s, &t);
        OWN(str) char *line = json_canonical(result, NULL);
        assert_non_null(line);
        bool shown = strstr(line, "123456789") != NULL;
        assert_int_equal(json_is_true(json_object_get(result, "validated")), shown);
        if (kind == CC_SOLAR) { /* its gates are the tests above */
            assert_ok(scenario_check_gate(&s, &err));
            assert_true(shown);
            continue;
        }
        assert_fails(scenario_check_gate(&s, &err), ERR_UNSUPPORTED);
        assert_contains(err.text, law);
        assert_false(shown);
        assert_true(json_is_string(json_object_get(result, "why")));
        assert_int_equal(json_object_size(result), 4);
    }
}

static void events_come_in_order(void **state)
{
    (void)state;
    struct heap heap = {0};
    uint64_t x = 9;
    for (uint32_t i = 0; i < 5000; i++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
        heap_push(&heap, (int64_t)(x >> 33) % 100, 1, i);
    }
    struct heap_event event, before = {.at_ps = -1};
    int count = 0;
    for (; heap_pop(&heap, &event); count++, before = event)
        assert_true(event.at_ps > before.at_ps ||
                    (event.at_ps == before.at_ps && event.which > before.which));
    assert_int_equal(count, 5000);
    heap_release(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_flow_takes_as_long_as_the_reference_says),
        cmocka_unit_test(an_incast_takes_as_long_as_the_wire),
        cmocka_unit_test(two_flows_share_a_link),
        cmocka_unit_test(spraying_gains_what_the_reference_says),
        cmocka_unit_test(the_same_seed_gives_the_same_run),
        cmocka_unit_test(random_loss_is_repaired_without_waste),
        cmocka_unit_test(a_failed_link_is_gone_around),
        cmocka_unit_test(runs_that_make_no_sense_are_refused),
        cmocka_unit_test(scenarios_of_the_repository_give_what_they_expect),
        cmocka_unit_test(a_scenario_that_misses_is_told),
        cmocka_unit_test(scenarios_that_make_no_sense_are_refused),
        cmocka_unit_test(a_law_that_is_not_validated_has_no_figures),
        cmocka_unit_test(events_come_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
