/*
 * fleet/health_look.c - rules over a node's facts, and what becomes of them over several looks.
 *
 * Only what was not well once is tracked: a healthy node costs its facts alone.
 */
#include "fleet/health_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOKS_MAX 32 /* bits of a track's history */

/* Measuring ----------------------------------------------------------------------------------- */

static int64_t add_capped(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? INT64_MAX : -INT64_MAX;
    return sum;
}

static int64_t multiply_capped(int64_t a, int64_t b)
{
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return (a < 0) != (b < 0) ? -INT64_MAX : INT64_MAX;
    return product;
}

static const struct health_datum *known(const struct health_slot *slot, uint16_t input)
{
    const struct health_datum *datum = health_datum_find(slot, input);
    return datum != NULL && datum->is_known ? datum : NULL;
}

/* Sum of what the rule's inputs counted; false = none is known. */
static bool count_inputs(const struct health_row *row, const struct health_slot *slot,
                         struct telemetry_sum *out)
{
    *out = (struct telemetry_sum){0};
    for (size_t i = 0; i < row->input_count; i++) {
        const struct health_datum *datum = known(slot, row->inputs[i]);
        if (datum == NULL || datum->span.weight == 0)
            continue;
        out->sum = add_capped(out->sum, datum->span.sum);
        if (datum->span.weight > out->weight)
            out->weight = datum->span.weight;
    }
    return out->weight > 0;
}

static bool add_values(const struct health_row *row, const struct health_slot *slot, int64_t *out)
{
    bool is_known = false;
    *out = 0;
    for (size_t i = 0; i < row->input_count; i++) {
        const struct health_datum *datum = known(slot, row->inputs[i]);
        if (datum == NULL)
            continue;
        *out = add_capped(*out, datum->value);
        is_known = true;
    }
    return is_known;
}

static const struct health_datum *base_of(const struct health_row *row,
                                          const struct health_slot *slot, bool counted)
{
    for (size_t i = 0; i < row->base_count; i++) {
        const struct health_datum *datum = known(slot, row->bases[i]);
        if (datum != NULL && (!counted || datum->span.weight > 0))
            return datum;
    }
    return NULL;
}

static bool measure_ratio(const struct health_rule *rule, const struct health_row *row,
                          const struct health_slot *slot, int64_t *out)
{
    struct telemetry_sum sum;
    const struct health_datum *base = base_of(row, slot, true);
    if (base == NULL || !count_inputs(row, slot, &sum))
        return false;
    if (rule->measure == HEALTH_TIMES) {
        *out = sum.sum < rule->floor ? 0 : sum.sum / (base->span.sum > 0 ? base->span.sum : 1);
        return true;
    }
    /* A few packets say nothing of a share, but what is there in plenty does. */
    if (base->span.sum < rule->floor || base->span.sum < 1)
        return false;
    *out = sum.sum > INT64_MAX / 1000000 ? INT64_MAX : sum.sum * 1000000 / base->span.sum;
    return true;
}

/* 1 = the gate is open, 0 = all is well whatever the inputs say, -1 = unknown. */
static int gate_of(const struct health_row *row, const struct health_slot *slot)
{
    if (row->gate == HEALTH_NO_INPUT)
        return 1;
    const struct health_datum *datum = known(slot, row->gate);
    return datum == NULL ? -1 : datum->value != 0;
}

bool health_measure(const struct health *health, size_t rule_number, const struct health_slot *slot,
                    int64_t *out)
{
    const struct health_rule *rule = &health_rules[rule_number];
    const struct health_row *row = &health->book->rows[rule_number];
    struct telemetry_sum sum;
    bool is_known = false;
    switch (rule->measure) {
    case HEALTH_VALUE:
        is_known = add_values(row, slot, out);
        break;
    case HEALTH_MAGNITUDE:
        is_known = add_values(row, slot, out);
        *out = *out == INT64_MIN ? INT64_MAX : llabs(*out);
        break;
    case HEALTH_INCREASE:
        is_known = count_inputs(row, slot, &sum);
        *out = sum.sum;
        break;
    case HEALTH_RATE:
        is_known = count_inputs(row, slot, &sum);
        *out = is_known ? multiply_capped(sum.sum, 1000) / (int64_t)sum.weight : 0;
        break;
    case HEALTH_SHARE_PPM:
    case HEALTH_TIMES:
        is_known = measure_ratio(rule, row, slot, out);
        break;
    case HEALTH_MARGIN: {
        const struct health_datum *base = base_of(row, slot, false);
        is_known = base != NULL && add_values(row, slot, out);
        *out = is_known && *out != INT64_MIN ? add_capped(base->value, -*out) : 0;
        break;
    }
    }
    return is_known;
}

static enum health_state judge(const struct health_rule *rule, int64_t value)
{
    bool down = rule->at_most;
    if (rule->critical != HEALTH_NONE && (down ? value <= rule->critical : value >= rule->critical))
        return HEALTH_CRITICAL;
    if (rule->warning != HEALTH_NONE && (down ? value <= rule->warning : value >= rule->warning))
        return HEALTH_WARNING;
    return HEALTH_OK;
}

/* Following ----------------------------------------------------------------------------------- */

static struct health_track *find_track(const struct health *health, uint16_t rule,
                                       const struct health_subject *subject)
{
    for (size_t i = 0; i < health->track_count; i++)
        if (health->tracks[i].rule == rule &&
            health_subject_is(&health->tracks[i].subject, subject))
            return &health->tracks[i];
    return NULL;
}

/* NULL in *out = the limit is met. */
static enum err_code add_track(struct health *health, uint16_t rule,
                               const struct health_subject *subject, struct health_track **out,
                               struct err *err)
{
    *out = NULL;
    if (health->track_count == HEALTH_TRACKS_MAX) {
        health->truncated = true;
        return ERR_OK;
    }
    if (health->track_count == health->track_room) {
        size_t room = health->track_room == 0 ? 8 : 2 * health->track_room;
        struct health_track *tracks = realloc(health->tracks, room * sizeof(*tracks));
        if (tracks == NULL)
            return err_nomem(err);
        health->tracks = tracks;
        health->track_room = room;
    }
    struct health_track track = {
        .rule = rule, .subject = *subject, .state = HEALTH_OK, .value = HEALTH_NONE};
    if (health_rules[rule].window > 1) {
        track.window = calloc(HEALTH_WINDOW_MAX, sizeof(*track.window));
        if (track.window == NULL)
            return err_nomem(err);
    }
    health->tracks[health->track_count] = track;
    *out = &health->tracks[health->track_count++];
    return ERR_OK;
}

static void drop_track(struct health *health, size_t i)
{
    free(health->tracks[i].window);
    health->tracks[i] = health->tracks[--health->track_count];
}

/* What was counted in the rule's window of looks, this one the newest. */
static int64_t sum_window(struct health_track *track, const struct health_rule *rule, int64_t value)
{
    int64_t sum = 0;
    if (track->window == NULL)
        return value;
    track->window_at = (uint8_t)((track->window_at + 1) % rule->window);
    track->window[track->window_at] = value > UINT16_MAX ? UINT16_MAX : (uint16_t)value;
    for (size_t i = 0; i < rule->window; i++)
        sum += track->window[i];
    return sum;
}

static int newest(uint32_t bits, unsigned looks)
{
    return __builtin_popcount(looks >= LOOKS_MAX ? bits : bits & ((1u << looks) - 1));
}

/* The state after one more look. */
static enum health_state follow(struct health_track *track, const struct health_rule *rule,
                                enum health_state seen)
{
    track->bad = track->bad << 1 | (seen >= HEALTH_WARNING);
    track->critical = track->critical << 1 | (seen == HEALTH_CRITICAL);
    if (seen != HEALTH_OK)
        track->good_run = 0;
    else if (track->good_run < UINT8_MAX)
        track->good_run++;
    if (newest(track->critical, rule->raise_m) >= rule->raise_n)
        return HEALTH_CRITICAL;
    if (newest(track->bad, rule->raise_m) >= rule->raise_n)
        return HEALTH_WARNING > track->state ? HEALTH_WARNING : track->state;
    return track->good_run >= rule->clear_k ? HEALTH_OK : track->state;
}

struct look {
    struct health *health;
    int64_t now_us;
    health_change_fn *fn;
    void *arg;
};

static void tell(const struct look *look, struct health_track *track, enum health_state to)
{
    enum health_state from = track->state;
    if (to == from)
        return;
    if (from == HEALTH_OK)
        track->since_us = look->now_us;
    track->state = to;
    struct health_status status = {.rule = &health_rules[track->rule],
                                   .subject = track->subject,
                                   .state = to,
                                   .value = track->value,
                                   .since_us = track->since_us};
    look->fn(look->arg, &status, from);
}

static enum err_code look_at(const struct look *look, uint16_t number,
                             const struct health_slot *slot, struct err *err)
{
    const struct health_rule *rule = &health_rules[number];
    int64_t value = 0;
    int gate = gate_of(&look->health->book->rows[number], slot);
    if (gate < 0 || (gate > 0 && !health_measure(look->health, number, slot, &value)))
        return ERR_OK;
    enum health_state seen = gate == 0 ? HEALTH_OK : judge(rule, value);
    struct health_track *track = find_track(look->health, number, &slot->subject);
    bool counts = rule->window > 1 && gate > 0 && value > 0;
    if (track == NULL && seen == HEALTH_OK && !counts)
        return ERR_OK;
    if (track == NULL) {
        enum err_code code = add_track(look->health, number, &slot->subject, &track, err);
        if (code != ERR_OK || track == NULL)
            return code;
    }
    if (gate > 0)
        value = sum_window(track, rule, value);
    if (track->window != NULL && gate > 0)
        seen = judge(rule, value);
    track->unseen = 0;
    track->value = gate > 0 ? value : HEALTH_NONE;
    if (slot->subject.label != 0)
        track->subject.label = slot->subject.label;
    tell(look, track, follow(track, rule, seen));
    return ERR_OK;
}

/* Tracks that have ended, and those whose subject is gone. */
static void sweep_tracks(const struct look *look, enum health_source source)
{
    struct health *health = look->health;
    for (size_t i = health->track_count; i-- > 0;) {
        struct health_track *track = &health->tracks[i];
        if (health_rules[track->rule].source != source)
            continue;
        if (health_slot_find(health, &track->subject) == NULL)
            track->unseen++;
        if (track->unseen >= HEALTH_GONE_LOOKS) {
            track->value = HEALTH_NONE;
            tell(look, track, HEALTH_OK);
        }
        bool counts = false;
        for (size_t k = 0; track->window != NULL && k < health_rules[track->rule].window; k++)
            counts |= track->window[k] != 0;
        if (track->state == HEALTH_OK && track->bad == 0 && !counts)
            drop_track(health, i);
        else if (track->state == HEALTH_OK && track->unseen >= HEALTH_GONE_LOOKS)
            drop_track(health, i);
    }
}

enum err_code health_look(struct health *health, enum health_source source, int64_t now_us,
                          health_change_fn *fn, void *arg, struct err *err)
{
    const struct look look = {.health = health, .now_us = now_us, .fn = fn, .arg = arg};
    const struct health_book *book = health->book;
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < health->slot_count && code == ERR_OK; i++) {
        struct health_slot *slot = &health->slots[i];
        for (size_t k = 0; k < book->of_kind_count[slot->subject.kind] && code == ERR_OK; k++) {
            uint16_t number = book->of_kind[slot->subject.kind][k];
            if (health_rules[number].source == source)
                code = look_at(&look, number, slot, err);
        }
        if (source == HEALTH_FROM_NODE) {
            slot->unseen = slot->is_told ? 0 : (uint16_t)(slot->unseen + 1);
            slot->is_told = false;
        }
    }
    if (source == HEALTH_FROM_NODE)
        health_slots_sweep(health);
    sweep_tracks(&look, source);
    return code;
}

enum err_code health_restore(struct health *health, const struct health_rule *rule,
                             const struct health_subject *subject, enum health_state state,
                             int64_t since_us, struct err *err)
{
    uint16_t number = (uint16_t)(rule - health_rules);
    while (number < health_rule_count && strcmp(health_rules[number].id, rule->id) == 0 &&
           health_rules[number].kind != subject->kind)
        number++;
    if (number == health_rule_count || strcmp(health_rules[number].id, rule->id) != 0)
        return err_set(err, ERR_NOT_FOUND, "rule %s looks at no %s", rule->id,
                       health_kind_name(subject->kind));
    struct health_track *track = find_track(health, number, subject);
    if (track == NULL) {
        enum err_code code = add_track(health, number, subject, &track, err);
        if (code != ERR_OK || track == NULL)
            return code;
    }
    track->state = state;
    track->bad = 1;
    track->since_us = since_us;
    return ERR_OK;
}

/* Reading ------------------------------------------------------------------------------------- */

static void status_of(const struct health *health, uint16_t number, const struct health_slot *slot,
                      struct health_status *out)
{
    const struct health_rule *rule = &health_rules[number];
    const struct health_track *track = find_track(health, number, &slot->subject);
    int gate = gate_of(&health->book->rows[number], slot);
    int64_t value = HEALTH_NONE;
    bool is_known = gate > 0 && health_measure(health, number, slot, &value);
    *out = (struct health_status){.rule = rule, .subject = slot->subject, .value = HEALTH_NONE};
    if (track != NULL && track->state >= HEALTH_WARNING) {
        out->state = track->state;
        out->value = track->value;
        out->since_us = track->since_us;
        return;
    }
    if (is_known && track != NULL && track->window != NULL)
        value = track->value;
    out->state = is_known || gate == 0 ? HEALTH_OK : HEALTH_UNKNOWN;
    out->value = is_known ? value : HEALTH_NONE;
}

static bool each_raised_gone(const struct health *health, uint16_t number, health_status_fn *fn,
                             void *arg, size_t *shown)
{
    for (size_t i = 0; i < health->track_count; i++) {
        const struct health_track *track = &health->tracks[i];
        if (track->rule != number || track->state < HEALTH_WARNING ||
            health_slot_find(health, &track->subject) != NULL)
            continue;
        struct health_status status = {.rule = &health_rules[number],
                                       .subject = track->subject,
                                       .state = track->state,
                                       .value = track->value,
                                       .since_us = track->since_us};
        (*shown)++;
        if (!fn(arg, &status))
            return false;
    }
    return true;
}

void health_each(const struct health *health, health_status_fn *fn, void *arg)
{
    for (uint16_t number = 0; number < health_rule_count; number++) {
        struct health_status status;
        size_t shown = 0;
        for (size_t i = 0; i < health->slot_count; i++) {
            if (health->slots[i].subject.kind != health_rules[number].kind)
                continue;
            status_of(health, number, &health->slots[i], &status);
            shown++;
            if (!fn(arg, &status))
                return;
        }
        if (!each_raised_gone(health, number, fn, arg, &shown))
            return;
        status = (struct health_status){.rule = &health_rules[number],
                                        .subject.kind = health_rules[number].kind,
                                        .value = HEALTH_NONE};
        if (shown == 0 && !fn(arg, &status))
            return;
    }
}

void health_each_raised(const struct health *health, health_status_fn *fn, void *arg)
{
    for (size_t i = 0; i < health->track_count; i++) {
        const struct health_track *track = &health->tracks[i];
        const struct health_status status = {.rule = &health_rules[track->rule],
                                             .subject = track->subject,
                                             .state = track->state,
                                             .value = track->value,
                                             .since_us = track->since_us};
        if (track->state >= HEALTH_WARNING && !fn(arg, &status))
            return;
    }
}

static bool count_one(void *arg, const struct health_status *status)
{
    ((struct health_counts *)arg)->states[status->state]++;
    return true;
}

void health_count(const struct health *health, struct health_counts *out)
{
    *out = (struct health_counts){.truncated = health->truncated};
    health_each(health, count_one, out);
}
