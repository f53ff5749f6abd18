/*
 * server/rollout_verify.c - verifications as gates of rollouts; see rollouts.h. What cannot be
 * ordered now is tried again: with the end of any verification, and each ROLLOUT_SAVE_NS.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "db/verifications.h"
#include "fleet/rollout_verify.h"
#include "server/rollouts.h"
#include "server/verifications.h"

/* Why the worst test is as bad as it is. */
static const char *worst_why(const struct verification *v, enum verify_verdict verdict)
{
    for (size_t i = 0; i < v->test_count; i++)
        if (v->tests[i].verdict == verdict && verdict != VERIFY_PASS)
            return v->tests[i].why;
    return "";
}

enum err_code rollout_verify_hear(struct rollout_change *change, struct db_tx *tx, bool *out_did,
                                  struct err *err)
{
    struct rollout *r = change->copy;
    const struct verification_now now = {.wall_us = 0}; /* of no deadline that is looked at */
    OWN(verification) struct verification *v = NULL;
    if (r->verify_number == 0 || r->verify_state != ROLLOUT_GATE_PENDING || !r->wave_open ||
        verifications_get(change->app->world, r->verify_number) != NULL)
        return ERR_OK;
    enum err_code code = verification_load(db_tx_ro(tx), r->verify_number, &now, &v, err);
    if (code != ERR_OK && code != ERR_NOT_FOUND)
        return code;
    if (code == ERR_OK && v->state == VERIFICATION_ACTIVE)
        return ERR_OK; /* not loaded yet */
    enum verify_verdict verdict = v == NULL ? VERIFY_UNKNOWN : verification_verdict(v);
    rollout_verify_ended(r, verdict, v == NULL ? "it is not kept any more" : worst_why(v, verdict));
    *out_did = true;
    return ERR_OK;
}

/* The verification into out->copy; what forbids it becomes the gate's reason. */
static enum err_code make(struct rollout_change *change, struct verification_change *out,
                          struct err *err)
{
    struct rollout *r = change->copy;
    const struct world *world = change->app->world;
    struct verification_settings settings;
    struct err why = ERR_INIT;
    char text[VERIFY_WHY_SIZE];
    OWN(json) json_t *request = rollout_verify_request(r);
    if (request == NULL)
        return err_nomem(err);
    const char *missing = world_missing_node(world, json_object_get(request, "nodes"));
    enum err_code code = missing != NULL
                             ? err_set(&why, ERR_NOT_FOUND, "there is no node '%.63s'", missing)
                             : verification_request_from_json(request, &settings, NULL, &why);
    if (code == ERR_OK)
        code = verification_make(&world->view, request, &settings, &out->copy, &why);
    if (code == ERR_NOMEM) {
        *err = why;
        return code;
    }
    if (code != ERR_OK)
        rollout_verify_refused(r, why.text);
    else if (verifications_conflict(world, out->copy, text) != VERIFICATIONS_FREE) {
        rollout_verify_held(r, text);
        verification_change_release(out);
    }
    return ERR_OK;
}

static enum err_code store(struct rollout_change *change, struct db_tx *tx,
                           struct verification_change *out, struct err *err)
{
    struct rollout *r = change->copy;
    char id[ROLLOUT_ID_SIZE];
    rollout_id(r->number, id);
    snprintf(out->copy->author, sizeof(out->copy->author), "rollout %s", id);
    enum err_code code = verification_next(tx, &out->copy->number, err);
    out->copy->created_us = db_tx_now_us(tx);
    if (code == ERR_OK)
        code = verification_change_store(out, tx, "", err);
    if (code == ERR_OK)
        rollout_verify_ordered(r, out->copy->number, &change->actions);
    return code;
}

static enum err_code withdraw(struct rollout_change *change, struct db_tx *tx,
                              struct verification_change *out, struct err *err)
{
    bool over = false;
    enum err_code code =
        verification_change_begin(out, db_tx_ro(tx), change->copy->verify_number, &over, err);
    if (code == ERR_OK && verification_cancel(out->copy, &out->now))
        code = verification_change_store(out, tx, "", err);
    return code;
}

enum err_code rollout_verify_order(struct rollout_change *change, struct db_tx *tx,
                                   struct verification_change *out, bool *out_did, struct err *err)
{
    struct rollout *r = change->copy;
    char before[ROLLOUT_TEXT_SIZE];
    verification_change_init(out, change->app);
    if (rollout_verify_is_in_vain(r) &&
        verifications_get(change->app->world, r->verify_number) != NULL) {
        *out_did = true;
        return withdraw(change, tx, out, err);
    }
    if (!rollout_verify_is_due(r))
        return ERR_OK;
    memcpy(before, r->verify_why, sizeof(before));
    enum err_code code = make(change, out, err);
    if (code == ERR_OK && out->copy != NULL)
        code = store(change, tx, out, err);
    *out_did |= strcmp(before, r->verify_why) != 0;
    return code;
}
