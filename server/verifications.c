/*
 * server/verifications.c - see verifications.h.
 */
#include "server/verifications.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "db/tables.h"
#include "db/verifications.h"
#include "server/campaigns.h"

struct verification *verifications_get(const struct world *world, int64_t number)
{
    for (size_t i = 0; i < world->verification_count; i++)
        if (world->verifications[i]->number == number)
            return world->verifications[i];
    return NULL;
}

struct verification *verifications_on(const struct world *world, const char *node)
{
    for (size_t i = 0; i < world->verification_count; i++)
        if (verification_has_node(world->verifications[i], node))
            return world->verifications[i];
    return NULL;
}

enum verifications_conflict verifications_conflict(const struct world *world,
                                                   const struct verification *made,
                                                   char why[VERIFY_WHY_SIZE])
{
    if (world->verification_count == VERIFICATIONS_ACTIVE_MAX) {
        snprintf(why, VERIFY_WHY_SIZE,
                 "%d verifications are not over, as many as may be: let one end, or cancel it",
                 VERIFICATIONS_ACTIVE_MAX);
        return VERIFICATIONS_FULL;
    }
    for (size_t i = 0; i < world->view.node_count; i++) {
        const char *name = world->nodes[i]->name;
        if (!verification_has_node(made, name))
            continue;
        const struct verification *other = verifications_on(world, name);
        const struct campaign *campaign = campaigns_on(world, name);
        if (other != NULL) {
            snprintf(why, VERIFY_WHY_SIZE,
                     "node %s is in verification v-%lld: let it end, cancel it, or leave the node "
                     "out",
                     name, (long long)other->number);
            return VERIFICATIONS_ACTIVE;
        }
        if (campaign != NULL) {
            snprintf(why, VERIFY_WHY_SIZE,
                     "node %s is being flashed by firmware campaign c-%lld: wait until it has "
                     "ended there, or leave the node out",
                     name, (long long)campaign->number);
            return VERIFICATIONS_CAMPAIGN;
        }
    }
    return VERIFICATIONS_FREE;
}

/* Tasks ---------------------------------------------------------------------------------------- */

void verifications_task_key(const char *node, char out[PUBLISH_KEY_SIZE])
{
    snprintf(out, PUBLISH_KEY_SIZE, "node/%s/verify", node);
}

enum err_code verifications_task_entry(const struct verification *v, size_t index, int place,
                                       struct publish_entry **out, struct err *err)
{
    struct verify_task task;
    char key[PUBLISH_KEY_SIZE], tag[VERIFY_TAG_SIZE], etag[48];
    size_t len;
    verification_task(v, index, place, &task);
    OWN(json) json_t *document = verify_task_to_json(&task);
    char *text = document == NULL ? NULL : json_canonical(document, &len);
    if (text == NULL)
        return err_nomem(err);
    verifications_task_key(task.members[place].node, key);
    verify_task_tag(&task, tag);
    snprintf(etag, sizeof(etag), "\"%.45s\"", tag);
    return publish_entry_new(key, blob_new(text, len, etag, "application/json"), tag, out, err);
}

/* Another node of that name, made after the verification, inherits nothing. */
static bool is_there(const struct verification_change *change, const char *name)
{
    const struct world_node *node = world_node_get(change->app->world, name);
    return node != NULL && node->created_us <= change->copy->created_us;
}

static enum err_code give_task(struct verification_change *change, size_t index, int place,
                               struct err *err)
{
    char key[PUBLISH_KEY_SIZE];
    struct publish_entry *entry = NULL;
    enum err_code code = verifications_task_entry(change->copy, index, place, &entry, err);
    if (code == ERR_OK)
        code = effects_publish(&change->effects, entry, err);
    verifications_task_key(change->copy->tests[index].members[place].member.node, key);
    return code != ERR_OK ? code : effects_add(&change->effects, EFFECT_WAKE, key, err);
}

/* A node that may still be at it is told to stop; nobody is to begin with it any more. */
static enum err_code end_task(struct verification_change *change, size_t index, int place,
                              struct err *err)
{
    char key[PUBLISH_KEY_SIZE];
    const struct verification_test *test = &change->copy->tests[index];
    if (test->withdraw && !test->members[place].told)
        return give_task(change, index, place, err);
    verifications_task_key(test->members[place].member.node, key);
    return effects_add(&change->effects, EFFECT_UNPUBLISH, key, err);
}

/* What ended first: a node's next task takes the place of its last one. */
static enum err_code move_tasks(struct verification_change *change, bool begun, struct err *err)
{
    struct verification *v = change->copy;
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < v->test_count; i++) {
        const struct verification_test *test = &v->tests[i];
        int tasks = test->member_count < 2 ? 0 : verify_tasks_of(test->kind, test->member_count);
        if (!(begun ? test->begun : test->ended && test->started_us != 0))
            continue; /* of one that never began nobody was told */
        for (int place = 0; place < tasks && code == ERR_OK; place++)
            if (is_there(change, test->members[place].member.node))
                code = begun ? give_task(change, i, place, err) : end_task(change, i, place, err);
    }
    return code;
}

/* Changes -------------------------------------------------------------------------------------- */

static void make_secret(char out[2 * VERIFY_SECRET_BYTES + 1])
{
    uint8_t secret[VERIFY_SECRET_BYTES];
    random_bytes(secret, sizeof(secret));
    hex_encode(secret, sizeof(secret), out);
}

void verification_change_init(struct verification_change *change, struct app *app)
{
    struct clock *clock = app->clock;
    *change = (struct verification_change){.app = app,
                                           .now = {.mono_ns = clock->mono_ns(clock),
                                                   .wall_us = clock->wall_us(clock),
                                                   .make_secret = make_secret}};
}

enum err_code verification_change_begin(struct verification_change *change, struct db_ro *ro,
                                        int64_t number, bool *out_over, struct err *err)
{
    const struct verification *active = verifications_get(change->app->world, number);
    *out_over = active == NULL;
    return active != NULL ? verification_copy(active, &change->copy, err)
                          : verification_load(ro, number, &change->now, &change->copy, err);
}

void verification_change_release(struct verification_change *change)
{
    verification_free(change->copy);
    change->copy = NULL;
    effects_drop(&change->effects);
}

static enum err_code store_test(struct verification_change *change, struct db_tx *tx, size_t index,
                                struct err *err)
{
    struct verification *v = change->copy;
    struct verification_test *test = &v->tests[index];
    char same[VERIFICATION_KEY_SIZE];
    enum err_code code = ERR_OK;
    verification_test_key(v, index, same);
    int64_t value = verification_test_value(test);
    if (test->ended && value >= 0)
        code = verification_test_last(db_tx_ro(tx), same, v->number, &test->last_number,
                                      &test->last_value, err);
    if (code != ERR_OK)
        return code;
    OWN(json) json_t *body = verification_test_to_json(test);
    OWN(str) char *text = body == NULL ? NULL : json_canonical(body, NULL);
    if (text == NULL)
        return err_nomem(err);
    const struct db_verification_test row = {
        .place = (int64_t)index + 1, .same = same, .value = value, .body = text};
    return verification_test_put(tx, v->number, &row, err);
}

static enum err_code store_head(struct verification_change *change, struct db_tx *tx,
                                const json_t *shown, struct err *err)
{
    struct verification *v = change->copy;
    OWN(json) json_t *head = verification_head_to_json(v);
    OWN(str) char *text = head == NULL ? NULL : json_canonical(head, NULL);
    OWN(json) json_t *numbers = json_deep_copy(json_object_get(shown, "counts"));
    if (text == NULL || numbers == NULL ||
        json_object_set_new(numbers, "nodes", json_integer(v->node_count)) != 0)
        return err_nomem(err);
    OWN(str) char *counts = json_canonical(numbers, NULL);
    if (counts == NULL)
        return err_nomem(err);
    const struct db_verification row = {
        .number = v->number,
        .state = verification_state_names[v->state],
        .active = v->state == VERIFICATION_ACTIVE,
        .verdict = verify_verdict_names[verification_verdict(v)],
        .revision = v->revision,
        .head = text,
        .counts = counts,
        .created_us = v->created_us,
        .updated_us = v->updated_us,
    };
    return verification_put(tx, &row, err);
}

static enum err_code tell_event(const struct verification_change *change, struct db_tx *tx,
                                const json_t *shown, const char *request_id, struct err *err)
{
    char subject[VERIFICATION_ID_SIZE + 16];
    const char *id = json_string_value(json_object_get(shown, "id"));
    int64_t event;
    OWN(json)
    json_t *body =
        json_pack("{ss, sO, sO}", "verification", id, "state", json_object_get(shown, "state"),
                  "counts", json_object_get(shown, "counts"));
    if (body != NULL && json_object_get(shown, "verdict") != NULL)
        json_object_set(body, "verdict", json_object_get(shown, "verdict"));
    OWN(str) char *text = body == NULL ? NULL : json_canonical(body, NULL);
    if (text == NULL)
        return err_nomem(err);
    snprintf(subject, sizeof(subject), "verification/%s", id);
    const struct db_event row = {
        .kind = "verification.changed", .subject = subject, .request_id = request_id, .body = text};
    (void)change;
    return event_add(tx, &row, &event, err);
}

enum err_code verification_change_store(struct verification_change *change, struct db_tx *tx,
                                        const char *request_id, struct err *err)
{
    struct verification *v = change->copy;
    (void)verification_step(v, &change->now);
    v->revision++;
    v->updated_us = db_tx_now_us(tx);
    OWN(json) json_t *shown = verification_to_json(v, false);
    enum err_code code = shown == NULL ? err_nomem(err) : store_head(change, tx, shown, err);
    for (size_t i = 0; i < v->test_count && code == ERR_OK; i++)
        if (v->tests[i].changed)
            code = store_test(change, tx, i, err);
    if (code == ERR_OK)
        code = move_tasks(change, false, err);
    if (code == ERR_OK)
        code = move_tasks(change, true, err);
    return code != ERR_OK ? code : tell_event(change, tx, shown, request_id, err);
}

/* The marks of the last step are done with. */
static void settle_tests(struct verification_change *change)
{
    for (size_t i = 0; i < change->copy->test_count; i++) {
        struct verification_test *test = &change->copy->tests[i];
        if (test->ended || test->amended)
            change->app->counters.verified[test->verdict]++;
        test->begun = test->ended = test->changed = test->amended = false;
    }
}

void verification_change_settle(struct verification_change *change)
{
    struct world *world = change->app->world;
    settle_tests(change);
    struct verification *copy = GIVE(change->copy);
    bool over = copy->state != VERIFICATION_ACTIVE;
    size_t at = 0;
    while (at < world->verification_count && world->verifications[at]->number != copy->number)
        at++;
    effects_move(&change->app->effects, &change->effects);
    if (at < world->verification_count)
        verification_free(world->verifications[at]);
    else if (!over) {
        assert(world->verification_count < VERIFICATIONS_ACTIVE_MAX);
        world->verification_count++;
    }
    if (!over)
        world->verifications[at] = GIVE(copy);
    else if (at < world->verification_count)
        world->verifications[at] = world->verifications[--world->verification_count];
    verification_free(copy);
    world->verifications_due = true;
    world->rollouts_due |= over; /* one may wait for it, or for its nodes */
}
