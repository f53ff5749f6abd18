/*
 * fleet/rollout_value.c - a rollout as memory: made, copied, freed, and what must always hold of
 * it.
 */
#include "fleet/rollout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIT(state) (1u << (state))
/* Of nodes whose wave is over. */
#define CLOSED                                                                                     \
    (BIT(ROLLOUT_NODE_CONFIRMED) | BIT(ROLLOUT_NODE_FAILED) | BIT(ROLLOUT_NODE_EXPIRED) |          \
     BIT(ROLLOUT_NODE_ABSENT))
#define BACK    (BIT(ROLLOUT_NODE_RETURNING) | BIT(ROLLOUT_NODE_RETURNED) | BIT(ROLLOUT_NODE_ABSENT))
#define WAITING BIT(ROLLOUT_NODE_WAITING)
#define OPEN                                                                                       \
    (BIT(ROLLOUT_NODE_OFFERED) | BIT(ROLLOUT_NODE_APPLIED) | BIT(ROLLOUT_NODE_FAILED) |            \
     BIT(ROLLOUT_NODE_EXPIRED) | BIT(ROLLOUT_NODE_ABSENT))
#define NO_WAVE 0

void rollout_id(int64_t number, char out[ROLLOUT_ID_SIZE])
{
    snprintf(out, ROLLOUT_ID_SIZE, "r-%lld", (long long)number);
}

bool rollout_id_parse(const char *text, int64_t *out)
{
    char again[ROLLOUT_ID_SIZE];
    if (strncmp(text, "r-", 2) != 0 || strlen(text) >= ROLLOUT_ID_SIZE - 4)
        return false;
    int64_t number = strtoll(text + 2, NULL, 10);
    rollout_id(number, again);
    if (number < 1 || strcmp(again, text) != 0)
        return false;
    *out = number;
    return true;
}

enum err_code rollout_new(const struct rollout_settings *settings, const char *const *names,
                          size_t count, struct rollout **out, struct err *err)
{
    OWN(rollout) struct rollout *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return err_nomem(err);
    enum err_code code = rollout_settings_copy(settings, &r->settings, err);
    if (code != ERR_OK)
        return code;
    r->nodes = calloc(count + 1, sizeof(*r->nodes));
    if (r->nodes == NULL)
        return err_nomem(err);
    r->node_count = count;
    for (size_t i = 0; i < count; i++) {
        snprintf(r->nodes[i].name, NAME_SIZE, "%s", names[i]);
        r->nodes[i].changed = true;
    }
    *out = GIVE(r);
    return ERR_OK;
}

enum err_code rollout_copy(const struct rollout *from, struct rollout **out, struct err *err)
{
    OWN(rollout) struct rollout *r = malloc(sizeof(*r));
    if (r == NULL)
        return err_nomem(err);
    *r = *from;
    r->settings.waves = r->settings.verify = NULL;
    r->nodes = malloc((from->node_count + 1) * sizeof(*r->nodes));
    if (r->nodes == NULL)
        return err_nomem(err);
    memcpy(r->nodes, from->nodes, from->node_count * sizeof(*r->nodes));
    enum err_code code = rollout_settings_copy(&from->settings, &r->settings, err);
    if (code == ERR_OK)
        *out = GIVE(r);
    return code;
}

void rollout_free(struct rollout *r)
{
    if (r == NULL)
        return;
    rollout_settings_release(&r->settings);
    free(r->nodes);
    free(r);
}

size_t rollout_find(const struct rollout *r, const char *node)
{
    size_t low = 0, high = r->node_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(r->nodes[middle].name, node);
        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return SIZE_MAX;
}

/* What nodes may be: of waves before the current one, of it while open, of it while not, of later
 * ones. */
static const struct {
    unsigned before, open, closed, after;
} allowed[ROLLOUT_STATE_COUNT] = {
    [ROLLOUT_PREPARING] = {NO_WAVE, NO_WAVE, WAITING, WAITING},
    [ROLLOUT_RUNNING] = {CLOSED, OPEN, WAITING, WAITING},
    [ROLLOUT_PAUSED] = {CLOSED, OPEN, WAITING, WAITING},
    [ROLLOUT_CONFIRMING] = {CLOSED, OPEN, NO_WAVE, WAITING},
    [ROLLOUT_RETURNING] = {CLOSED, NO_WAVE, BACK, WAITING},
    [ROLLOUT_ROLLING_BACK] = {BACK, NO_WAVE, BACK | WAITING, WAITING},
    [ROLLOUT_DONE] = {CLOSED, NO_WAVE, NO_WAVE, NO_WAVE},
    [ROLLOUT_FAILED] = {CLOSED, NO_WAVE, BACK & ~BIT(ROLLOUT_NODE_RETURNING), WAITING},
    [ROLLOUT_ROLLED_BACK] = {BACK & ~BIT(ROLLOUT_NODE_RETURNING), NO_WAVE,
                             (BACK & ~BIT(ROLLOUT_NODE_RETURNING)) | WAITING, WAITING},
};

static enum err_code check_node(const struct rollout *r, const struct rollout_node *node,
                                struct err *err)
{
    unsigned may = node->wave < r->wave   ? allowed[r->state].before
                   : node->wave > r->wave ? allowed[r->state].after
                   : r->wave_open         ? allowed[r->state].open
                                          : allowed[r->state].closed;
    if (may & BIT(node->state))
        return ERR_OK;
    return err_set(err, ERR_CONFLICT, "node %s of wave %u is %s in a rollout that is %s at wave %u",
                   node->name, node->wave, rollout_node_state_name(node->state),
                   rollout_state_name(r->state), r->wave);
}

static enum err_code check_times(const struct rollout *r, struct err *err)
{
    bool back = r->state == ROLLOUT_RETURNING || r->state == ROLLOUT_ROLLING_BACK;
    if ((r->return_ns != 0) != back)
        return err_set(err, ERR_CONFLICT, "the time to go back runs in state %s",
                       rollout_state_name(r->state));
    if ((r->gates_ns != 0) != r->wave_open)
        return err_set(err, ERR_CONFLICT, "a wave without a deadline, or the other way round");
    if (!r->wave_open && (r->confirm_ns != 0 || r->soak_ns != 0 || r->passed))
        return err_set(err, ERR_CONFLICT, "a timer runs and no wave is open");
    if (r->state == ROLLOUT_CONFIRMING && !(r->passed && r->settings.manual))
        return err_set(err, ERR_CONFLICT, "a confirmation is waited for that is not due");
    return ERR_OK;
}

enum err_code rollout_check(const struct rollout *r, struct err *err)
{
    for (size_t i = 0; i < r->node_count; i++) {
        enum err_code code = check_node(r, &r->nodes[i], err);
        if (code != ERR_OK)
            return code;
        if (i > 0 && strcmp(r->nodes[i - 1].name, r->nodes[i].name) >= 0)
            return err_set(err, ERR_CONFLICT, "the nodes are not in order");
    }
    return check_times(r, err);
}
