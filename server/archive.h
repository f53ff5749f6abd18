#pragma once
/*
 * server/archive.h - everything the operator and the tenants want of the fleet, as one document:
 *
 *   {"format":"stellar-export", "version":1, "digest":"sha256:..." (of content), "content":{
 *      "fabric": FABRIC?,
 *      "rollout_policy": ROLLOUT_POLICY?,
 *      "tenants": [{"name","tenant":TENANT,"policy":POLICY?}],
 *      "placements": [{"tenant","job","label","placement":PLACEMENT}],
 *      "nodes": [{"name","node":NODE}],
 *      "switches": [{"name","switch":SWITCH}],
 *      "retired_labels": [{"tenant","job","label"}]}}
 *
 * No secrets (tokens, users, keys), no reports of agents, no history: revisions and times begin
 * anew where it is imported. Two stores with the same content have archives with the same digest.
 */

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/finding.h"
#include "base/json.h"
#include "db/db.h"

#define ARCHIVE_FORMAT    "stellar-export"
#define ARCHIVE_VERSION   1
#define ARCHIVE_ITEMS_MAX 100000 /* of each kind */

enum archive_kind {
    ARCHIVE_FABRIC = 0,
    ARCHIVE_ROLLOUT_POLICY,
    ARCHIVE_TENANTS, /* from here on lists */
    ARCHIVE_PLACEMENTS,
    ARCHIVE_NODES,
    ARCHIVE_SWITCHES,
    ARCHIVE_RETIRED_LABELS,
    ARCHIVE_KINDS,
};

struct archive {
    const json_t *parts[ARCHIVE_KINDS]; /* borrowed: documents, arrays; NULL = left out */
    size_t total;                       /* items of all parts */
    json_t *seen;                 /* owned: "tenant/a", "tenant/a/job/j", "node/n", "switch/s" */
    char digest[DIGEST_TEXT_MAX]; /* of the content */
};

/* Reads the frame; findings say what is wrong (also a digest that does not fit). The document is
 * borrowed for as long as the archive is used. ERR_INVALID, ERR_NOMEM. */
ERR_MUST_CHECK enum err_code archive_open(const json_t *document, struct archive *out,
                                          struct finding_list *findings, struct err *err);
void archive_release(struct archive *archive);
/* Reads items first..first+count-1 of all, as an upload would; remembers them in `seen`. */
ERR_MUST_CHECK enum err_code archive_check(struct archive *archive, size_t first, size_t count,
                                           struct finding_list *findings, struct err *err);
/* The item at `index` of all; *out_at is its place in its part. */
const json_t *archive_item(const struct archive *archive, size_t index, enum archive_kind *out_kind,
                           size_t *out_at);

/* What the store holds, as "content". New reference. On a reader thread. */
ERR_MUST_CHECK enum err_code archive_read(struct db_ro *ro, json_t **out_content, struct err *err);
