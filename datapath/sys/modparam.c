/*
 * datapath/sys/modparam.c - see modparam.h.
 */
#include "datapath/sys/modparam.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/file.h"
#include "base/own.h"
#include "base/text.h"
#include "datapath/sys/modparam_text.h"
#include "datapath/sys/watch.h"

#define INDEX_MAX (4 * 1024 * 1024) /* of a list that depmod made */

static bool name_is_valid(const char *text, size_t len)
{
    if (len == 0 || len >= SYS_NAME_MAX)
        return false;
    for (size_t i = 0; i < len; i++)
        if ((text[i] < 'a' || text[i] > 'z') && (text[i] < 'A' || text[i] > 'Z') &&
            (text[i] < '0' || text[i] > '9') && text[i] != '_' && text[i] != '-')
            return false;
    return true;
}

enum err_code modparam_parse(const char *id, struct modparam_name *out, struct err *err)
{
    size_t module = strcspn(id, ".");
    const char *param = id[module] == '.' ? id + module + 1 : "";
    if (!name_is_valid(id, module) || !name_is_valid(param, strlen(param)))
        return err_set(err, ERR_INVALID, "\"%s\" is not MODULE.PARAMETER", id);
    snprintf(out->module, sizeof(out->module), "%.*s", (int)module, id);
    snprintf(out->param, sizeof(out->param), "%s", param);
    for (char *p = out->module; *p != '\0'; p++)
        if (*p == '-')
            *p = '_';
    return ERR_OK;
}

static void live_path(const struct modparam_name *name, char out[SYS_PATH_MAX])
{
    snprintf(out, SYS_PATH_MAX, "/sys/module/%s/parameters/%s", name->module, name->param);
}

/* Our file's text, "" when there is none. */
static enum err_code read_ours(const char *root, char **out, struct err *err)
{
    char path[SYS_PATH_MAX];
    size_t len;
    snprintf(path, sizeof(path), "%s%s", root, MODPARAM_FILE);
    struct err problem = ERR_INIT;
    enum err_code code = file_read(path, MODPARAM_FILE_MAX, out, &len, &problem);
    if (code == ERR_NOT_FOUND) {
        *out = strdup("");
        return *out == NULL ? err_nomem(err) : ERR_OK;
    }
    if (code != ERR_OK && err != NULL)
        *err = problem;
    return code;
}

static int is_conf(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return len > 5 && strcmp(entry->d_name + len - 5, ".conf") == 0;
}

/* modprobe reads the folder in the order of names, and the last value counts. */
static enum err_code find_next(const char *root, const struct modparam_name *name,
                               struct modparam_state *out, struct err *err)
{
    char folder[SYS_PATH_MAX], path[SYS_PATH_MAX + 256];
    struct dirent **entries;
    snprintf(folder, sizeof(folder), "%s%s", root, MODPARAM_FOLDER);
    sys_watch_seen(folder);
    int count = scandir(folder, &entries, is_conf, alphasort);
    for (int i = 0; i < count; i++) {
        OWN(str) char *text = NULL;
        size_t len;
        snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
        if (count <= MODPARAM_FILES_MAX &&
            file_read(path, MODPARAM_FILE_MAX, &text, &len, NULL) == ERR_OK &&
            modparam_find(text, "options", name, out->next, sizeof(out->next))) {
            out->has_next = true;
            out->next_is_ours = strcmp(entries[i]->d_name, "stellar.conf") == 0;
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return count <= MODPARAM_FILES_MAX
               ? ERR_OK
               : err_set(err, ERR_LIMIT, MODPARAM_FOLDER " holds more than %d files",
                         MODPARAM_FILES_MAX);
}

/* Loaded, built in, or named in the index that depmod makes. */
static bool module_is_known(const char *root, const char *module)
{
    char path[SYS_PATH_MAX];
    struct utsname kernel;
    snprintf(path, sizeof(path), "/sys/module/%s", module);
    if (sys_exists(root, path))
        return true;
    if (uname(&kernel) != 0)
        return false;
    static const char *const lists[] = {"modules.dep", "modules.builtin"};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        snprintf(path, sizeof(path), "%s/lib/modules/%s/%s", root, kernel.release, lists[i]);
        OWN(str) char *text = NULL;
        size_t len;
        if (file_read(path, INDEX_MAX, &text, &len, NULL) == ERR_OK &&
            modparam_listed(text, module))
            return true;
    }
    return false;
}

enum err_code modparam_get(const char *root, const struct modparam_name *name,
                           struct modparam_state *out, struct err *err)
{
    OWN(str) char *text = NULL;
    enum err_code code = read_ours(root, &text, err);
    if (code != ERR_OK)
        return code;
    char path[SYS_PATH_MAX];
    live_path(name, path);
    struct modparam_state is = {0};
    is.module_known = module_is_known(root, name->module);
    is.has_live = sys_read(root, path, is.live, sizeof(is.live), NULL) == ERR_OK;
    is.live_writable = is.has_live && sys_is_writable(root, path);
    is.has_persisted = modparam_find(text, "options", name, is.persisted, sizeof(is.persisted));
    code = find_next(root, name, &is, err);
    /* People write these files: a byte that no document can hold must not read as no value. */
    text_clean(is.persisted, "");
    text_clean(is.next, "");
    if (code == ERR_OK)
        *out = is;
    return code;
}

static enum err_code write_ours(const char *root, const char *text, struct err *err)
{
    char path[SYS_PATH_MAX];
    snprintf(path, sizeof(path), "%s%s", root, MODPARAM_FOLDER);
    enum err_code code = file_mkdirs(path, 0755, err);
    if (code != ERR_OK)
        return code;
    snprintf(path, sizeof(path), "%s%s", root, MODPARAM_FILE);
    return file_write_atomic(path, text, strlen(text), 0644, err);
}

enum err_code modparam_set(const char *root, const struct modparam_name *name, const char *value,
                           struct err *err)
{
    struct modparam_state state;
    OWN(str) char *text = NULL;
    enum err_code code = modparam_get(root, name, &state, err);
    if (code == ERR_OK)
        code = read_ours(root, &text, err);
    if (code != ERR_OK)
        return code;
    char note[MODPARAM_VALUE_SIZE];
    bool noted = modparam_find(text, "# was", name, note, sizeof(note));
    if (!noted && state.live_writable) {
        memcpy(note, state.live, sizeof(note));
        noted = true;
    }
    OWN(str) char *edited = modparam_edit(text, name, value, noted ? note : NULL);
    if (edited == NULL)
        return err_nomem(err);
    const char *live = value != NULL ? value : noted ? note : NULL;
    /* Live first: what the running kernel refuses must not wait for the next boot. */
    if (live != NULL && state.live_writable && strcmp(live, state.live) != 0) {
        char path[SYS_PATH_MAX];
        live_path(name, path);
        code = sys_write(root, path, live, err);
        if (code != ERR_OK)
            return code;
    }
    return strcmp(edited, text) == 0 ? ERR_OK : write_ours(root, edited, err);
}
