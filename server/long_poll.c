/*
 * server/long_poll.c - see long_poll.h.
 */
#include "server/long_poll.h"

#include <string.h>

#include "server/api.h"

bool long_poll_answer(struct request *request, struct blob *blob, const char *tag, bool wait_over)
{
    const char *known = request_query(request, "known");
    bool replied = true;
    if (blob != NULL && (known == NULL || strcmp(known, tag) != 0))
        request_reply_blob(request, 200, blob);
    else if (wait_over)
        request_reply_json(request, 204, NULL, NULL, NULL);
    else
        replied = false;
    blob_unref(blob);
    return replied;
}

void long_poll(struct request *request, const struct long_poll *poll)
{
    struct app *app = request_app(request);
    struct err err = ERR_INIT;
    char tag[PUBLISH_TAG_SIZE] = "";
    int64_t wait_ns;
    if (request_duration(request, "wait", 0, poll->wait_max_ns, &wait_ns, &err) != ERR_OK) {
        request_reply_problem(request, 400, "invalid-parameter", NULL, NULL, "%s", err.text);
        return;
    }
    if (poll->reply(request, wait_ns == 0))
        return;
    const char *known = request_query(request, "known");
    OWN(str) char *wanted = strdup(known == NULL ? "" : known);
    enum err_code code = wanted == NULL ? err_nomem(&err) : ERR_OK;
    if (code == ERR_OK)
        code = waiters_add(app->waiters, poll->key, request,
                           app->clock->mono_ns(app->clock) + wait_ns, poll->woken, &err);
    if (code != ERR_OK) {
        request_reply_err(request, &err);
        return;
    }
    /* The request may be gone by now. What was published between the look and the entry woke
     * nobody.
     */
    struct blob *blob = publish_get(app->publish, poll->key, tag);
    if (blob != NULL && strcmp(wanted, tag) != 0)
        waiters_wake(app->waiters, poll->key);
    blob_unref(blob);
}
