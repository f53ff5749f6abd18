/*
 * cli/cmd_login.c - stellarctl login and logout. The password buys a session, the session makes a
 * token with a short life for the profile, and the session ends: no cookie and no password is kept.
 */
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "cli/body.h"
#include "cli/command.h"
#include "cli/password.h"
#include "cli/profile.h"

#define LIFETIME_DEFAULT_S (12 * 3600)
#define COOKIE_MAX         512
#define PROFILE_DEFAULT    "default"

/* "__Host-stellar=ss_..." of the answer's Set-Cookie. */
static enum err_code read_cookie(const struct reply *reply, char out[COOKIE_MAX], struct err *err)
{
    if (!http_answer_header(&reply->answer, "Set-Cookie", out, COOKIE_MAX))
        return err_set(err, ERR_UNAVAILABLE, "the server gave no session");
    out[strcspn(out, ";")] = '\0';
    return ERR_OK;
}

/* The server takes a cookie from its own pages only, which say where they come from. */
static void add_session(struct call *call, const struct context *context, const char *cookie)
{
    call_add(call, OPERATION_HEADER, "Cookie", cookie);
    call_add(call, OPERATION_HEADER, "Origin", context->server);
}

static enum exit_code open_session(struct context *context, const struct arguments *arguments,
                                   char cookie[COOKIE_MAX], json_t **who)
{
    OWN_REPLY struct reply reply = {.printed = false};
    OWN(str) char *password = NULL;
    struct err err = ERR_INIT;
    struct call call;
    enum err_code code = body_call("POST", "/v1/session", &call, &err);
    if (code == ERR_OK && !arguments_has(arguments, OPTION_USER))
        code = err_set(&err, ERR_INVALID, "login needs --user NAME");
    if (code == ERR_OK)
        code = password_get(context, arguments, "Password", &password, &err);
    if (code != ERR_OK)
        return context_fail(context, &err);
    json_t *body = json_pack("{s:s, s:s}", "name", arguments_get(arguments, OPTION_USER),
                             "password", password);
    enum exit_code done = body_send(context, &call, body, &reply);
    explicit_bzero(password, strlen(password));
    if (done != EXIT_DONE)
        return done;
    if (read_cookie(&reply, cookie, &err) != ERR_OK)
        return context_fail(context, &err);
    *who = json_incref(reply.json);
    return EXIT_DONE;
}

static enum exit_code make_token(struct context *context, const char *cookie, const json_t *who,
                                 int64_t lifetime_s, struct reply *out)
{
    struct err err = ERR_INIT;
    struct call call;
    if (body_call("POST", "/v1/tokens", &call, &err) != ERR_OK)
        return context_fail(context, &err);
    add_session(&call, context, cookie);
    json_t *body =
        json_pack("{s:s*, s:s*, s:s, s:I}", "role", json_string_value(json_object_get(who, "role")),
                  "tenant", json_string_value(json_object_get(who, "tenant")), "description",
                  "stellarctl login", "lifetime_s", (json_int_t)lifetime_s);
    return body_send(context, &call, body, out);
}

static void close_session(struct context *context, const char *cookie)
{
    OWN_REPLY struct reply reply = {.printed = false};
    struct err err = ERR_INIT;
    struct call call;
    if (body_call("DELETE", "/v1/session", &call, &err) != ERR_OK)
        return;
    add_session(&call, context, cookie);
    context_call(context, &call, &reply); /* if it cannot: the session idles out by itself */
}

static enum err_code keep_token(const struct context *context, const struct arguments *arguments,
                                const json_t *token, struct err *err)
{
    OWN(profiles) struct profiles *profiles = NULL;
    struct profile *profile = NULL;
    enum err_code code = profiles_load(&profiles, err);
    if (code != ERR_OK)
        return code;
    const char *name = arguments_get(arguments, OPTION_PROFILE);
    if (name == NULL)
        name = profiles->current != NULL ? profiles->current : PROFILE_DEFAULT;
    code = profiles_put(profiles, name, &profile, err);
    if (code == ERR_OK)
        code = profile_set_text(&profile->server, context->server, err);
    if (code == ERR_OK && context->ca_file != NULL)
        code = profile_set_text(&profile->ca_file, context->ca_file, err);
    if (code == ERR_OK)
        code = profile_set_text(&profile->token_file, NULL, err);
    if (code == ERR_OK)
        code = profile_set_text(&profile->token, json_string_value(json_object_get(token, "token")),
                                err);
    if (code == ERR_OK)
        code = profile_set_text(&profile->token_id, json_string_value(json_object_get(token, "id")),
                                err);
    if (code == ERR_OK && profiles->current == NULL)
        code = profile_set_text(&profiles->current, profile->name, err);
    return code == ERR_OK ? profiles_save(profiles, err) : code;
}

enum exit_code cmd_login(struct context *context, const struct arguments *arguments)
{
    OWN_REPLY struct reply reply = {.printed = false};
    OWN(json) json_t *who = NULL;
    OWN(profiles) struct profiles *profiles = NULL;
    struct err err = ERR_INIT;
    int64_t lifetime_s = LIFETIME_DEFAULT_S;
    char cookie[COOKIE_MAX];
    if (arguments_seconds(arguments, OPTION_LIFETIME, &lifetime_s, &err) != ERR_OK)
        return context_fail(context, &err);
    /* Before a token is made that could not be kept. */
    if (profiles_load(&profiles, &err) != ERR_OK || profiles_have_place(profiles, &err) != ERR_OK)
        return context_fail(context, &err);
    /* A token of before would win over the session. */
    if (profile_set_text(&context->token, NULL, &err) != ERR_OK)
        return context_fail(context, &err);
    enum exit_code code = open_session(context, arguments, cookie, &who);
    if (code != EXIT_DONE)
        return code;
    code = make_token(context, cookie, who, lifetime_s, &reply);
    close_session(context, cookie);
    explicit_bzero(cookie, sizeof(cookie));
    if (code != EXIT_DONE)
        return code;
    if (keep_token(context, arguments, reply.json, &err) != ERR_OK)
        return context_fail(context, &err);
    fputs("logged in as ", context->out);
    print_text(context->out, arguments_get(arguments, OPTION_USER));
    fputc('\n', context->out);
    return EXIT_DONE;
}

enum exit_code cmd_logout(struct context *context, const struct arguments *arguments)
{
    OWN(profiles) struct profiles *profiles = NULL;
    OWN_REPLY struct reply reply = {.printed = false};
    struct err err = ERR_INIT;
    struct call call;
    if (profiles_load(&profiles, &err) != ERR_OK)
        return context_fail(context, &err);
    const char *name = arguments_get(arguments, OPTION_PROFILE);
    if (name == NULL)
        name = profiles->current;
    struct profile *profile = name != NULL ? profiles_find(profiles, name) : NULL;
    if (profile == NULL || profile->token_id == NULL) {
        context_error(context, "no profile holds a token that login made");
        return EXIT_USAGE;
    }
    if (body_call("DELETE", "/v1/tokens/{id}", &call, &err) != ERR_OK)
        return context_fail(context, &err);
    call_add(&call, OPERATION_PATH, "id", profile->token_id);
    enum exit_code code = context_call(context, &call, &reply);
    /* One that has ended already (401, 404) is forgotten too. */
    if (code != EXIT_DONE && code != EXIT_AUTH && code != EXIT_MISSING)
        return code;
    if (profile_set_text(&profile->token, NULL, &err) != ERR_OK ||
        profile_set_text(&profile->token_id, NULL, &err) != ERR_OK ||
        profiles_save(profiles, &err) != ERR_OK)
        return context_fail(context, &err);
    return code;
}
