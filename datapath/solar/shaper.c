/*
 * datapath/solar/shaper.c - see shaper.h.
 */
#include "datapath/solar/shaper.h"

#include <stdio.h>

struct shaper_key shaper_key_of(const struct shaper_fields *f)
{
    return (struct shaper_key){
        .high = (uint64_t)f->label << 32 | (uint64_t)f->qp << 16 | (uint64_t)f->priority << 8 |
                f->tensor,
        .low = (uint64_t)f->path << 56 | (uint64_t)f->type << 48 | f->message_kib,
    };
}

static bool same_key(struct shaper_key a, struct shaper_key b)
{
    return a.high == b.high && a.low == b.low;
}

static bool same_rule(const struct shaper_rule *a, const struct shaper_rule *b)
{
    return a->id == b->id && same_key(a->value, b->value) && same_key(a->mask, b->mask) &&
           a->priority == b->priority && a->action == b->action && a->rate_bps == b->rate_bps &&
           a->burst_bytes == b->burst_bytes;
}

static bool is_limit_right(const struct shaper_rule *r)
{
    if (r->action != SHAPER_LIMIT)
        return r->rate_bps == 0 && r->burst_bytes == 0;
    return r->rate_bps >= 1 && r->rate_bps <= BUCKET_RATE_MAX_BPS && r->burst_bytes >= 1 &&
           r->burst_bytes <= BUCKET_BURST_MAX_BYTE;
}

static enum err_code check(const struct shaper_rule *rules, size_t index, struct err *err)
{
    const struct shaper_rule *r = &rules[index];
    char at[ERR_POINTER_MAX];
    snprintf(at, sizeof(at), "/%zu", index);
    if (r->priority < 0 || r->priority > SHAPER_PRIORITY_MAX)
        return err_set_at(err, ERR_INVALID, at, "rule %u: priority %d (has 0 to %d)", r->id,
                          r->priority, SHAPER_PRIORITY_MAX);
    if ((r->value.high & ~r->mask.high) != 0 || (r->value.low & ~r->mask.low) != 0)
        return err_set_at(err, ERR_INVALID, at,
                          "rule %u: its value has bits that the mask does not look at", r->id);
    if (r->action != SHAPER_PASS && r->action != SHAPER_LIMIT && r->action != SHAPER_DROP)
        return err_set_at(err, ERR_INVALID, at, "rule %u: unknown action %d", r->id,
                          (int)r->action);
    if (!is_limit_right(r))
        return err_set_at(err, ERR_INVALID, at,
                          "rule %u: rate and burst are out of range, or stand at a rule that does "
                          "not limit",
                          r->id);
    for (size_t i = 0; i < index; i++) {
        const struct shaper_rule *o = &rules[i];
        if (o->id == r->id)
            return err_set_at(err, ERR_CONFLICT, at, "rule %u is there twice", r->id);
        if (o->priority == r->priority && same_key(o->value, r->value) &&
            same_key(o->mask, r->mask))
            return err_set_at(err, ERR_CONFLICT, at,
                              "rules %u and %u match the same with the same priority; give one a "
                              "higher one",
                              o->id, r->id);
    }
    return ERR_OK;
}

static struct shaper_slot slot_of(const struct shaper *old, const struct shaper_rule *rule,
                                  int64_t now_ns)
{
    const struct shaper_slot *before = shaper_find(old, rule->id);
    if (before != NULL && same_rule(&before->rule, rule))
        return *before;
    struct shaper_slot slot = {.rule = *rule};
    if (rule->action == SHAPER_LIMIT)
        bucket_init(&slot.bucket, rule->rate_bps, rule->burst_bytes, now_ns);
    return slot;
}

enum err_code shaper_load(struct shaper *shaper, const struct shaper_rule *rules, size_t count,
                          int64_t now_ns, struct err *err)
{
    if (count > SHAPER_RULES_MAX)
        return err_set(err, ERR_LIMIT, "%zu rules do not fit into a table of %d", count,
                       SHAPER_RULES_MAX);
    for (size_t i = 0; i < count; i++) {
        enum err_code code = check(rules, i, err);
        if (code != ERR_OK)
            return code;
    }
    struct shaper fresh = {.count = count};
    for (size_t i = 0; i < count; i++) {
        size_t at = i; /* insertion: behind all of its priority */
        for (; at > 0 && fresh.slots[at - 1].rule.priority < rules[i].priority; at--)
            fresh.slots[at] = fresh.slots[at - 1];
        fresh.slots[at] = slot_of(shaper, &rules[i], now_ns);
    }
    *shaper = fresh;
    return ERR_OK;
}

static bool matches(const struct shaper_rule *r, struct shaper_key key)
{
    return (((key.high & r->mask.high) ^ r->value.high) |
            ((key.low & r->mask.low) ^ r->value.low)) == 0;
}

static enum shaper_action decide(struct shaper_slot *slot, int64_t bytes, int64_t now_ns,
                                 int64_t *out_ready_ns)
{
    if (slot->rule.action == SHAPER_DROP) {
        slot->refused++;
        return SHAPER_DROP;
    }
    if (slot->rule.action == SHAPER_LIMIT) {
        if (!bucket_has(&slot->bucket, now_ns)) {
            slot->refused++;
            *out_ready_ns = bucket_ready_ns(&slot->bucket);
            return SHAPER_LIMIT;
        }
        bucket_take(&slot->bucket, bytes, now_ns);
    }
    slot->packets++;
    slot->bytes += (uint64_t)bytes;
    return SHAPER_PASS;
}

enum shaper_action shaper_pass(struct shaper *shaper, struct shaper_key key, int64_t bytes,
                               int64_t now_ns, int64_t *out_ready_ns)
{
    for (size_t i = 0; i < shaper->count; i++)
        if (matches(&shaper->slots[i].rule, key))
            return decide(&shaper->slots[i], bytes, now_ns, out_ready_ns);
    return SHAPER_PASS;
}

const struct shaper_slot *shaper_find(const struct shaper *shaper, uint32_t id)
{
    for (size_t i = 0; i < shaper->count; i++)
        if (shaper->slots[i].rule.id == id)
            return &shaper->slots[i];
    return NULL;
}
