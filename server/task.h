#pragma once
/*
 * server/task.h - a write that is no change of the desired state: tokens, receipts, state reports.
 * One function on the writer thread, one answer after the commit; POSTs may carry an
 * Idempotency-Key.
 */

#include <jansson.h>

#include "db/db.h"
#include "server/app.h"

#define TASK_KEY_MAX 128 /* bytes of an Idempotency-Key */

/* The first member of the handler's own struct. */
struct task {
    struct app *app;
    struct request *request;
    /* Sets status and answer, fills effects; leaves the world as it is. */
    enum err_code (*run)(struct db_tx *tx, struct task *task, struct err *err);
    void (*settle)(struct task *task);  /* changes the world; cannot fail; may be NULL */
    void (*after)(struct task *task);   /* the commit; what the answer says is begun; may be NULL */
    void (*release)(struct task *task); /* frees the struct, after task_release() */
    bool idempotent;                    /* honours Idempotency-Key */
    /* What a repetition's body must be; "" = the same bytes. The digest is stored, so it must not
     * be of a secret that can be guessed. */
    char same[DIGEST_TEXT_MAX];
    int status;
    char cookie[160]; /* Set-Cookie of the answer; "" = none */
    int64_t revision; /* becomes the answer's ETag, and a 412's; 0 = none */
    json_t *answer;   /* owned; NULL = none (204) */
    json_t *kept; /* owned; what a repetition is answered with, without secrets; NULL = answer */
    struct effects effects;
    char location[128]; /* of what was made; "" = none */
    int refusal;        /* status of a problem, 0 = none */
    const char *refusal_code;
    char refusal_text[256];
};

void task_init(struct task *task, struct request *request,
               enum err_code (*run)(struct db_tx *tx, struct task *task, struct err *err),
               void (*release)(struct task *task));
enum err_code task_refuse(struct task *task, int status, const char *code, struct err *err,
                          const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* If-Match and If-None-Match against the revision in force (0 = there is none) of `what`, which the
 * refusal names; ERR_OK when they hold. */
ERR_MUST_CHECK enum err_code task_check_match(struct task *task, const char *what, int64_t current,
                                              struct err *err);
/* Who asks, as the author of what is made (principal_actor()); cut where there is no room. */
void task_author(const struct task *task, char *out, size_t size);
void task_submit(struct task *task);
void task_release(struct task *task);
