/*
 * datapath/solar/context_job.c - what a context knows of jobs: keys, marks and shares of labels.
 */
#include <string.h>

#include "datapath/solar/context.h"
#include "datapath/solar/control.h"

const struct job_key *context_key(const struct solar_context *context, uint32_t label,
                                  uint64_t epoch)
{
    for (int i = 0; i < context->key_count; i++)
        if (context->keys[i].label == label && context->keys[i].epoch == epoch)
            return &context->keys[i];
    return NULL;
}

enum err_code solar_key_set(struct solar_context *context, uint32_t label, uint64_t epoch,
                            const uint8_t key[SOLAR_KEY_SIZE], struct err *err)
{
    const struct job_key *found = context_key(context, label, epoch);
    if (found == NULL && context->key_count == SOLAR_KEYS_MAX)
        return err_set(err, ERR_LIMIT, "the context has keys of %d jobs already", SOLAR_KEYS_MAX);
    struct job_key *k = found != NULL ? &context->keys[found - context->keys]
                                      : &context->keys[context->key_count++];
    k->label = label;
    k->epoch = epoch;
    memcpy(k->key, key, SOLAR_KEY_SIZE);
    return ERR_OK;
}

void solar_key_drop(struct solar_context *context, uint32_t label, uint64_t epoch)
{
    const struct job_key *found = context_key(context, label, epoch);
    if (found == NULL)
        return;
    struct job_key *last = &context->keys[--context->key_count];
    context->keys[found - context->keys] = *last;
    explicit_bzero(last, sizeof(*last));
}

const struct label_marks *context_label(const struct solar_context *context, uint32_t label)
{
    for (int i = 0; i < context->label_count; i++)
        if (context->labels[i].label == label)
            return &context->labels[i];
    return NULL;
}

enum err_code context_set_label(struct solar_context *context, uint32_t label,
                                const struct solar_share *share, struct err *err)
{
    if (share->dscp < 0 || share->dscp > SOLAR_DSCP_MAX || share->priority < 0 ||
        share->priority > SOLAR_PRIORITY_MAX)
        return err_set(err, ERR_INVALID, "label %u: DSCP %d (has 0 to %d), priority %d (0 to %d)",
                       label, share->dscp, SOLAR_DSCP_MAX, share->priority, SOLAR_PRIORITY_MAX);
    const struct arbiter_share s = {.guarantee_bps = share->guarantee_bps,
                                    .limit_bps = share->limit_bps,
                                    .weight = share->weight};
    enum err_code code = arbiter_label_set(context->arbiter, label, &s, context_now_ns(), err);
    if (code != ERR_OK)
        return code;
    const struct label_marks *found = context_label(context, label);
    /* The arbiter has as many labels as this table, and refused one more. */
    struct label_marks *marks = found != NULL ? &context->labels[found - context->labels]
                                              : &context->labels[context->label_count++];
    *marks = (struct label_marks){.label = label,
                                  .dscp = (uint8_t)share->dscp,
                                  .priority = (uint8_t)share->priority,
                                  .weight = share->weight};
    return ERR_OK;
}

enum err_code solar_label_set(struct solar_context *context, uint32_t label,
                              const struct solar_share *share, struct err *err)
{
    if (context->control != NULL && control_has(context->control, label))
        return err_set(err, ERR_DENIED,
                       "label %u: the node's control page says what it gets; its policy changes it",
                       label);
    return context_set_label(context, label, share, err);
}

enum err_code context_need_label(struct solar_context *context, uint32_t label, struct err *err)
{
    const struct solar_share share = {.weight = 1};
    enum err_code code = ERR_OK;
    if (context_label(context, label) == NULL)
        code = context_set_label(context, label, &share, err);
    if (code == ERR_OK && context->control != NULL)
        control_add(context->control, label);
    return code;
}

enum err_code solar_label_get(const struct solar_context *context, uint32_t label,
                              struct solar_share *out, struct err *err)
{
    const struct label_marks *marks = context_label(context, label);
    const struct arbiter_share *share = arbiter_label_share(context->arbiter, label);
    if (marks == NULL || share == NULL)
        return err_set(err, ERR_NOT_FOUND, "label %u is not known", label);
    *out = (struct solar_share){.guarantee_bps = share->guarantee_bps,
                                .limit_bps = share->limit_bps,
                                .weight = share->weight,
                                .dscp = marks->dscp,
                                .priority = marks->priority};
    return ERR_OK;
}

void solar_context_stats(const struct solar_context *context, struct solar_stats *out)
{
    const struct udp_counters *c = udp_counters(context->udp);
    *out = context->stats;
    out->send_calls = c->send_calls;
    out->receive_calls = c->receive_calls;
    out->sent_datagrams = c->sent_datagrams;
    out->unsent_datagrams = c->unsent_datagrams;
}

const char *solar_version(void)
{
    return STELLAR_VERSION;
}

const char *solar_code_name(enum err_code code)
{
    return err_code_name(code);
}
