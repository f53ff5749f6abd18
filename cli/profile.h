#pragma once
/*
 * cli/profile.h - named servers in $XDG_CONFIG_HOME/stellar/config.json (mode 0600), and where a
 * command line's server, token and authority come from.
 */

#include "base/err.h"
#include "base/own.h"
#include "cli/arguments.h"
#include "cli/context.h"

#define PROFILES_MAX           100
#define PROFILE_FILE_BYTES_MAX (256 * 1024)
#define TOKEN_BYTES_MAX        4096
#define SERVER_DEFAULT         "http://127.0.0.1:8440"

struct profile {
    /* Owned; all but name may be NULL. token_id: of a token that login made, so that logout can end
     * it. */
    char *name, *server, *token, *token_id, *token_file, *ca_file;
};

struct profiles {
    struct profile items[PROFILES_MAX];
    size_t count;
    char *current; /* owned; NULL = none */
    char *path;    /* owned; NULL = the environment names no place for the file */
};

/* Reads the file; a missing one gives an empty list. ERR_INVALID: others may read it, it is not
 * ours, or its content is wrong (the text says where). *out is set on success. */
ERR_MUST_CHECK enum err_code profiles_load(struct profiles **out, struct err *err);
/* ERR_INVALID: there is no place for the file, so that nothing can be saved. */
ERR_MUST_CHECK enum err_code profiles_have_place(const struct profiles *profiles, struct err *err);
ERR_MUST_CHECK enum err_code profiles_save(const struct profiles *profiles, struct err *err);
void profiles_free(struct profiles *profiles);
OWN_DEFINE(profiles, struct profiles *, profiles_free)

struct profile *profiles_find(struct profiles *profiles, const char *name); /* or NULL */
/* Finds or adds it. ERR_LIMIT: PROFILES_MAX; ERR_INVALID: no name of a profile. */
ERR_MUST_CHECK enum err_code profiles_put(struct profiles *profiles, const char *name,
                                          struct profile **out, struct err *err);
void profiles_remove(struct profiles *profiles, struct profile *profile);
/* Replaces *member, which it owns; NULL clears it. */
ERR_MUST_CHECK enum err_code profile_set_text(char **member, const char *text, struct err *err);

/*
 * Fills context's server, token and ca_file. Options win over the environment (STELLAR_SERVER,
 * STELLAR_TOKEN, STELLAR_TOKEN_FILE, STELLAR_CA, STELLAR_PROFILE), which wins over the profile. A
 * profile's token goes to the profile's server only.
 */
ERR_MUST_CHECK enum err_code profile_resolve(struct context *context,
                                             const struct arguments *arguments, struct err *err);
/* The first line of a file ("-" = in) without its end: a token or a password; malloc'ed. */
ERR_MUST_CHECK enum err_code secret_read(const char *path, FILE *in, char **out, struct err *err);
