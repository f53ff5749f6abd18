/*
 * datapath/sys/env_file.c - see env_file.h.
 */
#include "datapath/sys/env_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/own.h"
#include "base/text.h"
#include "datapath/sys/sys.h"
#include "datapath/sys/watch.h"

#define MARK        "# Made by stellar-agent; changes by hand are undone.\n"
#define OTHER       "other"
#define RAW         "text"
#define LINE_MAX    (sizeof("export =''\n") + ENV_KEY_MAX + ENV_VALUE_MAX)
#define KEY_CHARS   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#define NAME_CHARS  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
#define VALUE_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:;=^/@%+- "

enum err_code env_name_check(const char *name, struct err *err)
{
    size_t len = strlen(name);
    if (strchr(name, '/') != NULL || strcmp(name, "..") == 0 || strcmp(name, ".") == 0)
        return err_set(err, ERR_INVALID, "the file \"%.64s\" would stand outside of " ENV_FOLDER,
                       name);
    if (len == 0 || len > ENV_NAME_MAX || name[0] == '.' || strspn(name, NAME_CHARS) != len)
        return err_set(err, ERR_INVALID,
                       "\"%.64s\" is no name of a file in " ENV_FOLDER
                       ": letters, digits, '_', '.' and '-', at most %d",
                       name, ENV_NAME_MAX);
    return ERR_OK;
}

static bool key_is_valid(const char *key, size_t len)
{
    return len > strlen(ENV_PREFIX) && len <= ENV_KEY_MAX &&
           strncmp(key, ENV_PREFIX, strlen(ENV_PREFIX)) == 0 && strspn(key, KEY_CHARS) >= len;
}

static bool text_is_valid(const char *text, size_t len)
{
    return len > 0 && len <= ENV_VALUE_MAX && strspn(text, VALUE_CHARS) >= len;
}

/* A value that only a state has: a file of ours as somebody edited it. */
static const char *raw_text(const json_t *value)
{
    return json_object_size(value) == 1 ? json_string_value(json_object_get(value, RAW)) : NULL;
}

enum err_code env_value_check(const json_t *value, struct err *err)
{
    const char *key;
    json_t *member;
    size_t bytes = sizeof(MARK);
    const char *raw = raw_text(value);
    if (raw != NULL)
        return env_is_ours(raw, strlen(raw)) && strlen(raw) < ENV_FILE_MAX
                   ? ERR_OK
                   : err_set(err, ERR_INVALID, "the text is not that of a file of ours");
    if (json_object_size(value) == 0 || json_object_size(value) > ENV_VARIABLES_MAX)
        return err_set(err, ERR_INVALID, "the value is no object of 1 to %d variables",
                       ENV_VARIABLES_MAX);
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        const char *text = json_string_value(member);
        if (!key_is_valid(key, strlen(key)))
            return err_set(err, ERR_INVALID,
                           "\"%.64s\" is no variable: " ENV_PREFIX
                           " and capital letters, digits and '_', at most %d",
                           key, ENV_KEY_MAX);
        if (text == NULL || json_string_length(member) != strlen(text) ||
            !text_is_valid(text, strlen(text)))
            return err_set(err, ERR_INVALID,
                           "%s is no text of 1 to %d letters, digits, blanks and "
                           "\"_.,:;=^/@%%+-\"",
                           key, ENV_VALUE_MAX);
        bytes += sizeof("export =''\n") + strlen(key) + strlen(text);
    }
    if (bytes > ENV_FILE_MAX)
        return err_set(err, ERR_LIMIT, "the file would have more than %d bytes", ENV_FILE_MAX);
    return ERR_OK;
}

/* Text -----------------------------------------------------------------------------------------
 */

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

char *env_format(const json_t *value)
{
    const char *keys[ENV_VARIABLES_MAX], *key, *raw = raw_text(value);
    json_t *member;
    size_t count = 0;
    if (raw != NULL)
        return strdup(raw);
    json_object_foreach((json_t *)(uintptr_t)value, key, member) if (count < ENV_VARIABLES_MAX)
        keys[count++] = key;
    qsort(keys, count, sizeof(keys[0]), compare_keys);
    char *text = malloc(ENV_FILE_MAX + 1);
    if (text == NULL)
        return NULL;
    char *at = text_put(text, MARK);
    for (size_t i = 0; i < count; i++) {
        const char *line[] = {"export ", keys[i], "='",
                              json_string_value(json_object_get(value, keys[i])), "'\n"};
        for (size_t part = 0; part < sizeof(line) / sizeof(line[0]); part++)
            at = text_put(at, line[part]);
    }
    return text;
}

bool env_is_ours(const char *text, size_t len)
{
    return len >= strlen(MARK) && memcmp(text, MARK, strlen(MARK)) == 0;
}

/* export KEY='VALUE', as we write it; false = anything else. */
static bool take_line(const char *line, size_t len, json_t *object)
{
    static const char begin[] = "export ";
    const char *key = line + strlen(begin);
    const char *equals = len > strlen(begin) ? memchr(line, '=', len) : NULL;
    if (equals == NULL || strncmp(line, begin, strlen(begin)) != 0 || equals <= key)
        return false;
    size_t key_len = (size_t)(equals - key), rest = len - (size_t)(equals - line);
    if (rest < 4 || equals[1] != '\'' || line[len - 1] != '\'' || !key_is_valid(key, key_len) ||
        !text_is_valid(equals + 2, rest - 3))
        return false;
    char name[ENV_KEY_MAX + 1];
    memcpy(name, key, key_len);
    name[key_len] = '\0';
    return json_object_get(object, name) == NULL &&
           json_object_set_new(object, name, json_stringn(equals + 2, rest - 3)) == 0;
}

static bool take_lines(const char *text, json_t *object)
{
    for (const char *line = text; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        if (line[len] == '\0' || !take_line(line, len, object))
            return false;
        line += len + 1;
    }
    return true;
}

/* What cannot stand in a document is told without its text, and cannot be given back. */
static json_t *altered(const char *text, size_t len)
{
    bool plain = strlen(text) == len;
    for (size_t i = 0; i < len && plain; i++)
        plain = (text[i] >= ' ' && text[i] <= '~') || text[i] == '\n' || text[i] == '\t';
    json_t *object = json_object();
    json_object_set_new(object, RAW, plain ? json_stringn(text, len) : json_null());
    return object;
}

json_t *env_parse(const char *text, size_t len)
{
    if (!env_is_ours(text, len))
        return json_pack("{s:b}", OTHER, 1);
    OWN(json) json_t *object = json_object();
    if (strlen(text) != len || !take_lines(text + strlen(MARK), object) ||
        env_value_check(object, NULL) != ERR_OK)
        return altered(text, len);
    /* Also in our order, or it is not as we wrote it. */
    OWN(str) char *again = env_format(object);
    if (again == NULL)
        return NULL;
    return strcmp(again, text) == 0 ? GIVE(object) : altered(text, len);
}

/* Files ----------------------------------------------------------------------------------------
 */

void env_file_release(struct env_file *file)
{
    json_decref(file->value);
    file->value = NULL;
}

static void folder_path(const char *root, char out[SYS_PATH_MAX])
{
    snprintf(out, SYS_PATH_MAX, "%s" ENV_FOLDER, root);
}

static void file_path(const char *root, const char *name, char out[SYS_PATH_MAX])
{
    snprintf(out, SYS_PATH_MAX, "%s" ENV_FOLDER "/%s", root, name);
}

enum err_code env_file_get(const char *root, const char *name, struct env_file *out,
                           struct err *err)
{
    char path[SYS_PATH_MAX];
    struct stat info;
    OWN(str) char *text = NULL;
    size_t len = 0;
    enum err_code code = env_name_check(name, err);
    if (code != ERR_OK)
        return code;
    *out = (struct env_file){.present = false};
    folder_path(root, path);
    sys_watch_seen(path);
    file_path(root, name, path);
    sys_watch_seen(path);
    if (lstat(path, &info) != 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? ERR_OK
                   : err_set_errno(err, ERR_IO, errno, "cannot look at %s", path);
    struct err problem = ERR_INIT;
    code = S_ISREG(info.st_mode) ? file_read(path, ENV_FILE_MAX, &text, &len, &problem) : ERR_LIMIT;
    if (code != ERR_OK && code != ERR_LIMIT)
        return err_set(err, code, "%.*s", (int)sizeof(problem.text) - 1, problem.text);
    out->present = true;
    out->ours = code == ERR_OK && env_is_ours(text, len);
    out->value = code == ERR_OK ? env_parse(text, len) : json_pack("{s:b}", OTHER, 1);
    return out->value == NULL ? err_nomem(err) : ERR_OK;
}

enum err_code env_file_set(const char *root, const char *name, const json_t *value, struct err *err)
{
    char path[SYS_PATH_MAX];
    enum err_code code = env_name_check(name, err);
    if (code == ERR_OK)
        code = env_value_check(value, err);
    if (code != ERR_OK)
        return code;
    OWN(str) char *text = env_format(value);
    if (text == NULL)
        return err_nomem(err);
    folder_path(root, path);
    bool made = access(path, F_OK) != 0;
    code = file_mkdirs(path, 0755, err);
    /* Whatever the agent's umask is: jobs of other users read it. */
    if (code == ERR_OK && made && chmod(path, 0755) != 0)
        code = err_set_errno(err, ERR_IO, errno, "cannot open %s to everybody", path);
    if (code != ERR_OK)
        return code;
    file_path(root, name, path);
    return file_write_atomic(path, text, strlen(text), 0644, err);
}

enum err_code env_file_remove(const char *root, const char *name, struct err *err)
{
    char path[SYS_PATH_MAX];
    enum err_code code = env_name_check(name, err);
    if (code != ERR_OK)
        return code;
    file_path(root, name, path);
    if (unlink(path) != 0 && errno != ENOENT)
        return err_set_errno(err, ERR_IO, errno, "cannot remove %s", path);
    return file_sync_folder_of(path, err);
}
