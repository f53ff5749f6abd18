#pragma once
/*
 * cli/write.h - documents to the server: with what is there now as the precondition, so that
 * nobody's change is lost unseen.
 */

#include "cli/input.h"

#define WRITE_TRIES_MAX 3 /* when somebody else wrote in between */

/* What the server has of a thing. */
struct current {
    bool exists;
    char etag[256];
    json_t *document; /* owned */
};
void current_release(struct current *current);
#define OWN_CURRENT __attribute__((cleanup(current_release)))

/* EXIT_DONE also when there is none (exists is false). Other failures were said. */
enum exit_code write_look(struct context *context, const struct document *document,
                          struct current *out);

/* How to write: from --dry-run, --message, --override, --reason and --if-match. */
struct writing {
    bool dry_run;
    const char *message, *override, *reason, *if_match;
};
void writing_init(struct writing *writing, const struct arguments *arguments);

/*
 * Makes or changes one thing and says what came of it. When somebody wrote in between, the
 * difference that they made is shown and it is tried again - or, with --if-match, not
 * (EXIT_CONFLICT).
 */
enum exit_code write_document(struct context *context, const struct document *document,
                              const struct writing *writing);

/* Says what a write was answered: revision, generation, findings; or the preview of a dry run.
 * `what` names the thing: "policy a"; `done` is said when the answer has no revision: "removed". */
void write_report(struct context *context, const char *what, const char *done,
                  const struct reply *reply);

/* A call that writes: path parameters, precondition and the options of `writing` that the operation
 * takes. ERR_INVALID: one that it does not take. */
ERR_MUST_CHECK enum err_code write_call(const struct document *document, const char *operation,
                                        const struct writing *writing, struct call *out,
                                        struct err *err);
/* "policy a", "placement a/nlp_job". */
void write_name(const struct document *document, char *out, size_t size);
/* A document of the words and --tenant of a command line. */
ERR_MUST_CHECK enum err_code write_subject(const struct kind *kind, const char *name,
                                           const struct arguments *arguments, struct document *out,
                                           struct err *err);
