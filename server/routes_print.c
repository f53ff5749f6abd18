/*
 * server/routes_print.c - the route table as text, for tests and tools: method, path, roles, flags,
 * operation and query names, a tab between them.
 */
#include "server/auth.h"
#include "server/route.h"

static const struct {
    uint32_t flag;
    const char *name;
} flag_names[] = {
    {ROUTE_JSON, "json"},     {ROUTE_IF_MATCH, "if-match"},     {ROUTE_LARGE, "large"},
    {ROUTE_TENANT, "tenant"}, {ROUTE_IDEMPOTENT, "idempotent"}, {ROUTE_PATCH_BODY, "patch"},
    {ROUTE_STREAM, "stream"}, {ROUTE_BINARY, "binary"},         {ROUTE_SAFE, "safe"},
    {ROUTE_OPEN, "open"},
};

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
        fputs(route->flags & ROUTE_OPEN ? "open\t" : "\t", out);
        for (size_t f = 0; f < sizeof(flag_names) / sizeof(flag_names[0]); f++)
            if (route->flags & flag_names[f].flag)
                fprintf(out, "%s ", flag_names[f].name);
        fprintf(out, "\t%s\t", route->operation_id);
        comma = "";
        for (const char *const *query = route->queries; query != NULL && *query != NULL; query++) {
            fprintf(out, "%s%s", comma, *query);
            comma = ",";
        }
        putc('\n', out);
    }
}
