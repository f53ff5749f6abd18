#pragma once
/*
 * server/pipeline.h - the one way of a write: check, store, answer (picture in pipeline.c).
 *
 * Each resource is a struct write_kind: what it touches and how it is stored. Everything else
 * (preconditions, rules, overrides, generation, audit, event, dry run, answer) is here, once.
 */

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "db/db.h"
#include "db/tables.h"
#include "fleet/rules.h"
#include "server/app.h"

#define WRITE_SUBJECT_SIZE (3 * NAME_SIZE)
#define WRITE_TEXT_MAX     256              /* of ?message= and ?reason= */
#define WRITE_ETAGS_MAX    8                /* of one If-Match */
#define WRITE_OVERRIDABLE  "bw-limit-floor" /* the rule that an admin may override */

struct write;

struct write_kind {
    const char *action;  /* of the audit row: "policy.put" */
    const char *event;   /* kind of the event: "policy.changed"; NULL = none */
    const char *refused; /* problem code: "policy-refused" */
    bool audited;
    bool body; /* a PUT: the answer names revision and findings; else a DELETE */
    enum change_kind change;
    bool ruled;    /* rules_check(change) */
    bool releases; /* a dry run compares with the plans that nodes were given, not the newest */
    /* Of a PUT: reads a document into the resource's struct, findings into w->findings;
     * ERR_INVALID when they refuse it. The document is borrowed: what is kept of it is a copy. */
    enum err_code (*read)(struct write *w, const json_t *document, struct err *err);
    /* Of a PUT that can be a PATCH too: w->current and the document in force, as the open
     * transaction has it; write_refuse() for 404. New reference. */
    enum err_code (*load)(struct write *w, struct db_ro *ro, json_t **out, struct err *err);
    /* Looks its target up: sets current, current_digest, unchanged; write_refuse() for 404. */
    enum err_code (*prepare)(struct write *w, struct err *err);
    /* Exchanges the new value with the world's; twice = nothing. */
    void (*swap)(struct write *w);
    /* Nodes whose plan may depend on the value as it is in the world now. NULL = none. */
    void (*each_node)(struct write *w, world_node_fn *fn, void *arg);
    /* Adds members to the answer, or sets w->enforcement when a stored value is replaced, while
     * the new value is in the world; may be NULL. */
    enum err_code (*describe)(struct write *w, json_t *answer, struct err *err);
    /* SQL; sets w->revision. */
    enum err_code (*store)(struct write *w, struct db_tx *tx, struct err *err);
    /* Fills w->effects; w->revision is known. */
    enum err_code (*effects)(struct write *w, struct err *err);
    /* Revision and digest into the world, after the last swap. Cannot fail. */
    void (*settle)(struct write *w);
    void (*release)(struct write *w); /* frees w and what it holds */
};

enum write_mode {
    WRITE_STORE = 0,
    WRITE_DRY_RUN,
    WRITE_VALIDATE, /* findings only, no precondition */
};

struct preview;

/* The first member of every resource's own struct. Made on an HTTP thread, then the writer's. */
struct write {
    const struct write_kind *kind;
    struct app *app;
    struct world *world;
    struct request *request;
    enum write_mode mode;
    char tenant[NAME_SIZE]; /* of the change; "" = none */
    char job[NAME_SIZE];
    char node[NAME_SIZE];
    char subject[WRITE_SUBJECT_SIZE]; /* "tenant/a/policy"; also the document's key */
    /* Makes the document out of what is stored, on the writer thread: a patch, an old revision.
     * NULL: it came with the request, or was made already. */
    enum err_code (*derive)(struct write *w, struct db_ro *ro, json_t **out, struct err *err);
    int64_t wanted;               /* of a rollback: the revision that comes back */
    const char *message;          /* of the revision; "" = none; borrowed of the request */
    char origin[32];              /* of the revision: "upload", "patch", "rollback:3" */
    char *text;                   /* owned canonical document; NULL for DELETE */
    char digest[DIGEST_TEXT_MAX]; /* of text */
    struct finding_list findings;
    /* prepare: */
    int64_t current; /* revision in force, 0 = none */
    char current_digest[DIGEST_TEXT_MAX];
    bool unchanged;
    /* store: */
    int64_t revision, generation;
    struct effects effects;
    json_t *answer;    /* owned */
    char *enforcement; /* owned, a member of the answer as text; NULL = none, or in answer */
    struct blob *blob; /* owned; the answer as text, NULL = of answer */
    /* refusal */
    int refusal; /* status, 0 = none */
    const char *refusal_code;
    char refusal_text[256];
    char etag[32];
    struct preview *preview; /* dry run under way */
};

/* Base of a write; `w` is zeroed memory of the resource's struct. Reads the request's parameters
 * ?dry_run, ?message, ?reason, ?override. On failure it has replied and freed w (false). */
bool write_init(struct write *w, const struct write_kind *kind, struct request *request);
/* Hands w to the writer thread, or replies when the findings already refuse it. */
void write_submit(struct write *w);
/* Replies with what stopped it and frees w. */
void write_fail(struct write *w, const struct err *err);
/* After the body was read with `code`: sets its canonical text and digest and submits, also what
 * the findings refuse (ERR_INVALID); fails with err otherwise. */
void write_submit_document(struct write *w, const json_t *document, enum err_code code,
                           struct err *err);
/* The request's body is the document: reads and submits it. */
void write_submit_body(struct write *w);
/* api_patch.c: the request's body is a patch of the document in force. */
void write_submit_patch(struct write *w);
/* api_rollback.c: the request's body names a revision. The kind has `load`. */
void write_submit_rollback(struct write *w);
void write_release(struct write *w); /* the base's part of kind->release */

/* From prepare or store: the answer is this problem. Returns the code to return. */
enum err_code write_refuse(struct write *w, int status, const char *code, struct err *err,
                           const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* 412 unless the request's If-Match and If-None-Match fit w->current. */
ERR_MUST_CHECK enum err_code write_check_precondition(struct write *w, struct err *err);
/* Stores w->text as a revision of the document w->subject; sets w->revision. */
ERR_MUST_CHECK enum err_code write_revision(struct write *w, struct db_tx *tx, struct err *err);
/* Of a document with revisions: the body of revision `number`. New reference; ERR_NOT_FOUND. */
ERR_MUST_CHECK enum err_code write_revision_body(struct write *w, struct db_ro *ro, int64_t number,
                                                 json_t **out, struct err *err);

/* Blob of w->text under `key`, with the revision as ETag, at commit. */
ERR_MUST_CHECK enum err_code write_publish(struct write *w, const char *key, struct err *err);

/* preview.c: a dry run's plans, in slices on the writer thread. Replies and frees w. */
void preview_start(struct write *w);
void preview_free(struct preview *preview);

/* Helpers shared with handlers that do not go this way. --------------------------------------- */

/* Audit row (none without an action) and event (NULL = none; event_body is its JSON text) of a
 * change made by the request's principal. */
ERR_MUST_CHECK enum err_code change_record(struct db_tx *tx, const struct request *request,
                                           const struct db_audit *audit, const char *event,
                                           const char *event_body, struct err *err);

/* If-Match and If-None-Match against the revision in force, 0 = there is none; the http layer has
 * made sure that one of them is there where it must be. When they do not hold, text says why, for a
 * 412 about `what`. */
#define PRECONDITION_TEXT_MAX 256
bool precondition_holds(const struct request *request, const char *what, int64_t current,
                        char text[PRECONDITION_TEXT_MAX]);

/* An overridden rule's errors become warnings; what stays an error refuses. A list that is not
 * whole stays as it is. */
void findings_override(struct finding_list *list, const char *rule);

/* Takes an ETag list apart: does it hold "revision"? ("*" holds any.) */
bool etag_list_has(const char *list, int64_t revision);
