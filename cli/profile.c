/*
 * cli/profile.c - see profile.h: the file of profiles.
 */
#include "cli/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"

#define NAME_MAX_BYTES 63
#define TEXT_MAX_BYTES 4096

static void profile_clear(struct profile *profile)
{
    if (profile->token != NULL)
        explicit_bzero(profile->token, strlen(profile->token));
    free(profile->name);
    free(profile->server);
    free(profile->token);
    free(profile->token_id);
    free(profile->token_file);
    free(profile->ca_file);
    memset(profile, 0, sizeof(*profile));
}

void profiles_free(struct profiles *profiles)
{
    if (profiles == NULL)
        return;
    for (size_t i = 0; i < profiles->count; i++)
        profile_clear(&profiles->items[i]);
    free(profiles->current);
    free(profiles->path);
    free(profiles);
}

enum err_code profile_set_text(char **member, const char *text, struct err *err)
{
    char *copy = text != NULL ? strdup(text) : NULL;
    if (text != NULL && copy == NULL)
        return err_nomem(err);
    free(*member);
    *member = copy;
    return ERR_OK;
}

struct profile *profiles_find(struct profiles *profiles, const char *name)
{
    for (size_t i = 0; i < profiles->count; i++)
        if (strcmp(profiles->items[i].name, name) == 0)
            return &profiles->items[i];
    return NULL;
}

static bool is_profile_name(const char *name)
{
    size_t len = strlen(name);
    return len > 0 && len <= NAME_MAX_BYTES && name[0] != '-' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == len;
}

enum err_code profiles_put(struct profiles *profiles, const char *name, struct profile **out,
                           struct err *err)
{
    if (!is_profile_name(name))
        return err_set(err, ERR_INVALID,
                       "a profile's name has 1 to %d letters, digits, '.', '_' and '-'",
                       NAME_MAX_BYTES);
    struct profile *found = profiles_find(profiles, name);
    if (found == NULL) {
        if (profiles->count == PROFILES_MAX)
            return err_set(err, ERR_LIMIT, "there are %d profiles already; delete one first",
                           PROFILES_MAX);
        found = &profiles->items[profiles->count];
        if (profile_set_text(&found->name, name, err) != ERR_OK)
            return ERR_NOMEM;
        profiles->count++;
    }
    *out = found;
    return ERR_OK;
}

void profiles_remove(struct profiles *profiles, struct profile *profile)
{
    if (profiles->current != NULL && strcmp(profiles->current, profile->name) == 0) {
        free(profiles->current);
        profiles->current = NULL;
    }
    profile_clear(profile);
    *profile = profiles->items[--profiles->count];
    memset(&profiles->items[profiles->count], 0, sizeof(*profile));
}

/* NULL where neither is set, as in a service or a timer of the system: then there are no profiles.
 */
static enum err_code config_path(char **out, struct err *err)
{
    const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int len;
    *out = NULL;
    if (base != NULL && base[0] == '/') /* relative ones are ignored, as XDG says */
        len = asprintf(out, "%s/stellar/config.json", base);
    else if (home != NULL && home[0] == '/')
        len = asprintf(out, "%s/.config/stellar/config.json", home);
    else
        return ERR_OK;
    return len < 0 ? err_nomem(err) : ERR_OK;
}

static enum err_code check_file(const char *path, bool *exists, struct err *err)
{
    struct stat st;
    *exists = stat(path, &st) == 0;
    if (!*exists && errno != ENOENT && errno != ENOTDIR)
        return err_set_errno(err, ERR_IO, errno, "cannot look at %s", path);
    if (*exists && st.st_uid != geteuid())
        return err_set(err, ERR_INVALID, "%s belongs to another user", path);
    if (*exists && (st.st_mode & 077) != 0)
        return err_set(err, ERR_INVALID,
                       "%s has mode %04o and may hold tokens: run chmod 600 on it", path,
                       (unsigned)(st.st_mode & 07777));
    return ERR_OK;
}

static enum err_code read_profile(struct json_reader *reader, struct profile *profile,
                                  struct err *err)
{
    const struct {
        const char *key;
        char **member;
    } members[] = {
        {"server", &profile->server},     {"token", &profile->token},
        {"token_id", &profile->token_id}, {"token_file", &profile->token_file},
        {"ca_file", &profile->ca_file},
    };
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]) && code == ERR_OK; i++) {
        const char *text = NULL;
        if (json_reader_string(reader, members[i].key, false, 1, TEXT_MAX_BYTES, &text))
            code = profile_set_text(members[i].member, text, err);
    }
    json_reader_end(reader);
    return code;
}

static enum err_code read_profiles(struct profiles *profiles, const json_t *root, struct err *err)
{
    OWN_FINDINGS struct finding_list findings;
    struct json_reader reader, list, one;
    const char *current = NULL, *name;
    enum err_code code = ERR_OK;
    json_t *value;
    finding_list_init(&findings);
    json_reader_init(&reader, root, "", &findings);
    if (json_reader_string(&reader, "current", false, 1, NAME_MAX_BYTES, &current))
        code = profile_set_text(&profiles->current, current, err);
    if (json_reader_object(&reader, "profiles", false, &list)) {
        json_object_foreach((json_t *)(uintptr_t)list.object, name, value)
        {
            struct profile *profile;
            if (code == ERR_OK)
                code = profiles_put(profiles, name, &profile, err);
            if (code != ERR_OK)
                return code;
            json_reader_child(&list, name, value, &one);
            code = read_profile(&one, profile, err);
        }
    }
    json_reader_end(&reader);
    if (code == ERR_OK && findings.count > 0)
        return err_set_at(err, ERR_INVALID, findings.items[0].pointer, "%s",
                          findings.items[0].message);
    return code;
}

enum err_code profiles_load(struct profiles **out, struct err *err)
{
    OWN(profiles) struct profiles *profiles = calloc(1, sizeof(*profiles));
    OWN(json) json_t *root = NULL;
    OWN(str) char *text = NULL;
    size_t len;
    bool exists = false;
    if (profiles == NULL)
        return err_nomem(err);
    enum err_code code = config_path(&profiles->path, err);
    if (code == ERR_OK && profiles->path != NULL)
        code = check_file(profiles->path, &exists, err);
    if (code == ERR_OK && exists) {
        code = file_read(profiles->path, PROFILE_FILE_BYTES_MAX, &text, &len, err);
        if (code == ERR_OK)
            code = json_parse(text, len, &root, err);
        if (code == ERR_OK)
            code = read_profiles(profiles, root, err);
        if (code != ERR_OK)
            return err_context(err, "%s", profiles->path);
    }
    if (code == ERR_OK)
        *out = GIVE(profiles);
    return code;
}

static json_t *profile_to_json(const struct profile *profile)
{
    return json_pack("{s:s*, s:s*, s:s*, s:s*, s:s*}", "server", profile->server, "token",
                     profile->token, "token_id", profile->token_id, "token_file",
                     profile->token_file, "ca_file", profile->ca_file);
}

enum err_code profiles_have_place(const struct profiles *profiles, struct err *err)
{
    return profiles->path != NULL
               ? ERR_OK
               : err_set(
                     err, ERR_INVALID,
                     "neither XDG_CONFIG_HOME nor HOME says where config.json would be: set one "
                     "of them");
}

enum err_code profiles_save(const struct profiles *profiles, struct err *err)
{
    if (profiles_have_place(profiles, err) != ERR_OK)
        return ERR_INVALID;
    OWN(json) json_t *list = json_object();
    for (size_t i = 0; i < profiles->count; i++)
        if (json_object_set_new(list, profiles->items[i].name,
                                profile_to_json(&profiles->items[i])) != 0)
            return err_nomem(err);
    OWN(json)
    json_t *root = json_pack("{s:s*, s:O}", "current", profiles->current, "profiles", list);
    OWN(str) char *text = root != NULL ? json_dumps(root, JSON_INDENT(2) | JSON_SORT_KEYS) : NULL;
    if (text == NULL)
        return err_nomem(err);
    OWN(str) char *folder = strdup(profiles->path);
    if (folder == NULL)
        return err_nomem(err);
    *strrchr(folder, '/') = '\0';
    enum err_code code = file_mkdirs(folder, 0700, err);
    if (code == ERR_OK)
        code = file_write_atomic(profiles->path, text, strlen(text), 0600, err);
    explicit_bzero(text, strlen(text));
    return code;
}
