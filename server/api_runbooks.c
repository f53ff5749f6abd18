/*
 * server/api_runbooks.c - the runbooks, and runs of them.
 */
#include "server/api.h"
#include "server/diagnosis.h"

void api_runbooks_list(struct request *request)
{
    OWN(json) json_t *items = json_array();
    for (size_t i = 0; i < runbook_count; i++)
        json_array_append_new(items, runbook_to_json(runbooks[i]));
    request_reply_json(request, 200, json_pack("{sO}", "items", items), NULL, NULL);
}

void api_runbook_run(struct request *request)
{
    const char *name = request_param(request, 0);
    const struct runbook *runbook = runbook_find(name);
    if (runbook == NULL) {
        request_reply_problem(request, 404, "not-found", NULL, NULL,
                              "there is no runbook '%.63s'; GET /v1/runbooks lists them", name);
        return;
    }
    struct diagnosis *diagnosis = api_alloc(request, sizeof(*diagnosis));
    if (diagnosis == NULL)
        return;
    diagnosis->request = request;
    diagnosis->runbook = runbook;
    if (diagnosis_read(diagnosis))
        diagnosis_start(diagnosis);
    else
        diagnosis_free(diagnosis);
}
