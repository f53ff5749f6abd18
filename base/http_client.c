/*
 * base/http_client.c - see http_client.h: many requests of one client on one loop.
 *
 * libcurl says which sockets to watch and when to wake it (curl_multi_socket_action); connections
 * stay open in its cache between requests. `busy` counts the calls that are on the stack while
 * done callbacks run: a client freed in one of them goes when the last call returns.
 */
#include "base/http_client.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include <curl/curl.h>

#include "base/clock.h"
#include "base/http_transfer.h"

#define CONNECTIONS_KEPT 2048L

struct running {
    struct http_transfer transfer;
    struct http_client *client;
    uint64_t id;
    http_done_fn *done;
    void *arg;
    struct running *prev, *next;
};

/* A socket of curl on the loop. */
struct watch {
    struct http_client *client;
    curl_socket_t fd;
    struct loop_fd *lfd;
    struct watch *prev, *next;
};

struct http_client {
    struct loop *loop;
    CURLM *multi;
    struct loop_timer *timer;
    struct running *running;
    size_t count;
    uint64_t last_id;
    int busy;
    bool freed;
    struct watch *watches;
};

static void client_destroy(struct http_client *client);

static void running_free(struct running *run)
{
    struct http_client *client = run->client;
    curl_multi_remove_handle(client->multi, run->transfer.easy);
    if (run->prev != NULL)
        run->prev->next = run->next;
    else
        client->running = run->next;
    if (run->next != NULL)
        run->next->prev = run->prev;
    client->count--;
    http_transfer_release(&run->transfer);
    free(run);
}

/* Tells what has ended. The callback may start, cancel or free anything. */
static void tell_done(struct http_client *client)
{
    int left;
    CURLMsg *message;
    while (!client->freed && (message = curl_multi_info_read(client->multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE)
            continue;
        struct running *run = NULL;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&run);
        struct http_response response;
        http_transfer_response(&run->transfer, message->data.result, &response);
        /* The request is over before its callback runs: a cancel of it in there finds nothing. */
        http_done_fn *done = run->done;
        void *arg = run->arg;
        struct http_kept kept = run->transfer.kept;
        char *body = run->transfer.body;
        run->transfer.body = NULL;
        http_transfer_borrow(&kept, &response);
        running_free(run);
        done(arg, &response);
        free(body);
    }
}

static void act(struct http_client *client, curl_socket_t fd, int events)
{
    int running;
    client->busy++;
    curl_multi_socket_action(client->multi, fd, events, &running);
    tell_done(client);
    if (--client->busy == 0 && client->freed)
        client_destroy(client);
}

static void on_ready(void *arg, uint32_t events)
{
    struct watch *watch = arg;
    int flags = 0;
    if (events & (EPOLLIN | EPOLLHUP))
        flags |= CURL_CSELECT_IN;
    if (events & EPOLLOUT)
        flags |= CURL_CSELECT_OUT;
    if (events & EPOLLERR)
        flags |= CURL_CSELECT_ERR;
    act(watch->client, watch->fd, flags); /* may free the watch */
}

static void on_timer(void *arg)
{
    act(arg, CURL_SOCKET_TIMEOUT, 0);
}

static int on_timeout(CURLM *multi, long timeout_ms, void *arg)
{
    struct http_client *client = arg;
    (void)multi;
    loop_timer_set(client->timer, timeout_ms < 0 ? -1 : timeout_ms * NS_PER_MS);
    return 0;
}

static void watch_free(struct watch *watch)
{
    struct http_client *client = watch->client;
    loop_fd_del(watch->lfd);
    if (watch->prev != NULL)
        watch->prev->next = watch->next;
    else
        client->watches = watch->next;
    if (watch->next != NULL)
        watch->next->prev = watch->prev;
    free(watch);
}

static struct watch *watch_new(struct http_client *client, curl_socket_t fd, uint32_t events)
{
    struct watch *watch = calloc(1, sizeof(*watch));
    if (watch == NULL)
        return NULL;
    *watch = (struct watch){.client = client, .fd = fd};
    if (loop_fd_add(client->loop, fd, events, on_ready, watch, &watch->lfd, NULL)) {
        free(watch);
        return NULL;
    }
    watch->next = client->watches;
    if (client->watches != NULL)
        client->watches->prev = watch;
    client->watches = watch;
    return watch;
}

/* A socket that cannot be watched (no memory) is not lost: its request ends at its deadline. */
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
    struct http_client *client = arg;
    struct watch *watch = socket_arg;
    (void)easy;
    uint32_t events = 0;
    if (what == CURL_POLL_REMOVE) {
        if (watch != NULL)
            watch_free(watch);
        return 0;
    }
    if (what == CURL_POLL_IN || what == CURL_POLL_INOUT)
        events |= EPOLLIN;
    if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT)
        events |= EPOLLOUT;
    if (watch != NULL)
        return loop_fd_mod(watch->lfd, events, NULL) ? -1 : 0;
    watch = watch_new(client, fd, events);
    if (watch == NULL)
        return -1;
    curl_multi_assign(client->multi, fd, watch);
    return 0;
}

static void client_destroy(struct http_client *client)
{
    while (client->running != NULL)
        running_free(client->running);
    if (client->multi != NULL)
        curl_multi_cleanup(client->multi); /* closes the kept connections through on_socket */
    while (client->watches != NULL)
        watch_free(client->watches);
    loop_timer_free(client->timer);
    free(client);
}

static bool multi_setup(struct http_client *client)
{
    CURLM *multi = client->multi = curl_multi_init();
    return multi != NULL &&
           curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, client) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timeout) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_TIMERDATA, client) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, CONNECTIONS_KEPT) == CURLM_OK;
}

enum err_code http_client_new(struct loop *loop, struct http_client **out, struct err *err)
{
    http_transfer_library();
    OWN(http_client) struct http_client *client = calloc(1, sizeof(*client));
    if (client == NULL)
        return err_nomem(err);
    client->loop = loop;
    enum err_code code = loop_timer_new(loop, on_timer, client, &client->timer, err);
    if (code != ERR_OK)
        return code;
    if (!multi_setup(client))
        return err_nomem(err);
    *out = GIVE(client);
    return ERR_OK;
}

void http_client_free(struct http_client *client)
{
    if (client == NULL)
        return;
    if (client->busy > 0)
        client->freed = true;
    else
        client_destroy(client);
}

enum err_code http_client_start(struct http_client *client, const struct http_request *request,
                                http_done_fn *done, void *arg, uint64_t *out_id, struct err *err)
{
    if (client->count >= HTTP_CLIENT_RUNNING_MAX)
        return err_set(err, ERR_LIMIT, "%d requests are running; wait for one to end",
                       HTTP_CLIENT_RUNNING_MAX);
    struct running *run = calloc(1, sizeof(*run));
    if (run == NULL)
        return err_nomem(err);
    *run = (struct running){.client = client, .done = done, .arg = arg};
    enum err_code code = http_transfer_init(&run->transfer, curl_easy_init(), request, err);
    if (code == ERR_OK && (curl_easy_setopt(run->transfer.easy, CURLOPT_PRIVATE, run) != CURLE_OK ||
                           curl_multi_add_handle(client->multi, run->transfer.easy) != CURLM_OK))
        code = err_nomem(err);
    if (code != ERR_OK) {
        http_transfer_release(&run->transfer);
        free(run);
        return code;
    }
    run->id = ++client->last_id;
    run->next = client->running;
    if (client->running != NULL)
        client->running->prev = run;
    client->running = run;
    client->count++;
    if (out_id != NULL)
        *out_id = run->id;
    return ERR_OK;
}

/* The newest come first; cancelling is rare and the list is bounded, so it is searched. */
void http_client_cancel(struct http_client *client, uint64_t id)
{
    for (struct running *run = client->running; run != NULL; run = run->next) {
        if (run->id == id) {
            running_free(run);
            return;
        }
    }
}
