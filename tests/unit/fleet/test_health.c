/*
 * tests/unit/fleet/test_health.c - rules of fleet health: each raises at its limit, does not just
 * before it, and says unknown when its input is not there; hysteresis; counters' ends.
 */
#include "tests/unit/test.h"

#include "fleet/health.h"
#include "fleet/histogram.h"

#define START_US INT64_C(1790000000000000)
#define DEVICE   "0000:3b:00.0/0"
#define GIVEN    5

/* One input at its limit and just before it. A counter counts so much in a batch. */
struct given {
    const char *input;
    bool is_gauge;
    int64_t bad, good;
};
struct rule_case {
    const char *id;
    int kind;
    enum health_state raised;
    struct given given[GIVEN];
};

#define COUNTS(input, bad, good)                                                                   \
    {                                                                                              \
        (input), false, (bad), (good)                                                              \
    }
#define SHOWS(input, bad, good)                                                                    \
    {                                                                                              \
        (input), true, (bad), (good)                                                               \
    }

static const struct rule_case cases[] = {
    {"fcs-errors", TELEMETRY_PORT, HEALTH_WARNING, {COUNTS("rx_fcs_errors", 1, 0)}},
    {"fcs-errors", TELEMETRY_PORT, HEALTH_CRITICAL, {COUNTS("rx_fcs_errors", 1000, 0)}},
    {"symbol-errors", TELEMETRY_PORT, HEALTH_WARNING, {COUNTS("rx_symbol_errors", 1, 0)}},
    {"symbol-errors", TELEMETRY_RDMA, HEALTH_WARNING, {COUNTS("symbol_error", 1, 0)}},
    {"link-down", TELEMETRY_PORT, HEALTH_WARNING, {COUNTS("link_down_events", 1, 0)}},
    {"link-down", TELEMETRY_RDMA, HEALTH_WARNING, {COUNTS("link_downed", 1, 0)}},
    {"link-flapping", TELEMETRY_PORT, HEALTH_WARNING, {COUNTS("link_down_events", 3, 0)}},
    {"port-down", TELEMETRY_PORT, HEALTH_WARNING, {SHOWS("is_down", 1, 0)}},
    {"pause-storm",
     TELEMETRY_PRIORITY,
     HEALTH_WARNING,
     {COUNTS("rx_pause_duration", 1000000, 999999)}},
    {"pause-storm",
     TELEMETRY_PRIORITY,
     HEALTH_CRITICAL,
     {COUNTS("rx_pause_duration", 5000000, 999999)}},
    {"pause-storm-sent",
     TELEMETRY_PRIORITY,
     HEALTH_WARNING,
     {COUNTS("tx_pause_duration", 1000000, 999999)}},
    {"pause-frames", TELEMETRY_PRIORITY, HEALTH_WARNING, {COUNTS("rx_pause", 100000, 99999)}},
    {"pause-storm-watch", TELEMETRY_PORT, HEALTH_WARNING, {COUNTS("tx_pause_storm_errors", 1, 0)}},
    {"pause-asymmetry",
     TELEMETRY_PRIORITY,
     HEALTH_WARNING,
     {COUNTS("rx_pause", 1000, 999), COUNTS("tx_pause", 10, 10)}},
    {"link-pause-active", TELEMETRY_PORT, HEALTH_WARNING, {COUNTS("tx_pause", 1, 0)}},
    {"lossless-discards",
     TELEMETRY_PRIORITY,
     HEALTH_CRITICAL,
     {COUNTS("rx_discards", 1, 0), SHOWS("is_lossless", 1, 1)}},
    {"receive-discards",
     TELEMETRY_PORT,
     HEALTH_WARNING,
     {COUNTS("rx_discards_host", 10, 9), COUNTS("rx_packets", 1000000, 1000000)}},
    {"send-discards", TELEMETRY_RDMA, HEALTH_WARNING, {COUNTS("port_xmit_discards", 1, 0)}},
    {"traffic-wrong-priority",
     TELEMETRY_PRIORITY,
     HEALTH_WARNING,
     {COUNTS("tx_packets", 1000, 999), SHOWS("is_unplanned", 1, 1)}},
    {"marking-chain", TELEMETRY_PORT, HEALTH_WARNING, {SHOWS("chains_broken", 1, 0)}},
    {"trust-not-dscp", TELEMETRY_PORT, HEALTH_WARNING, {SHOWS("dscp_not_trusted", 1, 0)}},
    {"cnp-lossless", TELEMETRY_NODE, HEALTH_WARNING, {SHOWS("cnp_lossless", 1, 0)}},
    {"retransmission-rate",
     TELEMETRY_RDMA,
     HEALTH_WARNING,
     {COUNTS("packet_seq_err", 10, 9), COUNTS("port_xmit_packets", 1000000, 1000000)}},
    {"retransmission-rate",
     TELEMETRY_QP,
     HEALTH_CRITICAL,
     {COUNTS("retransmits", 1000, 9), COUNTS("tx_packets", 1000000, 1000000)}},
    {"retransmission-rate",
     TELEMETRY_QP,
     HEALTH_WARNING,
     {COUNTS("resent_packets", 10, 9), COUNTS("sent_packets", 1000000, 1000000)}},
    {"rdma-retries-exceeded", TELEMETRY_RDMA, HEALTH_WARNING, {COUNTS("retry_exceeded_err", 1, 0)}},
    {"pcie-link-degraded",
     TELEMETRY_PCIE,
     HEALTH_CRITICAL,
     {SHOWS("link_gen", 3, 4), SHOWS("link_gen_max", 4, 4), SHOWS("link_width_lanes", 8, 16),
      SHOWS("link_width_max_lanes", 16, 16)}},
    {"pcie-link-degraded", /* of an idle accelerator only the lanes say something */
     TELEMETRY_PCIE,
     HEALTH_CRITICAL,
     {SHOWS("link_gen", 1, 1), SHOWS("link_gen_max", 5, 5), SHOWS("link_gen_idles", 1, 1),
      SHOWS("link_width_lanes", 8, 16), SHOWS("link_width_max_lanes", 16, 16)}},
    {"pcie-link-degraded", TELEMETRY_PORT, HEALTH_WARNING, {SHOWS("link_share_percent", 99, 100)}},
    {"pcie-corrected", TELEMETRY_PCIE, HEALTH_WARNING, {COUNTS("aer_correctable", 100, 99)}},
    {"pcie-uncorrected", TELEMETRY_PCIE, HEALTH_CRITICAL, {COUNTS("aer_nonfatal", 1, 0)}},
    {"pcie-signal", TELEMETRY_PORT, HEALTH_WARNING, {COUNTS("rx_pci_signal_integrity", 1, 0)}},
    {"firmware-minimum", TELEMETRY_PORT, HEALTH_WARNING, {SHOWS("firmware_below_minimum", 1, 0)}},
    {"firmware-staged", TELEMETRY_PORT, HEALTH_WARNING, {SHOWS("firmware_staged", 1, 0)}},
    {"firmware-drift", TELEMETRY_PORT, HEALTH_WARNING, {SHOWS("firmware_differs", 1, 0)}},
    {"mtu-mismatch", TELEMETRY_PORT, HEALTH_WARNING, {SHOWS("mtu_differs", 1, 0)}},
    {"gid-not-routable", TELEMETRY_PORT, HEALTH_WARNING, {SHOWS("gid_missing", 1, 0)}},
    {"gid-moved", TELEMETRY_PORT, HEALTH_WARNING, {SHOWS("gid_moved", 1, 0)}},
    {"irq-one-cpu",
     TELEMETRY_IRQ,
     HEALTH_WARNING,
     {SHOWS("busiest_cpu_share_permyriad", 8000, 7999), SHOWS("vectors", 16, 16)}},
    {"thp-on", TELEMETRY_NODE, HEALTH_WARNING, {SHOWS("thp_mode", 2, 1)}},
    {"memlock-low", TELEMETRY_NODE, HEALTH_WARNING, {SHOWS("memlock_bytes", 67108863, 67108864)}},
    {"clock-offset", TELEMETRY_NODE, HEALTH_WARNING, {SHOWS("clock_ahead_ms", 2000, 1999)}},
    {"ptp-offset", TELEMETRY_PTP, HEALTH_WARNING, {SHOWS("offset_ns", -10000, -9999)}},
    {"device-hot",
     TELEMETRY_TEMPERATURE,
     HEALTH_WARNING,
     {SHOWS("temperature_millicelsius", 100000, 99999),
      SHOWS("temperature_critical_millicelsius", 105000, 105000)}},
    {"gpu-ecc-uncorrected", TELEMETRY_GPU, HEALTH_CRITICAL, {COUNTS("ecc_uncorrected", 1, 0)}},
    {"gpu-remap-pending", TELEMETRY_GPU, HEALTH_WARNING, {SHOWS("remap_pending", 1, 0)}},
    {"gpu-remap-failed", TELEMETRY_GPU, HEALTH_CRITICAL, {SHOWS("remap_failed", 1, 0)}},
    {"gpu-lost", TELEMETRY_GPU, HEALTH_CRITICAL, {SHOWS("is_lost", 1, 0)}},
    {"gpu-xid", TELEMETRY_GPU, HEALTH_WARNING, {COUNTS("xid_events", 1, 0)}},
    {"bw-limit-floor", HEALTH_JOB, HEALTH_WARNING, {SHOWS("limit_of_demand_percent", 69, 70)}},
    {"guarantee-not-met", HEALTH_JOB, HEALTH_WARNING, {SHOWS("minutes_below_guarantee", 5, 4)}},
    {"agent-silent", TELEMETRY_NODE, HEALTH_WARNING, {SHOWS("agent_silent_s", 60, 59)}},
    {"telemetry-stale", TELEMETRY_NODE, HEALTH_CRITICAL, {SHOWS("telemetry_age_s", 300, 59)}},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

/* Rules that need several subjects: tests of their own. */
static const char *const apart[] = {"ecn-never-marks", "latency-outlier"};

struct site {
    struct health_book *book;
    struct health *health;
    struct telemetry_batch batch;
    int64_t now_us;
    uint64_t counters[GIVEN];
    size_t changes;
    struct health_status last;
    enum health_state last_from;
};

static void site_init(struct site *site)
{
    struct err err = ERR_INIT;
    memset(site, 0, sizeof(*site));
    site->now_us = START_US;
    telemetry_batch_init(&site->batch);
    assert_ok(health_book_new(&site->book, &err));
    assert_ok(health_new(site->book, &site->health, &err));
}

static void site_release(struct site *site)
{
    telemetry_batch_release(&site->batch);
    health_free(site->health);
    health_book_free(site->book);
}

static void on_change(void *arg, const struct health_status *status, enum health_state from)
{
    struct site *site = arg;
    site->changes++;
    site->last = *status;
    site->last_from = from;
}

static void batch_begin(struct site *site)
{
    struct telemetry_batch *batch = &site->batch;
    telemetry_batch_clear(batch);
    batch->stream = 1;
    batch->seq++;
    batch->interval_ms = 1000;
    batch->start_us = site->now_us;
    batch->sample_count = 10;
    for (uint32_t i = 0; i < 10; i++)
        batch->offset_ms[i] = i * 1000;
    site->now_us += 10000000;
}

static void row(struct site *site, int kind, const char *device, uint32_t number, uint32_t label)
{
    struct err err = ERR_INIT;
    struct telemetry_subject subject = {
        .kind = (enum telemetry_kind)kind, .number = number, .label = label};
    assert_ok(telemetry_device_add(&site->batch, device, &subject.device, &err));
    assert_ok(telemetry_row_add(&site->batch, &subject, &err));
}

/* Values: `before` in all samples but the last. */
static void column(struct site *site, const struct telemetry_name *name, int64_t before,
                   int64_t last)
{
    struct err err = ERR_INIT;
    uint16_t at;
    int64_t *values;
    assert_ok(telemetry_name_add(&site->batch, name, &at, &err));
    assert_ok(telemetry_column_add(&site->batch, at, &values, &err));
    for (int i = 0; i < 10; i++)
        values[i] = i == 9 ? last : before;
}

static void gauge(struct site *site, const char *text, int64_t value)
{
    struct telemetry_name name = {.course = TELEMETRY_GAUGE};
    snprintf(name.text, sizeof(name.text), "%s", text);
    column(site, &name, value, value);
}

static void counter(struct site *site, const char *text, int64_t before, int64_t last)
{
    struct telemetry_name name = {.course = TELEMETRY_STAYS};
    snprintf(name.text, sizeof(name.text), "%s", text);
    column(site, &name, before, last);
}

static void look(struct site *site, enum health_source source)
{
    struct err err = ERR_INIT;
    if (source == HEALTH_FROM_NODE)
        assert_ok(health_take_batch(site->health, &site->batch, &err));
    assert_ok(health_look(site->health, source, site->now_us, on_change, site, &err));
}

static const struct health_rule *rule_of(const struct rule_case *c)
{
    for (size_t i = 0; i < health_rule_count; i++)
        if (strcmp(health_rules[i].id, c->id) == 0 && health_rules[i].kind == c->kind)
            return &health_rules[i];
    fail_msg("no rule %s of kind %d", c->id, c->kind);
    return NULL;
}

/* Gates are facts of the server even where the rule looks at the node's. */
static bool is_gate(const struct health_rule *rule, const struct given *given)
{
    return rule->gate != NULL && strcmp(rule->gate, given->input) == 0;
}

/* One look at which the inputs are bad or good. Without a gauge and with nothing counted: the
 * baseline. */
static void give(struct site *site, const struct rule_case *c, const struct health_rule *rule,
                 bool is_bad, bool counts)
{
    struct err err = ERR_INIT;
    struct health_subject subject = {.kind = c->kind};
    snprintf(subject.device, sizeof(subject.device), "%s", c->kind == TELEMETRY_NODE ? "" : DEVICE);
    batch_begin(site);
    if (rule->source == HEALTH_FROM_NODE)
        row(site, c->kind, subject.device, 0, 0);
    for (size_t i = 0; i < GIVEN && c->given[i].input != NULL; i++) {
        const struct given *given = &c->given[i];
        int64_t value = is_bad ? given->bad : given->good;
        if (rule->source == HEALTH_FROM_SERVER || is_gate(rule, given)) {
            assert_ok(health_server_put(site->health, &subject, given->input, value, &err));
        } else if (given->is_gauge) {
            gauge(site, given->input, value);
        } else {
            int64_t before = (int64_t)site->counters[i];
            site->counters[i] += counts ? (uint64_t)value : 0;
            counter(site, given->input, before, (int64_t)site->counters[i]);
        }
    }
    look(site, rule->source);
}

static size_t raised(const struct site *site, const struct rule_case *c)
{
    return site->changes > 0 && strcmp(site->last.rule->id, c->id) == 0 ? site->changes : 0;
}

struct find {
    const struct health_rule *rule;
    struct health_status status;
    size_t count;
};
static bool on_status(void *arg, const struct health_status *status)
{
    struct find *find = arg;
    if (status->rule == find->rule) {
        find->status = *status;
        find->count++;
    }
    return true;
}

static struct health_status status_of(const struct site *site, const struct health_rule *rule)
{
    struct find find = {.rule = rule};
    health_each(site->health, on_status, &find);
    assert_int_equal(find.count, 1);
    return find.status;
}

static void check_case(const struct rule_case *c)
{
    const struct health_rule *rule = rule_of(c);
    struct site site;
    site_init(&site);
    assert_int_equal(status_of(&site, rule).state, HEALTH_UNKNOWN);
    give(&site, c, rule, false, false);
    for (int i = 0; i < 40; i++)
        give(&site, c, rule, false, true);
    if (raised(&site, c) != 0)
        fail_msg("%s: raised by %lld, just before its limit", c->id, (long long)site.last.value);
    assert_int_equal(status_of(&site, rule).state, HEALTH_OK);
    for (int i = 0; i < rule->raise_n; i++) {
        if (status_of(&site, rule).state >= HEALTH_WARNING)
            fail_msg("%s: raised after %d bad looks, not %d", c->id, i, rule->raise_n);
        give(&site, c, rule, true, true);
    }
    if (status_of(&site, rule).state != c->raised)
        fail_msg("%s: %s at its limit", c->id, health_state_name(status_of(&site, rule).state));
    for (int i = 0; i < rule->clear_k + rule->window; i++) {
        if (i < rule->clear_k && status_of(&site, rule).state < HEALTH_WARNING)
            fail_msg("%s: cleared after %d good looks", c->id, i);
        give(&site, c, rule, false, true);
    }
    if (status_of(&site, rule).state != HEALTH_OK)
        fail_msg("%s: not cleared by %d good looks", c->id, rule->clear_k);
    site_release(&site);
}

static void each_rule_raises_at_its_limit_and_clears(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++)
        check_case(&cases[i]);
}

static void every_rule_has_a_case(void **state)
{
    (void)state;
    for (size_t i = 0; i < health_rule_count; i++) {
        const struct health_rule *rule = &health_rules[i];
        bool found = false;
        for (size_t k = 0; k < CASES; k++)
            found |= strcmp(cases[k].id, rule->id) == 0 && cases[k].kind == rule->kind;
        for (size_t k = 0; k < sizeof(apart) / sizeof(apart[0]); k++)
            found |= strcmp(apart[k], rule->id) == 0;
        if (!found)
            fail_msg("no case of %s, kind %s", rule->id, health_kind_name(rule->kind));
        assert_true(rule->raise_n >= 1 && rule->raise_n <= rule->raise_m && rule->raise_m <= 32);
        assert_true(rule->clear_k >= 1 && rule->window <= HEALTH_WINDOW_MAX);
        assert_true(rule->what != NULL && rule->hint != NULL && rule->origin != NULL);
        assert_true(rule->warning != HEALTH_NONE || rule->critical != HEALTH_NONE);
    }
}

static void a_rule_without_its_input_is_unknown_not_ok(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        const struct health_rule *rule = rule_of(&cases[i]);
        struct site site;
        struct err err = ERR_INIT;
        struct health_subject subject = {.kind = cases[i].kind, .device = DEVICE};
        site_init(&site);
        if (rule->gate != NULL)
            assert_ok(health_server_put(site.health, &subject, rule->gate, 1, &err));
        batch_begin(&site);
        row(&site, TELEMETRY_PORT, DEVICE, 0, 0);
        counter(&site, "tx_bytes", 5, 9);
        look(&site, HEALTH_FROM_NODE);
        look(&site, HEALTH_FROM_SERVER);
        assert_int_equal(status_of(&site, rule).state, HEALTH_UNKNOWN);
        assert_int_equal(status_of(&site, rule).value, HEALTH_NONE);
        assert_int_equal(site.changes, 0);
        site_release(&site);
    }
}

/* Counters ------------------------------------------------------------------------------------ */

static void fcs_batch(struct site *site, int64_t before, int64_t last, uint8_t width)
{
    struct telemetry_name name = {"rx_fcs_errors", TELEMETRY_STAYS, width};
    batch_begin(site);
    row(site, TELEMETRY_PORT, DEVICE, 0, 0);
    column(site, &name, before, last);
    look(site, HEALTH_FROM_NODE);
}

static void a_reset_of_the_counter_raises_nothing(void **state)
{
    struct site site;
    (void)state;
    site_init(&site);
    fcs_batch(&site, 70000, 70000, 0);
    fcs_batch(&site, 70000, 3, 0); /* the driver was loaded again */
    fcs_batch(&site, 3, 3, 0);
    assert_int_equal(site.changes, 0);
    fcs_batch(&site, 3, 4, 0);
    assert_int_equal(site.changes, 1);
    site_release(&site);
}

static void a_counter_at_its_end_raises_nothing(void **state)
{
    struct site site;
    (void)state;
    site_init(&site);
    fcs_batch(&site, 254, 255, 8);
    fcs_batch(&site, 255, 255, 8);
    assert_int_equal(site.changes, 0);
    site_release(&site);
}

static void a_counter_that_is_high_from_the_start_raises_nothing(void **state)
{
    struct site site;
    (void)state;
    site_init(&site);
    for (int i = 0; i < 5; i++)
        fcs_batch(&site, 123456, 123456, 0);
    assert_int_equal(site.changes, 0);
    assert_int_equal(status_of(&site, health_rule_find("fcs-errors")).state, HEALTH_OK);
    site_release(&site);
}

static void a_counter_that_wrapped_counts_on(void **state)
{
    struct telemetry_name name = {"rx_fcs_errors", TELEMETRY_WRAPS, 32};
    struct site site;
    (void)state;
    site_init(&site);
    batch_begin(&site);
    row(&site, TELEMETRY_PORT, DEVICE, 0, 0);
    column(&site, &name, UINT32_MAX, 4);
    look(&site, HEALTH_FROM_NODE);
    assert_int_equal(site.changes, 1);
    assert_int_equal(site.last.value, 5);
    site_release(&site);
}

static void the_first_batch_is_enough(void **state)
{
    struct site site;
    (void)state;
    site_init(&site);
    fcs_batch(&site, 10, 12, 0);
    assert_int_equal(site.changes, 1);
    assert_string_equal(site.last.rule->id, "fcs-errors");
    assert_int_equal(site.last.value, 2);
    site_release(&site);
}

static void old_facts_are_unknown_and_what_was_raised_stays(void **state)
{
    struct site site;
    (void)state;
    site_init(&site);
    fcs_batch(&site, 10, 10, 0);
    assert_int_equal(status_of(&site, health_rule_find("fcs-errors")).state, HEALTH_OK);
    health_node_silent(site.health);
    assert_int_equal(status_of(&site, health_rule_find("fcs-errors")).state, HEALTH_UNKNOWN);
    fcs_batch(&site, 10, 12, 0);
    health_node_silent(site.health);
    assert_int_equal(status_of(&site, health_rule_find("fcs-errors")).state, HEALTH_WARNING);
    site_release(&site);
}

/* Hysteresis ---------------------------------------------------------------------------------- */

static void two_bad_looks_of_three_raise_and_one_does_not(void **state)
{
    const struct rule_case *c = &cases[8]; /* pause-storm: 2 of 3 */
    const struct health_rule *rule = rule_of(c);
    static const bool once[] = {true, false, false, true, false, false};
    struct site site;
    (void)state;
    assert_string_equal(c->id, "pause-storm");
    site_init(&site);
    give(&site, c, rule, false, false);
    for (size_t i = 0; i < sizeof(once); i++)
        give(&site, c, rule, once[i], true);
    assert_int_equal(site.changes, 0);
    give(&site, c, rule, true, true);
    give(&site, c, rule, false, true);
    give(&site, c, rule, true, true);
    assert_int_equal(site.changes, 1);
    site_release(&site);
}

static void three_drops_in_ten_minutes_are_a_flap(void **state)
{
    const struct health_rule *rule = health_rule_find("link-flapping");
    struct site site;
    int64_t drops = 0;
    (void)state;
    site_init(&site);
    for (int i = 0; i < 45; i++) { /* a drop each 20 looks: at 1, 21, 41 */
        batch_begin(&site);
        row(&site, TELEMETRY_PORT, DEVICE, 0, 0);
        counter(&site, "link_down_events", drops, drops + (i % 20 == 1));
        drops += i % 20 == 1;
        look(&site, HEALTH_FROM_NODE);
        assert_int_equal(status_of(&site, rule).state >= HEALTH_WARNING, drops >= 3);
    }
    site_release(&site);
}

static void a_subject_that_is_gone_ends_what_was_raised_on_it(void **state)
{
    struct site site;
    (void)state;
    site_init(&site);
    fcs_batch(&site, 0, 1, 0);
    assert_int_equal(site.changes, 1);
    for (int i = 0; i < 2 * HEALTH_GONE_LOOKS + 2; i++) {
        batch_begin(&site);
        row(&site, TELEMETRY_PORT, "another", 0, 0);
        counter(&site, "rx_fcs_errors", 1, 1);
        look(&site, HEALTH_FROM_NODE);
    }
    assert_int_equal(site.changes, 2);
    assert_int_equal(site.last.state, HEALTH_OK);
    assert_string_equal(site.last.subject.device, DEVICE);
    site_release(&site);
}

static void what_was_restored_clears_like_any_other(void **state)
{
    struct err err = ERR_INIT;
    const struct health_rule *rule = health_rule_find("fcs-errors");
    struct health_subject subject = {.kind = TELEMETRY_PORT, .device = DEVICE};
    struct site site;
    (void)state;
    site_init(&site);
    assert_ok(health_restore(site.health, rule, &subject, HEALTH_CRITICAL, START_US, &err));
    for (int i = 0; i < rule->clear_k - 1; i++)
        fcs_batch(&site, 9, 9, 0);
    assert_int_equal(site.changes, 0);
    assert_int_equal(status_of(&site, rule).state, HEALTH_CRITICAL);
    fcs_batch(&site, 9, 9, 0);
    assert_int_equal(site.changes, 1);
    assert_int_equal(site.last_from, HEALTH_CRITICAL);
    subject.kind = TELEMETRY_GPU;
    assert_fails(health_restore(site.health, rule, &subject, HEALTH_WARNING, 1, &err),
                 ERR_NOT_FOUND);
    site_release(&site);
}

/* Gates and several subjects ------------------------------------------------------------------ */

static void drops_of_a_lossy_priority_are_no_finding(void **state)
{
    struct err err = ERR_INIT;
    struct health_subject subject = {.kind = TELEMETRY_PRIORITY, .device = DEVICE};
    const struct health_rule *rule = health_rule_find("lossless-discards");
    struct site site;
    (void)state;
    site_init(&site);
    batch_begin(&site);
    row(&site, TELEMETRY_PRIORITY, DEVICE, 0, 0);
    counter(&site, "rx_discards", 0, 50);
    look(&site, HEALTH_FROM_NODE);
    assert_int_equal(status_of(&site, rule).state, HEALTH_UNKNOWN); /* lossless or not? */
    assert_ok(health_server_put(site.health, &subject, "is_lossless", 0, &err));
    look(&site, HEALTH_FROM_NODE);
    assert_int_equal(status_of(&site, rule).state, HEALTH_OK);
    assert_int_equal(site.changes, 0);
    site_release(&site);
}

static void pause_without_a_mark_is_told_where_ecn_is_configured(void **state)
{
    struct err err = ERR_INIT;
    struct health_subject rdma = {.kind = TELEMETRY_RDMA, .device = "mlx5_0", .number = 1};
    const struct health_rule *rule = health_rule_find("ecn-never-marks");
    struct site site;
    (void)state;
    site_init(&site);
    assert_ok(health_rdma_port(site.health, "mlx5_0", 1, DEVICE, &err));
    assert_ok(health_server_put(site.health, &rdma, "ecn_configured", 1, &err));
    for (int i = 0; i < 14; i++) {
        bool is_marking = i < 7;
        batch_begin(&site);
        row(&site, TELEMETRY_PRIORITY, DEVICE, 3, 0);
        counter(&site, "rx_pause", i * 1000, i * 1000 + 1000);
        row(&site, TELEMETRY_RDMA, "mlx5_0", 1, 0);
        counter(&site, "cnp_handled", is_marking ? i * 2 : 14, is_marking ? i * 2 + 2 : 14);
        look(&site, HEALTH_FROM_NODE);
        assert_int_equal(status_of(&site, rule).state, i < 12 ? HEALTH_OK : HEALTH_WARNING);
    }
    site_release(&site);
}

static void a_queue_pair_is_held_against_its_jobs_others(void **state)
{
    static const int64_t ns[] = {9000, 10000, 11000, 10000, 21000};
    struct site site;
    (void)state;
    site_init(&site);
    for (int i = 0; i < 3; i++) {
        batch_begin(&site);
        for (uint32_t k = 0; k < 5; k++) {
            row(&site, TELEMETRY_QP, "mlx5_0", k, 7);
            gauge(&site, "latency_p99_ns", ns[k]);
        }
        row(&site, TELEMETRY_QP, "mlx5_0", 99, 8); /* alone in its job */
        gauge(&site, "latency_p99_ns", 900000);
        look(&site, HEALTH_FROM_NODE);
    }
    assert_int_equal(site.changes, 1);
    assert_string_equal(site.last.rule->id, "latency-outlier");
    assert_int_equal(site.last.subject.number, 4);
    assert_int_equal(site.last.subject.label, 7);
    assert_int_equal(site.last.value, 210);
    site_release(&site);
}

/* Queue pairs of one job, five of them, whose messages of the batch take `ns` but for `late` of the
 * last one's, which take `late_ns`. Histograms as nodes tell them: counters, the empty buckets left
 * out. */
static void solar_batch(struct site *site, int64_t before, int64_t count, int64_t late,
                        int64_t late_ns)
{
    struct telemetry_name name;
    batch_begin(site);
    for (uint32_t k = 0; k < 5; k++) {
        int64_t slow = k == 4 ? late : 0;
        row(site, TELEMETRY_QP, "solar/eth0", k, 7);
        assert_true(histogram_column("latency", histogram_bucket(9000), &name));
        counter(site, name.text, before, before + count - slow);
        assert_true(histogram_column("latency", histogram_bucket(late_ns), &name));
        counter(site, name.text, before, before + slow);
    }
}

static void a_histogram_tells_who_is_late(void **state)
{
    struct site site;
    int64_t end_ns = histogram_end_ns(histogram_bucket(9000));
    struct health_subject late = {.kind = TELEMETRY_QP, .device = "solar/eth0", .number = 4};
    (void)state;
    site_init(&site);
    for (int i = 0; i < 3; i++) {
        /* One in a hundred is late: the 99th percentile is not. */
        solar_batch(&site, 1000, HEALTH_LATENCIES_MIN, HEALTH_LATENCIES_MIN / 100, 90000);
        look(&site, HEALTH_FROM_NODE);
        assert_int_equal(health_fact(site.health, &late, "latency_p99_ns"), end_ns);
    }
    assert_int_equal(site.changes, 0);
    for (int i = 0; i < 3; i++) {
        solar_batch(&site, 1000, HEALTH_LATENCIES_MIN, HEALTH_LATENCIES_MIN / 50, 90000);
        look(&site, HEALTH_FROM_NODE);
    }
    assert_int_equal(health_fact(site.health, &late, "latency_p99_ns"),
                     histogram_end_ns(histogram_bucket(90000)));
    assert_int_equal(site.changes, 1);
    assert_string_equal(site.last.rule->id, "latency-outlier");
    assert_int_equal(site.last.subject.number, 4);
    site_release(&site);
}

static void a_few_messages_and_a_histogram_that_began_anew_say_nothing(void **state)
{
    struct site site;
    struct health_subject one = {.kind = TELEMETRY_QP, .device = "solar/eth0", .number = 0};
    (void)state;
    site_init(&site);
    solar_batch(&site, 1000, HEALTH_LATENCIES_MIN - 1, 0, 90000);
    look(&site, HEALTH_FROM_NODE);
    assert_int_equal(health_fact(site.health, &one, "latency_p99_ns"), HEALTH_NONE);
    solar_batch(&site, 1000, HEALTH_LATENCIES_MIN, 0, 90000);
    look(&site, HEALTH_FROM_NODE);
    assert_int_not_equal(health_fact(site.health, &one, "latency_p99_ns"), HEALTH_NONE);
    solar_batch(&site, 1000, -900, 0, 90000);
    look(&site, HEALTH_FROM_NODE);
    assert_int_equal(health_fact(site.health, &one, "latency_p99_ns"), HEALTH_NONE);
    site_release(&site);
}

static void without_a_steered_clock_its_offset_is_unknown(void **state)
{
    struct site site;
    (void)state;
    site_init(&site);
    batch_begin(&site);
    row(&site, TELEMETRY_PORT, DEVICE, 0, 0);
    counter(&site, "rx_fcs_errors", 0, 0);
    look(&site, HEALTH_FROM_NODE);
    assert_int_equal(status_of(&site, health_rule_find("ptp-offset")).state, HEALTH_UNKNOWN);
    assert_int_equal(site.changes, 0);
    site_release(&site);
}

static void more_subjects_than_the_limit_are_left_out_and_said(void **state)
{
    struct err err = ERR_INIT;
    struct health_counts counts;
    struct site site;
    (void)state;
    site_init(&site);
    for (uint32_t i = 0; i <= HEALTH_SUBJECTS_MAX; i++) {
        struct health_subject subject = {.kind = TELEMETRY_QP, .device = "m", .number = i};
        assert_ok(health_server_put(site.health, &subject, "retransmits", 1, &err));
        if (i == HEALTH_SUBJECTS_MAX - 1) {
            health_count(site.health, &counts);
            assert_false(counts.truncated);
        }
    }
    health_count(site.health, &counts);
    assert_true(counts.truncated);
    site_release(&site);
}

static void a_finding_has_numbers_units_and_what_to_do(void **state)
{
    OWN_FINDINGS struct finding_list findings;
    struct site site;
    (void)state;
    finding_list_init(&findings);
    site_init(&site);
    fcs_batch(&site, 10, 22, 0);
    health_finding("n1", &site.last, &findings);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].subject, "node/n1/port/" DEVICE);
    assert_string_equal(findings.items[0].observed, "12 frames");
    assert_string_equal(findings.items[0].limit, "below 1 frames");
    assert_int_equal(findings.items[0].severity, FINDING_WARNING);
    assert_true(strstr(findings.items[0].hint, "cable") != NULL);
    site_release(&site);
}

static void subjects_have_names(void **state)
{
    char text[HEALTH_SUBJECT_MAX];
    struct health_subject job = {.kind = HEALTH_JOB, .device = "vision/cv_job", .number = 9};
    struct health_subject prio = {.kind = TELEMETRY_PRIORITY, .device = DEVICE, .number = 3};
    struct health_subject node = {.kind = TELEMETRY_NODE};
    (void)state;
    health_subject_text("n1", &job, text);
    assert_string_equal(text, "tenant/vision/job/cv_job/node/n1");
    health_subject_text("n1", &prio, text);
    assert_string_equal(text, "node/n1/priority/" DEVICE "/3");
    health_subject_text("n1", &node, text);
    assert_string_equal(text, "node/n1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_raises_at_its_limit_and_clears),
        cmocka_unit_test(every_rule_has_a_case),
        cmocka_unit_test(a_rule_without_its_input_is_unknown_not_ok),
        cmocka_unit_test(a_reset_of_the_counter_raises_nothing),
        cmocka_unit_test(a_counter_at_its_end_raises_nothing),
        cmocka_unit_test(a_counter_that_is_high_from_the_start_raises_nothing),
        cmocka_unit_test(a_counter_that_wrapped_counts_on),
        cmocka_unit_test(the_first_batch_is_enough),
        cmocka_unit_test(old_facts_are_unknown_and_what_was_raised_stays),
        cmocka_unit_test(two_bad_looks_of_three_raise_and_one_does_not),
        cmocka_unit_test(three_drops_in_ten_minutes_are_a_flap),
        cmocka_unit_test(a_subject_that_is_gone_ends_what_was_raised_on_it),
        cmocka_unit_test(what_was_restored_clears_like_any_other),
        cmocka_unit_test(drops_of_a_lossy_priority_are_no_finding),
        cmocka_unit_test(pause_without_a_mark_is_told_where_ecn_is_configured),
        cmocka_unit_test(a_queue_pair_is_held_against_its_jobs_others),
        cmocka_unit_test(a_histogram_tells_who_is_late),
        cmocka_unit_test(a_few_messages_and_a_histogram_that_began_anew_say_nothing),
        cmocka_unit_test(without_a_steered_clock_its_offset_is_unknown),
        cmocka_unit_test(more_subjects_than_the_limit_are_left_out_and_said),
        cmocka_unit_test(a_finding_has_numbers_units_and_what_to_do),
        cmocka_unit_test(subjects_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
