/*
 * agent/tell.c - what the agent tells: receipts and state to the server, lines to the
 * log. Called by agent.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent_private.h"
#include "agent/report.h"
#include "base/http_client.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"

#define LOG_STEPS_MAX 8 /* steps with a problem, or of drift, that get a line of their own */

static enum log_level level_of(const struct receipt *receipt)
{
    switch (receipt->result) {
    case RECEIPT_APPLIED:
        return receipt->problem[0] == '\0' ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING;
    case RECEIPT_UNCHANGED:
        return LOG_LEVEL_INFO;
    case RECEIPT_DRIFT:
        return LOG_LEVEL_WARNING;
    case RECEIPT_ROLLED_BACK:
    case RECEIPT_REFUSED:
    case RECEIPT_STUCK:
    case RECEIPT_EXPIRED:
    case RECEIPT_QUARANTINED:
        break;
    }
    return LOG_LEVEL_ERROR;
}

static void log_step(const struct agent *agent, const struct receipt_step *step)
{
    OWN(str) char *before = step->before == NULL ? NULL : json_canonical(step->before, NULL);
    OWN(str) char *after = step->after == NULL ? NULL : json_canonical(step->after, NULL);
    log_warning("agent", "node %s: %s: before=%.300s after=%.300s%s%s %s%s%s", agent->node,
                step->text, before == NULL ? "nothing" : before, after == NULL ? "nothing" : after,
                step->writer[0] == '\0' ? "" : " by ", step->writer,
                step->done ? (step->undone ? "undone" : "done") : "not done",
                step->problem[0] == '\0' ? "" : ": ", step->problem);
}

static void log_receipt(const struct agent *agent, const struct receipt *receipt)
{
    log_line(level_of(receipt), "agent",
             "node %s: generation %" PRId64 " %s: %zu steps in %" PRId64 " us, observed=%s%s%s",
             agent->node, receipt->generation, receipt_result_name(receipt->result),
             receipt->step_count, receipt->apply_ns / 1000,
             receipt->observed[0] == '\0'                      ? "unknown"
             : strcmp(receipt->observed, receipt->digest) == 0 ? "wanted"
                                                               : "different",
             receipt->problem[0] == '\0' ? "" : "; ", receipt->problem);
    if (receipt->gap != RECEIPT_GAP_NONE)
        log_info("agent", "node %s: put back %" PRId64 ".%03d s after the %s", agent->node,
                 receipt->gap_ms / 1000, (int)(receipt->gap_ms % 1000),
                 receipt->gap == RECEIPT_GAP_BOOT ? "boot" : "device came back");
    size_t lines = 0;
    for (size_t i = 0; i < receipt->step_count && lines < LOG_STEPS_MAX; i++) {
        const struct receipt_step *step = &receipt->steps[i];
        if (receipt->result != RECEIPT_DRIFT && step->problem[0] == '\0')
            continue;
        log_step(agent, step);
        lines++;
    }
}

static void keep_receipt(struct agent *agent, const struct receipt *receipt)
{
    struct err err = ERR_INIT;
    bool first = outbox_first(&agent->outbox) == NULL;
    agent->stats.results[receipt->result]++;
    if (outbox_add(&agent->outbox, receipt, &err))
        log_error("agent", "node %s: the receipt is not on disk: %s", agent->node, err.text);
    if (first && agent->started && outbox_first(&agent->outbox) != NULL)
        agent->link->ops->receipt(agent->link, outbox_first(&agent->outbox));
}

static bool is_good(const struct receipt *receipt)
{
    switch (receipt->result) {
    case RECEIPT_APPLIED:
    case RECEIPT_UNCHANGED:
        return true;
    case RECEIPT_DRIFT:
        return strcmp(receipt->observed, receipt->digest) == 0;
    case RECEIPT_ROLLED_BACK:
    case RECEIPT_REFUSED:
    case RECEIPT_STUCK:
    case RECEIPT_EXPIRED:
    case RECEIPT_QUARANTINED:
        break;
    }
    return false;
}

static void told_from(const struct receipt *receipt, struct told *out)
{
    char text[3 * DIGEST_TEXT_MAX + ERR_TEXT_MAX];
    *out = (struct told){.good = is_good(receipt)};
    memcpy(out->digest, receipt->digest, sizeof(out->digest));
    memcpy(out->observed, receipt->observed, sizeof(out->observed));
    snprintf(text, sizeof(text), "%d %s %s %s", (int)receipt->result, receipt->digest,
             receipt->observed, receipt->problem);
    bytes_digest(text, strlen(text), out->print);
}

/* What a timed or repeated pass found and the server heard last, or need not hear. */
static bool is_stale_news(const struct agent *agent, const struct outcome *outcome,
                          const struct told *now)
{
    const struct told *last = &agent->told;
    if (outcome->repaired)
        return false;
    if (strcmp(now->print, last->print) == 0)
        return true;
    if (outcome->receipt->result != RECEIPT_UNCHANGED)
        return false;
    /* While a newer plan stands refused, or expired, that the old one holds is no news: it would
     * hide it. */
    if (reconcile_latest(agent->reconcile) != NULL || reconcile_has_expired(agent->reconcile))
        return true;
    return last->good && strcmp(now->digest, last->digest) == 0 &&
           strcmp(now->observed, last->observed) == 0;
}

void agent_tell_owed_state(struct agent *agent)
{
    if (agent->owed_state == NULL || !agent->started)
        return;
    agent->link->ops->state(agent->link, agent->owed_state);
    json_decref(agent->owed_state);
    agent->owed_state = NULL;
}

/* What stands was not shown yet, and the server knows all that led to it. */
static bool owes_show(const struct agent *agent)
{
    const struct plan *standing = reconcile_standing(agent->reconcile);
    return agent->started && standing != NULL && strcmp(agent->shown, standing->digest) != 0 &&
           reconcile_latest(agent->reconcile) == NULL && outbox_first(&agent->outbox) == NULL;
}

/* No receipt goes with it: the state is what the last one said. */
static void show(struct agent *agent, const struct outcome *outcome)
{
    const struct receipt *receipt = outcome->receipt;
    if (outcome->state == NULL || receipt->result != RECEIPT_UNCHANGED ||
        strcmp(receipt->observed, receipt->digest) != 0 || !owes_show(agent))
        return;
    agent->link->ops->state(agent->link, outcome->state);
    memcpy(agent->shown, receipt->digest, sizeof(agent->shown));
}

void agent_on_store(void *arg, const char *id)
{
    struct agent *agent = arg;
    if (strcmp(id, agent->store) == 0)
        return;
    bool first = agent->store[0] == '\0';
    text_copy(agent->store, sizeof(agent->store), id);
    if (first)
        return;
    log_info("agent",
             "node %s: the server's store is another than before, as after a restore: receipt, "
             "state, marks and inventory are told again",
             agent->node);
    memset(&agent->told, 0, sizeof(agent->told));
    agent->shown[0] = agent->chains[0] = agent->inventory[0] = '\0';
}

void agent_check_timed(struct agent *agent)
{
    reconcile_show(agent->reconcile, owes_show(agent));
    agent_check(agent, RECONCILE_CHECK);
    reconcile_show(agent->reconcile, false);
}

void agent_tell(struct agent *agent, struct outcome *outcome, bool retried)
{
    struct told now;
    if (outcome->receipt == NULL)
        return;
    told_from(outcome->receipt, &now);
    retried = retried || reconcile_has_expired(agent->reconcile); /* also after a restart */
    if (retried && is_stale_news(agent, outcome, &now)) {
        show(agent, outcome);
        return;
    }
    agent->told = now;
    log_receipt(agent, outcome->receipt);
    keep_receipt(agent, outcome->receipt);
    if (outcome->state == NULL)
        return;
    /* A bad one is owed again: its end is shown. */
    text_copy(agent->shown, sizeof(agent->shown),
              strcmp(now.observed, now.digest) == 0 ? now.digest : "");
    json_decref(agent->owed_state);
    agent->owed_state = json_incref(outcome->state);
    agent_tell_owed_state(agent);
}

void agent_count_fight(struct agent *agent, struct receipt *receipt)
{
    int64_t now = agent->clock->mono_ns(agent->clock);
    int64_t *slot = &agent->repairs_ns[agent->repairs % AGENT_FIGHT_MAX];
    bool fight = agent->repairs >= AGENT_FIGHT_MAX && now - *slot < AGENT_FIGHT_WINDOW_NS;
    *slot = now; /* the oldest of the last AGENT_FIGHT_MAX gives way */
    agent->repairs++;
    if (!fight)
        return;
    agent->paused_until_ns = now + AGENT_FIGHT_PAUSE_NS;
    agent->repairs = 0;
    report_problem(receipt,
                   "repaired more than %d times in %d s: something else changes it; the next "
                   "repair in %d s",
                   AGENT_FIGHT_MAX, (int)(AGENT_FIGHT_WINDOW_NS / NS_PER_S),
                   (int)(AGENT_FIGHT_PAUSE_NS / NS_PER_S));
}

enum err_code agent_read_plan(const struct agent *agent, const char *body, size_t len,
                              struct plan **out, struct err *err)
{
    OWN(json) json_t *document = NULL;
    OWN(plan) struct plan *plan = NULL;
    enum err_code code = json_parse_limit(body, len, HTTP_CLIENT_BODY_MAX, false, &document, err);
    if (code == ERR_OK)
        code = plan_from_json(document, &plan, err);
    if (code != ERR_OK)
        return code;
    if (strcmp(plan->node, agent->node) != 0)
        return err_set_at(err, ERR_INVALID, "/node", "the plan is for node %s, this is node %s",
                          plan->node, agent->node);
    *out = GIVE(plan);
    return ERR_OK;
}

/* The digest and generation that the body claims, as far as they have the right form. */
static void claimed(const char *body, size_t len, int64_t *out_generation,
                    char digest[DIGEST_TEXT_MAX])
{
    OWN(json) json_t *document = NULL;
    if (json_parse_limit(body, len, HTTP_CLIENT_BODY_MAX, false, &document, NULL))
        return;
    const char *text = json_string_value(json_object_get(document, "digest"));
    if (text != NULL && digest_is_valid(text))
        snprintf(digest, DIGEST_TEXT_MAX, "%s", text);
    json_int_t generation = json_integer_value(json_object_get(document, "generation"));
    if (generation > 0)
        *out_generation = generation;
}

void agent_tell_refused(struct agent *agent, const char *body, size_t len, const struct err *why)
{
    char bytes[DIGEST_TEXT_MAX], digest[DIGEST_TEXT_MAX];
    int64_t generation = 0;
    bytes_digest(body, len, bytes);
    if (strcmp(bytes, agent->refused) == 0)
        return;
    memcpy(agent->refused, bytes, sizeof(bytes));
    memcpy(digest, bytes, sizeof(digest));
    claimed(body, len, &generation, digest);
    OWN_OUTCOME struct outcome outcome = {0};
    struct err err = ERR_INIT;
    if (report_refused(agent->node, generation, digest, agent->clock, why, &outcome.receipt, &err))
        log_error("agent", "node %s: %s", agent->node, err.text);
    agent_tell(agent, &outcome, false);
}
