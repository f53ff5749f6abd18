/*
 * server/problem.c - see problem.h.
 */
#include "server/problem.h"

#include "base/own.h"

json_t *problem_to_json(int status, const char *title, const char *code, const char *detail,
                        const char *request_id, const struct finding_list *findings)
{
    /* The type stays about:blank, so the title is the status' own phrase (RFC 9457 4.2.1); what
     * programs branch on is `code`. */
    OWN(json)
    json_t *problem =
        json_pack("{s:s, s:s, s:i, s:s, s:s, s:s}", "type", "about:blank", "title", title, "status",
                  status, "code", code, "detail", detail, "request_id", request_id);
    if (problem == NULL)
        return NULL;
    if (findings != NULL && findings->count > 0 &&
        json_object_set_new(problem, "errors", finding_list_to_json(findings)) != 0)
        return NULL;
    if (findings != NULL && (findings->truncated || findings->nomem) &&
        json_object_set_new(problem, "truncated", json_true()) != 0)
        return NULL;
    return GIVE(problem);
}
