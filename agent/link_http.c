/*
 * agent/link_http.c - see link_http.h: what the agent tells goes to its channel (link_channel.h).
 * Made by agent_main and the benchmark, driven by the loop.
 */
#include "agent/link_http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/link_channel.h"
#include "base/json.h"
#include "base/log.h"

/* Takes body; NULL = there was no memory for it. */
static void deliver_bytes(struct link *base, enum channel_id id, char *body, size_t len)
{
    struct link_http *link = (struct link_http *)base;
    struct channel *channel = &link->channels[id];
    if (body == NULL) {
        log_error("agent", "node %s: out of memory: the %s is not sent", link->node,
                  channel->kind->what);
        return;
    }
    free(channel->body);
    channel->body = body;
    channel->len = len;
    channel->newer = channel->running;
    channel_send(channel);
}

static void deliver(struct link *base, enum channel_id id, const json_t *document)
{
    size_t len = 0;
    char *body = json_canonical(document, &len);
    deliver_bytes(base, id, body, len);
}

static void deliver_report(struct link *base, enum channel_id id, const char *task,
                           const json_t *document)
{
    snprintf(((struct link_http *)base)->channels[id].task, NAME_SIZE, "%s", task);
    deliver(base, id, document);
}

static void link_telemetry(struct link *base, const void *data, size_t len)
{
    char *body = malloc(len + 1);
    if (body != NULL)
        memcpy(body, data, len);
    deliver_bytes(base, CHANNEL_TELEMETRY, body, len);
}

static void link_inventory(struct link *link, const json_t *document)
{
    deliver(link, CHANNEL_INVENTORY, document);
}

static void link_state(struct link *link, const json_t *document)
{
    deliver(link, CHANNEL_STATE, document);
}

static void link_chains(struct link *link, const json_t *document)
{
    deliver(link, CHANNEL_CHAINS, document);
}

static void link_receipt(struct link *link, const json_t *document)
{
    deliver(link, CHANNEL_RECEIPT, document);
}

static void link_start(struct link *base, const struct link_events *events)
{
    struct link_http *link = (struct link_http *)base;
    link->events = *events;
    link->started = true;
    channel_send_all(link);
}

/* A '+' of a query means a space; a tag has one at most, its other characters mean themselves. */
static void set_known(struct link *base, enum channel_id id, const char *tag)
{
    struct channel *channel = &((struct link_http *)base)->channels[id];
    const char *plus = strchr(tag, '+');
    int len = (int)(plus == NULL ? strlen(tag) : (size_t)(plus - tag));
    snprintf(channel->known, sizeof(channel->known), "%.*s%s%s", len, tag,
             plus == NULL ? "" : "%2B", plus == NULL ? "" : plus + 1);
    channel->has_known = true;
    channel_send(channel);
}

static void link_known(struct link *link, const char *tag)
{
    set_known(link, CHANNEL_PLAN, tag);
}

static void link_flash_known(struct link *link, const char *tag)
{
    set_known(link, CHANNEL_FLASH, tag);
}

static void link_flash_report(struct link *base, const char *task, const json_t *document)
{
    deliver_report(base, CHANNEL_FLASH_REPORT, task, document);
}

static void link_verify_known(struct link *link, const char *tag)
{
    set_known(link, CHANNEL_VERIFY, tag);
}

static void link_verify_report(struct link *base, const char *task, const json_t *document)
{
    deliver_report(base, CHANNEL_VERIFY_REPORT, task, document);
}

static bool copy_text(const char *text, char **out)
{
    *out = text == NULL ? NULL : strdup(text);
    return text == NULL || *out != NULL;
}

void link_image_release(struct link_image *image)
{
    if (image->token != NULL)
        explicit_bzero(image->token, strlen(image->token));
    free(image->token);
    free(image->ca_file);
    free(image->identity);
    memset(image, 0, sizeof(*image));
}

enum err_code link_http_at(const struct link *base, const char *path, struct link_image *out,
                           struct err *err)
{
    const struct link_http *link = (const struct link_http *)base;
    struct link_image image = {0};
    snprintf(image.url, sizeof(image.url), "%s%s", link->server, path);
    if (!copy_text(link->token, &image.token) || !copy_text(link->ca_file, &image.ca_file) ||
        !copy_text(link->identity, &image.identity)) {
        link_image_release(&image);
        return err_nomem(err);
    }
    *out = image;
    return ERR_OK;
}

static enum err_code link_image_get(struct link *base, const char *id, struct link_image *out,
                                    struct err *err)
{
    char path[NAME_SIZE + 64];
    snprintf(path, sizeof(path), "/v1/firmware/images/%s/content", id);
    return link_http_at(base, path, out, err);
}

static void link_free(struct link *base)
{
    struct link_http *link = (struct link_http *)base;
    for (int i = 0; i < CHANNEL_COUNT; i++) {
        struct channel *channel = &link->channels[i];
        if (channel->running)
            http_client_cancel(link->client, channel->request);
        loop_timer_free(channel->timer);
        free(channel->body);
    }
    if (link->token != NULL)
        explicit_bzero(link->token, strlen(link->token));
    free(link->token);
    free(link->ca_file);
    free(link->identity);
    free(link);
}

static const struct link_ops http_ops = {
    .start = link_start,
    .inventory = link_inventory,
    .state = link_state,
    .receipt = link_receipt,
    .chains = link_chains,
    .known = link_known,
    .flash_known = link_flash_known,
    .flash_report = link_flash_report,
    .verify_known = link_verify_known,
    .verify_report = link_verify_report,
    .telemetry = link_telemetry,
    .image = link_image_get,
    .free = link_free,
};

enum err_code link_http_show(struct link *base, const char *identity, struct err *err)
{
    struct link_http *link = (struct link_http *)base;
    char *copy = strdup(identity);
    if (copy == NULL)
        return err_nomem(err);
    free(link->identity);
    link->identity = copy; /* another path: libcurl will not use the old connections for it */
    return ERR_OK;
}

enum err_code link_http_new(struct loop *loop, struct http_client *client,
                            const struct link_http_config *config, struct link **out,
                            struct err *err)
{
    size_t server_len = strlen(config->server);
    while (server_len > 0 && config->server[server_len - 1] == '/')
        server_len--; /* paths begin with one */
    if (server_len >= sizeof(((struct link_http *)0)->server))
        return err_set(err, ERR_LIMIT, "the server's URL is too long");
    struct link_http *link = calloc(1, sizeof(*link));
    if (link == NULL)
        return err_nomem(err);
    link->base.ops = &http_ops;
    link->client = client;
    link->denied_retry_ns =
        config->denied_retry_ns != 0 ? config->denied_retry_ns : LINK_DENIED_RETRY_NS;
    memcpy(link->server, config->server, server_len);
    snprintf(link->node, sizeof(link->node), "%s", config->node);
    bool copied = copy_text(config->token, &link->token) &&
                  copy_text(config->ca_file, &link->ca_file) &&
                  copy_text(config->identity, &link->identity);
    enum err_code code = copied ? ERR_OK : err_nomem(err);
    for (int i = 0; code == ERR_OK && i < CHANNEL_COUNT; i++) {
        struct channel *channel = &link->channels[i];
        *channel = (struct channel){.kind = &channel_kinds[i], .link = link};
        code = loop_timer_new(loop, channel_on_timer, channel, &channel->timer, err);
    }
    if (code != ERR_OK) {
        link_free(&link->base);
        return code;
    }
    *out = &link->base;
    return ERR_OK;
}
