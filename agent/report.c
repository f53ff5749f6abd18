/*
 * agent/report.c - see report.h. Called by reconcile and the agent.
 */
#include "agent/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum err_code report_new(const struct plan *plan, struct clock *clock, struct receipt **out,
                         struct err *err)
{
    struct receipt *receipt = calloc(1, sizeof(*receipt));
    if (receipt == NULL)
        return err_nomem(err);
    receipt->result = RECEIPT_UNCHANGED;
    receipt->generation = plan->generation;
    receipt->time_us = clock->wall_us(clock);
    memcpy(receipt->node, plan->node, sizeof(receipt->node));
    memcpy(receipt->digest, plan->digest, sizeof(receipt->digest));
    memcpy(receipt->rollout, plan->confirm.rollout, sizeof(receipt->rollout));
    *out = receipt;
    return ERR_OK;
}

enum err_code report_refused(const char *node, int64_t generation, const char *digest,
                             struct clock *clock, const struct err *why, struct receipt **out,
                             struct err *err)
{
    struct receipt *receipt = calloc(1, sizeof(*receipt));
    if (receipt == NULL)
        return err_nomem(err);
    receipt->result = RECEIPT_REFUSED;
    receipt->generation = generation;
    receipt->time_us = clock->wall_us(clock);
    snprintf(receipt->node, sizeof(receipt->node), "%s", node);
    snprintf(receipt->digest, sizeof(receipt->digest), "%s", digest);
    report_problem(receipt, "%s%s%s", why->pointer, why->pointer[0] == '\0' ? "" : ": ", why->text);
    *out = receipt;
    return ERR_OK;
}

static void fill(struct receipt_step *out, const struct plan_step *step, bool drift)
{
    if (drift)
        snprintf(out->text, sizeof(out->text), "drift %s %s%s%s", step->kind->name, step->subject,
                 step->id[0] == '\0' ? "" : " ", step->id);
    else
        plan_step_describe(step, out->text, sizeof(out->text));
    memcpy(out->subject, step->subject, sizeof(out->subject));
    out->disruption = step->disruption;
    out->before = json_incref(drift ? step->to : step->from);
    out->after = json_incref(drift ? step->from : step->to);
}

enum err_code report_steps(struct receipt *receipt, const struct plan_steps *steps, bool drift,
                           struct err *err)
{
    size_t had = receipt->step_count, all = had + steps->count;
    size_t count = all < RECEIPT_STEPS_MAX ? all : RECEIPT_STEPS_MAX;
    if (count == had)
        return ERR_OK;
    struct receipt_step *grown = realloc(receipt->steps, count * sizeof(*grown));
    if (grown == NULL)
        return err_nomem(err);
    memset(grown + had, 0, (count - had) * sizeof(*grown));
    receipt->steps = grown;
    receipt->step_count = count;
    for (size_t i = had; i < count; i++)
        fill(&grown[i], &steps->items[i - had], drift);
    if (all > count)
        snprintf(grown[count - 1].text, sizeof(grown[count - 1].text),
                 "this one and %zu more steps that are not listed", all - count);
    return ERR_OK;
}

struct receipt_step *report_step(struct receipt *receipt, size_t i)
{
    return receipt != NULL && i < receipt->step_count ? &receipt->steps[i] : NULL;
}

void report_writers(struct receipt *receipt, struct dp *dp, const struct plan_steps *steps,
                    size_t first)
{
    for (size_t i = 0; i < steps->count; i++) {
        struct receipt_step *told = report_step(receipt, first + i);
        if (told == NULL)
            return;
        dp_writer(dp, steps->items[i].kind->name, steps->items[i].subject, told->writer);
        if (told->writer[0] == '\0')
            snprintf(told->writer, sizeof(told->writer), "unknown");
    }
}

void report_problem(struct receipt *receipt, const char *fmt, ...)
{
    if (receipt == NULL || receipt->problem[0] != '\0')
        return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(receipt->problem, sizeof(receipt->problem), fmt, args);
    va_end(args);
}

void report_expired(struct receipt *receipt, bool on_good)
{
    receipt->result = RECEIPT_EXPIRED;
    report_problem(receipt, "nobody confirmed rollout %s in time: the node is %s", receipt->rollout,
                   on_good ? "back on its last good plan" : "as before");
}
