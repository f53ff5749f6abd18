/*
 * agent/link_http.c - see link_http.h: ten channels, each with its own timer and its own
 * back-off. Made by agent_main and the benchmark, driven by the loop.
 */
#include "agent/link_http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/backoff.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "fleet/plan.h"

/* What is sent, by urgency, one request at a time: a second one would only be a second connection
 * (with TLS some 25 KiB of the server's memory) and compete with the first. The polls wait beside.
 */
enum channel_id {
    CHANNEL_RECEIPT,
    CHANNEL_FLASH_REPORT,
    CHANNEL_VERIFY_REPORT,
    CHANNEL_INVENTORY,
    CHANNEL_STATE,
    CHANNEL_CHAINS,
    CHANNEL_TELEMETRY,
    CHANNEL_PLAN,
    CHANNEL_FLASH,
    CHANNEL_VERIFY,
    CHANNEL_COUNT,
};

struct channel_kind {
    const char *method, *path;
    const char *below; /* what follows /v1/nodes/NODE where path is NULL */
    const char *what;  /* for people */
    enum link_event done;
    bool poll;     /* a long poll: asks with `known` */
    bool optional; /* a server that has no such route is no error: 404 */
};

static const struct channel_kind kinds[CHANNEL_COUNT] = {
    [CHANNEL_INVENTORY] = {"PUT", "/v1/agent/inventory", NULL, "inventory", LINK_INVENTORY_DONE,
                           false, false},
    [CHANNEL_STATE] = {"PUT", "/v1/agent/state", NULL, "state", LINK_STATE_DONE, false, false},
    [CHANNEL_CHAINS] = {"PUT", "/v1/agent/chains", NULL, "marking chains", LINK_CHAINS_DONE, false,
                        true},
    [CHANNEL_TELEMETRY] = {"POST", NULL, "telemetry", "telemetry", LINK_TELEMETRY_DONE, false,
                           true},
    [CHANNEL_RECEIPT] = {"POST", "/v1/agent/receipts", NULL, "receipt", LINK_RECEIPT_DONE, false,
                         false},
    [CHANNEL_PLAN] = {"GET", "/v1/agent/plan", NULL, "plan", LINK_WAITING, true, false},
    [CHANNEL_FLASH] = {"GET", NULL, "flash", "flash task", LINK_FLASH_DONE, true, true},
    [CHANNEL_FLASH_REPORT] = {"POST", NULL, "flash", "flash report", LINK_FLASH_DONE, false, true},
    [CHANNEL_VERIFY] = {"GET", NULL, "verify", "test", LINK_VERIFY_DONE, true, true},
    [CHANNEL_VERIFY_REPORT] = {"POST", NULL, "verify", "report of a test", LINK_VERIFY_DONE, false,
                               true},
};

#define REQUEST_ID_SIZE 24

struct link_http;

struct channel {
    const struct channel_kind *kind;
    struct link_http *link;
    char *body; /* to be delivered; NULL = nothing */
    size_t len;
    bool running;
    bool waiting; /* the timer is armed */
    bool newer;   /* body changed while its request was running */
    bool refused; /* the last answer was a refusal */
    uint64_t request;
    char request_id[REQUEST_ID_SIZE]; /* of the last one, as the server's log and audit have it */
    struct loop_timer *timer;
    struct backoff backoff;
    char task[NAME_SIZE]; /* that the body reports of; "" = it is no report of a task */
    /* of long polls */
    bool has_known;
    char known[PLAN_TAG_SIZE + 2]; /* as it stands in the query */
    int64_t poll_start_ns;
};

struct link_http {
    struct link base;
    struct http_client *client;
    char server[LINK_URL_MAX / 2];
    char node[NAME_SIZE];
    char *token, *ca_file, *identity; /* NULL = none */
    int64_t denied_retry_ns;
    struct link_events events;
    bool started;
    bool away; /* said so */
    struct channel channels[CHANNEL_COUNT];
};

enum verdict {
    VERDICT_OK,
    VERDICT_AWAY,    /* back-off */
    VERDICT_DENIED,  /* slowly */
    VERDICT_REFUSED, /* never again */
};

static enum verdict judge(const struct channel *channel, const struct http_response *response)
{
    /* The campaign of a report is gone: nobody wants it any more. */
    if (channel->kind->optional && !channel->kind->poll && response->status == 404)
        return VERDICT_REFUSED;
    if (response->err.code != ERR_OK && response->status < 300)
        return VERDICT_AWAY;
    switch (response->status) {
    case 400:
    case 409:
    case 413:
    case 415:
    case 422:
        return VERDICT_REFUSED;
    case 408:
    case 429:
        return VERDICT_AWAY;
    default:
        break;
    }
    if (response->status >= 200 && response->status < 300)
        return VERDICT_OK;
    return response->status >= 500 ? VERDICT_AWAY : VERDICT_DENIED;
}

static void on_done(void *arg, const struct http_response *response);

static void wait_for(struct channel *channel, int64_t delay_ns)
{
    channel->waiting = true;
    loop_timer_set(channel->timer, delay_ns);
}

static int64_t now_ns(void)
{
    struct clock *clock = clock_system(); /* of requests, never of decisions that tests turn */
    return clock->mono_ns(clock);
}

static void make_url(const struct channel *channel, char out[LINK_URL_MAX])
{
    const struct link_http *link = channel->link;
    const struct channel_kind *kind = channel->kind;
    size_t at = (size_t)snprintf(out, LINK_URL_MAX, "%s", link->server);
    if (kind->path != NULL)
        at += (size_t)snprintf(out + at, LINK_URL_MAX - at, "%s", kind->path);
    else
        at += (size_t)snprintf(out + at, LINK_URL_MAX - at, "/v1/nodes/%s/%s", link->node,
                               kind->below);
    if (channel->task[0] != '\0')
        at += (size_t)snprintf(out + at, LINK_URL_MAX - at, "/%s:report", channel->task);
    if (kind->poll)
        snprintf(out + at, LINK_URL_MAX - at, "?known=%s&wait=%ds", channel->known,
                 LINK_POLL_WAIT_S);
}

static bool is_sending(const struct link_http *link)
{
    for (int i = 0; i < CHANNEL_COUNT; i++)
        if (link->channels[i].running && !kinds[i].poll)
            return true;
    return false;
}

static void send_now(struct channel *channel)
{
    struct link_http *link = channel->link;
    bool poll = channel->kind->poll;
    if (!link->started || channel->running || channel->waiting ||
        (poll ? !channel->has_known : channel->body == NULL || is_sending(link)))
        return;
    char url[LINK_URL_MAX];
    make_url(channel, url);
    char header[REQUEST_ID_SIZE + 16];
    uint64_t number;
    random_bytes(&number, sizeof(number));
    snprintf(channel->request_id, sizeof(channel->request_id), "agent-%016llx",
             (unsigned long long)number);
    snprintf(header, sizeof(header), "X-Request-Id: %s", channel->request_id);
    struct http_request request = {
        .method = channel->kind->method,
        .url = url,
        .headers = {header},
        .bearer = link->token,
        .ca_file = link->ca_file,
        .cert_file = link->identity,
        .key_file = link->identity,
        .content_type =
            channel->kind == &kinds[CHANNEL_TELEMETRY] ? "application/octet-stream" : NULL,
        .body = channel->body,
        .body_len = channel->len,
        .deadline_ns = poll ? LINK_POLL_DEADLINE_NS : LINK_SEND_DEADLINE_NS,
    };
    struct err err = ERR_INIT;
    channel->newer = false;
    if (http_client_start(link->client, &request, on_done, channel, &channel->request, &err)) {
        log_warning("agent", "node %s: cannot ask the server: %s", link->node, err.text);
        wait_for(channel, backoff_next(&channel->backoff, jitter_random()));
        return;
    }
    channel->running = true;
    channel->poll_start_ns = now_ns();
    if (channel->kind == &kinds[CHANNEL_PLAN])
        link->events.event(link->events.arg, LINK_WAITING);
}

static void send_all(struct link_http *link)
{
    for (int i = 0; i < CHANNEL_COUNT; i++)
        send_now(&link->channels[i]);
}

static void on_timer(void *arg)
{
    struct channel *channel = arg;
    channel->waiting = false;
    send_now(channel);
}

static void say_away(struct link_http *link, const struct http_response *response)
{
    if (link->away)
        return;
    link->away = true;
    if (response->status == 0)
        log_warning("agent", "node %s: server %s is away (%s); the node stays as it is", link->node,
                    link->server, response->err.text);
    else
        log_warning("agent", "node %s: server %s answers %ld %s; trying again", link->node,
                    link->server, response->status, response->err.text);
}

static void say_back(struct link_http *link)
{
    if (link->away)
        log_info("agent", "node %s: server %s is back", link->node, link->server);
    link->away = false;
}

/* Ours, where the server's words are not for the one who reads the node's log. */
static const char *denied_hint(const struct link_http *link, const struct http_response *response,
                               const char *text)
{
    if (link->identity == NULL)
        return "the token is not valid for this node";
    return response->status == 401 && text[0] != '\0' ? text : "the certificate is of another node";
}

static void say_refused(const struct channel *channel, const struct http_response *response)
{
    char text[256] = "";
    if (response->body != NULL)
        text_quote(response->body, response->body_len, text, sizeof(text));
    const char *hint = response->status == 401 || response->status == 403
                           ? denied_hint(channel->link, response, text)
                           : text;
    log_error("agent", "node %s: server %s refuses the %s with %ld (request %s): %s",
              channel->link->node, channel->link->server, channel->kind->what, response->status,
              channel->request_id, hint);
}

/* The body was delivered, or never will be. */
static void finish(struct channel *channel)
{
    struct link_http *link = channel->link;
    backoff_reset(&channel->backoff);
    if (!channel->newer) {
        free(channel->body);
        channel->body = NULL;
        link->events.event(link->events.arg, channel->kind->done);
    }
}

static void on_polled(struct channel *channel, const struct http_response *response)
{
    const struct link_events *events = &channel->link->events;
    bool empty = response->status == 204;
    const char *body = response->body == NULL ? "" : response->body;
    bool (*take)(void *arg, const char *body, size_t len) =
        channel->kind == &kinds[CHANNEL_PLAN]    ? events->plan
        : channel->kind == &kinds[CHANNEL_FLASH] ? events->flash
                                                 : events->verify;
    if (!empty && !take(events->arg, body, response->body_len)) {
        wait_for(channel, LINK_POLL_MIN_NS + backoff_next(&channel->backoff, jitter_random()));
        return;
    }
    backoff_reset(&channel->backoff);
    int64_t rest_ns = channel->poll_start_ns + LINK_POLL_MIN_NS - now_ns();
    if (empty && rest_ns > 0)
        wait_for(channel, jitter(rest_ns, 10, jitter_random()));
    send_now(channel);
}

static void on_done(void *arg, const struct http_response *response)
{
    struct channel *channel = arg;
    struct link_http *link = channel->link;
    enum verdict verdict = judge(channel, response);
    bool poll = channel->kind->poll;
    channel->running = false;
    if (verdict == VERDICT_AWAY) {
        say_away(link, response);
        wait_for(channel, backoff_next(&channel->backoff, jitter_random()));
        send_all(link);
        return;
    }
    say_back(link);
    bool refused =
        verdict != VERDICT_OK && !(poll && channel->kind->optional && response->status == 404);
    /* Of telemetry the next piece comes in seconds, and what is wrong, as a clock, stays wrong. */
    if (refused && !(channel->refused && channel->kind == &kinds[CHANNEL_TELEMETRY]))
        say_refused(channel, response);
    channel->refused = refused;
    if (verdict == VERDICT_DENIED || (poll && verdict == VERDICT_REFUSED))
        wait_for(channel, jitter(link->denied_retry_ns, 50, jitter_random()));
    else if (poll)
        on_polled(channel, response);
    else
        finish(channel);
    send_all(link);
}

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
    send_now(channel);
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
    send_all(link);
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
    send_now(channel);
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
        *channel = (struct channel){.kind = &kinds[i], .link = link};
        code = loop_timer_new(loop, on_timer, channel, &channel->timer, err);
    }
    if (code != ERR_OK) {
        link_free(&link->base);
        return code;
    }
    *out = &link->base;
    return ERR_OK;
}
