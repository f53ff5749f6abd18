/*
 * agent/exporter_http.c - serves the page of exporter.c over HTTP. The agent's only user of
 * libmicrohttpd.
 */
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <microhttpd.h>

#include "agent/exporter_private.h"
#include "base/thread.h"

#define MEMORY_SIZE (16 * 1024) /* of a connection: a head is no longer */
#define HOST_SIZE   64

/* getaddrinfo() would take 65536 for 0. */
static bool is_port(const char *text)
{
    char *end;
    unsigned long port = strtoul(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && port <= UINT16_MAX;
}

/* A numeric address: a name may be another one tomorrow. */
static enum err_code resolve(const char *address, struct addrinfo **out, struct err *err)
{
    static const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                                          .ai_socktype = SOCK_STREAM};
    char host[HOST_SIZE];
    const char *colon = strrchr(address, ':');
    size_t len = colon == NULL ? 0 : (size_t)(colon - address);
    bool bracketed = len > 2 && address[0] == '[' && address[len - 1] == ']';
    if (len > 0 && len < sizeof(host) && is_port(colon + 1)) {
        snprintf(host, sizeof(host), "%.*s", (int)(bracketed ? len - 2 : len), address + bracketed);
        if (bracketed == (strchr(host, ':') != NULL) &&
            getaddrinfo(host, colon + 1, &hints, out) == 0)
            return ERR_OK;
    }
    return err_set(err, ERR_INVALID,
                   "'%.80s': an address and a port are wanted, as 127.0.0.1:9469 or [::1]:9469",
                   address);
}

enum err_code exporter_check(const char *address, struct err *err)
{
    struct addrinfo *info = NULL;
    enum err_code code = resolve(address, &info, err);
    if (code == ERR_OK)
        freeaddrinfo(info);
    return code;
}

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status, const char *type,
                             char *text, size_t len)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_COPY);
    if (response == NULL)
        return MHD_NO;
    enum MHD_Result result = MHD_NO;
    if (MHD_add_response_header(response, "Content-Type", type) == MHD_YES &&
        MHD_add_response_header(response, "X-Content-Type-Options", "nosniff") == MHD_YES &&
        (status != MHD_HTTP_METHOD_NOT_ALLOWED ||
         MHD_add_response_header(response, "Allow", "GET, HEAD") == MHD_YES))
        result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result reply_page(struct exporter *exporter, struct MHD_Connection *connection)
{
    OWN(str) char *text = NULL;
    size_t len = 0;
    if (exporter_page(exporter, &text, &len, NULL) != ERR_OK)
        return MHD_NO;
    return reply(connection, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", text, len);
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *data_len, void **seen)
{
    static char unknown[] = "ask for /metrics\n", unfit[] = "it is there to be read\n";
    static int once;
    (void)version;
    (void)data;
    if (*seen == NULL) { /* the head alone so far */
        *seen = &once;
        return MHD_YES;
    }
    *data_len = 0;
    if (strcmp(url, "/metrics") != 0)
        return reply(connection, MHD_HTTP_NOT_FOUND, "text/plain", unknown, strlen(unknown));
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return reply(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain", unfit, strlen(unfit));
    return reply_page(arg, connection);
}

enum err_code exporter_listen(struct exporter *exporter, const char *address, struct err *err)
{
    struct addrinfo *info = NULL;
    enum err_code code = resolve(address, &info, err);
    if (code != ERR_OK)
        return code;
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL;
    if (info->ai_family == AF_INET6)
        flags |= MHD_USE_IPv6;
    sigset_t before; /* its thread would end the agent by a signal that is the loop's to take */
    thread_signals_off(&before);
    errno = 0;
    exporter->daemon =
        MHD_start_daemon(flags, 0, NULL, NULL, on_request, exporter, MHD_OPTION_SOCK_ADDR,
                         info->ai_addr, MHD_OPTION_CONNECTION_LIMIT, (unsigned)EXPORTER_CLIENTS_MAX,
                         MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)EXPORTER_TIMEOUT_S,
                         MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_SIZE, MHD_OPTION_END);
    int why = errno;
    thread_signals_back(&before);
    freeaddrinfo(info);
    if (exporter->daemon == NULL)
        return err_set_errno(err, ERR_IO, why, "cannot serve metrics on %.80s", address);
    const union MHD_DaemonInfo *port =
        MHD_get_daemon_info(exporter->daemon, MHD_DAEMON_INFO_BIND_PORT);
    exporter->port = port == NULL ? 0 : port->port;
    return ERR_OK;
}

void exporter_stop(struct exporter *exporter)
{
    if (exporter->daemon != NULL)
        MHD_stop_daemon(exporter->daemon);
    exporter->daemon = NULL;
}

unsigned exporter_port(const struct exporter *exporter)
{
    return exporter->port;
}
