/*
 * tests/fuzz/fuzz_server_url.c - a request's target: what is taken has a path and queries that can
 * be shown, no way out of a segment, and finds at most one row for a method of the product's table.
 */
#include "base/text.h"
#include "server/http_url.h"
#include "server/route_match.h"
#include "tests/fuzz/fuzz.h"

static const struct route_tree *product(void)
{
    static struct route_tree *tree;
    must(tree != NULL || route_tree_new(routes, route_count, &tree, NULL) == ERR_OK);
    return tree;
}

static void check_shown(const char *text)
{
    must(!text_find_hidden(text, strlen(text), NULL));
}

static void check_params(const struct route_match *match)
{
    char text[HTTP_URL_MAX + 1];
    for (size_t i = 0; i < match->param_count; i++) {
        must(match->params[i].len > 0 && match->params[i].len < sizeof(text));
        http_segment_decode(&match->params[i], text);
        must(text[0] != '\0' && strchr(text, '/') == NULL);
        check_shown(text);
    }
}

static void check_match(const struct http_url *url)
{
    unsigned with_row = 0;
    char allow[ROUTE_ALLOW_MAX];
    struct route_match match;
    for (enum route_method method = ROUTE_GET; method < ROUTE_METHOD_COUNT; method++) {
        route_tree_match(product(), method, url->segments, url->segment_count, &match);
        must(match.param_count <= HTTP_PARAMS_MAX);
        if (match.route == NULL)
            continue;
        with_row |= 1u << method;
        must((match.allowed & 1u << method) != 0);
        check_params(&match);
    }
    must((with_row & ~match.allowed) == 0 && (with_row != 0 || match.allowed == 0));
    route_allow_format(match.allowed, allow);
    must(strlen(allow) < sizeof(allow));
}

static void check_queries(const struct http_url *url)
{
    must(url->query_count <= HTTP_QUERIES_MAX);
    for (size_t i = 0; i < url->query_count; i++) {
        must(url->queries[i].key[0] != '\0');
        check_shown(url->queries[i].key);
        check_shown(url->queries[i].value);
        for (size_t j = 0; j < i; j++)
            must(strcmp(url->queries[i].key, url->queries[j].key) != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_url url;
    struct err err = ERR_INIT;
    char *raw = malloc(size + 1), *room = malloc(HTTP_URL_ROOM(size));
    must(raw != NULL && room != NULL);
    memcpy(raw, data, size);
    enum err_code code = http_url_parse(raw, size, room, &url, &err);
    must(url.path != NULL && (code == ERR_OK || err.text[0] != '\0'));
    if (code == ERR_OK) {
        must(url.path[0] == '/' && strstr(url.path, "//") == NULL &&
             strstr(url.path, "/../") == NULL);
        check_shown(url.path);
        check_queries(&url);
        check_match(&url);
    }
    free(raw);
    free(room);
    return 0;
}
