/*
 * server/audit_text.c - see audit_text.h.
 */
#include "server/audit_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "server/publish.h"

#define STATE_FRAME_MAX (128 + DIGEST_TEXT_MAX) /* without the document */

/* Canonical: the members are in order. document NULL = not kept here. */
static char *state_text(int64_t revision, const char *digest, const char *document)
{
    size_t len = document == NULL ? 0 : strlen(document);
    if (revision == 0)
        return strdup("");
    char *text = malloc(STATE_FRAME_MAX + len);
    if (text == NULL)
        return NULL;
    char *at = text_put(text_put(text_put(text, "{\"digest\":\""), digest), "\"");
    if (len > 0 && len <= AUDIT_DOCUMENT_MAX)
        at = text_put(text_put(at, ",\"document\":"), document);
    text_put(text_put_number(text_put(at, ",\"revision\":"), revision), "}");
    return text;
}

/* What is published under key, if it is the revision that the write replaces: an earlier write of
 * the same group is not shown yet. The document is the whole or the named member of it. */
static char *published(const struct write *w, const char *key, const char *member)
{
    char etag[32];
    etag_format(w->current, etag);
    struct blob *blob = publish_get(w->app->publish, key, NULL);
    char *text = NULL;
    if (blob != NULL && strcmp(blob->etag, etag) == 0 && blob->len <= 2 * AUDIT_DOCUMENT_MAX) {
        OWN(json) json_t *value = json_loadb(blob->data, blob->len, 0, NULL);
        const json_t *document = member == NULL ? value : json_object_get(value, member);
        text = document == NULL ? NULL : json_canonical(document, NULL);
    }
    blob_unref(blob);
    return text;
}

static bool keeps_revisions(const struct write *w)
{
    const char *slash = strrchr(w->subject, '/');
    return slash == NULL || strcmp(slash, "/policy") == 0;
}

/* NULL = not known here, or no memory: then the digest must do. */
static char *document_before(const struct write *w)
{
    char key[PUBLISH_KEY_SIZE];
    const struct world_node *node = w->node[0] == '\0' ? NULL : world_node_get(w->world, w->node);
    if (keeps_revisions(w))
        return NULL;
    if (node != NULL) /* the write is not in the world yet */
        return strdup(node->document.text);
    if (w->job[0] == '\0')
        return published(w, w->subject, NULL);
    snprintf(key, sizeof(key), "tenant/%s/placement/%s", w->tenant, w->job);
    return published(w, key, "placement");
}

enum err_code audit_text_of_write(const struct write *w, char **out_before, char **out_after,
                                  struct err *err)
{
    OWN(str) char *document = w->current == 0 ? NULL : document_before(w);
    char *before = state_text(w->current, w->current_digest, document);
    char *after = state_text(w->text == NULL ? 0 : w->revision, w->digest,
                             keeps_revisions(w) ? NULL : w->text);
    if (before == NULL || after == NULL) {
        free(before);
        free(after);
        return err_nomem(err);
    }
    *out_before = before;
    *out_after = after;
    return ERR_OK;
}
