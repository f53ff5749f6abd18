/*
 * server/api_patch.c - PATCH: the document in force, changed by a JSON Patch or a JSON Merge Patch
 * on the writer thread, so that nothing comes in between; the result goes the way of a PUT.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json_patch.h"
#include "server/pipeline.h"

static enum err_code refuse(struct write *w, struct err *err)
{
    struct err why = *err;
    finding_add(&w->findings, &(struct finding){.rule = "patch",
                                                .severity = FINDING_ERROR,
                                                .pointer = why.pointer,
                                                .message = why.text});
    return write_refuse(w, 422, "patch-failed", err, "%s cannot be patched: %.180s", w->subject,
                        why.text);
}

static enum err_code derive(struct write *w, struct db_ro *ro, json_t **out, struct err *err)
{
    OWN(json) json_t *document = NULL;
    const json_t *patch = request_json(w->request);
    enum err_code code = w->kind->load(w, ro, &document, err);
    if (code == ERR_OK)
        code = write_check_precondition(w, err);
    if (code != ERR_OK)
        return code;
    code = request_is_merge_patch(w->request) ? json_merge_apply(document, patch, out, err)
                                              : json_patch_apply(document, patch, out, err);
    return code == ERR_INVALID || code == ERR_LIMIT ? refuse(w, err) : code;
}

void write_submit_patch(struct write *w)
{
    w->derive = derive;
    strcpy(w->origin, "patch");
    write_submit(w);
}
