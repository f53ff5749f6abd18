/*
 * server/route_match.c - see route_match.h.
 *
 * Each node keeps its children in one array, in the order of the search: the handful of names under
 * "/v1/" is compared faster by length and memcmp than any hash would be.
 */
#include "server/route_match.h"

#include <stdlib.h>
#include <string.h>

enum node_kind {
    NODE_LITERAL = 0,
    NODE_VERB, /* {name}:verb, text is ":verb" */
    NODE_PARAM,
};

struct node {
    enum node_kind kind;
    const char *text; /* of the table's own string */
    size_t len;
    struct node **children;
    size_t child_count;
    const struct route *rows[ROUTE_METHOD_COUNT];
    unsigned allowed;
};

struct route_tree {
    struct node root;
};

static const char *const method_names[ROUTE_METHOD_COUNT] = {
    [ROUTE_GET] = "GET",         [ROUTE_HEAD] = "HEAD",   [ROUTE_PUT] = "PUT",
    [ROUTE_POST] = "POST",       [ROUTE_PATCH] = "PATCH", [ROUTE_DELETE] = "DELETE",
    [ROUTE_OPTIONS] = "OPTIONS",
};

enum route_method route_method_parse(const char *name)
{
    for (int m = 0; m < ROUTE_METHOD_COUNT; m++)
        if (strcmp(name, method_names[m]) == 0)
            return (enum route_method)m;
    return ROUTE_METHOD_COUNT;
}

const char *route_method_name(enum route_method method)
{
    return method < ROUTE_METHOD_COUNT ? method_names[method] : "?";
}

void route_allow_format(unsigned allowed, char out[ROUTE_ALLOW_MAX])
{
    size_t used = 0;
    for (int m = 0; m < ROUTE_METHOD_COUNT; m++) {
        if ((allowed & 1u << m) == 0)
            continue;
        const char *name = method_names[m];
        size_t len = strlen(name);
        if (used > 0) {
            memcpy(out + used, ", ", 2);
            used += 2;
        }
        memcpy(out + used, name, len);
        used += len;
    }
    out[used] = '\0';
}

/* False when the segment is no legal pattern. */
static bool pattern_parse(const char *text, size_t len, struct node *out)
{
    *out = (struct node){.kind = NODE_LITERAL, .text = text, .len = len};
    if (len == 0)
        return false;
    const char *open = memchr(text, '{', len), *close = memchr(text, '}', len);
    if (open == NULL && close == NULL)
        return true;
    if (open != text || close == NULL || close - text < 2)
        return false;
    out->text = close + 1;
    out->len = len - (size_t)(close + 1 - text);
    out->kind = out->len == 0 ? NODE_PARAM : NODE_VERB;
    if (memchr(out->text, '{', out->len) != NULL || memchr(out->text, '}', out->len) != NULL)
        return false;
    return out->len == 0 || (out->text[0] == ':' && out->len > 1);
}

static bool node_is_like(const struct node *node, const struct node *pattern)
{
    return node->kind == pattern->kind && node->len == pattern->len &&
           memcmp(node->text, pattern->text, node->len) == 0;
}

/* The child for this pattern, made when it is not there; NULL without memory. */
static struct node *node_child(struct node *node, const struct node *pattern)
{
    size_t at = 0;
    for (; at < node->child_count; at++)
        if (node_is_like(node->children[at], pattern))
            return node->children[at];
    struct node **grown = realloc(node->children, (node->child_count + 1) * sizeof(struct node *));
    if (grown == NULL)
        return NULL;
    node->children = grown;
    struct node *child = malloc(sizeof(*child));
    if (child == NULL)
        return NULL;
    *child = *pattern;
    while (at > 0 && grown[at - 1]->kind > child->kind) {
        grown[at] = grown[at - 1];
        at--;
    }
    grown[at] = child;
    node->child_count++;
    return child;
}

static enum err_code tree_add(struct route_tree *tree, const struct route *route, struct err *err)
{
    enum route_method method = route_method_parse(route->method);
    if (method == ROUTE_METHOD_COUNT || method == ROUTE_HEAD || method == ROUTE_OPTIONS)
        return err_set(err, ERR_INVALID, "route %s %s: no method of a route", route->method,
                       route->path);
    if (route->path[0] != '/' || route->handler == NULL)
        return err_set(err, ERR_INVALID, "route %s %s: needs a path from / and a handler",
                       route->method, route->path);
    struct node *node = &tree->root;
    size_t segments = 0, params = 0;
    for (const char *p = route->path + 1; *p != '\0';) {
        size_t len = strcspn(p, "/");
        struct node pattern;
        if (!pattern_parse(p, len, &pattern) || (p[len] == '/' && p[len + 1] == '\0'))
            return err_set(err, ERR_INVALID, "route %s %s: bad segment %zu", route->method,
                           route->path, segments);
        params += pattern.kind != NODE_LITERAL;
        if (++segments > ROUTE_SEGMENTS_MAX || params > HTTP_PARAMS_MAX)
            return err_set(err, ERR_INVALID, "route %s %s: too many segments or parameters",
                           route->method, route->path);
        node = node_child(node, &pattern);
        if (node == NULL)
            return err_nomem(err);
        p += len + (p[len] == '/');
    }
    if (node->rows[method] != NULL)
        return err_set(err, ERR_INVALID, "route %s %s stands twice in the table", route->method,
                       route->path);
    node->rows[method] = route;
    node->allowed |= 1u << method | 1u << ROUTE_OPTIONS;
    if (method == ROUTE_GET) {
        node->rows[ROUTE_HEAD] = route;
        node->allowed |= 1u << ROUTE_HEAD;
    }
    return ERR_OK;
}

static void node_release(struct node *node)
{
    for (size_t i = 0; i < node->child_count; i++) {
        node_release(node->children[i]);
        free(node->children[i]);
    }
    free(node->children);
}

enum err_code route_tree_new(const struct route *table, size_t count, struct route_tree **out,
                             struct err *err)
{
    OWN(route_tree) struct route_tree *tree = calloc(1, sizeof(*tree));
    if (tree == NULL)
        return err_nomem(err);
    for (size_t i = 0; i < count; i++)
        if (tree_add(tree, &table[i], err) != ERR_OK)
            return err != NULL ? err->code : ERR_INVALID;
    *out = GIVE(tree);
    return ERR_OK;
}

void route_tree_free(struct route_tree *tree)
{
    if (tree == NULL)
        return;
    node_release(&tree->root);
    free(tree);
}

/* Whether the segment fits; then *value_len is the length of the parameter in it. */
static bool node_fits(const struct node *node, const struct route_segment *seg, size_t *value_len)
{
    switch (node->kind) {
    case NODE_LITERAL:
        return node->len == seg->len && memcmp(node->text, seg->text, seg->len) == 0;
    case NODE_VERB:
        if (seg->len <= node->len)
            return false;
        *value_len = seg->len - node->len;
        return memcmp(seg->text + *value_len, node->text, node->len) == 0;
    case NODE_PARAM:
        *value_len = seg->len;
        return true;
    }
    return false;
}

/* True when a row was found; `allowed` gathers what other rows of this path would take. */
static bool node_match(const struct node *node, enum route_method method,
                       const struct route_segment *segments, size_t count, struct route_match *out)
{
    if (count == 0) {
        out->allowed |= node->allowed;
        out->route = method < ROUTE_METHOD_COUNT ? node->rows[method] : NULL;
        return out->route != NULL;
    }
    for (size_t i = 0; i < node->child_count; i++) {
        const struct node *child = node->children[i];
        size_t value_len = 0;
        if (!node_fits(child, segments, &value_len))
            continue;
        size_t params = out->param_count;
        if (child->kind != NODE_LITERAL)
            out->params[out->param_count++] =
                (struct route_segment){.text = segments->text, .len = value_len};
        if (node_match(child, method, segments + 1, count - 1, out))
            return true;
        out->param_count = params;
    }
    return false;
}

void route_tree_match(const struct route_tree *tree, enum route_method method,
                      const struct route_segment *segments, size_t count, struct route_match *out)
{
    out->route = NULL;
    out->allowed = 0;
    out->param_count = 0;
    node_match(&tree->root, method, segments, count, out);
}
