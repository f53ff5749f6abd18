/*
 * server/verification_load.c - verifications out of the store; see verifications.h.
 */
#include <stdlib.h>
#include <string.h>

#include "db/verifications.h"
#include "server/verifications.h"

struct loading {
    struct verification *verification;
    const struct verification_now *now;
    enum err_code code;
    struct err *err;
};

static bool on_head(void *arg, const struct db_verification *row)
{
    struct loading *loading = arg;
    struct verification *v = loading->verification;
    OWN(json) json_t *head = NULL;
    int state = 0;
    loading->code = json_parse(row->head, strlen(row->head), &head, loading->err);
    if (loading->code == ERR_OK)
        loading->code = verification_head_from_json(v, head, loading->err);
    while (verification_state_names[state] != NULL &&
           strcmp(verification_state_names[state], row->state) != 0)
        state++;
    if (loading->code == ERR_OK && verification_state_names[state] == NULL)
        loading->code =
            err_set(loading->err, ERR_INVALID, "has a state that this server does not know");
    v->state = (enum verification_state)state;
    v->number = row->number;
    v->revision = row->revision;
    v->created_us = row->created_us;
    v->updated_us = row->updated_us;
    return false;
}

static bool on_test(void *arg, const struct db_verification_test *row)
{
    struct loading *loading = arg;
    struct verification *v = loading->verification;
    OWN(json) json_t *body = NULL;
    if (v->test_count == VERIFICATION_TESTS_MAX) {
        loading->code = err_set(loading->err, ERR_LIMIT, "has too many tests");
        return false;
    }
    loading->code = json_parse(row->body, strlen(row->body), &body, loading->err);
    if (loading->code == ERR_OK)
        loading->code = verification_test_from_json(
            &v->tests[v->test_count++], body, v->settings.deadline_s, loading->now, loading->err);
    return loading->code == ERR_OK;
}

enum err_code verification_load(struct db_ro *ro, int64_t number,
                                const struct verification_now *now, struct verification **out,
                                struct err *err)
{
    OWN(verification) struct verification *v = calloc(1, sizeof(*v));
    if (v != NULL)
        v->tests = calloc(VERIFICATION_TESTS_MAX, sizeof(*v->tests));
    if (v == NULL || v->tests == NULL)
        return err_nomem(err);
    struct loading loading = {.verification = v, .now = now, .err = err};
    enum err_code code = verification_get(ro, number, on_head, &loading, err);
    if (code == ERR_NOT_FOUND)
        return code;
    if (code == ERR_OK)
        code = loading.code;
    if (code == ERR_OK)
        code = verification_test_each(ro, number, on_test, &loading, err);
    if (code == ERR_OK)
        code = loading.code;
    if (code == ERR_OK)
        code = verification_count_nodes(v, err);
    if (code != ERR_OK)
        return err_context(err, "the store's verification v-%lld", (long long)number);
    *out = GIVE(v);
    return ERR_OK;
}

/* Start-up ------------------------------------------------------------------------------------- */

struct numbers {
    int64_t items[VERIFICATIONS_ACTIVE_MAX];
    size_t count;
};

static bool on_number(void *arg, const struct db_verification *row)
{
    struct numbers *numbers = arg;
    if (row->active)
        numbers->items[numbers->count++] = row->number;
    return numbers->count < VERIFICATIONS_ACTIVE_MAX;
}

static enum err_code publish_tasks(struct app *app, const struct world *world,
                                   const struct verification *v, struct err *err)
{
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < v->test_count; i++) {
        const struct verification_test *test = &v->tests[i];
        int tasks = verify_tasks_of(test->kind, test->member_count);
        for (int place = 0; place < tasks && code == ERR_OK; place++) {
            const struct world_node *node = world_node_get(world, test->members[place].member.node);
            struct publish_entry *entry = NULL;
            if (test->state != VERIFICATION_RUNNING || node == NULL ||
                node->created_us > v->created_us)
                continue;
            code = verifications_task_entry(v, i, place, &entry, err);
            if (code == ERR_OK)
                publish_put(app->publish, entry);
        }
    }
    return code;
}

enum err_code verifications_load(struct app *app, struct world *world, struct db_ro *ro,
                                 bool publish, struct err *err)
{
    const struct verification_now now = {.mono_ns = app->clock->mono_ns(app->clock),
                                         .wall_us = app->clock->wall_us(app->clock)};
    struct numbers numbers = {.count = 0};
    enum err_code code = verification_list(ro, 0, DB_PAGE_MAX, on_number, &numbers, err);
    for (size_t i = 0; i < numbers.count && code == ERR_OK; i++) {
        struct verification *v = NULL;
        code = verification_load(ro, numbers.items[i], &now, &v, err);
        if (code != ERR_OK)
            break;
        world->verifications[world->verification_count++] = v;
        if (publish)
            code = publish_tasks(app, world, v, err);
    }
    world->verifications_due = true;
    return code;
}
