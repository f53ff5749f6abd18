/*
 * cli/cmd_profile.c - stellarctl profile: named servers.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/profile.h"
#include "cli/view.h"

enum exit_code cmd_profile_list(struct context *context, const struct arguments *arguments)
{
    static const struct view view = {"name",
                                     {COLUMN("NAME", "name"), COLUMN("CURRENT", "current"),
                                      COLUMN("SERVER", "server"), COLUMN("TOKEN", "token"),
                                      COLUMN("CA", "ca_file")}};
    OWN(profiles) struct profiles *profiles = NULL;
    OWN(json) json_t *items = json_array();
    struct err err = ERR_INIT;
    (void)arguments;
    if (profiles_load(&profiles, &err) != ERR_OK)
        return context_fail(context, &err);
    for (size_t i = 0; i < profiles->count; i++) {
        const struct profile *profile = &profiles->items[i];
        /* The token itself is never printed. */
        const char *token = profile->token != NULL ? "stored" : profile->token_file;
        bool current = profiles->current != NULL && !strcmp(profiles->current, profile->name);
        json_array_append_new(items,
                              json_pack("{s:s, s:b, s:s*, s:s*, s:s*}", "name", profile->name,
                                        "current", current, "server", profile->server, "token",
                                        token, "ca_file", profile->ca_file));
    }
    return view_print(context, &view, items, &err) == ERR_OK ? EXIT_DONE
                                                             : context_fail(context, &err);
}

static enum err_code use(struct profiles *profiles, const char *name, struct err *err)
{
    if (profiles_find(profiles, name) == NULL)
        return err_set(err, ERR_NOT_FOUND, "there is no profile '%s'", name);
    return profile_set_text(&profiles->current, name, err);
}

enum exit_code cmd_profile_use(struct context *context, const struct arguments *arguments)
{
    OWN(profiles) struct profiles *profiles = NULL;
    struct err err = ERR_INIT;
    enum err_code code = profiles_load(&profiles, &err);
    if (code == ERR_OK)
        code = use(profiles, arguments->words[0], &err);
    if (code == ERR_OK)
        code = profiles_save(profiles, &err);
    return code == ERR_OK ? EXIT_DONE : context_fail(context, &err);
}

/* The first profile becomes the current one. */
static enum err_code set(struct profiles *profiles, const struct context *context,
                         const struct arguments *arguments, struct err *err)
{
    struct profile *profile;
    enum err_code code = profiles_put(profiles, arguments->words[0], &profile, err);
    const char *server = arguments_get(arguments, OPTION_SERVER);
    const char *ca = arguments_get(arguments, OPTION_CA_FILE);
    const char *token_file = arguments_get(arguments, OPTION_TOKEN_FILE);
    if (code == ERR_OK && server != NULL)
        code = profile_set_text(&profile->server, server, err);
    if (code == ERR_OK && ca != NULL)
        code = profile_set_text(&profile->ca_file, ca, err);
    if (code == ERR_OK && token_file != NULL) {
        bool stored = strcmp(token_file, "-") == 0;
        code = profile_set_text(&profile->token_file, stored ? NULL : token_file, err);
        if (code == ERR_OK)
            code = profile_set_text(&profile->token, NULL, err);
        if (code == ERR_OK && stored)
            code = secret_read("-", context->in, &profile->token, err);
    }
    if (code == ERR_OK && profile->server == NULL)
        code = err_set(err, ERR_INVALID, "a new profile needs --server URL");
    if (code == ERR_OK && profiles->current == NULL)
        code = profile_set_text(&profiles->current, profile->name, err);
    return code;
}

enum exit_code cmd_profile_set(struct context *context, const struct arguments *arguments)
{
    OWN(profiles) struct profiles *profiles = NULL;
    struct err err = ERR_INIT;
    enum err_code code = profiles_load(&profiles, &err);
    if (code == ERR_OK)
        code = set(profiles, context, arguments, &err);
    if (code == ERR_OK)
        code = profiles_save(profiles, &err);
    return code == ERR_OK ? EXIT_DONE : context_fail(context, &err);
}

enum exit_code cmd_profile_delete(struct context *context, const struct arguments *arguments)
{
    OWN(profiles) struct profiles *profiles = NULL;
    struct err err = ERR_INIT;
    enum err_code code = profiles_load(&profiles, &err);
    struct profile *profile = code == ERR_OK ? profiles_find(profiles, arguments->words[0]) : NULL;
    if (code == ERR_OK && profile == NULL)
        code = err_set(&err, ERR_NOT_FOUND, "there is no profile '%s'", arguments->words[0]);
    if (code == ERR_OK) {
        profiles_remove(profiles, profile);
        code = profiles_save(profiles, &err);
    }
    return code == ERR_OK ? EXIT_DONE : context_fail(context, &err);
}
