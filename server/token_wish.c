/*
 * server/token_wish.c - see token_wish.h.
 */
#include "server/token_wish.h"

#include <stdio.h>
#include <string.h>

#include "fleet/name.h"
#include "fleet/read.h"

#define LIFETIME_MAX_S INT64_C(315360000) /* ten years */

/* The roles that a caller may give away: what it may do itself. */
static const uint32_t grants[ROLE_COUNT] = {
    [ROLE_ADMIN] = ROLE_BIT(ROLE_ADMIN) | ROLE_BIT(ROLE_OPERATOR) | ROLE_BIT(ROLE_AUDITOR) |
                   ROLE_BIT(ROLE_TENANT_ADMIN) | ROLE_BIT(ROLE_TENANT_USER),
    [ROLE_OPERATOR] = ROLE_BIT(ROLE_OPERATOR),
    [ROLE_AUDITOR] = ROLE_BIT(ROLE_AUDITOR),
    [ROLE_TENANT_ADMIN] = ROLE_BIT(ROLE_TENANT_ADMIN) | ROLE_BIT(ROLE_TENANT_USER),
    [ROLE_TENANT_USER] = ROLE_BIT(ROLE_TENANT_USER),
};

static void read_scopes(struct json_reader *r, uint32_t granted, uint32_t *out)
{
    static const char *const names[] = {"read", "write"};
    const json_t *list, *item;
    size_t i;
    *out = granted;
    if (!json_reader_array(r, "scopes", false, 2, &list))
        return;
    *out = 0;
    json_array_foreach((json_t *)list, i, item)
    {
        const char *name = json_string_value(item);
        for (unsigned bit = 0; bit < 2; bit++)
            if (name != NULL && strcmp(name, names[bit]) == 0)
                *out |= 1u << bit;
    }
    if (json_array_size(list) == 0 || (size_t)__builtin_popcount(*out) != json_array_size(list))
        read_problem(r, "scopes", "scopes are \"read\" and \"write\", each once at most");
    else if ((*out & ~granted) != 0)
        read_problem(r, "scopes", "the token of this request has not all of these scopes");
}

static void read_sources(struct json_reader *r, char out[SOURCES_TEXT_SIZE])
{
    const json_t *list, *item;
    size_t i, len = 0;
    out[0] = '\0';
    if (!json_reader_array(r, "sources", false, TOKEN_SOURCES_MAX, &list))
        return;
    if (json_array_size(list) == 0)
        read_problem(r, "sources", "no source would ever fit; leave it out for any");
    json_array_foreach((json_t *)list, i, item)
    {
        struct err err = ERR_INIT;
        struct ip_prefix prefix;
        char text[IP_PREFIX_TEXT_MAX];
        const char *given = json_string_value(item);
        if (given == NULL || ip_prefix_parse(given, &prefix, &err) != ERR_OK) {
            read_problem(r, "sources", "%s", given == NULL ? "a source is a text" : err.text);
            return;
        }
        ip_prefix_format(&prefix, true, text);
        len += (size_t)snprintf(out + len, SOURCES_TEXT_SIZE - len, "%s%s", i > 0 ? "," : "", text);
    }
}

/* What the caller may give: its own role's, in its own tenant. */
static void check_grant(struct json_reader *r, const struct principal *who, struct token_wish *wish,
                        bool homed)
{
    struct err err = ERR_INIT;
    const char *role = role_name(wish->role);
    bool needs = role_is_tenants(wish->role);
    if (needs && !homed && role_is_tenants(who->role))
        memcpy(wish->tenant, who->tenant, sizeof(wish->tenant));
    if ((grants[who->role] & ROLE_BIT(wish->role)) == 0)
        read_problem(r, "role", "the role %s cannot make a token with the role %s",
                     role_name(who->role), role);
    else if (needs && wish->tenant[0] == '\0')
        read_problem(r, "tenant", "role '%s' needs a 'tenant'", role);
    else if (!needs && homed)
        read_problem(r, "tenant", "role '%s' belongs to no tenant", role);
    else if (homed && name_check(wish->tenant, "tenant", &err) != ERR_OK)
        read_problem(r, "tenant", "%s", err.text);
    else if (homed && role_is_tenants(who->role) && strcmp(wish->tenant, who->tenant) != 0)
        read_problem(r, "tenant", "the tokens that you make are of the tenant '%s'", who->tenant);
}

void token_wish_read(const struct request *request, struct token_wish *wish,
                     struct finding_list *findings)
{
    const struct principal *who = request_principal(request);
    struct json_reader r;
    int role = 0;
    bool service = false;
    json_reader_init(&r, request_json(request), "", findings);
    bool known = json_reader_enum(&r, "role", true, people_roles, &role);
    bool homed = read_text(&r, "tenant", false, 1, wish->tenant, sizeof(wish->tenant));
    read_text(&r, "description", false, 0, wish->description, sizeof(wish->description));
    json_reader_int(&r, "lifetime_s", false, 1, LIFETIME_MAX_S, &wish->lifetime_s);
    json_reader_bool(&r, "service", false, &service);
    read_scopes(&r, who->scopes, &wish->scopes);
    read_sources(&r, wish->sources);
    json_reader_end(&r);
    if (service && who->role != ROLE_ADMIN && who->role != ROLE_TENANT_ADMIN)
        read_problem(&r, "service", "only admin and tenant-admin make tokens that are nobody's");
    if (!known)
        return;
    role_from_name(people_roles[role], &wish->role);
    check_grant(&r, who, wish, homed);
    /* A token for a tenant is not that of the admin who made it. */
    if (!service && strcmp(wish->tenant, who->tenant) == 0)
        memcpy(wish->owner, who->user, strlen(who->user) + 1);
}
