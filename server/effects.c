/*
 * server/effects.c - see effects.h.
 */
#include "server/effects.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/app.h"
#include "server/backups.h"
#include "server/campaigns.h"
#include "server/verifications.h"
#include "server/images.h"
#include "server/planner.h"

struct effect {
    struct effect *next;
    struct publish_entry *entry; /* owned; or */
    struct auth_token *token;    /* owned; or */
    struct cert *cert;           /* owned; or */
    enum effect_kind kind;
    char name[PUBLISH_KEY_SIZE];
};

static struct effect *append(struct effects *effects)
{
    struct effect *effect = calloc(1, sizeof(*effect));
    if (effect == NULL)
        return NULL;
    if (effects->last != NULL)
        effects->last->next = effect;
    else
        effects->first = effect;
    effects->last = effect;
    return effect;
}

enum err_code effects_publish(struct effects *effects, struct publish_entry *entry, struct err *err)
{
    struct effect *effect = append(effects);
    if (effect == NULL) {
        publish_entry_free(entry);
        return err_nomem(err);
    }
    effect->entry = entry;
    return ERR_OK;
}

enum err_code effects_token(struct effects *effects, struct auth_token *token, struct err *err)
{
    struct effect *effect = append(effects);
    if (effect == NULL) {
        free(token);
        return err_nomem(err);
    }
    effect->token = token;
    return ERR_OK;
}

enum err_code effects_cert(struct effects *effects, struct cert *cert, struct err *err)
{
    struct effect *effect = append(effects);
    if (effect == NULL) {
        free(cert);
        return err_nomem(err);
    }
    effect->cert = cert;
    return ERR_OK;
}

enum err_code effects_add(struct effects *effects, enum effect_kind kind, const char *name,
                          struct err *err)
{
    struct effect *effect = append(effects);
    if (effect == NULL)
        return err_nomem(err);
    effect->kind = kind;
    snprintf(effect->name, sizeof(effect->name), "%s", name);
    return ERR_OK;
}

void effects_move(struct effects *to, struct effects *from)
{
    if (from->first == NULL)
        return;
    if (to->last != NULL)
        to->last->next = from->first;
    else
        to->first = from->first;
    to->last = from->last;
    *from = (struct effects){0};
}

static void commit_named(const struct effect *effect, struct app *app)
{
    char key[PUBLISH_KEY_SIZE];
    switch (effect->kind) {
    case EFFECT_UNPUBLISH:
        publish_remove(app->publish, effect->name);
        break;
    case EFFECT_END:
        auth_end(app->auth, effect->name);
        break;
    case EFFECT_END_USER:
        auth_end_user(app->auth, effect->name);
        break;
    case EFFECT_END_CREDENTIAL:
        auth_end_credential(app->auth, effect->name);
        break;
    case EFFECT_END_TENANT:
        auth_end_tenant(app->auth, effect->name);
        break;
    case EFFECT_IMAGE_REMOVED:
        image_remove(app->images, effect->name);
        break;
    case EFFECT_BACKUP_REMOVED:
        backups_remove(app->backups, effect->name);
        break;
    case EFFECT_WAKE:
        waiters_wake(app->waiters, effect->name);
        break;
    case EFFECT_CERTS_END:
        certs_end_node(app->certs, effect->name);
        break;
    case EFFECT_CERTS_OTHERS:
        certs_end_others(app->certs, effect->name);
        break;
    case EFFECT_NODE_REMOVED:
        certs_end_node(app->certs, effect->name);
        status_remove(app->status, effect->name);
        plan_key(effect->name, key);
        publish_remove(app->publish, key);
        waiters_wake(app->waiters, key); /* its agent learns that there is no such node */
        campaign_task_key(effect->name, key);
        publish_remove(app->publish, key); /* nor is it one of the next node of that name */
        waiters_wake(app->waiters, key);
        verifications_task_key(effect->name, key);
        publish_remove(app->publish, key);
        waiters_wake(app->waiters, key);
        break;
    }
}

void effects_commit(struct effects *effects, struct app *app)
{
    while (effects->first != NULL) {
        struct effect *effect = effects->first;
        effects->first = effect->next;
        if (effect->entry != NULL)
            publish_put(app->publish, effect->entry);
        else if (effect->token != NULL)
            auth_put(app->auth, effect->token, true);
        else if (effect->cert != NULL)
            certs_put(app->certs, effect->cert);
        else
            commit_named(effect, app);
        free(effect);
    }
    effects->last = NULL;
}

void effects_drop(struct effects *effects)
{
    while (effects->first != NULL) {
        struct effect *effect = effects->first;
        effects->first = effect->next;
        publish_entry_free(effect->entry);
        free(effect->token);
        free(effect->cert);
        free(effect);
    }
    effects->last = NULL;
}
