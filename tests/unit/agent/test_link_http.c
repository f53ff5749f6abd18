/*
 * tests/unit/agent/test_link_http.c - the link against a small real HTTP server on loopback, on the
 * same loop: what is sent, and what each kind of answer leads to.
 */
#include "agent_test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "agent/link_http.h"

#define REQUEST_MAX   65536
#define REQUESTS_MAX  256
#define ANSWERS_MAX   16
#define TOKEN         "st_secret"
#define PLAN_REQUEST  "GET /v1/agent/plan"
#define SMALL_WAIT_MS 5000

struct connection {
    struct world *world;
    struct loop_fd *lfd;
    int fd;
    size_t len;
    char text[REQUEST_MAX];
    struct connection *next;
};

/* How requests whose first line begins so are answered, in turn; the last one stays. */
struct answer {
    const char *request;
    int status;
    const char *body;
    long claimed_len; /* Content-Length; 0 = of body */
    bool hold;        /* no answer */
    const char *head; /* one more line of the head, with its end; NULL = none */
};

struct world {
    struct loop *loop;
    struct http_client *client;
    struct link *link;
    int listener;
    uint16_t port;
    struct loop_fd *listen_fd;
    struct connection *connections;
    struct answer answers[ANSWERS_MAX];
    size_t answer_count, used[ANSWERS_MAX];
    char *requests[REQUESTS_MAX];
    size_t request_count;
    /* what the link told */
    int plans, events[LINK_WAITING + 1];
    size_t plan_len;
    char plan[256];
    bool plan_is_news;
    int tasks; /* of flash */
    int stores;
    char store[HTTP_STORE_MAX]; /* that the last answer was of */
    const char *known_next;     /* what the agent says after a plan */
};

static void connection_close(struct connection *connection)
{
    struct connection **at = &connection->world->connections;
    while (*at != connection)
        at = &(*at)->next;
    *at = connection->next;
    loop_fd_del(connection->lfd);
    close(connection->fd);
    free(connection);
}

static const struct answer *answer_to(struct world *world, const char *request)
{
    size_t last = ANSWERS_MAX;
    for (size_t i = 0; i < world->answer_count; i++) {
        if (strncmp(request, world->answers[i].request, strlen(world->answers[i].request)) != 0)
            continue;
        last = i;
        if (world->used[i] == 0)
            break;
    }
    if (last == ANSWERS_MAX)
        return NULL;
    world->used[last]++;
    return &world->answers[last];
}

static void serve(struct connection *connection)
{
    struct world *world = connection->world;
    assert_true(world->request_count < REQUESTS_MAX);
    world->requests[world->request_count++] = strdup(connection->text);
    const struct answer *answer = answer_to(world, connection->text);
    if (answer != NULL && answer->hold)
        return;
    const char *body = answer == NULL || answer->body == NULL ? "" : answer->body;
    char head[256];
    long len =
        answer != NULL && answer->claimed_len != 0 ? answer->claimed_len : (long)strlen(body);
    int n = snprintf(head, sizeof(head),
                     "HTTP/1.1 %d X\r\nConnection: close\r\n%sContent-Length: %ld\r\n\r\n",
                     answer == NULL ? 204 : answer->status,
                     answer == NULL || answer->head == NULL ? "" : answer->head, len);
    assert_int_equal(send(connection->fd, head, (size_t)n, MSG_NOSIGNAL), n);
    ssize_t sent = send(connection->fd, body, strlen(body), MSG_NOSIGNAL);
    assert_int_equal(sent, strlen(body));
    connection_close(connection);
}

static void on_readable(void *arg, uint32_t events)
{
    struct connection *connection = arg;
    (void)events;
    ssize_t n = recv(connection->fd, connection->text + connection->len,
                     REQUEST_MAX - 1 - connection->len, 0);
    if (n <= 0) {
        connection_close(connection);
        return;
    }
    connection->len += (size_t)n;
    connection->text[connection->len] = '\0';
    char *end = strstr(connection->text, "\r\n\r\n");
    if (end == NULL)
        return;
    const char *field = strcasestr(connection->text, "\r\nContent-Length:");
    size_t body = field == NULL || field > end ? 0 : (size_t)atol(strchr(field, ':') + 1);
    if (connection->len >= (size_t)(end + 4 - connection->text) + body)
        serve(connection);
}

static void on_accept(void *arg, uint32_t events)
{
    struct world *world = arg;
    struct err err = ERR_INIT;
    (void)events;
    struct connection *connection = calloc(1, sizeof(*connection));
    assert_non_null(connection);
    connection->world = world;
    connection->fd = accept4(world->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    assert_true(connection->fd >= 0);
    connection->next = world->connections;
    world->connections = connection;
    assert_ok(loop_fd_add(world->loop, connection->fd, EPOLLIN, on_readable, connection,
                          &connection->lfd, &err));
}

static void server_up(struct world *world)
{
    struct err err = ERR_INIT;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons(world->port)};
    socklen_t len = sizeof(address);
    int one = 1;
    world->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(world->listener >= 0);
    setsockopt(world->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    assert_int_equal(bind(world->listener, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(world->listener, 64), 0);
    assert_int_equal(getsockname(world->listener, (struct sockaddr *)&address, &len), 0);
    world->port = ntohs(address.sin_port);
    assert_ok(loop_fd_add(world->loop, world->listener, EPOLLIN, on_accept, world,
                          &world->listen_fd, &err));
}

static void server_down(struct world *world)
{
    loop_fd_del(world->listen_fd);
    world->listen_fd = NULL;
    close(world->listener);
    while (world->connections != NULL)
        connection_close(world->connections);
}

static bool on_plan(void *arg, const char *body, size_t len)
{
    struct world *world = arg;
    world->plans++;
    world->plan_len = len;
    snprintf(world->plan, sizeof(world->plan), "%.*s", (int)len, body);
    if (world->known_next != NULL)
        world->link->ops->known(world->link, world->known_next);
    return world->plan_is_news;
}

static bool on_flash(void *arg, const char *body, size_t len)
{
    struct world *world = arg;
    assert_int_equal(len, strlen("{\"task\":1}"));
    assert_memory_equal(body, "{\"task\":1}", len);
    world->tasks++;
    world->link->ops->flash_known(world->link, "t1~cancelled");
    return true;
}

static void on_event(void *arg, enum link_event event)
{
    ((struct world *)arg)->events[event]++;
}

static void on_store(void *arg, const char *id)
{
    struct world *world = arg;
    world->stores++;
    snprintf(world->store, sizeof(world->store), "%s", id);
}

static void world_open(struct world *world, const struct answer *answers, size_t count)
{
    struct err err = ERR_INIT;
    memset(world, 0, sizeof(*world));
    memcpy(world->answers, answers, count * sizeof(*answers));
    world->answer_count = count;
    world->plan_is_news = true;
    assert_ok(loop_new(&world->loop, &err));
    assert_ok(http_client_new(world->loop, &world->client, &err));
    server_up(world);
    char url[64];
    snprintf(url, sizeof(url), "http://127.0.0.1:%u/", world->port);
    struct link_http_config config = {
        .server = url, .token = TOKEN, .node = NODE, .denied_retry_ns = 100 * NS_PER_MS};
    assert_ok(link_http_new(world->loop, world->client, &config, &world->link, &err));
    struct link_events events = {
        .arg = world, .plan = on_plan, .flash = on_flash, .event = on_event, .store = on_store};
    world->link->ops->start(world->link, &events);
}

static void world_close(struct world *world)
{
    world->link->ops->free(world->link);
    http_client_free(world->client);
    server_down(world);
    loop_free(world->loop);
    for (size_t i = 0; i < world->request_count; i++)
        free(world->requests[i]);
}

static int count_requests(const struct world *world, const char *begin)
{
    int count = 0;
    for (size_t i = 0; i < world->request_count; i++)
        count += strncmp(world->requests[i], begin, strlen(begin)) == 0;
    return count;
}

/* Turns until *value reaches wanted; fails the test when it does not. */
static void wait_until(struct world *world, const int *value, int wanted)
{
    struct err err = ERR_INIT;
    struct clock *clock = clock_system();
    int64_t end_ns = clock->mono_ns(clock) + SMALL_WAIT_MS * NS_PER_MS;
    while (*value < wanted && clock->mono_ns(clock) < end_ns)
        assert_ok(loop_turn(world->loop, 20, &err));
    assert_true(*value >= wanted);
}

static void turn(struct world *world, int64_t ms)
{
    struct err err = ERR_INIT;
    struct clock *clock = clock_system();
    int64_t end_ns = clock->mono_ns(clock) + ms * NS_PER_MS;
    while (clock->mono_ns(clock) < end_ns)
        assert_ok(loop_turn(world->loop, 10, &err));
}

static void put(struct world *world, void (*deliver)(struct link *link, const json_t *document),
                const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    deliver(world->link, json);
    json_decref(json);
}

#define OPEN(world, ...)                                                                           \
    do {                                                                                           \
        const struct answer answers_[] = {__VA_ARGS__};                                            \
        world_open(world, answers_, sizeof(answers_) / sizeof(answers_[0]));                       \
    } while (0)

static const char *request_id_of(const char *request)
{
    static const char name[] = "X-Request-Id: ";
    return strstr(request, name) + sizeof(name) - 1;
}

static void everything_is_sent_with_the_token_where_it_belongs(void **state)
{
    (void)state;
    struct world world;
    OPEN(&world, {.request = PLAN_REQUEST, .hold = true});
    put(&world, world.link->ops->inventory, "{\"ports\":[]}");
    put(&world, world.link->ops->state, "{\"knobs\":[]}");
    put(&world, world.link->ops->receipt, "{\"result\":\"applied\"}");
    world.link->ops->known(world.link, "sha256:00");
    wait_until(&world, &world.events[LINK_INVENTORY_DONE], 1);
    wait_until(&world, &world.events[LINK_STATE_DONE], 1);
    wait_until(&world, &world.events[LINK_RECEIPT_DONE], 1);
    turn(&world, 50);
    assert_int_equal(count_requests(&world, "PUT /v1/agent/inventory HTTP/1.1\r\n"), 1);
    assert_int_equal(count_requests(&world, "PUT /v1/agent/state HTTP/1.1\r\n"), 1);
    assert_int_equal(count_requests(&world, "POST /v1/agent/receipts HTTP/1.1\r\n"), 1);
    assert_int_equal(count_requests(&world, PLAN_REQUEST "?known=sha256:00&wait=25s HTTP/1.1"), 1);
    for (size_t i = 0; i < world.request_count; i++) {
        assert_contains(world.requests[i], "\r\nAuthorization: Bearer " TOKEN "\r\n");
        assert_contains(world.requests[i], "\r\nX-Request-Id: agent-");
        for (size_t k = 0; k < i; k++)
            assert_true(strncmp(request_id_of(world.requests[i]), request_id_of(world.requests[k]),
                                strlen("agent-0123456789abcdef\r")) != 0);
    }
    world_close(&world);
}

static void a_plan_comes_and_the_next_question_knows_it(void **state)
{
    (void)state;
    struct world world;
    OPEN(&world, {.request = PLAN_REQUEST "?known=&", .status = 200, .body = "{\"plan\":1}"},
         {.request = PLAN_REQUEST "?known=sha256:11&", .hold = true});
    world.known_next = "sha256:11";
    world.link->ops->known(world.link, "");
    wait_until(&world, &world.plans, 1);
    turn(&world, 100);
    assert_string_equal(world.plan, "{\"plan\":1}");
    assert_int_equal(count_requests(&world, PLAN_REQUEST "?known=sha256:11&"), 1);
    assert_int_equal(world.plans, 1);
    world_close(&world);
}

static void a_plus_in_what_is_known_does_not_become_a_space(void **state)
{
    (void)state;
    struct world world;
    OPEN(&world, {.request = PLAN_REQUEST "?known=sha256:11%2Br-1&", .hold = true});
    world.link->ops->known(world.link, "sha256:11+r-1");
    turn(&world, 100);
    assert_int_equal(
        count_requests(&world, PLAN_REQUEST "?known=sha256:11%2Br-1&wait=25s HTTP/1.1"), 1);
    world_close(&world);
}

static void a_plan_that_is_no_news_slows_the_questions(void **state)
{
    (void)state;
    struct world world;
    OPEN(&world, {.request = PLAN_REQUEST, .status = 200, .body = "{}"});
    world.plan_is_news = false;
    world.link->ops->known(world.link, "");
    turn(&world, 700);
    assert_int_equal(world.plans, 1);
    world_close(&world);
}

static void a_server_that_does_not_wait_is_not_hammered(void **state)
{
    (void)state;
    struct world world;
    OPEN(&world, {.request = PLAN_REQUEST, .status = 204});
    world.link->ops->known(world.link, "");
    turn(&world, 700);
    assert_int_equal(count_requests(&world, PLAN_REQUEST), 1);
    turn(&world, 700);
    assert_int_equal(count_requests(&world, PLAN_REQUEST), 2);
    assert_int_equal(world.plans, 0);
    world_close(&world);
}

static void busy_answers_are_tried_again(void **state)
{
    (void)state;
    struct world world;
    OPEN(&world, {.request = "POST", .status = 503}, {.request = "POST", .status = 429},
         {.request = "POST", .status = 204});
    put(&world, world.link->ops->receipt, "{\"result\":\"applied\"}");
    wait_until(&world, &world.events[LINK_RECEIPT_DONE], 1);
    assert_int_equal(count_requests(&world, "POST"), 3);
    world_close(&world);
}

static void a_denied_token_is_tried_slowly_and_nothing_is_lost(void **state)
{
    (void)state;
    struct world world;
    OPEN(&world, {.request = "POST", .status = 401}, {.request = "POST", .status = 403},
         {.request = "POST", .status = 201});
    put(&world, world.link->ops->receipt, "{\"result\":\"applied\"}");
    turn(&world, 40); /* the retry is jittered within 50..150 ms here */
    assert_int_equal(count_requests(&world, "POST"), 1);
    wait_until(&world, &world.events[LINK_RECEIPT_DONE], 1);
    assert_int_equal(count_requests(&world, "POST"), 3);
    world_close(&world);
}

static void what_the_server_refuses_is_not_sent_again(void **state)
{
    (void)state;
    struct world world;
    OPEN(&world, {.request = "POST", .status = 422, .body = "{\"code\":\"receipt\"}"});
    put(&world, world.link->ops->receipt, "{\"result\":\"applied\"}");
    wait_until(&world, &world.events[LINK_RECEIPT_DONE], 1);
    turn(&world, 400);
    assert_int_equal(count_requests(&world, "POST"), 1);
    world_close(&world);
}

/* How often text stands in what is logged by now; begins to keep the log when text is NULL. */
static int logged(const char *text)
{
    static int file = -1, saved = -1;
    char all[16384];
    int count = 0;
    if (text == NULL) {
        char path[] = "/tmp/stellar-log-XXXXXX";
        file = mkstemp(path);
        assert_true(file >= 0);
        unlink(path);
        saved = dup(STDERR_FILENO);
        dup2(file, STDERR_FILENO);
        return 0;
    }
    dup2(saved, STDERR_FILENO);
    ssize_t n = pread(file, all, sizeof(all) - 1, 0);
    all[n < 0 ? 0 : n] = '\0';
    for (const char *at = all; (at = strstr(at, text)) != NULL; at += strlen(text))
        count++;
    close(saved);
    close(file);
    return count;
}

static void telemetry_that_is_refused_again_is_told_once(void **state)
{
    (void)state;
    struct world world;
    OPEN(&world, {.request = "POST", .status = 422, .body = "{\"detail\":\"the clock\"}"},
         {.request = "POST", .status = 422, .body = "{\"detail\":\"the clock\"}"},
         {.request = "POST", .status = 204},
         {.request = "POST", .status = 422, .body = "{\"detail\":\"the clock\"}"});
    logged(NULL);
    for (int i = 1; i <= 4; i++) {
        world.link->ops->telemetry(world.link, "x", 1);
        wait_until(&world, &world.events[LINK_TELEMETRY_DONE], i);
    }
    assert_int_equal(logged("refuses the telemetry with 422"),
                     2); /* the first, and after a good one */
    world_close(&world);
}

static void answers_say_which_store_they_are_of(void **state)
{
    (void)state;
    struct world world;
    OPEN(&world, {.request = PLAN_REQUEST, .status = 204, .head = "Stellar-Store: 0a\r\n"},
         {.request = PLAN_REQUEST, .hold = true},
         {.request = "PUT", .status = 200, .head = "Stellar-Store: 0b\r\n"});
    world.link->ops->known(world.link, "sha256:00");
    wait_until(&world, &world.stores, 1);
    assert_string_equal(world.store, "0a");
    put(&world, world.link->ops->state, "{\"knobs\":[]}");
    wait_until(&world, &world.stores, 2);
    assert_string_equal(world.store, "0b");
    world_close(&world);
}

static void a_redirect_is_not_followed_and_loses_nothing(void **state)
{
    (void)state;
    struct world world;
    OPEN(&world,
         {.request = "POST",
          .status = 302,
          .head = "Location: http://me:pw@127.0.0.1:1/login?x=1\r\n"},
         {.request = "POST", .status = 201});
    logged(NULL);
    put(&world, world.link->ops->receipt, "{\"result\":\"applied\"}");
    wait_until(&world, &world.events[LINK_RECEIPT_DONE], 1);
    assert_int_equal(
        logged("the receipt with 302, a redirect to 127.0.0.1:1, and an agent follows none"), 1);
    assert_int_equal(count_requests(&world, "POST"), 2);
    world_close(&world);
}

static void a_newer_state_takes_the_place_of_one_on_its_way(void **state)
{
    (void)state;
    struct world world;
    OPEN(&world, {.request = "PUT", .status = 503}, {.request = "PUT", .status = 204});
    put(&world, world.link->ops->state, "{\"knobs\":[1]}");
    put(&world, world.link->ops->state, "{\"knobs\":[2]}");
    wait_until(&world, &world.events[LINK_STATE_DONE], 1);
    assert_contains(world.requests[world.request_count - 1], "{\"knobs\":[2]}");
    assert_int_equal(world.events[LINK_STATE_DONE], 1);
    world_close(&world);
}

static void what_is_sent_goes_one_at_a_time_the_receipt_first(void **state)
{
    (void)state;
    struct world world;
    OPEN(&world, {.request = "PUT /v1/agent/state", .status = 204},
         {.request = "PUT /v1/agent/inventory", .status = 204}, {.request = "POST", .hold = true});
    put(&world, world.link->ops->state, "{\"knobs\":[]}");
    put(&world, world.link->ops->inventory, "{\"ports\":[]}");
    put(&world, world.link->ops->receipt, "{\"result\":\"applied\"}");
    wait_until(&world, &world.events[LINK_STATE_DONE], 1);
    turn(&world, 50);
    /* The state was on its way when the others came; the receipt is, until it is answered. */
    assert_int_equal(world.request_count, 2);
    assert_int_equal(count_requests(&world, "POST /v1/agent/receipts"), 1);
    assert_int_equal(world.events[LINK_INVENTORY_DONE], 0);
    world_close(&world);
}

static void one_that_waits_to_be_tried_again_holds_no_other_up(void **state)
{
    (void)state;
    struct world world;
    OPEN(&world, {.request = "POST", .status = 503},
         {.request = "PUT /v1/agent/state", .status = 204});
    put(&world, world.link->ops->receipt, "{\"result\":\"applied\"}");
    put(&world, world.link->ops->state, "{\"knobs\":[]}");
    wait_until(&world, &world.events[LINK_STATE_DONE], 1);
    assert_int_equal(world.events[LINK_RECEIPT_DONE], 0);
    world_close(&world);
}

static void a_server_that_goes_and_comes_back_gets_everything(void **state)
{
    (void)state;
    struct world world;
    OPEN(&world, {.request = PLAN_REQUEST, .hold = true});
    world.link->ops->known(world.link, "");
    turn(&world, 50);
    server_down(&world);
    put(&world, world.link->ops->receipt, "{\"result\":\"applied\"}");
    turn(&world, 300);
    assert_int_equal(world.events[LINK_RECEIPT_DONE], 0);
    server_up(&world);
    wait_until(&world, &world.events[LINK_RECEIPT_DONE], 1);
    int waiting = world.events[LINK_WAITING];
    assert_true(waiting >= 2);
    world_close(&world);
}

static void an_answer_to_an_old_question_says_nothing_of_now(void **state)
{
    (void)state;
    struct world world;
    struct err err = ERR_INIT;
    const char *answer = "HTTP/1.1 204 X\r\nConnection: close\r\n\r\n";
    OPEN(&world, {.request = PLAN_REQUEST, .hold = true});
    world.link->ops->known(world.link, "");
    turn(&world, 50);
    assert_int_equal(count_requests(&world, PLAN_REQUEST), 1);
    logged(NULL);
    assert_ok(link_http_show(world.link, "/nonexistent/identity.pem", &err));
    put(&world, world.link->ops->receipt, "{\"result\":\"applied\"}");
    turn(&world, 20);
    assert_int_equal(send(world.connections->fd, answer, strlen(answer), MSG_NOSIGNAL),
                     strlen(answer));
    connection_close(world.connections);
    turn(&world, 1500);                            /* the next question is asked, or would be */
    assert_int_equal(logged("node " NODE ":"), 1); /* that it cannot ask, and nothing else */
    world_close(&world);
}

static void an_answer_over_the_limit_is_not_taken(void **state)
{
    (void)state;
    struct world world;
    OPEN(&world, {.request = PLAN_REQUEST,
                  .status = 200,
                  .body = "{}",
                  .claimed_len = HTTP_CLIENT_BODY_MAX + 1L});
    world.link->ops->known(world.link, "");
    turn(&world, 500);
    assert_int_equal(world.plans, 0);
    world_close(&world);
}

static void a_cut_answer_is_not_taken(void **state)
{
    (void)state;
    struct world world;
    OPEN(&world,
         {.request = PLAN_REQUEST, .status = 200, .body = "{\"version\":1}", .claimed_len = 1000});
    world.link->ops->known(world.link, "");
    turn(&world, 400);
    assert_int_equal(world.plans, 0);
    world_close(&world);
}

static void a_link_freed_with_requests_in_flight_leaves_nothing(void **state)
{
    (void)state;
    struct world world;
    OPEN(&world, {.request = "", .hold = true});
    put(&world, world.link->ops->inventory, "{}");
    put(&world, world.link->ops->receipt, "{}");
    world.link->ops->known(world.link, "");
    turn(&world, 50);
    world_close(&world);
}

#define FLASH_REQUEST  "GET /v1/nodes/" NODE "/flash"
#define REPORT_REQUEST "POST /v1/nodes/" NODE "/flash/t1:report HTTP/1.1\r\n"

static void a_flash_task_comes_and_the_next_question_knows_it(void **state)
{
    (void)state;
    struct world world;
    OPEN(&world, {.request = FLASH_REQUEST "?known=&", .status = 200, .body = "{\"task\":1}"},
         {.request = FLASH_REQUEST "?known=t1~cancelled&wait=25s HTTP/1.1", .hold = true});
    turn(&world, 50);
    assert_int_equal(count_requests(&world, FLASH_REQUEST), 0); /* nobody writes firmware here */
    world.link->ops->flash_known(world.link, "");
    wait_until(&world, &world.tasks, 1);
    turn(&world, 100);
    assert_int_equal(count_requests(&world, FLASH_REQUEST "?known=t1~cancelled&"), 1);
    assert_int_equal(world.tasks, 1);
    assert_int_equal(world.plans, 0);
    world_close(&world);
}

static void a_flash_report_goes_to_its_task(void **state)
{
    (void)state;
    struct world world;
    OPEN(&world, {.request = REPORT_REQUEST, .status = 503},
         {.request = REPORT_REQUEST, .status = 204});
    json_t *json = json_loads("{\"phase\":\"offered\"}", 0, NULL);
    world.link->ops->flash_report(world.link, "t1", json);
    json_decref(json);
    wait_until(&world, &world.events[LINK_FLASH_DONE], 1);
    assert_int_equal(count_requests(&world, REPORT_REQUEST), 2);
    world_close(&world);
}

static void a_flash_report_that_nobody_wants_is_not_sent_again(void **state)
{
    (void)state;
    struct world world;
    OPEN(&world, {.request = REPORT_REQUEST, .status = 404});
    json_t *json = json_loads("{\"phase\":\"offered\"}", 0, NULL);
    world.link->ops->flash_report(world.link, "t1", json);
    json_decref(json);
    wait_until(&world, &world.events[LINK_FLASH_DONE], 1);
    turn(&world, 200);
    assert_int_equal(count_requests(&world, REPORT_REQUEST), 1);
    world_close(&world);
}

static void a_server_without_flash_tasks_is_asked_again_later(void **state)
{
    (void)state;
    struct world world;
    OPEN(&world, {.request = FLASH_REQUEST, .status = 404});
    world.link->ops->flash_known(world.link, "");
    turn(&world, 700);
    int count = count_requests(&world, FLASH_REQUEST);
    assert_true(count >= 2 && count <= 15);
    world_close(&world);
}

static void an_image_is_fetched_as_this_agent(void **state)
{
    (void)state;
    struct world world;
    struct err err = ERR_INIT;
    struct link_image image;
    OPEN(&world, {.request = PLAN_REQUEST, .hold = true});
    assert_ok(world.link->ops->image(world.link, "0123456789abcdef", &image, &err));
    assert_contains(image.url, "http://127.0.0.1:");
    assert_contains(image.url, "/v1/firmware/images/0123456789abcdef/content");
    assert_null(strstr(image.url + 7, "//"));
    assert_string_equal(image.token, TOKEN);
    assert_null(image.identity);
    link_image_release(&image);
    assert_null(image.token);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_sent_with_the_token_where_it_belongs),
        cmocka_unit_test(a_plan_comes_and_the_next_question_knows_it),
        cmocka_unit_test(a_plus_in_what_is_known_does_not_become_a_space),
        cmocka_unit_test(a_plan_that_is_no_news_slows_the_questions),
        cmocka_unit_test(a_server_that_does_not_wait_is_not_hammered),
        cmocka_unit_test(busy_answers_are_tried_again),
        cmocka_unit_test(a_denied_token_is_tried_slowly_and_nothing_is_lost),
        cmocka_unit_test(what_the_server_refuses_is_not_sent_again),
        cmocka_unit_test(telemetry_that_is_refused_again_is_told_once),
        cmocka_unit_test(answers_say_which_store_they_are_of),
        cmocka_unit_test(a_redirect_is_not_followed_and_loses_nothing),
        cmocka_unit_test(a_newer_state_takes_the_place_of_one_on_its_way),
        cmocka_unit_test(what_is_sent_goes_one_at_a_time_the_receipt_first),
        cmocka_unit_test(one_that_waits_to_be_tried_again_holds_no_other_up),
        cmocka_unit_test(a_server_that_goes_and_comes_back_gets_everything),
        cmocka_unit_test(an_answer_to_an_old_question_says_nothing_of_now),
        cmocka_unit_test(an_answer_over_the_limit_is_not_taken),
        cmocka_unit_test(a_cut_answer_is_not_taken),
        cmocka_unit_test(a_link_freed_with_requests_in_flight_leaves_nothing),
        cmocka_unit_test(a_flash_task_comes_and_the_next_question_knows_it),
        cmocka_unit_test(a_flash_report_goes_to_its_task),
        cmocka_unit_test(a_flash_report_that_nobody_wants_is_not_sent_again),
        cmocka_unit_test(a_server_without_flash_tasks_is_asked_again_later),
        cmocka_unit_test(an_image_is_fetched_as_this_agent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
