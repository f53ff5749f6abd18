#pragma once
/*
 * server/identity.h - users, sessions and tokens between the store and server/auth: what the
 * handlers of api_users.c, api_session.c and api_tokens.c share, and what is loaded at the start.
 */

#include "db/tables.h"
#include "server/app.h"
#include "server/effects.h"
#include "server/task.h"

#define USER_LOCAL_MAX        32                               /* bytes before the '@' */
#define USER_NAME_SIZE        (USER_LOCAL_MAX + 1 + NAME_SIZE) /* "NAME" or "NAME@TENANT" */
#define IDENTITY_TEXT_MAX     256                              /* of a description */
#define IDENTITY_SUBJECT_SIZE (2 * NAME_SIZE + USER_NAME_SIZE)
#define USERS_PER_TENANT_MAX  10000 /* and as many staff */
#define SESSIONS_PER_USER_MAX 20    /* one more ends the oldest */
#define TOKENS_PER_OWNER_MAX  100
#define TOKENS_PER_TENANT_MAX 1000
#define SOURCES_TEXT_SIZE     (TOKEN_SOURCES_MAX * IP_PREFIX_TEXT_MAX)
#define IDENTITY_FLUSH_S      60   /* last uses go to the store so often */
#define IDENTITY_FLUSH_MAX    4096 /* of them at a time */

/* A user's row, copied. */
struct user_row {
    bool found;
    char name[USER_NAME_SIZE];
    char tenant[NAME_SIZE];
    enum role role;
    char description[IDENTITY_TEXT_MAX + 1];
    char password_hash[PASSWORD_HASH_SIZE];
    bool disabled;
    int64_t revision, created_us, updated_us, password_us;
};
/* found = false when there is none. */
ERR_MUST_CHECK enum err_code user_row_read(struct db_ro *ro, const char *name, struct user_row *out,
                                           struct err *err);
void user_row_copy(const struct db_user *user, struct user_row *out);
ERR_MUST_CHECK enum err_code user_row_put(struct db_tx *tx, struct user_row *row, struct err *err);
json_t *user_row_to_json(const struct user_row *row); /* without the hash; NULL = no memory */

/* Whether the caller manages this user: admin, or tenant-admin of its tenant. For all others it is
 * not there (api_users.c). */
bool user_is_managed(const struct request *request, const struct user_row *row);
/* The 404 of a user that is not there, in a task. */
enum err_code user_refuse_absent(struct task *task, struct err *err);

/* The job is one of the caller's new passwords. */
void password_job_of(struct password_job *job, const struct request *request);
/* What passwords_submit() said: 429 with Retry-After when it is the caller's doing. */
void password_reply_err(struct request *request, const struct err *err);

/* The roles of people, as json_reader_enum() wants them. */
extern const char *const people_roles[];
bool role_is_tenants(enum role role);
/* The tenant of "NAME@TENANT" into *out ("" = staff), pointing into name. ERR_INVALID. */
ERR_MUST_CHECK enum err_code user_name_check(const char *name, const char **out, struct err *err);
/* Parameter 0 as a user's name; one that is too long becomes "", which is nobody's. */
void user_name_take(const struct request *request, char out[USER_NAME_SIZE]);
/* Subjects of audit rows: a tenant's stand below "tenant/T/", where its admin sees them. kind:
 * "user", "token". */
void identity_subject(const char *kind, const char *name, const char *tenant,
                      char out[IDENTITY_SUBJECT_SIZE]);
/* What happened to a user, to a token or to a session, as an event that server/event.h shows to who
 * may see it: {"action","by"?}. */
struct identity_event {
    const char *kind;   /* "user", "token", "session" */
    const char *action; /* as in the audit: "user.post" */
    const char *user;   /* it, or whose it is; "" = nobody's token */
    const char *tenant; /* "" = staff's */
    const char *id;     /* of the token or session, public; "" = the user's, all of them */
};
ERR_MUST_CHECK enum err_code identity_event_add(struct db_tx *tx, const struct request *request,
                                                const struct identity_event *what, struct err *err);
json_t *scopes_to_json(uint32_t scopes);
/* "10.0.0.0/8,2001:db8::/32" into prefixes; what we wrote ourselves is right. */
size_t sources_parse(const char *text, struct ip_prefix out[TOKEN_SOURCES_MAX]);

/* What stands for them from the commit on. */
ERR_MUST_CHECK enum err_code push_token(struct effects *effects, const struct db_token *row,
                                        struct err *err);
ERR_MUST_CHECK enum err_code push_session(struct effects *effects, const struct user_row *user,
                                          const struct db_session *session, struct err *err);
/* Those of a user that is enabled again. */
ERR_MUST_CHECK enum err_code push_tokens_of(struct effects *effects, struct db_ro *ro,
                                            const char *user, struct err *err);

/* Everything that stands for somebody, into app->auth: at the start. */
ERR_MUST_CHECK enum err_code identity_load(struct app *app, struct db_ro *ro, struct err *err);
/* Any thread, not the writer's: writes last uses and drops what is over. `wait`: until it is
 * durable; for the end of the program, when nobody calls any more. */
void identity_flush(struct app *app, bool wait);
