/*
 * server/http_auth.c - who calls and may they: the credentials of a head, the route's roles, the
 * credential's scopes, and for cookies where the request comes from.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/auth.h"
#include "server/http_core.h"

#define ROLES_TEXT_SIZE 96 /* all names of roles, with commas */

/* Visible ASCII, and not too long to be one of ours. */
static bool is_token(const char *text, size_t len)
{
    if (len == 0 || len > HTTP_TOKEN_MAX)
        return false;
    for (size_t i = 0; i < len; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    return true;
}

/* The token of "Bearer TOKEN", or NULL. */
static const char *bearer_token(const char *authorization)
{
    if (strncasecmp(authorization, "Bearer ", 7) != 0)
        return NULL;
    const char *token = authorization + 7 + strspn(authorization + 7, " ");
    return is_token(token, strlen(token)) ? token : NULL;
}

/* The value of our cookie in "a=1; __Host-stellar=ss_..." (RFC 6265 4.2.1), copied; false = not
 * there, or twice: then somebody else set one too. */
static bool session_cookie(const char *cookie, char out[HTTP_TOKEN_MAX + 1])
{
    static const char name[] = HTTP_SESSION_COOKIE "=";
    bool found = false;
    while (*cookie != '\0') {
        cookie += strspn(cookie, " ;");
        size_t len = strcspn(cookie, ";");
        if (strncmp(cookie, name, sizeof(name) - 1) == 0) {
            const char *value = cookie + sizeof(name) - 1;
            size_t value_len = len - (sizeof(name) - 1);
            if (found || !is_token(value, value_len))
                return false;
            memcpy(out, value, value_len);
            out[value_len] = '\0';
            found = true;
        }
        cookie += len;
    }
    return found;
}

/* "admin, operator, auditor" */
static const char *roles_text(uint32_t roles, char out[ROLES_TEXT_SIZE])
{
    size_t len = 0;
    out[0] = '\0';
    for (enum role role = ROLE_ADMIN; role <= ROLE_AGENT; role++)
        if ((roles & ROLE_BIT(role)) != 0 && len < ROLES_TEXT_SIZE)
            len += (size_t)snprintf(out + len, ROLES_TEXT_SIZE - len, "%s%s", len == 0 ? "" : ", ",
                                    role_name(role));
    return out;
}

static void refuse_peer(struct request *request, enum tls_peer peer)
{
    if (peer == TLS_PEER_EXPIRED)
        http_refuse(request, 401, "certificate-expired",
                    "the client certificate has expired; enrol the node with a new join token");
    else if (peer == TLS_PEER_GOOD)
        http_refuse(request, 401, "certificate-revoked",
                    "the client certificate was revoked or replaced; enrol the node with a new "
                    "join token");
    else
        http_refuse(request, 401, "certificate-untrusted",
                    "the client certificate is not one that this server's authority has signed for "
                    "a node");
}

static bool who_calls(struct request *request)
{
    const struct http_config *config = &request->server->config;
    char session[HTTP_TOKEN_MAX + 1];
    enum tls_peer peer = TLS_PEER_NONE;
    struct credentials given = {.peer = (const struct sockaddr *)&request->conn->address};
    if (request->authorization != NULL)
        given.bearer = bearer_token(request->authorization);
    else if (request->cookie != NULL && session_cookie(request->cookie, session))
        given.session = session;
    else
        peer = http_tls_peer(request);
    if (peer == TLS_PEER_GOOD)
        given.certificate = request->conn->certificate;
    bool any = given.bearer != NULL || given.session != NULL || given.certificate != NULL;
    bool known = any && config->authenticate != NULL &&
                 config->authenticate(config->app, &given, &request->principal);
    if (request->cookie != NULL)
        explicit_bzero(session, sizeof(session));
    if (known)
        return true;
    request->principal = (struct principal){.role = ROLE_NONE};
    if (peer != TLS_PEER_NONE)
        refuse_peer(request, peer);
    else if (request->authorization == NULL && !any)
        http_refuse(request, 401, "unauthenticated",
                    "needs Authorization: Bearer with an API token, or the cookie of a session");
    else if (given.session != NULL)
        http_refuse(request, 401, "unauthenticated", "the session has ended; log in again");
    else
        http_refuse(request, 401, "unauthenticated",
                    "the token is unknown, expired or revoked; make a new one");
    return false;
}

static bool is_safe(const struct request *request)
{
    return request->method == ROUTE_GET || request->method == ROUTE_HEAD ||
           (request->route->flags & ROUTE_SAFE) != 0;
}

static void note_denied(const struct request *request, int status, const char *code)
{
    const struct http_config *config = &request->server->config;
    if (!is_safe(request) && config->denied != NULL)
        config->denied(config->app, request, status, code);
}

/* "https://HOST" or "https://HOST/path" against the Host header: the scheme may have been changed
 * by a proxy, host and port not. */
static bool is_of_host(const char *url, const char *host)
{
    static const char *const schemes[] = {"https://", "http://"};
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        size_t len = strlen(schemes[i]);
        if (strncasecmp(url, schemes[i], len) != 0)
            continue;
        url += len;
        len = strcspn(url, "/?#");
        return len == strlen(host) && strncasecmp(url, host, len) == 0;
    }
    return false;
}

/* A browser sends our cookie along with whatever page asks it to. What it says itself about that
 * page cannot be set by the page (Fetch Metadata 2.1, Fetch 3.1). */
static bool is_same_origin(const struct http_origin *from)
{
    if (from->fetch_site != NULL)
        return strcmp(from->fetch_site, "same-origin") == 0;
    const char *url = from->origin != NULL ? from->origin : from->referer;
    return url != NULL && from->host != NULL && is_of_host(url, from->host);
}

static bool may_by_scope(struct request *request)
{
    const struct principal *who = &request->principal;
    bool safe = is_safe(request);
    if ((who->scopes & (safe ? SCOPE_READ : SCOPE_WRITE)) != 0)
        return true;
    note_denied(request, 403, "scope");
    http_refuse(request, 403, "scope", "%s %s needs a token with the scope '%s'",
                request->route->method, request->route->path, safe ? "read" : "write");
    return false;
}

static bool may_by_role(struct request *request)
{
    const struct principal *who = &request->principal;
    bool of_tenant = who->role == ROLE_TENANT_ADMIN || who->role == ROLE_TENANT_USER;
    /* Before the role: a stranger's answer must not depend on whether the tenant exists. */
    if ((request->route->flags & ROUTE_TENANT) && of_tenant &&
        strcmp(request_param(request, 0), who->tenant) != 0) {
        note_denied(request, 404, "not-found");
        request_reply_no_tenant(request, request_param(request, 0));
        return false;
    }
    if ((request->route->roles & ROLE_BIT(who->role)) != 0)
        return true;
    char roles[ROLES_TEXT_SIZE];
    note_denied(request, 403, "denied");
    http_refuse(request, 403, "denied", "the role %s may not call %s %s; it takes %s",
                role_name(who->role), request->route->method, request->route->path,
                roles_text(request->route->roles, roles));
    return false;
}

bool http_auth_check(struct request *request, const struct http_origin *from)
{
    if (request->route->flags & ROUTE_OPEN)
        return true;
    if (!who_calls(request))
        return false;
    if (request->principal.wait_s > 0) {
        char seconds[16];
        snprintf(seconds, sizeof(seconds), "%d", (int)request->principal.wait_s);
        request_set_header(request, "Retry-After", seconds);
        http_refuse(request, 429, "rate-limited",
                    "too many requests with this token or of this tenant; try again in %s s",
                    seconds);
        return false;
    }
    if (request->principal.by_cookie && !is_safe(request) && !is_same_origin(from)) {
        note_denied(request, 403, "cross-origin");
        http_refuse(request, 403, "cross-origin",
                    "a change with a session's cookie must come from this server's own pages: send "
                    "Origin with this host, or use an API token");
        return false;
    }
    return may_by_role(request) && may_by_scope(request);
}
