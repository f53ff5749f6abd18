#pragma once
/*
 * server/effects.h - what the commit of a group of writes will change for HTTP threads. Made (and
 * everything allocated) before the write succeeds, done in the store's `committed` hook, dropped
 * when the commit fails. Writer thread only.
 */

#include "base/err.h"
#include "server/auth.h"
#include "server/certs.h"
#include "server/publish.h"

struct app;
struct effect;

struct effects { /* in order */
    struct effect *first, *last;
};

enum effect_kind {
    EFFECT_UNPUBLISH,      /* key */
    EFFECT_END,            /* principal's name */
    EFFECT_END_USER,       /* user */
    EFFECT_END_CREDENTIAL, /* public id */
    EFFECT_END_TENANT,     /* tenant */
    EFFECT_IMAGE_REMOVED,  /* image's id: its file goes */
    EFFECT_BACKUP_REMOVED, /* backup's id: its files go */
    EFFECT_NODE_REMOVED,   /* node's name */
    EFFECT_WAKE,           /* key that requests wait for */
    EFFECT_CERTS_END,      /* node's name */
    EFFECT_CERTS_OTHERS,   /* fingerprint of the one that stays */
};

/* All take over what they are given, also on failure. */
ERR_MUST_CHECK enum err_code effects_publish(struct effects *effects, struct publish_entry *entry,
                                             struct err *err);
ERR_MUST_CHECK enum err_code effects_token(struct effects *effects, struct auth_token *token,
                                           struct err *err);
ERR_MUST_CHECK enum err_code effects_cert(struct effects *effects, struct cert *cert,
                                          struct err *err);
ERR_MUST_CHECK enum err_code effects_add(struct effects *effects, enum effect_kind kind,
                                         const char *name, struct err *err);

void effects_move(struct effects *to, struct effects *from);
void effects_commit(struct effects *effects, struct app *app);
void effects_drop(struct effects *effects);
