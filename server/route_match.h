#pragma once
/*
 * server/route_match.h - finds the row of the route table for a method and a path.
 *
 * The table is turned into a tree of path segments once, at start; a look-up allocates nothing and
 * is safe from any thread. A segment of a pattern is literal ("tenants", "policy:validate"), a
 * parameter ("{tenant}"), or a parameter with a verb behind it ("{name}:drain"). Literals win over
 * verbs, verbs over plain parameters; if a choice leads nowhere the next one is tried.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/own.h"
#include "server/route.h"

#define ROUTE_SEGMENTS_MAX 16
#define ROUTE_ALLOW_MAX    64

/* The methods this server knows, as bits of an Allow set. */
enum route_method {
    ROUTE_GET = 0,
    ROUTE_HEAD,
    ROUTE_PUT,
    ROUTE_POST,
    ROUTE_PATCH,
    ROUTE_DELETE,
    ROUTE_OPTIONS,
    ROUTE_METHOD_COUNT,
};

struct route_tree;

struct route_segment {
    const char *text; /* raw bytes of the path, still percent-encoded */
    size_t len;
};

struct route_match {
    const struct route *route; /* NULL: no row for this method */
    unsigned allowed;          /* bits of the methods this path has; 0 = unknown path */
    struct route_segment params[HTTP_PARAMS_MAX];
    size_t param_count;
};

/* Checks the table too: ERR_INVALID names the row (unknown method, bad pattern, a pair twice). */
ERR_MUST_CHECK enum err_code route_tree_new(const struct route *table, size_t count,
                                            struct route_tree **out, struct err *err);
void route_tree_free(struct route_tree *tree); /* NULL is legal */
OWN_DEFINE(route_tree, struct route_tree *, route_tree_free)

/* HEAD finds the GET row. `segments` are the parts between the slashes; "/" has none. */
void route_tree_match(const struct route_tree *tree, enum route_method method,
                      const struct route_segment *segments, size_t count, struct route_match *out);

/* ROUTE_METHOD_COUNT = unknown. Methods are case-sensitive (RFC 9110 9.1). */
enum route_method route_method_parse(const char *name);
const char *route_method_name(enum route_method method);
/* "GET, HEAD, OPTIONS" */
void route_allow_format(unsigned allowed, char out[ROUTE_ALLOW_MAX]);
