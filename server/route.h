#pragma once
/*
 * server/route.h - the route table: one row a method and path; roles, body and limits as data.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "server/http.h"

enum route_flags {
    ROUTE_JSON = 1 << 0,       /* needs an application/json body, parsed by base/json */
    ROUTE_IF_MATCH = 1 << 1,   /* 428 without If-Match or If-None-Match: * */
    ROUTE_LARGE = 1 << 2,      /* HTTP_BODY_LARGE_MAX */
    ROUTE_OPEN = 1 << 3,       /* no credentials */
    ROUTE_TENANT = 1 << 4,     /* param 0 is a tenant: tenant roles get 404 for any other */
    ROUTE_IDEMPOTENT = 1 << 5, /* POST that honours Idempotency-Key */
    ROUTE_SAFE = 1 << 6,       /* POST that changes nothing: the scope "read" is enough */
    /* A body of one of the two patch types, parsed, of any root; If-Match is the only precondition.
     */
    ROUTE_PATCH_BODY = 1 << 7,
    /* A body of application/octet-stream that the handler takes in pieces: server/http_intake.h. */
    ROUTE_STREAM = 1 << 8,
    /* The same, whole and within HTTP_BODY_MAX: request_body(). */
    ROUTE_BINARY = 1 << 9,
};

struct route {
    const char *method;
    const char *path; /* "/v1/tenants/{tenant}/policy" or ".../policy:validate" */
    uint32_t roles;   /* ROLE_BIT()s that may call it; admin is never implied */
    uint32_t flags;
    void (*handler)(struct request *request);
    const char *operation_id; /* of openapi.yaml */
    /* The query parameters it takes, ended by NULL; any other is a 400, lest a misspelt "dry_run"
     * turn a rehearsal into the real thing. NULL: the handler looks itself. */
    const char *const *queries;
};

extern const struct route routes[];
extern const size_t route_count;

/* The table as text, a line a row (stellard --routes). */
void routes_print(FILE *out);
