/*
 * cli/resolve.c - where a command line's server, token and authority come from: see profile.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile.h"

static const char *env(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static const char *first(const char *a, const char *b)
{
    return a != NULL ? a : b;
}

enum err_code secret_read(const char *path, FILE *in, char **out, struct err *err)
{
    char line[TOKEN_BYTES_MAX + 2];
    bool own = strcmp(path, "-") != 0;
    FILE *file = own ? fopen(path, "re") : in;
    if (file == NULL)
        return err_set_errno(err, ERR_IO, errno, "cannot read %s", path);
    const char *name = own ? path : "standard input";
    char *got = fgets(line, sizeof(line), file);
    if (own)
        fclose(file);
    if (got == NULL)
        return err_set(err, ERR_INVALID, "%s is empty", name);
    size_t len = strcspn(line, "\r\n");
    enum err_code code = ERR_OK;
    line[len] = '\0';
    if (len == 0)
        code = err_set(err, ERR_INVALID, "the first line of %s is empty", name);
    else if (len > TOKEN_BYTES_MAX)
        code = err_set(err, ERR_LIMIT, "the first line of %s has more than %d bytes", name,
                       TOKEN_BYTES_MAX);
    else if ((*out = strdup(line)) == NULL)
        code = err_nomem(err);
    explicit_bzero(line, sizeof(line));
    return code;
}

static enum err_code choose_profile(struct profiles *profiles, const char *asked,
                                    const struct profile **out, struct err *err)
{
    static const struct profile none;
    const char *name = first(asked, profiles->current);
    *out = &none;
    if (name == NULL)
        return ERR_OK;
    const struct profile *found = profiles_find(profiles, name);
    if (found == NULL)
        return err_set(err, ERR_INVALID, "there is no profile '%s' in %s", name,
                       first(profiles->path, "no file: XDG_CONFIG_HOME and HOME are not set"));
    *out = found;
    return ERR_OK;
}

static enum err_code choose_token(struct context *context, const struct arguments *arguments,
                                  const struct profile *profile, struct err *err)
{
    const char *file = arguments_get(arguments, OPTION_TOKEN_FILE);
    const char *token = NULL;
    if (file == NULL && (token = env("STELLAR_TOKEN")) == NULL)
        file = env("STELLAR_TOKEN_FILE");
    if (file == NULL && token == NULL && profile->server != NULL &&
        strcmp(profile->server, context->server) == 0) {
        token = profile->token;
        file = token == NULL ? profile->token_file : NULL;
    }
    if (file != NULL)
        return secret_read(file, context->in, &context->token, err);
    return profile_set_text(&context->token, token, err);
}

enum err_code profile_resolve(struct context *context, const struct arguments *arguments,
                              struct err *err)
{
    OWN(profiles) struct profiles *profiles = NULL;
    const struct profile *profile;
    const char *asked = first(arguments_get(arguments, OPTION_PROFILE), env("STELLAR_PROFILE"));
    enum err_code code = profiles_load(&profiles, err);
    if (code == ERR_OK)
        code = choose_profile(profiles, asked, &profile, err);
    if (code != ERR_OK)
        return code;
    const char *server = first(arguments_get(arguments, OPTION_SERVER), env("STELLAR_SERVER"));
    server = first(first(server, profile->server), SERVER_DEFAULT);
    const char *ca = first(arguments_get(arguments, OPTION_CA_FILE), env("STELLAR_CA"));
    code = profile_set_text(&context->server, server, err);
    if (code == ERR_OK)
        code = profile_set_text(&context->ca_file, first(ca, profile->ca_file), err);
    if (code == ERR_OK)
        code = choose_token(context, arguments, profile, err);
    return code;
}
