/*
 * server/api_assets.c - the pages of the web UI: a file by its path, and the one page for the path
 * of each screen, when a browser goes there. Programs that ask for what is not there get the 404
 * they would get without the web UI.
 */
#include <string.h>

#include "server/api.h"
#include "server/assets.h"
#include "server/route.h"

#define FOR_EVER "public, max-age=31536000, immutable"

static const struct asset *find(const struct request *request)
{
    const struct app *app = request_app(request);
    return assets_find(app->assets, request_path(request));
}

bool api_assets_owns(struct request *request)
{
    static const char *const types[] = {"application/json", "text/html", NULL};
    const char *method = request_method(request);
    if (find(request) != NULL)
        return true;
    bool reads = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    return reads && assets_may_be_screen(request_path(request)) &&
           request_accept(request, types) == 1;
}

static void api_assets_get(struct request *request)
{
    const struct app *app = request_app(request);
    const struct asset *asset = find(request);
    const char *codings[ASSET_CODINGS] = {NULL};
    size_t count = 0;
    if (asset == NULL)
        asset = assets_find(app->assets, "/");
    for (enum asset_coding i = 0; i < ASSET_PLAIN; i++)
        if (asset_blob(asset, i) != NULL)
            codings[count++] = asset_coding_name(i);
    const char *coding = request_accept_coding(request, codings);
    enum asset_coding chosen = ASSET_PLAIN;
    for (enum asset_coding i = 0; i < ASSET_PLAIN && coding != NULL; i++)
        if (strcmp(asset_coding_name(i), coding) == 0)
            chosen = i;
    if (coding != NULL)
        request_set_header(request, "Content-Encoding", coding);
    if (asset_is_hashed(asset))
        request_set_header(request, "Cache-Control", FOR_EVER);
    request_reply_blob(request, 200, asset_blob(asset, chosen));
}

const struct route api_assets_route = {
    "GET", "/", 0, ROUTE_OPEN, api_assets_get, "assets", NULL,
};
