/*
 * server/denials.c - see denials.h.
 */
#include "server/denials.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "db/tables.h"
#include "server/app.h"
#include "server/identity.h"
#include "server/route.h"

#define MINUTE_NS (60 * NS_PER_S)

struct denials {
    pthread_mutex_t lock;
    struct clock *clock;
    int64_t minute_ns; /* when it began */
    uint32_t all[DENIAL_KINDS];
    uint8_t callers[DENIAL_KINDS][DENIALS_CALLERS];
    uint64_t untold, total;
};

enum err_code denials_new(struct clock *clock, struct denials **out, struct err *err)
{
    struct denials *denials = calloc(1, sizeof(*denials));
    if (denials == NULL)
        return err_nomem(err);
    pthread_mutex_init(&denials->lock, NULL);
    denials->clock = clock;
    denials->minute_ns = clock->mono_ns(clock);
    *out = denials;
    return ERR_OK;
}

void denials_free(struct denials *denials)
{
    if (denials == NULL)
        return;
    pthread_mutex_destroy(&denials->lock);
    free(denials);
}

bool denials_take(struct denials *denials, enum denial_kind kind, const char *caller)
{
    int64_t now_ns = denials->clock->mono_ns(denials->clock);
    pthread_mutex_lock(&denials->lock);
    if (now_ns - denials->minute_ns >= MINUTE_NS) {
        denials->minute_ns = now_ns;
        memset(denials->all, 0, sizeof(denials->all));
        memset(denials->callers, 0, sizeof(denials->callers));
    }
    uint8_t *own = &denials->callers[kind][text_hash(caller) % DENIALS_CALLERS];
    bool good = *own < DENIALS_CALLER_MAX && denials->all[kind] < DENIALS_ALL_MAX;
    *own += good;
    denials->all[kind] += good;
    denials->untold += !good;
    denials->total += !good;
    pthread_mutex_unlock(&denials->lock);
    return good;
}

uint64_t denials_untold(struct denials *denials)
{
    pthread_mutex_lock(&denials->lock);
    uint64_t n = denials->untold;
    denials->untold = 0;
    pthread_mutex_unlock(&denials->lock);
    return n;
}

void denials_count(struct denials *denials, uint64_t n)
{
    pthread_mutex_lock(&denials->lock);
    denials->untold += n;
    pthread_mutex_unlock(&denials->lock);
}

uint64_t denials_total(struct denials *denials)
{
    pthread_mutex_lock(&denials->lock);
    uint64_t n = denials->total;
    pthread_mutex_unlock(&denials->lock);
    return n;
}

/* Rows ---------------------------------------------------------------------------------------- */

struct denial { /* everything copied: the request goes on without it */
    struct app *app;
    const char *action;
    uint64_t count; /* refusals that it stands for */
    char actor[AUDIT_ACTOR_SIZE];
    char subject[IDENTITY_SUBJECT_SIZE + 64];
    char request_id[HTTP_REQUEST_ID_SIZE];
    char *after; /* owned */
};

static void denial_free(struct denial *denial)
{
    free(denial->after);
    free(denial);
}

static enum err_code write_row(struct db_tx *tx, void *arg, struct err *err)
{
    const struct denial *denial = arg;
    const struct db_audit row = {.actor = denial->actor,
                                 .action = denial->action,
                                 .subject = denial->subject,
                                 .request_id = denial->request_id,
                                 .after = denial->after};
    return audit_add(tx, &row, err);
}

static void written(void *arg, enum err_code code, const struct err *err)
{
    struct denial *denial = arg;
    if (code != ERR_OK) {
        log_warning("audit", "a refused call (request %s) is not in the audit: %s",
                    denial->request_id, err->text);
        denials_count(denial->app->denials, denial->count);
    }
    denial_free(denial);
}

/* Takes denial and what it says; both may be NULL. */
static void submit(struct app *app, struct denial *denial, json_t *after)
{
    struct err err = ERR_INIT;
    char *text = after == NULL ? NULL : json_canonical(after, NULL);
    json_decref(after);
    if (denial == NULL || text == NULL) {
        free(text);
        denials_count(app->denials, denial == NULL ? 1 : denial->count);
        free(denial);
        return;
    }
    denial->app = app;
    denial->after = text;
    if (db_write(app->db, write_row, written, denial, &err) != ERR_OK)
        written(denial, err.code, &err);
}

static struct denial *denial_new(const char *action, const char *actor,
                                 const struct request *request)
{
    struct denial *denial = calloc(1, sizeof(*denial));
    if (denial == NULL)
        return NULL;
    denial->action = action;
    denial->count = 1;
    text_copy(denial->actor, sizeof(denial->actor), actor);
    text_copy(denial->request_id, sizeof(denial->request_id),
              request == NULL ? "" : request_id(request));
    return denial;
}

void denial_call(struct app *app, const struct request *request, int status, const char *code)
{
    const struct principal *who = request_principal(request);
    char path[DENIALS_PATH_MAX + 1], actor[AUDIT_ACTOR_SIZE];
    if (!denials_take(app->denials, DENIAL_CALL, who->user[0] != '\0' ? who->user : who->name))
        return;
    snprintf(path, sizeof(path), "%s", request_path(request));
    text_sanitize(path); /* the cut may go through a character */
    principal_actor(who, actor);
    struct denial *denial = denial_new("request.denied", actor, request);
    if (denial != NULL)
        identity_subject("denied", request_route(request)->operation_id, who->tenant,
                         denial->subject);
    submit(app, denial,
           json_pack("{ss, ss, ss, ss, si}", "code", code, "from", request_peer(request), "method",
                     request_method(request), "path", path, "status", status));
}

void denial_login(struct app *app, const struct request *request, const char *user,
                  const char *tenant)
{
    const char *from = request_peer(request);
    if (!denials_take(app->denials, DENIAL_LOGIN, user[0] != '\0' ? user : from))
        return;
    struct denial *denial = denial_new("session.denied", "anonymous", request);
    if (denial != NULL && user[0] != '\0')
        identity_subject("user", user, tenant, denial->subject);
    else if (denial != NULL)
        strcpy(denial->subject, "user");
    submit(app, denial, json_pack("{ss, ss}", "code", "login-failed", "from", from));
}

void denials_flush(struct app *app)
{
    uint64_t n = denials_untold(app->denials);
    if (n == 0)
        return;
    struct denial *denial = denial_new("request.denied", "stellard", NULL);
    if (denial != NULL) {
        denial->count = n;
        strcpy(denial->subject, "denied");
        submit(app, denial, json_pack("{sI}", "more", (json_int_t)n));
        return;
    }
    denials_count(app->denials, n);
}
