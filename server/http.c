/*
 * server/http.c - starts and stops the HTTP server; its listening socket and its limits.
 */
#include "server/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "server/http_core.h"

#define LISTEN_BACKLOG 4096
#define FDS_FOR_OTHERS 256 /* database, logs, epoll, files */
#define STOP_LOOK_NS   (2 * NS_PER_MS)

static void address_fill(const char *address, uint16_t port, struct sockaddr_storage *out,
                         socklen_t *out_len)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    memset(out, 0, sizeof(*out));
    *out_len = 0;
    if (inet_pton(AF_INET, address, &v4.sin_addr) == 1) {
        memcpy(out, &v4, sizeof(v4));
        *out_len = sizeof(v4);
    } else if (inet_pton(AF_INET6, address, &v6.sin6_addr) == 1) {
        memcpy(out, &v6, sizeof(v6));
        *out_len = sizeof(v6);
    }
}

static enum err_code port_find(struct http_server *server, struct err *err)
{
    struct sockaddr_storage address;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    socklen_t len = sizeof(address);
    if (getsockname(server->listen_fd, (struct sockaddr *)&address, &len) != 0)
        return err_set_errno(err, ERR_IO, errno, "the port of the listening socket");
    memcpy(&v4, &address, sizeof(v4));
    memcpy(&v6, &address, sizeof(v6));
    server->port = ntohs(address.ss_family == AF_INET ? v4.sin_port : v6.sin6_port);
    return ERR_OK;
}

/* A service manager's socket. It keeps the socket, and others may come to use it after us. */
static enum err_code listen_take(struct http_server *server, struct err *err)
{
    int fd = server->config.listen_fd, flags = fcntl(fd, F_GETFL);
    server->listen_fd = fd;
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return err_set_errno(err, ERR_IO, errno, "the listening socket");
    return port_find(server, err);
}

static enum err_code listen_open(struct http_server *server, struct err *err)
{
    const struct http_config *config = &server->config;
    struct sockaddr_storage address;
    socklen_t len;
    if (config->listen_fd > 0)
        return listen_take(server, err);
    address_fill(config->address, config->port, &address, &len);
    if (len == 0)
        return err_set(err, ERR_INVALID, "'%s' is no IPv4 or IPv6 address", config->address);
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set_errno(err, ERR_IO, errno, "a socket to listen on");
    server->listen_fd = fd;
    int one = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, (const struct sockaddr *)&address, len) != 0 || listen(fd, LISTEN_BACKLOG) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot listen on %s port %u", config->address,
                             (unsigned)config->port);
    return port_find(server, err);
}

/*
 * No new connections: the socket drops what comes, so that clients try again until somebody listens
 * here again. MHD_quiesce_daemon() would say it more plainly, but its removal of the socket from
 * the workers' epoll sets races with their own (0.9.75, daemon.c): a busy server may abort.
 */
static void listen_end(struct http_server *server)
{
    struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
    struct sock_fprog program = {.len = 1, .filter = &drop};
    if (setsockopt(server->listen_fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) != 0)
        log_debug("http", "new connections come while the server stops: %s", strerror(errno));
}

/* The library shuts its listening socket down, also for the service manager that lent it and for
 * whom it lends it to next: it gets another one to shut down. */
static void listen_give_back(const struct http_server *server)
{
    int nothing = 0;
    if (server->config.listen_fd <= 0)
        return;
    setsockopt(server->listen_fd, SOL_SOCKET, SO_DETACH_FILTER, &nothing, sizeof(nothing));
    int other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (other < 0 || dup2(other, server->listen_fd) < 0)
        log_warning("http", "cannot give the socket back whole: %s", strerror(errno));
    if (other >= 0)
        close(other);
}

/* The library's own default is 1,020 connections; each needs a descriptor. */
static unsigned connections_limit(unsigned wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return FD_SETSIZE - FDS_FOR_OTHERS;
    rlim_t need = (rlim_t)wanted + FDS_FOR_OTHERS;
    if (limit.rlim_cur < need) {
        struct rlimit raised = {.rlim_cur = need, .rlim_max = limit.rlim_max};
        if (raised.rlim_max < need)
            raised.rlim_max = need; /* root may; others get what the hard limit leaves */
        if (setrlimit(RLIMIT_NOFILE, &raised) != 0) {
            raised = (struct rlimit){.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
            setrlimit(RLIMIT_NOFILE, &raised);
        }
        getrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur >= need)
        return wanted;
    unsigned left = limit.rlim_cur > 2 * FDS_FOR_OTHERS ? (unsigned)limit.rlim_cur - FDS_FOR_OTHERS
                                                        : FDS_FOR_OTHERS;
    log_warning("http", "at most %u connections, not %u: raise the limit of open files to %llu",
                left, wanted, (unsigned long long)need);
    return left;
}

static void library_log(void *cls, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

static void library_log(void *cls, const char *fmt, va_list ap)
{
    (void)cls;
    char text[512];
    int n = vsnprintf(text, sizeof(text), fmt, ap);
    if (n > 0 && n < (int)sizeof(text) && text[n - 1] == '\n')
        text[n - 1] = '\0';
    log_debug("http", "%s", text);
}

static enum err_code daemon_start(struct http_server *server, struct err *err)
{
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    struct MHD_OptionItem tls[HTTP_TLS_OPTIONS] = {{MHD_OPTION_END, 0, NULL}};
    if (server->config.tls != NULL) {
        flags |= MHD_USE_TLS;
        http_tls_options(tls);
    }
    server->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, http_on_request, server, MHD_OPTION_EXTERNAL_LOGGER, library_log,
        NULL, MHD_OPTION_LISTEN_SOCKET, server->listen_fd, MHD_OPTION_THREAD_POOL_SIZE,
        (unsigned)HTTP_THREADS, MHD_OPTION_CONNECTION_LIMIT, server->connections_max,
        MHD_OPTION_LISTEN_BACKLOG_SIZE, (unsigned)LISTEN_BACKLOG,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_CONNECTION_MEMORY,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK, http_on_uri, server,
        MHD_OPTION_NOTIFY_CONNECTION, http_on_connection, server, MHD_OPTION_NOTIFY_COMPLETED,
        http_on_completed, server, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
    if (server->daemon == NULL)
        return err_set_errno(err, ERR_IO, errno, "the HTTP server did not start");
    return ERR_OK;
}

static void config_take(struct http_server *server, const struct http_config *config)
{
    server->config = *config;
    if (config->clock == NULL)
        server->config.clock = clock_system();
    uint32_t deadline = config->request_deadline_ms, idle = config->idle_ms;
    server->request_deadline_ns = (deadline != 0 ? deadline : HTTP_REQUEST_DEADLINE_MS) * NS_PER_MS;
    server->idle_ns = (idle != 0 ? idle : HTTP_IDLE_MS) * NS_PER_MS;
    server->stop_ns = (config->stop_ms != 0 ? config->stop_ms : HTTP_STOP_MS) * NS_PER_MS;
    unsigned max = config->connections_max != 0 ? config->connections_max : HTTP_CONNECTIONS_MAX;
    server->connections_max = connections_limit(max);
}

static void server_free(struct http_server *server)
{
    if (server->listen_fd >= 0)
        close(server->listen_fd);
    route_tree_free(server->tree);
    pthread_mutex_destroy(&server->conns_lock);
    pthread_mutex_destroy(&server->streams_lock);
    free(server);
}

enum err_code http_server_start(const struct http_config *config, struct http_server **out,
                                struct err *err)
{
    struct http_server *server = calloc(1, sizeof(*server));
    if (server == NULL)
        return err_nomem(err);
    server->listen_fd = -1;
    pthread_mutex_init(&server->conns_lock, NULL);
    pthread_mutex_init(&server->streams_lock, NULL);
    config_take(server, config);
    enum err_code code = route_tree_new(config->routes, config->route_count, &server->tree, err);
    if (code == ERR_OK)
        code = listen_open(server, err);
    if (code == ERR_OK)
        code = http_wait_start(server, err);
    if (code != ERR_OK) {
        server_free(server);
        return code;
    }
    code = daemon_start(server, err);
    if (code != ERR_OK) {
        http_wait_end(server);
        server->listen_fd = -1; /* the library may have closed it or not: better one too few */
        server_free(server);
        return code;
    }
    *out = server;
    return ERR_OK;
}

uint16_t http_server_port(const struct http_server *server)
{
    return server->port;
}

void http_stats_get(struct http_server *server, struct http_stats *out)
{
    *out = (struct http_stats){
        .requests = atomic_load(&server->requests),
        .responses_4xx = atomic_load(&server->responses_4xx),
        .responses_5xx = atomic_load(&server->responses_5xx),
        .connections = atomic_load(&server->connections),
        .waiting = (uint32_t)http_wait_count(server),
    };
    http_counts_get(server, out);
}

static void pause_ns(int64_t ns)
{
    struct timespec wait = {.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
    nanosleep(&wait, NULL);
}

/* Until nobody is connected, at most for wait_ns; `all` cuts those in the middle of a request. */
static void connections_end(struct http_server *server, int64_t wait_ns, bool all)
{
    for (int64_t waited_ns = 0; atomic_load(&server->connections) > 0 && waited_ns < wait_ns;
         waited_ns += STOP_LOOK_NS) {
        http_conns_sweep(server, http_now_ns(server), all);
        pause_ns(STOP_LOOK_NS);
    }
}

void http_server_stop(struct http_server *server)
{
    if (server == NULL)
        return;
    atomic_store(&server->stopping, true);
    listen_end(server);
    http_wait_wake(server);
    http_streams_wake(server);
    connections_end(server, server->stop_ns, false);
    /* By now the timer has answered for every owner that did not; what is left does not read its
     * answer or does not send its request. */
    connections_end(server, server->stop_ns, true);
    /* The library aborts the process when it is stopped with a suspended connection. */
    while (http_wait_count(server) > 0 || atomic_load(&server->resumers) > 0)
        pause_ns(STOP_LOOK_NS);
    listen_give_back(server);
    MHD_stop_daemon(server->daemon); /* closes the listening socket */
    server->listen_fd = -1;
    http_wait_end(server);
    server_free(server);
}
