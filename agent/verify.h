#pragma once
/*
 * agent/verify.h - the tests between nodes that the server orders (fleet/verify.h): takes a task,
 * does this node's part on a thread of its own, and gives the report to the link. One at a time;
 * a cancelled task is stopped. Keeps nothing on disk: a test that a restart cuts off begins again,
 * or is unknown to the server, which waits no longer than the task's time.
 */

#include <stdatomic.h>

#include "agent/link.h"
#include "base/loop.h"
#include "base/own.h"
#include "fleet/verify.h"

/* Blocks for the task's deadline at most; *stop, set by another thread, ends it soon. */
typedef void verifier_run_fn(const struct verify_task *task, const atomic_bool *stop,
                             struct verify_report *out);

struct verifier;

/* node and link are borrowed. */
ERR_MUST_CHECK enum err_code verifier_new(struct loop *loop, struct link *link, const char *node,
                                          verifier_run_fn *run, struct verifier **out,
                                          struct err *err);
void verifier_free(struct verifier *verifier);
OWN_DEFINE(verifier, struct verifier *, verifier_free)

/* Tasks are asked for from now on. */
void verifier_start(struct verifier *verifier);
/* The body of an answer: hostile. False: it is no news. */
bool verifier_take(struct verifier *verifier, const char *body, size_t len);

/* For a node without RDMA devices of its own, as a simulated one: every test is "unsupported". */
void verifier_run_nothing(const struct verify_task *task, const atomic_bool *stop,
                          struct verify_report *out);
