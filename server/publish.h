#pragma once
/*
 * server/publish.h - what HTTP threads read without asking anybody: key -> blob.
 *
 * Keys: "fabric", "tenant/T", "tenant/T/policy", "tenant/T/placement/J", "node/N/plan". The writer
 * thread puts and removes after the commit; readers take a reference. Putting allocates nothing
 * that it needs: the entry is made before the commit.
 */

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "fleet/plan.h"
#include "server/http.h"

#define PUBLISH_KEY_SIZE (3 * NAME_SIZE)
#define PUBLISH_TAG_SIZE PLAN_TAG_SIZE

struct publish;
struct publish_entry;

ERR_MUST_CHECK enum err_code publish_new(struct publish **out, struct err *err);
void publish_free(struct publish *publish);
OWN_DEFINE(publish, struct publish *, publish_free)

/* Takes a reference of the blob over, also on failure. tag: what readers compare (a plan's
 * plan_tag()), or "".
 */
ERR_MUST_CHECK enum err_code publish_entry_new(const char *key, struct blob *blob, const char *tag,
                                               struct publish_entry **out, struct err *err);
void publish_entry_free(struct publish_entry *entry);
OWN_DEFINE(publish_entry, struct publish_entry *, publish_entry_free)

void publish_put(struct publish *publish, struct publish_entry *entry); /* takes entry; replaces */
void publish_remove(struct publish *publish, const char *key);

/* A reference (blob_unref it), or NULL. tag may be NULL. */
struct blob *publish_get(struct publish *publish, const char *key, char tag[PUBLISH_TAG_SIZE]);
