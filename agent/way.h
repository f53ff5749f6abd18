#pragma once
/*
 * agent/way.h - the agent's way to its server, from options: by certificate (enrolled with a join
 * token, or before) or by a bearer token for a server on loopback. Owns what the link needs.
 */

#include "agent/link.h"
#include "agent/link_http.h"
#include "agent/renew.h"

#define WAY_TOKEN_MAX 4096 /* bytes of a token's file */

struct way;

struct way_config {     /* borrowed until way_free() */
    const char *server; /* URL */
    const char *node, *state_dir;
    const char *token_file; /* NULL = by certificate */
    const char *join;       /* join token, or NULL */
    const char *join_file;  /* holds it, or NULL */
    const char *server_ca;  /* who signs the server's certificate; NULL = its own authority */
};

/* Blocks while it enrols, as long as the server cannot be reached or is busy. *out_link is the
 * caller's; free it before the way. */
ERR_MUST_CHECK enum err_code way_new(struct loop *loop, const struct way_config *config,
                                     struct way **out, struct link **out_link, struct err *err);
void way_free(struct way *way);
OWN_DEFINE(way, struct way *, way_free)

/* What the link asks with; borrowed, for other requests to the same server. */
struct http_client *way_client(const struct way *way);

/* Takes a new certificate now; by token: nothing. */
void way_renew(struct way *way);
