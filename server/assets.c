/*
 * server/assets.c - the built-in files of the web UI, see assets.h.
 */
#include "server/assets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/http.h"

struct asset {
    const struct asset_file *file;
    struct blob *blobs[ASSET_CODINGS];
};

struct assets {
    size_t count;
    struct asset items[];
};

static const char *const coding_names[ASSET_CODINGS] = {
    [ASSET_BROTLI] = "br",
    [ASSET_GZIP] = "gzip",
};

static enum err_code load(struct asset *asset, const struct asset_file *file, struct err *err)
{
    asset->file = file;
    if (file->codings[ASSET_PLAIN].data == NULL)
        return err_set(err, ERR_INVALID, "%s is not there as it is", file->path);
    for (enum asset_coding i = 0; i < ASSET_CODINGS; i++) {
        char etag[48];
        const struct asset_bytes *bytes = &file->codings[i];
        if (bytes->data == NULL)
            continue;
        /* Other bytes are another representation (RFC 9110 8.8.3.3). */
        snprintf(etag, sizeof(etag), "\"%s%s%s\"", file->hash, coding_names[i] != NULL ? "-" : "",
                 coding_names[i] != NULL ? coding_names[i] : "");
        asset->blobs[i] = blob_new_static(bytes->data, bytes->len, etag, file->type);
        if (asset->blobs[i] == NULL)
            return err_nomem(err);
    }
    return ERR_OK;
}

enum err_code assets_new(const struct asset_file *table, struct assets **out, struct err *err)
{
    size_t count = 0;
    while (table[count].path != NULL)
        count++;
    OWN(assets)
    struct assets *assets = calloc(1, sizeof(*assets) + count * sizeof(assets->items[0]));
    if (assets == NULL)
        return err_nomem(err);
    assets->count = count;
    for (size_t i = 0; i < count; i++) {
        enum err_code code = load(&assets->items[i], &table[i], err);
        if (code != ERR_OK)
            return code;
    }
    if (assets_find(assets, "/") == NULL)
        return err_set(err, ERR_INVALID, "the built-in files have no /index.html");
    *out = GIVE(assets);
    return ERR_OK;
}

void assets_free(struct assets *assets)
{
    if (assets == NULL)
        return;
    for (size_t i = 0; i < assets->count; i++)
        for (size_t k = 0; k < ASSET_CODINGS; k++)
            blob_unref(assets->items[i].blobs[k]);
    free(assets);
}

const struct asset *assets_find(const struct assets *assets, const char *path)
{
    if (strcmp(path, "/") == 0)
        path = "/index.html";
    for (size_t i = 0; i < assets->count; i++)
        if (strcmp(assets->items[i].file->path, path) == 0)
            return &assets->items[i];
    return NULL;
}

static bool is_below(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

bool assets_may_be_screen(const char *path)
{
    return !is_below(path, "/v1") && !is_below(path, "/assets");
}

bool asset_is_hashed(const struct asset *asset)
{
    return asset->file->is_hashed;
}

struct blob *asset_blob(const struct asset *asset, enum asset_coding coding)
{
    return asset->blobs[coding];
}

const char *asset_coding_name(enum asset_coding coding)
{
    return coding_names[coding];
}
