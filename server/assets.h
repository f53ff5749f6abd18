#pragma once
/*
 * server/assets.h - the files of the web UI that are built into the server: each as it is and,
 * where that is smaller, as gzip and brotli, with an entity tag of its own. Without the web UI the
 * table holds one page that says so.
 *
 * Called by api_assets.c; knows nothing of requests.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/own.h"

struct blob;

enum asset_coding {
    ASSET_BROTLI = 0,
    ASSET_GZIP,
    ASSET_PLAIN,
    ASSET_CODINGS,
};

struct asset_bytes {
    const unsigned char *data; /* NULL = not in this coding */
    size_t len;
};

/* A row that server/assets.py makes of a file. */
struct asset_file {
    const char *path; /* "/index.html"; NULL ends the table */
    const char *type; /* Content-Type */
    const char *hash; /* hex of the plain bytes' SHA-256, its first 16 letters */
    bool is_hashed;   /* the name changes with the content: to be kept for ever */
    struct asset_bytes codings[ASSET_CODINGS];
};
extern const struct asset_file asset_files[];

struct assets;
struct asset; /* one file */

/* The table is borrowed and must hold /index.html (ERR_INVALID). */
ERR_MUST_CHECK enum err_code assets_new(const struct asset_file *table, struct assets **out,
                                        struct err *err);
void assets_free(struct assets *assets); /* NULL is legal */
OWN_DEFINE(assets, struct assets *, assets_free)

/* The file of a path, "/" being /index.html; NULL = there is none. Any thread. */
const struct asset *assets_find(const struct assets *assets, const char *path);
/* Whether a path that is no file can be a screen, which /index.html then shows: not below /v1 nor
 * /assets. */
bool assets_may_be_screen(const char *path);
bool asset_is_hashed(const struct asset *asset);
/* Borrowed; NULL = not in this coding. ASSET_PLAIN is always there. */
struct blob *asset_blob(const struct asset *asset, enum asset_coding coding);
/* "br", "gzip"; NULL of ASSET_PLAIN. */
const char *asset_coding_name(enum asset_coding coding);
