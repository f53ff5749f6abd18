/*
 * agent/way.c - see way.h.
 */
#include "agent/way.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/backoff.h"
#include "agent/enrol.h"
#include "base/file.h"
#include "base/log.h"
#include "base/notify.h"

#define ENROL_PATIENCE "EXTEND_TIMEOUT_USEC=120000000" /* more than a try and its wait take */

struct way {
    struct way_config config;
    char server[LINK_URL_MAX / 2]; /* without a slash at the end */
    char ca_path[KEEP_PATH_MAX];
    struct http_client *client;
    struct renew *renew;
    struct link *link; /* borrowed */
};

/* The first line. Whatever is wrong with it, its bytes never get into a message. */
static enum err_code read_token(const char *path, char **out, struct err *err)
{
    size_t len;
    OWN(str) char *text = NULL;
    enum err_code code = file_read(path, WAY_TOKEN_MAX, &text, &len, err);
    if (code != ERR_OK)
        return code;
    len = strcspn(text, "\r\n");
    text[len] = '\0';
    if (len == 0 || strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz"
                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ-._~+/=") != len)
        return err_set(err, ERR_INVALID, "%s holds no token (letters, digits and -._~+/=)", path);
    if (file_is_open_to_others(path))
        log_warning("agent", "%s can be read by others; chmod 0600", path);
    *out = GIVE(text);
    return ERR_OK;
}

static void wipe(char **token)
{
    if (*token != NULL)
        explicit_bzero(*token, strlen(*token));
    free(*token);
}
#define OWN_TOKEN __attribute__((cleanup(wipe)))

static enum err_code by_token(struct loop *loop, struct way *way, struct err *err)
{
    OWN_TOKEN char *token = NULL;
    enum err_code code = read_token(way->config.token_file, &token, err);
    if (code != ERR_OK)
        return err_context(err, "--token-file");
    const struct link_http_config config = {.server = way->server,
                                            .token = token,
                                            .ca_file = way->config.server_ca,
                                            .node = way->config.node};
    return link_http_new(loop, way->client, &config, &way->link, err);
}

/* Many nodes that start at once, or before their server, must not give up: what may pass is tried
 * again, later each time. No handler stands yet: a signal ends it. */
static enum err_code join(const struct enrol_config *enrol, struct identity *out, struct err *err)
{
    struct backoff backoff = {0};
    for (;;) {
        enum err_code code = notify_send(ENROL_PATIENCE, err);
        if (code == ERR_OK)
            code = enrol_join(enrol, out, err);
        if (code != ERR_UNAVAILABLE)
            return code;
        int64_t wait_ns = backoff_next(&backoff, jitter_random());
        log_warning("agent", "%s; next try in %.1f s", err->text, (double)wait_ns / NS_PER_S);
        *err = (struct err)ERR_INIT;
        nanosleep(&(struct timespec){.tv_sec = wait_ns / NS_PER_S, .tv_nsec = wait_ns % NS_PER_S},
                  NULL);
    }
}

static enum err_code get_identity(const struct way *way, struct identity *out, struct err *err)
{
    const struct way_config *config = &way->config;
    OWN_TOKEN char *from_file = NULL;
    enum err_code code = ERR_OK;
    if (config->join_file != NULL)
        code = read_token(config->join_file, &from_file, err);
    const struct enrol_config enrol = {.server = way->server,
                                       .node = config->node,
                                       .state_dir = config->state_dir,
                                       .token = from_file != NULL ? from_file : config->join,
                                       .server_ca = config->server_ca};
    if (code == ERR_OK && enrol.token != NULL)
        return join(&enrol, out, err);
    if (code == ERR_OK)
        code = identity_load(config->state_dir, config->node, out, err);
    if (code == ERR_NOT_FOUND)
        return err_set(err, code,
                       "node %s is not enrolled yet: start it once with --join and the join_token "
                       "of POST /v1/nodes/%s/join-token",
                       config->node, config->node);
    return code;
}

static void on_fresh(void *arg, const struct identity *identity)
{
    struct way *way = arg;
    struct err err = ERR_INIT;
    if (link_http_show(way->link, identity->path, &err) != ERR_OK)
        log_error("agent", "node %s: the new certificate is used after a restart: %s",
                  way->config.node, err.text);
}

static enum err_code by_certificate(struct loop *loop, struct way *way, struct err *err)
{
    const struct way_config *config = &way->config;
    struct renew_config renew = {.server = way->server,
                                 .node = config->node,
                                 .state_dir = config->state_dir,
                                 .ca_file = way->ca_path,
                                 .fresh = on_fresh,
                                 .arg = way};
    enum err_code code = enrol_ca_path(config->state_dir, config->server_ca, way->ca_path, err);
    if (code == ERR_OK)
        code = get_identity(way, &renew.identity, err);
    if (code == ERR_OK)
        code = renew_new(loop, way->client, &renew, &way->renew, err);
    const struct link_http_config link = {.server = way->server,
                                          .ca_file = way->ca_path,
                                          .identity = renew.identity.path,
                                          .node = config->node};
    return code == ERR_OK ? link_http_new(loop, way->client, &link, &way->link, err) : code;
}

enum err_code way_new(struct loop *loop, const struct way_config *config, struct way **out,
                      struct link **out_link, struct err *err)
{
    size_t len = strlen(config->server);
    while (len > 0 && config->server[len - 1] == '/')
        len--; /* paths begin with one */
    OWN(way) struct way *way = calloc(1, sizeof(*way));
    if (way == NULL)
        return err_nomem(err);
    if (len >= sizeof(way->server))
        return err_set(err, ERR_LIMIT, "the server's URL is too long");
    memcpy(way->server, config->server, len);
    way->config = *config;
    enum err_code code = http_client_new(loop, &way->client, err);
    if (code == ERR_OK)
        code =
            config->token_file != NULL ? by_token(loop, way, err) : by_certificate(loop, way, err);
    if (code != ERR_OK)
        return code;
    *out_link = way->link;
    *out = GIVE(way);
    return ERR_OK;
}

void way_free(struct way *way)
{
    if (way == NULL)
        return;
    renew_free(way->renew);
    http_client_free(way->client);
    free(way);
}

struct http_client *way_client(const struct way *way)
{
    return way->client;
}

void way_renew(struct way *way)
{
    if (way->renew != NULL)
        renew_now(way->renew);
}
