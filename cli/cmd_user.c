/*
 * cli/cmd_user.c - stellarctl user: people and their passwords. A password never stands on the
 * command line.
 */
#include <string.h>

#include "base/own.h"
#include "cli/body.h"
#include "cli/command.h"
#include "cli/password.h"
#include "cli/write.h"

static void report(struct context *context, const char *name, const char *done,
                   const struct reply *reply)
{
    char what[160];
    snprintf(what, sizeof(what), "user %.130s", name);
    write_report(context, what, done, reply);
}

enum exit_code cmd_user_create(struct context *context, const struct arguments *arguments)
{
    OWN_REPLY struct reply reply = {.printed = false};
    struct err err = ERR_INIT;
    struct call call;
    char *password = NULL;
    const char *name = arguments->words[0];
    enum err_code code = body_call("POST", "/v1/users", &call, &err);
    if (code == ERR_OK && !arguments_has(arguments, OPTION_ROLE))
        code = err_set(&err, ERR_INVALID, "user create needs --role");
    if (code == ERR_OK)
        code = password_new(context, arguments, &password, &err);
    if (code != ERR_OK) {
        password_free(password);
        return context_fail(context, &err);
    }
    json_t *body = json_pack("{s:s, s:s, s:s, s:s*}", "name", name, "role",
                             arguments_get(arguments, OPTION_ROLE), "password", password,
                             "description", arguments_get(arguments, OPTION_DESCRIPTION));
    password_free(password);
    call_add(&call, OPERATION_QUERY, "reason", arguments_get(arguments, OPTION_REASON));
    enum exit_code done = body_send(context, &call, body, &reply);
    if (done == EXIT_DONE)
        report(context, name, "created", &reply);
    return done;
}

/* Whether the caller is this user: then the server wants the old password. */
static enum exit_code is_own(struct context *context, const char *name, bool *own)
{
    OWN_REPLY struct reply reply = {.printed = false};
    struct err err = ERR_INIT;
    struct call call;
    *own = false;
    if (context->print_request)
        return EXIT_DONE;
    if (body_call("GET", "/v1/session", &call, &err) != ERR_OK)
        return context_fail(context, &err);
    enum exit_code code = context_call(context, &call, &reply);
    const char *user = json_string_value(json_object_get(reply.json, "user"));
    *own = code == EXIT_DONE && user != NULL && strcmp(user, name) == 0;
    return code;
}

enum exit_code cmd_user_password(struct context *context, const struct arguments *arguments)
{
    OWN_REPLY struct reply reply = {.printed = false};
    struct err err = ERR_INIT;
    struct call call;
    char *old = NULL, *new = NULL;
    const char *name = arguments->words[0];
    bool own;
    enum exit_code done = is_own(context, name, &own);
    if (done != EXIT_DONE)
        return done;
    enum err_code code = body_call("POST", "/v1/users/{user}/password", &call, &err);
    if (code == ERR_OK && own)
        code = password_ask(context, "Old password", &old, &err);
    if (code == ERR_OK)
        code = password_new(context, arguments, &new, &err);
    json_t *body = code == ERR_OK ? json_pack("{s:s*, s:s}", "old", old, "new", new) : NULL;
    password_free(old);
    password_free(new);
    if (code != ERR_OK)
        return context_fail(context, &err);
    call_add(&call, OPERATION_PATH, "user", name);
    call_add(&call, OPERATION_QUERY, "reason", arguments_get(arguments, OPTION_REASON));
    done = body_send(context, &call, body, &reply);
    if (done == EXIT_DONE)
        report(context, name, "password set", &reply);
    return done;
}
