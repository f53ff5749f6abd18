/*
 * tests/unit/fleet/test_runbook.c - runbooks: every number and rule of every step at its limit,
 * what is unknown, link layers, base latency, the order of causes; and files of operators through
 * them.
 */
#include "tests/unit/fleet/evidence_test.h"

#include "fleet/runbook.h"

static struct clues *clues_of(const struct runbook *runbook)
{
    struct err err = ERR_INIT;
    struct clues *clues = NULL;
    assert_ok(clues_new(runbook_wants, runbook, &clues, &err));
    return clues;
}

static void add_number(struct clues *clues, enum clue_kind kind, const char *name, int64_t value)
{
    const struct clue clue = {
        .kind = kind,
        .source = "telemetry",
        .subject = "port p/0",
        .name = name,
        .text = "told",
        .low = value * 1000,
        .high = value * 1000,
    };
    clues_add(clues, &clue);
}

static void add_text(struct clues *clues, const char *name, const char *text)
{
    const struct clue clue = {.kind = CLUE_TEXT,
                              .source = "inventory",
                              .subject = "port p/0",
                              .name = name,
                              .text = text};
    clues_add(clues, &clue);
}

static void add_finding(struct clues *clues, const char *source, const char *rule,
                        enum finding_severity severity)
{
    const struct clue clue = {.kind = CLUE_FINDING,
                              .source = source,
                              .subject = "port p/0",
                              .name = rule,
                              .text = "seen",
                              .severity = severity};
    clues_add(clues, &clue);
}

static void add_file(struct clues *clues, const char *file, const char *text)
{
    OWN(evidence) struct evidence *evidence = evidence_of_text(text);
    clues_take_evidence(clues, file, evidence);
}

static const struct runbook_result *result_of(const struct runbook_run *run, const char *step)
{
    for (size_t i = 0; i < run->count; i++)
        if (strcmp(run->results[i].step->id, step) == 0)
            return &run->results[i];
    fail_msg("%s has no step %s", run->runbook->name, step);
    return NULL;
}

static void expect(const struct runbook_run *run, const char *step, enum runbook_verdict verdict)
{
    const struct runbook_result *r = result_of(run, step);
    if (r->verdict != verdict)
        fail_msg("%s of %s is %s (%s), wanted %s", step, run->runbook->name,
                 runbook_verdict_name(r->verdict), r->why, runbook_verdict_name(verdict));
    assert_true(r->why[0] != '\0');
}

/* The layer of the step, so that it applies. */
static struct clues *clues_at(const struct runbook *runbook, const struct runbook_step *step)
{
    struct clues *clues = clues_of(runbook);
    if (step->layer == RUNBOOK_INFINIBAND)
        add_text(clues, "link_layer", "InfiniBand");
    return clues;
}

static enum runbook_verdict verdict_with(const struct runbook *runbook, size_t step,
                                         const struct runbook_test *test, enum clue_kind kind,
                                         int64_t value)
{
    struct runbook_run run;
    OWN(clues) struct clues *clues = clues_at(runbook, runbook->steps[step]);
    add_number(clues, kind, test->name, value);
    runbook_run(runbook, clues, &run);
    return run.results[step].verdict;
}

static void check_number(const struct runbook *runbook, size_t step,
                         const struct runbook_test *test)
{
    int64_t bad = test->compare == RUNBOOK_BELOW ? test->limit - 1 : test->limit + 1;
    for (unsigned kind = CLUE_COUNTED; kind <= CLUE_FILE; kind <<= 1) {
        bool taken = (test->kinds & kind) != 0;
        enum runbook_verdict at = verdict_with(runbook, step, test, kind, test->limit);
        enum runbook_verdict beyond = verdict_with(runbook, step, test, kind, bad);
        if (at != (taken ? RUNBOOK_OK : RUNBOOK_UNKNOWN) ||
            beyond != (taken ? RUNBOOK_FAULT : RUNBOOK_UNKNOWN))
            fail_msg("%s: %s of kind %u: %d at the limit, %d beyond", runbook->name, test->name,
                     kind, (int)at, (int)beyond);
    }
    if (test->compare == RUNBOOK_AWAY)
        assert_int_equal(verdict_with(runbook, step, test, CLUE_LEVEL, -bad), RUNBOOK_FAULT);
}

static void check_words(const struct runbook *runbook, size_t step, const struct runbook_test *test)
{
    char first[64];
    struct runbook_run run;
    if (test->compare == RUNBOOK_READ)
        return;
    snprintf(first, sizeof(first), "%.*s", (int)strcspn(test->text, "|"), test->text);
    for (int other = 0; other < 2; other++) {
        OWN(clues) struct clues *clues = clues_at(runbook, runbook->steps[step]);
        add_text(clues, test->name, other ? "another" : first);
        runbook_run(runbook, clues, &run);
        bool bad = (test->compare == RUNBOOK_IS) != other;
        assert_int_equal(run.results[step].verdict, bad ? RUNBOOK_FAULT : RUNBOOK_OK);
    }
}

static void every_number_is_a_fault_beyond_its_limit_alone(void **unused)
{
    (void)unused;
    size_t tests = 0;
    for (size_t b = 0; b < runbook_count; b++)
        for (size_t s = 0; runbooks[b]->steps[s] != NULL; s++)
            for (const struct runbook_test *t = runbooks[b]->steps[s]->tests; t->name != NULL;
                 t++) {
                tests++;
                if (t->compare < RUNBOOK_IS)
                    check_number(runbooks[b], s, t);
                else
                    check_words(runbooks[b], s, t);
            }
    assert_true(tests > 100);
}

static void every_rule_of_a_step_is_a_fault_unless_it_is_info(void **unused)
{
    (void)unused;
    struct runbook_run run;
    for (size_t b = 0; b < runbook_count; b++)
        for (size_t s = 0; runbooks[b]->steps[s] != NULL; s++)
            for (size_t i = 0; runbooks[b]->steps[s]->rules[i] != NULL; i++)
                for (enum finding_severity v = FINDING_INFO; v <= FINDING_CRITICAL; v++) {
                    OWN(clues) struct clues *clues = clues_at(runbooks[b], runbooks[b]->steps[s]);
                    add_finding(clues, "dmesg.txt", runbooks[b]->steps[s]->rules[i], v);
                    runbook_run(runbooks[b], clues, &run);
                    assert_int_equal(run.results[s].verdict,
                                     v == FINDING_INFO ? RUNBOOK_UNKNOWN : RUNBOOK_FAULT);
                    assert_int_equal(run.results[s].is_strong,
                                     v >= FINDING_ERROR && v != FINDING_INFO);
                }
}

static void nothing_known_is_unknown_everywhere(void **unused)
{
    (void)unused;
    for (size_t b = 0; b < runbook_count; b++) {
        struct runbook_run run;
        OWN(clues) struct clues *clues = clues_of(runbooks[b]);
        runbook_run(runbooks[b], clues, &run);
        assert_int_equal(run.verdict, RUNBOOK_UNKNOWN);
        for (size_t i = 0; i < run.count; i++)
            expect(&run, run.results[i].step->id, RUNBOOK_UNKNOWN);
        OWN(json) json_t *json = runbook_run_to_json(&run);
        assert_int_equal(json_array_size(json_object_get(json, "open")), run.count);
    }
}

static void one_unknown_value_keeps_a_step_from_being_ok(void **unused)
{
    (void)unused;
    const struct runbook *book = runbook_find("performance-drop");
    struct runbook_run run;
    OWN(clues) struct clues *clues = clues_of(book);
    add_number(clues, CLUE_COUNTED, "rx_fcs_errors", 0);
    runbook_run(book, clues, &run);
    expect(&run, "fcs", RUNBOOK_OK);
    const struct clue unknown = {.kind = CLUE_COUNTED,
                                 .state = CLUE_UNKNOWN,
                                 .source = "telemetry",
                                 .subject = "port q/0",
                                 .name = "rx_fcs_errors"};
    clues_add(clues, &unknown);
    runbook_run(book, clues, &run);
    expect(&run, "fcs", RUNBOOK_UNKNOWN);
    assert_contains(result_of(&run, "fcs")->why, "port q/0: rx_fcs_errors is not known");
    clues->count--;
    clues->truncated = true;
    runbook_run(book, clues, &run);
    expect(&run, "fcs", RUNBOOK_UNKNOWN);
}

static struct inventory *two_ports(const char *state)
{
    char text[1200];
    struct err err = ERR_INIT;
    struct inventory *inventory = NULL;
    snprintf(text, sizeof(text),
             "{\"version\":1,\"node\":\"n1\",\"ports\":["
             "{\"id\":\"0000:3b:00.0/0\",\"ifname\":\"eth0\",\"driver\":\"mlx5_core\","
             "\"rdma_device\":\"mlx5_0\",\"mac\":\"02:00:00:00:00:01\",\"link\":{\"state\":\"up\"},"
             "\"caps\":{}},"
             "{\"id\":\"0000:3b:00.1/0\",\"ifname\":\"eth1\",\"driver\":\"mlx5_core\","
             "\"rdma_device\":\"mlx5_1\",\"mac\":\"02:00:00:00:00:02\",\"link\":{\"state\":\"%s\"},"
             "\"caps\":{}}]}",
             state);
    OWN(json) json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    assert_ok(inventory_from_json(json, &inventory, NULL, &err));
    return inventory;
}

static void a_port_of_which_nothing_is_known_is_named(void **unused)
{
    (void)unused;
    const struct runbook *book = runbook_find("packet-loss");
    struct runbook_run run;
    OWN(inventory) struct inventory *inventory = two_ports("up");
    OWN(clues) struct clues *clues = clues_of(book);
    clues_take_inventory(clues, inventory);
    add_file(clues, "a.txt", "$ ethtool -S eth0\nNIC statistics:\n     rx_crc_errors_phy: 0\n");
    runbook_run(book, clues, &run);
    expect(&run, "link-state", RUNBOOK_OK);
    expect(&run, "fcs", RUNBOOK_UNKNOWN);
    assert_contains(result_of(&run, "fcs")->why, "0000:3b:00.1/0 (eth1)");
    add_file(clues, "b.txt", "$ ethtool -S eth1\nNIC statistics:\n     rx_crc_errors_phy: 0\n");
    runbook_run(book, clues, &run);
    expect(&run, "fcs", RUNBOOK_OK);
    add_file(clues, "c.txt", "$ ethtool -S eth1\nNIC statistics:\n     rx_crc_errors_phy: 7\n");
    runbook_run(book, clues, &run);
    expect(&run, "fcs", RUNBOOK_FAULT);
    assert_string_equal(run.results[run.likely[0]].step->id, "fcs");
    assert_string_equal(result_of(&run, "fcs")->evidence[0]->source, "c.txt");
    assert_true(result_of(&run, "fcs")->evidence[0]->line > 0);
}

static void causes_come_before_what_they_explain(void **unused)
{
    (void)unused;
    const struct runbook *book = runbook_find("cm-error");
    struct runbook_run run;
    OWN(inventory) struct inventory *inventory = two_ports("down");
    OWN(clues) struct clues *clues = clues_of(book);
    add_finding(clues, "nccl.log", "nccl-completion-error", FINDING_ERROR);
    add_finding(clues, "dmesg", "cm-id-stuck", FINDING_WARNING);
    clues_take_inventory(clues, inventory);
    runbook_run(book, clues, &run);
    assert_int_equal(run.verdict, RUNBOOK_FAULT);
    assert_int_equal(run.likely_count, 3);
    assert_string_equal(run.results[run.likely[0]].step->id, "link-state");
    assert_contains(run.results[run.likely[0]].why, "link_state is down");
    for (size_t i = 1; i < 3; i++)
        assert_string_equal(run.results[run.likely[i]].cause, "link-state");
    assert_string_equal(run.results[run.likely[1]].step->id, "retries");
    expect(&run, "subnet-manager", RUNBOOK_NOT_APPLICABLE);
    expect(&run, "ibping", RUNBOOK_NOT_APPLICABLE);
    OWN(json) json_t *json = runbook_run_to_json(&run);
    assert_int_equal(json_array_size(json_object_get(json, "likely")), 3);
}

static void infiniband_has_its_steps_and_a_ping_of_its_class(void **unused)
{
    (void)unused;
    static const struct {
        const char *avg;
        enum runbook_verdict verdict;
    } cases[] = {{"0.081", RUNBOOK_OK}, {"1.000", RUNBOOK_OK}, {"1.001", RUNBOOK_FAULT}};
    const struct runbook *book = runbook_find("cm-error");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[512];
        struct runbook_run run;
        OWN(clues) struct clues *clues = clues_of(book);
        add_text(clues, "link_layer", "InfiniBand");
        snprintf(text, sizeof(text),
                 "Pong from n2.(none) (Lid 2): time 0.075 ms\n\n"
                 "--- n2.(none) (Lid 2) ibping statistics ---\n"
                 "4 packets transmitted, 4 received, 0%% packet loss, time 4000 ms\n"
                 "rtt min/avg/max = 0.057/%s/2.100 ms\n",
                 cases[i].avg);
        add_file(clues, "ibping.txt", text);
        runbook_run(book, clues, &run);
        expect(&run, "ibping", RUNBOOK_OK);
        expect(&run, "base-latency", cases[i].verdict);
        expect(&run, "subnet-manager", RUNBOOK_UNKNOWN);
    }
}

#define PERFTEST                                                                                   \
    "---------------------------------------------------------------------------------------\n"    \
    "                    Send Latency Test\n"                                                      \
    " Dual-port       : OFF\t\tDevice         : %s\n"                                              \
    " Number of qps   : 1\t\tTransport type : IB\n"                                                \
    "---------------------------------------------------------------------------------------\n"    \
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "        \
    "t_stdev[usec]   99%% percentile[usec]   99.9%% percentile[usec]\n"                            \
    " 2       1000          1.00           99.00        %s        1.20      0.10   1.50   9.00\n"

static void a_software_device_is_not_graded_by_hardware(void **unused)
{
    (void)unused;
    static const struct {
        const char *device, *typical;
        enum runbook_verdict verdict;
    } cases[] = {
        {"mlx5_0", "1.10", RUNBOOK_OK},
        {"mlx5_0", "10.00", RUNBOOK_OK},
        {"mlx5_0", "10.01", RUNBOOK_FAULT},
        {"rxe0", "45.00", RUNBOOK_NOT_APPLICABLE},
        {"siw0", "45.00", RUNBOOK_NOT_APPLICABLE},
    };
    const struct runbook *book = runbook_find("performance-drop");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[2000];
        struct runbook_run run;
        OWN(clues) struct clues *clues = clues_of(book);
        snprintf(text, sizeof(text), PERFTEST, cases[i].device, cases[i].typical);
        add_file(clues, "lat.txt", text);
        runbook_run(book, clues, &run);
        expect(&run, "base-latency", cases[i].verdict);
        if (cases[i].verdict == RUNBOOK_NOT_APPLICABLE)
            assert_string_equal(result_of(&run, "base-latency")->why,
                                "software device, threshold not applicable");
    }
}

static void telemetry_of_a_window_is_a_clue(void **unused)
{
    (void)unused;
    static const struct telemetry_name stays = {.text = "rx_pause_duration",
                                                .course = TELEMETRY_STAYS};
    const struct runbook *book = runbook_find("performance-drop");
    /* microseconds in ten seconds */
    static const struct {
        int64_t counted;
        uint32_t weight_ms;
        enum runbook_verdict verdict;
    } cases[] = {{1000000, 10000, RUNBOOK_OK},
                 {1010000, 10000, RUNBOOK_FAULT},
                 {1010000, 0, RUNBOOK_UNKNOWN}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct runbook_run run;
        OWN(clues) struct clues *clues = clues_of(book);
        const struct telemetry_sum sum = {.sum = cases[i].counted, .weight = cases[i].weight_ms};
        const struct clue_series series = {.kind = TELEMETRY_PRIORITY,
                                           .device = "0000:3b:00.0/0",
                                           .number = 3,
                                           .name = &stays,
                                           .sum = &sum};
        clues_take_series(clues, &series);
        assert_int_equal(clues->count, 1);
        assert_string_equal(clues->items[0].subject, "port 0000:3b:00.0/0 prio 3");
        runbook_run(book, clues, &run);
        expect(&run, "pause", cases[i].verdict);
    }
}

static void a_full_counter_of_a_file_is_a_lower_bound(void **unused)
{
    (void)unused;
    const struct runbook *book = runbook_find("performance-drop");
    struct runbook_run run;
    OWN(clues) struct clues *clues = clues_of(book);
    const struct clue full = {.kind = CLUE_FILE,
                              .state = CLUE_AT_LEAST,
                              .source = "x",
                              .subject = "port mlx5_0/1",
                              .name = "symbol_error",
                              .text = "65535",
                              .low = 65535000,
                              .high = 65535000};
    clues_add(clues, &full);
    runbook_run(book, clues, &run);
    expect(&run, "fcs", RUNBOOK_FAULT);
    assert_false(result_of(&run, "fcs")->is_strong);
    clues->items[0].high = clues->items[0].low = 0;
    runbook_run(book, clues, &run);
    expect(&run, "fcs", RUNBOOK_UNKNOWN);
}

static void pcie_of_the_inventory_is_a_share(void **unused)
{
    (void)unused;
    static const struct {
        struct pcie_link link;
        const char *text; /* NULL = unknown */
    } cases[] = {
        {{.current_gen = 4, .max_gen = 4, .current_width = 16, .max_width = 16}, "100"},
        {{.current_gen = 1, .max_gen = 5, .current_width = 16, .max_width = 16}, "100"}, /* idle */
        {{.current_gen = 4, .max_gen = 4, .current_width = 8, .max_width = 16}, "50"},
        {{.current_gen = 1, .max_gen = 5, .current_width = 1, .max_width = 16}, "6"},
        {{.current_gen = 4, .max_gen = -1, .current_width = 16, .max_width = 16}, NULL},
        {{.current_gen = 4, .max_gen = 3, .current_width = 16, .max_width = 16}, NULL},
        {{.current_gen = -1, .max_gen = 4, .current_width = -1, .max_width = 16}, NULL},
    };
    const struct runbook *book = runbook_find("slow-node");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct gpu gpu = {.id = "0000:9b:00.0", .pcie = cases[i].link};
        const struct inventory inventory = {.gpus = &gpu, .gpu_count = 1};
        struct runbook_run run;
        OWN(clues) struct clues *clues = clues_of(book);
        clues_take_inventory(clues, &inventory);
        assert_int_equal(clues->count, 1);
        assert_string_equal(clues->items[0].text, cases[i].text == NULL ? "" : cases[i].text);
        runbook_run(book, clues, &run);
        expect(&run, "pcie",
               cases[i].text == NULL ? RUNBOOK_UNKNOWN
               : i < 2               ? RUNBOOK_OK
                                     : RUNBOOK_FAULT);
    }
}

static void live_rules_are_clues_once_they_see_something(void **unused)
{
    (void)unused;
    static const struct {
        enum health_state state;
        enum runbook_verdict verdict;
    } cases[] = {{HEALTH_OK, RUNBOOK_OK},
                 {HEALTH_WARNING, RUNBOOK_FAULT},
                 {HEALTH_CRITICAL, RUNBOOK_FAULT},
                 {HEALTH_UNKNOWN, RUNBOOK_UNKNOWN}};
    const struct runbook *book = runbook_find("slow-node");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct runbook_run run;
        OWN(clues) struct clues *clues = clues_of(book);
        const struct health_status status = {
            .rule = health_rule_find("gpu-remap-pending"),
            .subject = {.kind = TELEMETRY_GPU, .device = "0000:9b:00.0"},
            .state = cases[i].state,
            .value = 1};
        clues_take_status(clues, &status);
        assert_string_equal(clues->items[0].subject, "gpu 0000:9b:00.0");
        runbook_run(book, clues, &run);
        expect(&run, "gpu-ecc", cases[i].verdict);
        if (cases[i].verdict == RUNBOOK_FAULT)
            assert_true(result_of(&run, "gpu-ecc")->is_strong);
    }
    OWN(clues) struct clues *clues = clues_of(book);
    const struct health_status nobody = {.rule = health_rule_find("gpu-remap-pending"),
                                         .subject = {.kind = TELEMETRY_GPU}};
    clues_take_status(clues, &nobody);
    assert_int_equal(clues->count, 0);
}

static bool wants_all(const void *arg, const char *name)
{
    (void)arg;
    (void)name;
    return true;
}

/* What a rule says of a port tells of that port, as its numbers do. */
static void a_live_rule_names_its_subject_as_telemetry_does(void **unused)
{
    (void)unused;
    static const struct {
        const char *rule, *subject;
        struct health_subject about;
    } cases[] = {
        {"fcs-errors", "port 0000:3b:00.0/0", {.kind = TELEMETRY_PORT, .device = "0000:3b:00.0/0"}},
        {"pause-storm",
         "port 0000:3b:00.0/0 prio 3",
         {.kind = TELEMETRY_PRIORITY, .device = "0000:3b:00.0/0", .number = 3}},
        {"retransmission-rate",
         "rdma mlx5_0 qp 17",
         {.kind = TELEMETRY_QP, .device = "mlx5_0", .number = 17}},
        {"guarantee-not-met", "job a/nlp_job", {.kind = HEALTH_JOB, .device = "a/nlp_job"}},
        {"thp-on", "node", {.kind = TELEMETRY_NODE}},
    };
    const struct clue_port port = {.id = "0000:3b:00.0/0", .ifname = "eth0", .rdma = "mlx5_0"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = ERR_INIT;
        OWN(clues) struct clues *clues = NULL;
        assert_ok(clues_new(wants_all, NULL, &clues, &err));
        const struct health_status status = {.rule = health_rule_find(cases[i].rule),
                                             .subject = cases[i].about,
                                             .state = HEALTH_OK,
                                             .value = 0};
        clues_take_status(clues, &status);
        assert_int_equal(clues->count, 1);
        assert_string_equal(clues->items[0].subject, cases[i].subject);
        assert_int_equal(clue_is_about(&clues->items[0], &port), i < 3);
    }
}

static void chains_are_clues(void **unused)
{
    (void)unused;
    static const enum runbook_verdict wanted[] = {[CHAIN_WHOLE] = RUNBOOK_OK,
                                                  [CHAIN_BROKEN] = RUNBOOK_FAULT,
                                                  [CHAIN_UNKNOWN] = RUNBOOK_UNKNOWN};
    const struct runbook *book = runbook_find("packet-loss");
    for (int verdict = CHAIN_WHOLE; verdict <= CHAIN_UNKNOWN; verdict++) {
        struct chain chain = {.subject = "p/0",
                              .source = "roce.tos",
                              .verdict = (enum chain_verdict)verdict,
                              .why = "no buffer"};
        const struct chain_report report = {.chains = &chain, .count = 1};
        struct runbook_run run;
        OWN(clues) struct clues *clues = clues_of(book);
        clues_take_chains(clues, &report);
        runbook_run(book, clues, &run);
        expect(&run, "marking", wanted[verdict]);
    }
}

static void so_many_clues_are_kept(void **unused)
{
    (void)unused;
    const struct runbook *book = runbook_find("packet-loss");
    OWN(clues) struct clues *clues = clues_of(book);
    for (size_t i = 0; i < CLUES_MAX; i++)
        add_number(clues, CLUE_COUNTED, "rx_fcs_errors", 0);
    add_number(clues, CLUE_COUNTED, "nobody_asks_for_it", 0);
    assert_false(clues->truncated);
    add_number(clues, CLUE_COUNTED, "rx_fcs_errors", 0);
    assert_true(clues->truncated);
    struct runbook_run run;
    runbook_run(book, clues, &run);
    const struct runbook_result *r = result_of(&run, "fcs");
    assert_int_equal(r->evidence_count, RUNBOOK_EVIDENCE_MAX);
    assert_int_equal(r->more, CLUES_MAX - RUNBOOK_EVIDENCE_MAX);
}

static void the_worst_evidence_is_shown_first(void **unused)
{
    (void)unused;
    const struct runbook *book = runbook_find("packet-loss");
    struct runbook_run run;
    OWN(clues) struct clues *clues = clues_of(book);
    for (int i = 0; i < 40; i++)
        add_number(clues, CLUE_COUNTED, "rx_fcs_errors", i >= 38);
    runbook_run(book, clues, &run);
    const struct runbook_result *r = result_of(&run, "fcs");
    assert_int_equal(r->evidence[0]->high, 1000);
    assert_int_equal(r->evidence[1]->high, 1000);
    assert_int_equal(r->evidence[2]->high, 0);
    assert_int_equal(r->more, 40 - RUNBOOK_EVIDENCE_MAX);
}

static void decimals_are_exact(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        bool good;
        int64_t milli;
    } cases[] = {
        {"0", true, 0},
        {"12.5", true, 12500},
        {"-0.001", true, -1},
        {"0.0019", true, 1},
        {"18446744073709551615", true, INT64_MAX},
        {"-18446744073709551615", true, INT64_MIN},
        {"", false, 0},
        {".", false, 0},
        {"1e3", false, 0},
        {"1.2.3", false, 0},
        {"nan", false, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t milli = 0;
        assert_int_equal(clue_milli(cases[i].text, &milli), cases[i].good);
        assert_int_equal(milli, cases[i].milli);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_is_a_fault_beyond_its_limit_alone),
        cmocka_unit_test(every_rule_of_a_step_is_a_fault_unless_it_is_info),
        cmocka_unit_test(nothing_known_is_unknown_everywhere),
        cmocka_unit_test(one_unknown_value_keeps_a_step_from_being_ok),
        cmocka_unit_test(a_port_of_which_nothing_is_known_is_named),
        cmocka_unit_test(causes_come_before_what_they_explain),
        cmocka_unit_test(infiniband_has_its_steps_and_a_ping_of_its_class),
        cmocka_unit_test(a_software_device_is_not_graded_by_hardware),
        cmocka_unit_test(telemetry_of_a_window_is_a_clue),
        cmocka_unit_test(a_full_counter_of_a_file_is_a_lower_bound),
        cmocka_unit_test(pcie_of_the_inventory_is_a_share),
        cmocka_unit_test(live_rules_are_clues_once_they_see_something),
        cmocka_unit_test(a_live_rule_names_its_subject_as_telemetry_does),
        cmocka_unit_test(chains_are_clues),
        cmocka_unit_test(so_many_clues_are_kept),
        cmocka_unit_test(the_worst_evidence_is_shown_first),
        cmocka_unit_test(decimals_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
