/*
 * tests/unit/fleet/test_health_job.c - minutes below a guarantee, a limit against the demand: from
 * batches of queue pairs and what was promised.
 */
#include "tests/unit/fleet/fleet_test.h"
#include "tests/unit/test.h"

#include "fleet/health_job.h"

#define START_US INT64_C(1790000040000000) /* a whole minute */
#define GBPS     INT64_C(1000000000)
#define SECONDS  10 /* of a batch */

struct site {
    struct health_book *book;
    struct health *health;
    struct telemetry_batch batch;
    int64_t now_us, sent_bytes;
};

static const struct health_promise promised = {.label = 7,
                                               .job = "a/nlp_job",
                                               .port = "p0",
                                               .speed_bps = 100 * GBPS,
                                               .guarantee_bps = 40 * GBPS};

static void site_init(struct site *site, const struct health_promise *promises, size_t count)
{
    struct err err = ERR_INIT;
    memset(site, 0, sizeof(*site));
    site->now_us = START_US;
    telemetry_batch_init(&site->batch);
    assert_ok(health_book_new(&site->book, &err));
    assert_ok(health_new(site->book, &site->health, &err));
    assert_ok(health_rdma_port(site->health, "mlx5_0", 1, "p0", &err));
    assert_ok(health_rdma_port(site->health, "mlx5_1", 1, "p1", &err));
    assert_ok(health_promise(site->health, promises, count, &err));
}

static void site_release(struct site *site)
{
    telemetry_batch_release(&site->batch);
    health_free(site->health);
    health_book_free(site->book);
}

/* How a queue pair sends: so much a second, in the first `busy` seconds of each ten. */
struct flow {
    const char *device;
    uint32_t label;
    int64_t rate_bps;
    int busy;
};

static void add_flow(struct site *site, uint32_t number, const struct flow *flow)
{
    static const struct telemetry_name of_verbs = {"tx_bytes", TELEMETRY_STAYS, 0},
                                       of_solar = {"sent_bytes", TELEMETRY_STAYS, 0};
    bool is_solar = strncmp(flow->device, "solar/", 6) == 0;
    struct telemetry_subject subject = {
        .kind = TELEMETRY_QP, .number = number, .label = flow->label};
    struct err err = ERR_INIT;
    uint16_t name;
    int64_t *values, bytes = 1000;
    assert_ok(telemetry_device_add(&site->batch, flow->device, &subject.device, &err));
    assert_ok(telemetry_row_add(&site->batch, &subject, &err));
    assert_ok(telemetry_name_add(&site->batch, is_solar ? &of_solar : &of_verbs, &name, &err));
    assert_ok(telemetry_column_add(&site->batch, name, &values, &err));
    for (int i = 0; i < SECONDS; i++) {
        bytes += i > 0 && i <= flow->busy ? flow->rate_bps / 8 : 0;
        values[i] = bytes;
    }
}

/* Whole minutes of batches; the last minute is open until the next batch. */
static void minutes(struct site *site, int count, const struct flow *flows, size_t flow_count)
{
    struct err err = ERR_INIT;
    for (int i = 0; i < count * 60 / SECONDS; i++) {
        telemetry_batch_clear(&site->batch);
        site->batch.stream = 1;
        site->batch.seq++;
        site->batch.interval_ms = 1000;
        site->batch.start_us = site->now_us;
        site->batch.sample_count = SECONDS;
        for (uint32_t k = 0; k < SECONDS; k++)
            site->batch.offset_ms[k] = k * 1000;
        site->now_us += SECONDS * INT64_C(1000000);
        for (size_t k = 0; k < flow_count; k++)
            add_flow(site, 17 + (uint32_t)k, &flows[k]);
        assert_ok(health_take_batch(site->health, &site->batch, &err));
    }
}

static void send_at(struct site *site, int count, int64_t rate_bps)
{
    const struct flow flow = {"mlx5_0", 7, rate_bps, SECONDS};
    minutes(site, count, &flow, 1);
}

static int64_t fact(const struct site *site, const char *input)
{
    const struct health_subject job = {.kind = HEALTH_JOB, .device = "a/nlp_job", .number = 7};
    return health_fact(site->health, &job, input);
}

static int64_t below(const struct site *site)
{
    return fact(site, "minutes_below_guarantee");
}

static int64_t share(const struct site *site)
{
    return fact(site, "limit_of_demand_percent");
}

static void minutes_below_95_percent_of_the_guarantee_count(void **state)
{
    struct site site;
    (void)state;
    site_init(&site, &promised, 1);
    assert_int_equal(below(&site), HEALTH_NONE);
    send_at(&site, 1, 38 * GBPS); /* 95 % */
    assert_int_equal(below(&site), HEALTH_NONE);
    send_at(&site, 1, 38 * GBPS - 80);
    assert_int_equal(below(&site), 0);
    send_at(&site, 1, 30 * GBPS);
    assert_int_equal(below(&site), 1);
    send_at(&site, 5, 38 * GBPS);
    assert_int_equal(below(&site), 2);
    send_at(&site, JOB_MINUTES, 50 * GBPS); /* what was before the last 20 is forgotten */
    assert_int_equal(below(&site), 0);
    site_release(&site);
}

static void queue_pairs_of_a_job_are_added_and_others_are_not(void **state)
{
    const struct flow enough[] = {{"mlx5_0", 7, 20 * GBPS, SECONDS},
                                  {"mlx5_0", 7, 19 * GBPS, SECONDS}};
    const struct flow others[] = {{"mlx5_0", 7, 20 * GBPS, SECONDS},
                                  {"mlx5_0", 8, 50 * GBPS, SECONDS},
                                  {"mlx5_0", 0, 50 * GBPS, SECONDS},
                                  {"mlx5_1", 7, 50 * GBPS, SECONDS}};
    struct site site;
    (void)state;
    site_init(&site, &promised, 1);
    minutes(&site, 3, enough, 2);
    assert_int_equal(below(&site), 0);
    minutes(&site, 3, others, 4);
    assert_int_equal(below(&site), 2);
    site_release(&site);
}

static void solar_queue_pairs_count_by_the_port_of_their_interface(void **state)
{
    const struct flow met[] = {{"mlx5_0", 7, 20 * GBPS, SECONDS},
                               {"solar/sol0", 7, 19 * GBPS, SECONDS}};
    const struct flow elsewhere[] = {{"mlx5_0", 7, 20 * GBPS, SECONDS},
                                     {"solar/sol1", 7, 50 * GBPS, SECONDS}};
    struct err err = ERR_INIT;
    struct site site;
    (void)state;
    site_init(&site, &promised, 1);
    assert_ok(health_rdma_port(site.health, "solar/sol0", 0, "p0", &err));
    minutes(&site, 3, met, 2);
    assert_int_equal(below(&site), 0);
    minutes(&site, 3, elsewhere, 2);
    assert_int_equal(below(&site), 2);
    site_release(&site);
}

static void who_rests_asks_for_nothing(void **state)
{
    struct flow flow = {"mlx5_0", 7, 30 * GBPS, 8};
    struct site site;
    (void)state;
    site_init(&site, &promised, 1);
    minutes(&site, 6, &flow, 1);
    assert_int_equal(below(&site), 0);
    flow.busy = 9; /* every second that is known: the first of ten is not */
    minutes(&site, 6, &flow, 1);
    assert_int_equal(below(&site), 5);
    site_release(&site);
}

static void a_declared_demand_below_the_guarantee_is_all_it_asks_for(void **state)
{
    struct health_promise promise = promised;
    struct site site;
    (void)state;
    promise.demand_bps = 20 * GBPS;
    site_init(&site, &promise, 1);
    send_at(&site, 4, 19 * GBPS);
    assert_int_equal(below(&site), 0);
    send_at(&site, 4, 18 * GBPS);
    assert_int_equal(below(&site), 3);
    site_release(&site);
}

static void what_nobody_told_is_unknown_not_met(void **state)
{
    struct err err = ERR_INIT;
    struct site site;
    (void)state;
    site_init(&site, &promised, 1);
    minutes(&site, 10, NULL, 0);
    assert_int_equal(below(&site), HEALTH_NONE);
    send_at(&site, 3, 10 * GBPS);
    minutes(&site, 1, NULL, 0);
    assert_int_equal(below(&site), 3);
    health_node_silent(site.health);
    assert_int_equal(below(&site), HEALTH_NONE);
    minutes(&site, JOB_MINUTES + 1, NULL, 0);
    assert_int_equal(below(&site), HEALTH_NONE);
    send_at(&site, 2, 10 * GBPS);
    assert_int_equal(below(&site), 1);
    assert_ok(health_promise(site.health, NULL, 0, &err)); /* and none without a promise */
    send_at(&site, 2, 10 * GBPS);
    assert_int_equal(below(&site), HEALTH_NONE);
    site_release(&site);
}

static void a_gap_and_a_clock_that_goes_back_invent_no_minutes(void **state)
{
    struct site site;
    (void)state;
    site_init(&site, &promised, 1);
    send_at(&site, 3, 10 * GBPS);
    site.now_us += 10 * INT64_C(60000000);
    send_at(&site, 1, 50 * GBPS);
    assert_int_equal(below(&site), 3);
    site.now_us += INT64_C(3600000000);
    send_at(&site, 2, 50 * GBPS);
    assert_int_equal(below(&site), 0);
    site.now_us -= 5 * INT64_C(60000000);
    send_at(&site, 2, 10 * GBPS);
    assert_int_equal(below(&site), 1);
    site_release(&site);
}

static void a_limit_is_held_against_the_declared_demand(void **state)
{
    struct health_promise promise = {
        .label = 7, .job = "a/nlp_job", .port = "p0", .speed_bps = 100 * GBPS};
    struct site site;
    (void)state;
    promise.limit_bps = 69 * GBPS;
    promise.demand_bps = 100 * GBPS;
    site_init(&site, &promise, 1);
    minutes(&site, 1, NULL, 0);
    assert_int_equal(share(&site), 69);
    assert_int_equal(below(&site), HEALTH_NONE);
    site_release(&site);
    promise.demand_bps = 0;
    site_init(&site, &promise, 1);
    send_at(&site, 5, 60 * GBPS);
    assert_int_equal(share(&site), HEALTH_NONE);
    site_release(&site);
}

static void a_demand_that_was_measured_for_an_hour_counts(void **state)
{
    struct health_promise promise = {.label = 7,
                                     .job = "a/nlp_job",
                                     .port = "p0",
                                     .speed_bps = 100 * GBPS,
                                     .limit_bps = 40 * GBPS,
                                     .demand_bps = 20 * GBPS};
    struct site site;
    (void)state;
    site_init(&site, &promise, 1);
    send_at(&site, JOB_MEASURED_MINUTES, 80 * GBPS); /* the last of them is open */
    assert_int_equal(share(&site), 200);
    send_at(&site, 1, 80 * GBPS);
    assert_int_equal(share(&site), 50);
    send_at(&site, 1500, 30 * GBPS); /* now it is more in 4 of 100 minutes alone */
    assert_int_equal(share(&site), 133);
    site_release(&site);
}

static void who_sends_against_its_limit_asks_for_what_it_declared(void **state)
{
    struct health_promise promise = {.label = 7,
                                     .job = "a/nlp_job",
                                     .port = "p0",
                                     .speed_bps = 100 * GBPS,
                                     .limit_bps = 40 * GBPS,
                                     .demand_bps = 80 * GBPS};
    struct site site;
    (void)state;
    site_init(&site, &promise, 1);
    send_at(&site, JOB_MEASURED_MINUTES + 2, 40 * GBPS);
    assert_int_equal(share(&site), 50);
    site_release(&site);
    site_init(&site, &promise, 1);
    send_at(&site, JOB_MEASURED_MINUTES + 2, 20 * GBPS);
    assert_int_equal(share(&site), 200);
    site_release(&site);
}

static void the_worst_of_a_jobs_ports_is_told(void **state)
{
    struct health_promise promises[2] = {promised, promised};
    const struct flow flows[] = {{"mlx5_0", 7, 50 * GBPS, SECONDS},
                                 {"mlx5_1", 7, 10 * GBPS, SECONDS}};
    struct site site;
    (void)state;
    snprintf(promises[1].port, sizeof(promises[1].port), "p1");
    site_init(&site, promises, 2);
    minutes(&site, 3, flows, 2);
    assert_int_equal(below(&site), 2);
    site_release(&site);
}

static void minutes_stay_when_a_promise_changes_and_go_with_the_job(void **state)
{
    struct health_promise promise = promised;
    struct err err = ERR_INIT;
    struct site site;
    (void)state;
    site_init(&site, &promise, 1);
    send_at(&site, 4, 30 * GBPS);
    promise.guarantee_bps = 20 * GBPS;
    assert_ok(health_promise(site.health, &promise, 1, &err));
    send_at(&site, 2, 30 * GBPS);
    assert_int_equal(below(&site), 3);
    snprintf(promise.job, sizeof(promise.job), "b/nlp_job"); /* the label is another's now */
    assert_ok(health_promise(site.health, &promise, 1, &err));
    snprintf(promise.job, sizeof(promise.job), "a/nlp_job");
    assert_ok(health_promise(site.health, &promise, 1, &err));
    send_at(&site, 2, 30 * GBPS);
    assert_int_equal(below(&site), 0);
    site_release(&site);
}

static void note_kept(void *arg, const struct health_kept *kept)
{
    *(struct health_kept *)arg = *kept;
}

static void what_came_of_a_promise_is_kept_for_twenty_minutes(void **state)
{
    (void)state;
    struct site site;
    struct health_kept kept = {.known_minutes = -1};
    site_init(&site, &promised, 1);
    health_each_kept(site.health, note_kept, &kept);
    assert_int_equal(kept.known_minutes, 0);
    assert_int_equal(kept.mean_bps, 0);
    send_at(&site, 11, 40 * GBPS);
    send_at(&site, 10, 20 * GBPS);
    health_each_kept(site.health, note_kept, &kept);
    assert_int_equal(kept.promise->label, 7);
    assert_int_equal(kept.known_minutes, 20);
    assert_int_equal(kept.below_minutes, 9); /* the last minute is open */
    assert_true(kept.mean_bps > 29 * GBPS && kept.mean_bps < 32 * GBPS);
    assert_true(kept.peak_bps > 39 * GBPS && kept.peak_bps <= 40 * GBPS);
    site.now_us += 15 * INT64_C(60000000);
    send_at(&site, 1, 40 * GBPS);
    health_each_kept(site.health, note_kept, &kept);
    assert_int_equal(kept.known_minutes, 5);
    assert_int_equal(kept.below_minutes, 5);
    assert_true(kept.peak_bps > 19 * GBPS && kept.peak_bps <= 20 * GBPS);
    site.now_us += 30 * INT64_C(60000000);
    send_at(&site, 1, 40 * GBPS);
    health_each_kept(site.health, note_kept, &kept);
    assert_int_equal(kept.known_minutes, 0);
    assert_int_equal(kept.peak_bps, 0);
    site_release(&site);
}

static void promises_follow_from_policy_placement_and_ports(void **state)
{
    struct fleet fleet;
    struct health_promise out[JOB_PROMISES_MAX];
    struct err err = ERR_INIT;
    size_t count = 9;
    bool truncated = true;
    (void)state;
    fleet_init(&fleet);
    fleet_tenant(
        &fleet, "a",
        "{'qos_policy': {'free': {'priority': 1}, 'nlp_job': {'priority': 3, 'bw_guarantee': "
        "'40%', 'bw_limit': '60Gbps', 'demand': '50%'}}}");
    fleet_node(&fleet, "n1", "{'ports': [{'id': '0000:3b:00.0/0', 'speed_bps': 100000000000}]}");
    fleet_node(&fleet, "n2", "{'ports': [{'id': '0000:3b:00.0/0', 'speed_bps': 100000000000}]}");
    fleet_place(&fleet, "a", "free", "{'nodes': ['n1']}");
    fleet_place(&fleet, "a", "nlp_job", "{'nodes': ['n1']}");
    assert_ok(health_promises_of(&fleet.view, &fleet.nodes[0], out, &count, &truncated, &err));
    assert_int_equal(count, 1);
    assert_false(truncated);
    assert_string_equal(out[0].job, "a/nlp_job");
    assert_string_equal(out[0].port, "0000:3b:00.0/0");
    assert_int_equal(out[0].label, 2);
    assert_int_equal(out[0].guarantee_bps, 40 * GBPS);
    assert_int_equal(out[0].limit_bps, 60 * GBPS);
    assert_int_equal(out[0].demand_bps, 50 * GBPS);
    assert_ok(health_promises_of(&fleet.view, &fleet.nodes[1], out, &count, &truncated, &err));
    assert_int_equal(count, 0);
    fleet_release(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(minutes_below_95_percent_of_the_guarantee_count),
        cmocka_unit_test(queue_pairs_of_a_job_are_added_and_others_are_not),
        cmocka_unit_test(solar_queue_pairs_count_by_the_port_of_their_interface),
        cmocka_unit_test(who_rests_asks_for_nothing),
        cmocka_unit_test(a_declared_demand_below_the_guarantee_is_all_it_asks_for),
        cmocka_unit_test(what_nobody_told_is_unknown_not_met),
        cmocka_unit_test(a_gap_and_a_clock_that_goes_back_invent_no_minutes),
        cmocka_unit_test(a_limit_is_held_against_the_declared_demand),
        cmocka_unit_test(a_demand_that_was_measured_for_an_hour_counts),
        cmocka_unit_test(who_sends_against_its_limit_asks_for_what_it_declared),
        cmocka_unit_test(the_worst_of_a_jobs_ports_is_told),
        cmocka_unit_test(minutes_stay_when_a_promise_changes_and_go_with_the_job),
        cmocka_unit_test(what_came_of_a_promise_is_kept_for_twenty_minutes),
        cmocka_unit_test(promises_follow_from_policy_placement_and_ports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
