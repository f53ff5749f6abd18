/*
 * datapath/sys/roce_cc.c - see roce_cc.h: what is done with any back-end of roce_cc_backend.c.
 */
#include "datapath/sys/roce_cc_backend.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "datapath/sys/sys.h"

#define PATH_SIZE 256
#define TEXT_SIZE 32

const char *roce_cc_backend_name(const struct roce_cc_backend *backend)
{
    return backend->name;
}

/* Paths --------------------------------------------------------------------------------------- */

/* False: too long, or a name of the kernel that could not stand in a path. */
static bool expand(const char *pattern, const struct roce_cc_where *where, char out[PATH_SIZE])
{
    char port[16];
    snprintf(port, sizeof(port), "%" PRIu32, where->rdma_port);
    const struct {
        const char *token, *value;
    } tokens[] = {{"{pci}", where->device},
                  {"{if}", where->ifname},
                  {"{rdma}", where->rdma},
                  {"{port}", port}};
    size_t used = 0;
    while (*pattern != '\0') {
        const char *piece = pattern;
        size_t len = 1, skip = 1;
        for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
            if (strncmp(pattern, tokens[i].token, strlen(tokens[i].token)) != 0)
                continue;
            if (!sys_is_component(tokens[i].value))
                return false;
            piece = tokens[i].value;
            len = strlen(piece);
            skip = strlen(tokens[i].token);
        }
        if (used + len >= PATH_SIZE)
            return false;
        memcpy(out + used, piece, len);
        used += len;
        pattern += skip;
    }
    out[used] = '\0';
    return true;
}

/* folder (NULL or "" = none) and name below the back-end's own folder. */
static bool path_below(const struct roce_cc_backend *backend, const struct roce_cc_where *where,
                       const char *folder, const char *name, char out[PATH_SIZE])
{
    if (!expand(backend->folder, where, out))
        return false;
    const char *pieces[] = {folder, name};
    size_t used = strlen(out);
    for (size_t i = 0; i < 2; i++) {
        size_t len = pieces[i] == NULL ? 0 : strlen(pieces[i]);
        if (len == 0)
            continue;
        if (used + 1 + len >= PATH_SIZE)
            return false;
        out[used] = '/';
        memcpy(out + used + 1, pieces[i], len + 1);
        used += 1 + len;
    }
    return true;
}

static bool file_path(const struct roce_cc_backend *backend, const struct roce_cc_where *where,
                      const char *name, char out[PATH_SIZE])
{
    return path_below(backend, where, NULL, name, out);
}

static bool mask_path(const struct roce_cc_backend *backend, const struct roce_cc_where *where,
                      const char *folder, int priority, char out[PATH_SIZE])
{
    const char name[2] = {(char)('0' + priority), '\0'};
    return path_below(backend, where, folder, name, out);
}

static bool has_driver(const struct roce_cc_backend *backend, const char *driver)
{
    for (size_t i = 0; i < ROCE_CC_DRIVERS_MAX && backend->drivers[i] != NULL; i++)
        if (strcmp(backend->drivers[i], driver) == 0)
            return true;
    return false;
}

/* path: the folder that was looked for, "" = its names make no path. */
static bool is_there(const struct roce_cc_backend *backend, const struct roce_cc_where *where,
                     char path[PATH_SIZE])
{
    char made[PATH_SIZE];
    if (!expand(backend->folder, where, path)) {
        path[0] = '\0';
        return false;
    }
    if (backend->make != NULL && sys_exists(where->root, backend->make_root) &&
        expand(backend->make, where, made) && sys_mkdir(where->root, made, NULL) != ERR_OK)
        return false;
    return sys_exists(where->root, path);
}

enum err_code roce_cc_find(const struct roce_cc_where *where, const struct roce_cc_backend **out,
                           struct err *err)
{
    char tried[ERR_TEXT_MAX] = "";
    for (const struct roce_cc_backend *row = roce_cc_backends; row->name != NULL; row++) {
        char path[PATH_SIZE];
        if (!has_driver(row, where->driver))
            continue;
        if (is_there(row, where, path)) {
            *out = row;
            return ERR_OK;
        }
        if (path[0] == '\0')
            continue;
        size_t used = strlen(tried);
        snprintf(tried + used, sizeof(tried) - used, "%s%s", used == 0 ? "" : " or ", path);
    }
    const char *driver = where->driver[0] == '\0' ? "(unknown)" : where->driver;
    if (tried[0] == '\0')
        return err_set(err, ERR_UNSUPPORTED,
                       "no congestion control parameters are known of the driver %s of %s", driver,
                       where->ifname);
    return err_set(err, ERR_UNSUPPORTED,
                   "the driver %s of %s shows no congestion control parameters: there is no %s",
                   driver, where->ifname, tried);
}

static void watch_mask(const struct roce_cc_backend *backend, const struct roce_cc_where *where,
                       const char *folder)
{
    char path[PATH_SIZE];
    for (int i = 0; folder != NULL && i < ROCE_CC_PRIORITIES; i++)
        if (mask_path(backend, where, folder, i, path))
            sys_seen(where->root, path);
}

void roce_cc_watch(const struct roce_cc_where *where)
{
    for (const struct roce_cc_backend *row = roce_cc_backends; row->name != NULL; row++) {
        char path[PATH_SIZE];
        if (!has_driver(row, where->driver) || !expand(row->folder, where, path) ||
            !sys_exists(where->root, path))
            continue;
        for (size_t i = 0; i < row->file_count; i++)
            if (file_path(row, where, row->files[i].name, path))
                sys_seen(where->root, path);
        watch_mask(row, where, row->notify);
        watch_mask(row, where, row->react);
        return;
    }
}

/* Reading ------------------------------------------------------------------------------------- */

/* Some files speak words. */
static bool parse_value(const char *text, int64_t *out)
{
    static const struct {
        const char *word;
        int64_t value;
    } words[] = {{"on", 1}, {"off", 0}, {"true", 1}, {"false", 0}, {"y", 1}, {"n", 0}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcasecmp(text, words[i].word) == 0) {
            *out = words[i].value;
            return true;
        }
    }
    return sys_parse_int(text, out) && *out >= 0;
}

/* ERR_NOT_FOUND: there is no such file. */
static enum err_code read_value(const struct roce_cc_where *where, const char *path, int64_t *out,
                                struct err *err)
{
    char text[TEXT_SIZE];
    enum err_code code = sys_read(where->root, path, text, sizeof(text), err);
    if (code == ERR_OK && !parse_value(text, out))
        code = err_set(err, ERR_IO, "%s holds \"%s\", no number", path, text);
    return code;
}

static enum err_code read_mask(const struct roce_cc_backend *backend,
                               const struct roce_cc_where *where, const char *folder, bool *out_has,
                               uint8_t *out, struct err *err)
{
    uint8_t mask = 0;
    *out_has = false;
    for (int i = 0; folder != NULL && i < ROCE_CC_PRIORITIES; i++) {
        char path[PATH_SIZE];
        int64_t value = 0;
        if (!mask_path(backend, where, folder, i, path))
            return ERR_OK;
        enum err_code code = read_value(where, path, &value, err);
        if (code == ERR_NOT_FOUND) /* of a mask, all or nothing */
            return ERR_OK;
        if (code != ERR_OK)
            return code;
        mask = (uint8_t)(mask | (value != 0) << i);
    }
    *out_has = folder != NULL;
    *out = mask;
    return ERR_OK;
}

void roce_cc_probe(const struct roce_cc_backend *backend, const struct roce_cc_where *where,
                   struct roce_cc *out)
{
    char path[PATH_SIZE];
    *out = (struct roce_cc){.present = 0};
    for (size_t i = 0; i < backend->file_count; i++)
        if (file_path(backend, where, backend->files[i].name, path) &&
            sys_exists(where->root, path))
            out->present |= roce_cc_bit(backend->files[i].id);
    int last = ROCE_CC_PRIORITIES - 1;
    out->has_notify = backend->notify != NULL &&
                      mask_path(backend, where, backend->notify, last, path) &&
                      sys_exists(where->root, path);
    out->has_react = backend->react != NULL &&
                     mask_path(backend, where, backend->react, last, path) &&
                     sys_exists(where->root, path);
}

enum err_code roce_cc_get(const struct roce_cc_backend *backend, const struct roce_cc_where *where,
                          struct roce_cc *out, struct err *err)
{
    struct roce_cc cc = {.present = 0};
    for (size_t i = 0; i < backend->file_count; i++) {
        const struct roce_cc_file *file = &backend->files[i];
        char path[PATH_SIZE];
        int64_t value = 0;
        if (!file_path(backend, where, file->name, path))
            continue;
        enum err_code code = read_value(where, path, &value, err);
        if (code == ERR_NOT_FOUND)
            continue;
        if (code == ERR_OK && value > INT64_MAX / file->unit)
            code = err_set(err, ERR_IO, "%s holds %" PRId64 ", more than can be", path, value);
        if (code != ERR_OK)
            return code;
        cc.present |= roce_cc_bit(file->id);
        cc.values[file->id] = value * file->unit;
    }
    enum err_code code =
        read_mask(backend, where, backend->notify, &cc.has_notify, &cc.notify, err);
    if (code == ERR_OK)
        code = read_mask(backend, where, backend->react, &cc.has_react, &cc.react, err);
    if (code == ERR_OK)
        *out = cc;
    return code;
}

/* Writing ------------------------------------------------------------------------------------- */

static const struct roce_cc_file *file_of(const struct roce_cc_backend *backend, int id)
{
    for (size_t i = 0; i < backend->file_count; i++)
        if ((int)backend->files[i].id == id)
            return &backend->files[i];
    return NULL;
}

static bool has(const struct roce_cc *cc, int id)
{
    return (cc->present & roce_cc_bit((enum roce_cc_id)id)) != 0;
}

static enum err_code check_value(const struct roce_cc_backend *backend, const struct roce_cc *is,
                                 int id, int64_t value, struct err *err)
{
    const struct roce_cc_file *file = file_of(backend, id);
    const char *name = roce_cc_params[id].name;
    if (file == NULL || !has(is, id))
        return err_set(err, ERR_UNSUPPORTED, "the device has no parameter %s (back-end %s)", name,
                       backend->name);
    if (is->values[id] == value)
        return ERR_OK;
    if (value % file->unit != 0)
        return err_set(err, ERR_INVALID, "%s of %" PRId64 " is no whole number of %" PRId64, name,
                       value, file->unit);
    if (value / file->unit < file->min || value / file->unit > file->max)
        return err_set(err, ERR_INVALID,
                       "%s of %" PRId64 " is out of the device's range, %" PRId64 " to %" PRId64,
                       name, value, file->min * file->unit, file->max * file->unit);
    return ERR_OK;
}

enum err_code roce_cc_check(const struct roce_cc_backend *backend, const struct roce_cc *is,
                            const struct roce_cc *want, struct err *err)
{
    for (int id = 0; id < ROCE_CC_IDS; id++) {
        enum err_code code =
            has(want, id) ? check_value(backend, is, id, want->values[id], err) : ERR_OK;
        if (code != ERR_OK)
            return code;
    }
    if ((want->has_notify && !is->has_notify) || (want->has_react && !is->has_react))
        return err_set(err, ERR_UNSUPPORTED,
                       "the device cannot switch congestion control a priority (back-end %s)",
                       backend->name);
    return ERR_OK;
}

static enum err_code write_value(const struct roce_cc_backend *backend,
                                 const struct roce_cc_where *where, const char *path, int64_t value,
                                 struct err *err)
{
    char text[TEXT_SIZE];
    snprintf(text, sizeof(text), backend->hex ? "0x%" PRIx64 : "%" PRIu64, (uint64_t)value);
    return sys_write(where->root, path, text, err);
}

static enum err_code write_mask(const struct roce_cc_backend *backend,
                                const struct roce_cc_where *where, const char *folder, uint8_t is,
                                uint8_t want, struct err *err)
{
    for (int i = 0; i < ROCE_CC_PRIORITIES; i++) {
        char path[PATH_SIZE];
        if ((is >> i & 1) == (want >> i & 1) || !mask_path(backend, where, folder, i, path))
            continue;
        enum err_code code = write_value(backend, where, path, want >> i & 1, err);
        if (code != ERR_OK)
            return code;
    }
    return ERR_OK;
}

static enum err_code write_values(const struct roce_cc_backend *backend,
                                  const struct roce_cc_where *where, const struct roce_cc *is,
                                  const struct roce_cc *want, struct err *err)
{
    char path[PATH_SIZE];
    bool wrote = false;
    for (size_t i = 0; i < backend->file_count; i++) {
        const struct roce_cc_file *file = &backend->files[i];
        if (!has(want, (int)file->id) || want->values[file->id] == is->values[file->id] ||
            !file_path(backend, where, file->name, path))
            continue;
        enum err_code code =
            write_value(backend, where, path, want->values[file->id] / file->unit, err);
        if (code != ERR_OK)
            return code;
        wrote = true;
    }
    if (!wrote || backend->commit == NULL || !file_path(backend, where, backend->commit, path))
        return ERR_OK;
    return write_value(backend, where, path, 1, err);
}

enum err_code roce_cc_set(const struct roce_cc_backend *backend, const struct roce_cc_where *where,
                          const struct roce_cc *want, struct err *err)
{
    struct roce_cc is;
    enum err_code code = roce_cc_get(backend, where, &is, err);
    if (code == ERR_OK)
        code = roce_cc_check(backend, &is, want, err);
    if (code == ERR_OK)
        code = write_values(backend, where, &is, want, err);
    if (code == ERR_OK && want->has_notify)
        code = write_mask(backend, where, backend->notify, is.notify, want->notify, err);
    if (code == ERR_OK && want->has_react)
        code = write_mask(backend, where, backend->react, is.react, want->react, err);
    return code;
}
