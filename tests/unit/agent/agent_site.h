#pragma once
/*
 * tests/unit/agent/agent_site.h - an agent on a loop with a link of our own and a clock that we
 * turn.
 */

#include "agent_test.h"

#include "agent/agent.h"
#include "agent/outbox.h"

struct fake_link {
    struct link base;
    struct site *site;
};

struct site {
    char dir[TEST_PATH_MAX];
    struct clock_fake clock;
    struct loop *loop;
    struct dp *dp;
    struct agent *agent;
    /* what the link saw */
    struct link_events events;
    bool started;
    int inventories, states, receipts, chain_reports;
    json_t *receipt, *state, *chains, *inventory; /* the last ones */
    char known[PLAN_TAG_SIZE];
    bool has_known;
    bool server; /* acknowledges receipts at once */
    int asked, kill_at;
    const char *boot; /* NULL = "boot" */
    const struct agent_reboot *reboot;
};

static inline struct site *site_of(struct link *link)
{
    return ((struct fake_link *)link)->site;
}

static inline void fake_start(struct link *link, const struct link_events *events)
{
    site_of(link)->events = *events;
    site_of(link)->started = true;
}

static inline void fake_inventory(struct link *link, const json_t *document)
{
    assert_true(json_is_object(document));
    site_of(link)->inventories++;
    json_decref(site_of(link)->inventory);
    site_of(link)->inventory = json_deep_copy(document);
}

static inline void fake_state(struct link *link, const json_t *document)
{
    struct site *site = site_of(link);
    site->states++;
    json_decref(site->state);
    site->state = json_deep_copy(document);
}

static inline void fake_receipt(struct link *link, const json_t *document)
{
    struct site *site = site_of(link);
    site->receipts++;
    json_decref(site->receipt);
    site->receipt = json_deep_copy(document);
}

static inline void fake_chains(struct link *link, const json_t *document)
{
    struct site *site = site_of(link);
    site->chain_reports++;
    json_decref(site->chains);
    site->chains = json_deep_copy(document);
}

static inline void fake_known(struct link *link, const char *tag)
{
    snprintf(site_of(link)->known, PLAN_TAG_SIZE, "%s", tag);
    site_of(link)->has_known = true;
}

static inline void fake_free(struct link *link)
{
    site_of(link)->started = false;
    free(link);
}

static const struct link_ops fake_ops = {
    .start = fake_start,
    .inventory = fake_inventory,
    .state = fake_state,
    .receipt = fake_receipt,
    .chains = fake_chains,
    .known = fake_known,
    .free = fake_free,
};

static inline bool kill_now(void *arg)
{
    struct site *site = arg;
    site->asked++;
    return site->kill_at != 0 && site->asked >= site->kill_at;
}

static inline void wake_every(struct site *site, int64_t check_ns)
{
    struct err err = ERR_INIT;
    struct fake_link *link = calloc(1, sizeof(*link));
    assert_non_null(link);
    link->base.ops = &fake_ops;
    link->site = site;
    struct agent_config config = {
        .node = NODE,
        .state_dir = site->dir,
        .boot_id = site->boot == NULL ? "boot" : site->boot,
        .clock = &site->clock.base,
        .check_ns = check_ns,
        .look_ns = 5 * NS_PER_MS,
        .reboot = site->reboot,
        .killed = kill_now,
        .killed_arg = site,
    };
    site->asked = site->kill_at = 0;
    site->has_known = false;
    assert_ok(agent_new(site->loop, &config, site->dp, &link->base, &site->agent, &err));
    agent_start(site->agent);
    assert_true(site->has_known);
}

static inline void wake(struct site *site)
{
    wake_every(site, 0);
}

static inline void sleep_agent(struct site *site)
{
    agent_free(site->agent);
    site->agent = NULL;
    assert_false(site->started);
}

static inline void site_open(struct site *site)
{
    struct err err = ERR_INIT;
    memset(site, 0, sizeof(*site));
    test_folder(site->dir);
    clock_fake_init(&site->clock, 1700000000000000);
    assert_ok(loop_new(&site->loop, &err));
    site->dp = make_sim();
    wake(site);
}

static inline void site_close(struct site *site)
{
    if (site->agent != NULL)
        sleep_agent(site);
    json_decref(site->receipt);
    json_decref(site->state);
    json_decref(site->chains);
    json_decref(site->inventory);
    dp_free(site->dp);
    loop_free(site->loop);
    remove_folder(site->dir);
}

/* The server says it has the receipt; the next one comes. */
static inline void acknowledge(struct site *site)
{
    site->events.event(site->events.arg, LINK_RECEIPT_DONE);
}

/* As the server's answer; true = it was news. */
static inline bool send_json(struct site *site, const json_t *json)
{
    size_t len;
    char *text = json_canonical(json, &len);
    bool news = site->events.plan(site->events.arg, text, len);
    free(text);
    return news;
}

static inline bool send_plan(struct site *site, const char *node, int64_t generation,
                             const struct row *rows)
{
    struct plan *plan = make_plan_of(node, generation, rows);
    json_t *json = plan_to_json(plan);
    bool news = send_json(site, json);
    json_decref(json);
    plan_free(plan);
    return news;
}

static inline bool send_trial(struct site *site, int64_t generation, const struct row *rows,
                              const char *rollout, int32_t timeout_s)
{
    struct plan *plan = make_trial(generation, rows, rollout, timeout_s);
    json_t *json = plan_to_json(plan);
    bool news = send_json(site, json);
    json_decref(json);
    plan_free(plan);
    return news;
}

static inline const char *last_result(const struct site *site)
{
    return json_string_value(json_object_get(site->receipt, "result"));
}

static inline const char *last_problem(const struct site *site)
{
    const char *problem = json_string_value(json_object_get(site->receipt, "problem"));
    return problem == NULL ? "" : problem;
}

static inline void good_plan(struct site *site)
{
    assert_true(send_plan(site, NODE, 1, plan_a));
    assert_string_equal(last_result(site), "applied");
    acknowledge(site);
}

static inline void turn(struct site *site, int64_t ms)
{
    struct err err = ERR_INIT;
    struct clock *clock = clock_system();
    int64_t end_ns = clock->mono_ns(clock) + ms * NS_PER_MS;
    while (clock->mono_ns(clock) < end_ns)
        assert_ok(loop_turn(site->loop, 10, &err));
}
