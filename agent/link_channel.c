/*
 * agent/link_channel.c - see link_channel.h: requests, what their answers mean, and when to ask
 * again.
 */
#include "agent/link_channel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"

const struct channel_kind channel_kinds[CHANNEL_COUNT] = {
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

/* True when it was not so already: then it is said. */
static bool goes_away(struct link_http *link)
{
    if (link->away)
        return false;
    link->away = true;
    link->away_ns = now_ns();
    return true;
}

static bool is_sending(const struct link_http *link)
{
    for (int i = 0; i < CHANNEL_COUNT; i++)
        if (link->channels[i].running && !channel_kinds[i].poll)
            return true;
    return false;
}

/* Nothing could be sent: a file of the way to the server is away. */
static void say_no_way(struct link_http *link, const struct err *err)
{
    if (goes_away(link))
        log_warning("agent", "node %s: cannot ask the server: %s; the node stays as it is",
                    link->node, err->text);
}

void channel_send(struct channel *channel)
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
            channel->kind == &channel_kinds[CHANNEL_TELEMETRY] ? "application/octet-stream" : NULL,
        .body = channel->body,
        .body_len = channel->len,
        .deadline_ns = poll ? LINK_POLL_DEADLINE_NS : LINK_SEND_DEADLINE_NS,
    };
    struct err err = ERR_INIT;
    channel->newer = false;
    if (http_client_start(link->client, &request, on_done, channel, &channel->request, &err)) {
        say_no_way(link, &err);
        wait_for(channel, backoff_next(&channel->backoff, jitter_random()));
        return;
    }
    channel->running = true;
    channel->start_ns = now_ns();
    if (channel->kind == &channel_kinds[CHANNEL_PLAN])
        link->events.event(link->events.arg, LINK_WAITING);
}

void channel_send_all(struct link_http *link)
{
    for (int i = 0; i < CHANNEL_COUNT; i++)
        channel_send(&link->channels[i]);
}

void channel_on_timer(void *arg)
{
    struct channel *channel = arg;
    channel->waiting = false;
    channel_send(channel);
}

static void say_away(struct link_http *link, const struct http_response *response)
{
    if (!goes_away(link))
        return;
    if (response->status == 0)
        log_warning("agent", "node %s: server %s is away (%s); the node stays as it is", link->node,
                    link->server, response->err.text);
    else
        log_warning("agent", "node %s: server %s answers %ld %s; trying again", link->node,
                    link->server, response->status, response->err.text);
}

static void say_back(const struct channel *channel)
{
    struct link_http *link = channel->link;
    if (!link->away || channel->start_ns <= link->away_ns)
        return;
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

static void say_redirected(const struct channel *channel, const struct http_response *response)
{
    char host[128];
    http_location_host(response->location, host, sizeof(host));
    log_error("agent",
              "node %s: server %s answers the %s with %ld, a redirect%s%s, and an agent follows "
              "none: --server must be the server's own address (request %s)",
              channel->link->node, channel->link->server, channel->kind->what, response->status,
              host[0] == '\0' ? "" : " to ", host, channel->request_id);
}

static void say_refused(const struct channel *channel, const struct http_response *response)
{
    char text[256] = "";
    if (response->status >= 300 && response->status < 400) {
        say_redirected(channel, response);
        return;
    }
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
        channel->kind == &channel_kinds[CHANNEL_PLAN]    ? events->plan
        : channel->kind == &channel_kinds[CHANNEL_FLASH] ? events->flash
                                                         : events->verify;
    if (!empty && !take(events->arg, body, response->body_len)) {
        wait_for(channel, LINK_POLL_MIN_NS + backoff_next(&channel->backoff, jitter_random()));
        return;
    }
    backoff_reset(&channel->backoff);
    int64_t rest_ns = channel->start_ns + LINK_POLL_MIN_NS - now_ns();
    if (empty && rest_ns > 0)
        wait_for(channel, jitter(rest_ns, 10, jitter_random()));
    channel_send(channel);
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
        channel_send_all(link);
        return;
    }
    say_back(channel);
    if (response->store[0] != '\0' && link->events.store != NULL)
        link->events.store(link->events.arg, response->store);
    bool refused =
        verdict != VERDICT_OK && !(poll && channel->kind->optional && response->status == 404);
    /* Of telemetry the next piece comes in seconds, and what is wrong, as a clock, stays wrong. */
    if (refused && !(channel->refused && channel->kind == &channel_kinds[CHANNEL_TELEMETRY]))
        say_refused(channel, response);
    channel->refused = refused;
    if (verdict == VERDICT_DENIED || (poll && verdict == VERDICT_REFUSED))
        wait_for(channel, jitter(link->denied_retry_ns, 50, jitter_random()));
    else if (poll)
        on_polled(channel, response);
    else
        finish(channel);
    channel_send_all(link);
}
