/*
 * server/routes_print.c - the route table as text, for tests and tools: method, path, roles, flags,
 * operation and query names, a tab between them.
 */
#include "server/auth.h"
#include "server/route.h"

void routes_print(FILE *out)
{
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &routes[i];
        const char *comma = "";
        fprintf(out, "%s\t%s\t", route->method, route->path);
        for (enum role role = ROLE_ADMIN; role <= ROLE_AGENT; role++)
            if (route->roles & ROLE_BIT(role)) {
                fprintf(out, "%s%s", comma, role_name(role));
                comma = ",";
            }
        fprintf(out, "%s\t%s%s%s%s%s%s%s%s%s\t%s\t", route->flags & ROUTE_OPEN ? "open" : "",
                route->flags & ROUTE_JSON ? "json " : "",
                route->flags & ROUTE_IF_MATCH ? "if-match " : "",
                route->flags & ROUTE_LARGE ? "large " : "",
                route->flags & ROUTE_TENANT ? "tenant " : "",
                route->flags & ROUTE_IDEMPOTENT ? "idempotent " : "",
                route->flags & ROUTE_PATCH_BODY ? "patch " : "",
                route->flags & ROUTE_STREAM ? "stream " : "",
                route->flags & ROUTE_SAFE ? "safe " : "", route->flags & ROUTE_OPEN ? "open " : "",
                route->operation_id);
        comma = "";
        for (const char *const *query = route->queries; query != NULL && *query != NULL; query++) {
            fprintf(out, "%s%s", comma, *query);
            comma = ",";
        }
        putc('\n', out);
    }
}
