/*
 * server/stellard_main.c - the program: options, signals, start and stop.
 */
#include <getopt.h>
#include <malloc.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/loop.h"
#include "server/app.h"
#include "server/route.h"

#define LISTEN_DEFAULT "127.0.0.1:8440"
#define ADDRESS_MAX    64
/* Each request's memory goes back and forth between threads; without these the heap's end is given
 * to the kernel and taken again for every few requests. */
#define HEAP_KEPT_BYTES (8 * 1024 * 1024)
#define HEAP_STEP_BYTES (256 * 1024)

static void usage(FILE *out)
{
    fputs("Usage: stellard --data DIR [options]\n"
          "  --data DIR             folder of the store, admin.token and url; made when missing\n"
          "  --listen ADDRESS:PORT  loopback address [" LISTEN_DEFAULT "]; port 0 = any free,\n"
          "                         see DIR/url\n"
          "  --log-level LEVEL      error, warning, info or debug [info]\n"
          "  --routes               print method, path, roles and options of each route; exit\n"
          "  --version              print the version and exit\n"
          "  --help                 print this and exit\n"
          "Ends on SIGTERM and SIGINT. Exit status: 0 stopped, 1 failed, 2 wrong usage.\n",
          out);
}

static void print_routes(void)
{
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &routes[i];
        const char *comma = "";
        printf("%s\t%s\t", route->method, route->path);
        for (enum role role = ROLE_ADMIN; role <= ROLE_AGENT; role++)
            if (route->roles & ROLE_BIT(role)) {
                printf("%s%s", comma, role_name(role));
                comma = ",";
            }
        printf("%s\t%s%s%s%s%s%s%s%s\t%s\t", route->flags & ROUTE_OPEN ? "open" : "",
               route->flags & ROUTE_JSON ? "json " : "",
               route->flags & ROUTE_IF_MATCH ? "if-match " : "",
               route->flags & ROUTE_LARGE ? "large " : "",
               route->flags & ROUTE_TENANT ? "tenant " : "",
               route->flags & ROUTE_IDEMPOTENT ? "idempotent " : "",
               route->flags & ROUTE_PATCH_BODY ? "patch " : "",
               route->flags & ROUTE_SAFE ? "safe " : "", route->flags & ROUTE_OPEN ? "open " : "",
               route->operation_id);
        comma = "";
        for (const char *const *query = route->queries; query != NULL && *query != NULL; query++) {
            printf("%s%s", comma, *query);
            comma = ",";
        }
        putchar('\n');
    }
}

/* "127.0.0.1:8440" or "[::1]:8440". */
static enum err_code parse_listen(const char *text, char address[ADDRESS_MAX], uint16_t *port,
                                  struct err *err)
{
    const char *colon = strrchr(text, ':');
    char *end;
    size_t len = colon == NULL ? 0 : (size_t)(colon - text);
    if (colon == NULL || len == 0 || len >= ADDRESS_MAX || colon[1] < '0' || colon[1] > '9')
        return err_set(err, ERR_INVALID, "--listen '%s': ADDRESS:PORT is wanted", text);
    unsigned long number = strtoul(colon + 1, &end, 10);
    if (*end != '\0' || number > UINT16_MAX)
        return err_set(err, ERR_INVALID, "--listen '%s': the port is 0 to 65535", text);
    if (text[0] == '[' && text[len - 1] == ']') {
        text++;
        len -= 2;
    }
    memcpy(address, text, len);
    address[len] = '\0';
    *port = (uint16_t)number;
    return ERR_OK;
}

/* Tokens would cross the network in the clear. */
static enum err_code check_loopback(const char *address, struct err *err)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, address, &v4) == 1) {
        if ((ntohl(v4.s_addr) >> 24) == 127)
            return ERR_OK;
    } else if (inet_pton(AF_INET6, address, &v6) == 1) {
        if (IN6_IS_ADDR_LOOPBACK(&v6))
            return ERR_OK;
    } else {
        return err_set(err, ERR_INVALID, "--listen '%s' is no address", address);
    }
    return err_set(err, ERR_UNSUPPORTED,
                   "--listen %s is no loopback address, and this version has no TLS yet: listen on "
                   "127.0.0.1 and put a TLS proxy or a tunnel in front",
                   address);
}

static void on_signal(void *loop)
{
    loop_stop(loop);
}

static void on_hangup(void *arg)
{
    (void)arg; /* there is nothing to read again */
}

static enum err_code serve(const struct app_config *config, struct err *err)
{
    OWN(loop) struct loop *loop = NULL;
    OWN(app) struct app *app = NULL;
    /* Before any thread starts, so that all inherit the blocked signals. */
    enum err_code code = loop_new(&loop, err);
    if (code == ERR_OK)
        code = loop_signal_add(loop, SIGTERM, on_signal, loop, err);
    if (code == ERR_OK)
        code = loop_signal_add(loop, SIGINT, on_signal, loop, err);
    if (code == ERR_OK)
        code = loop_signal_add(loop, SIGHUP, on_hangup, NULL, err);
    if (code == ERR_OK)
        code = app_new(config, &app, err);
    if (code == ERR_OK)
        code = loop_run(loop, err);
    if (code == ERR_OK)
        log_info("stellard", "stopping");
    return code;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"data", required_argument, NULL, 'd'},
        {"listen", required_argument, NULL, 'l'},
        {"log-level", required_argument, NULL, 'v'},
        {"routes", no_argument, NULL, 'r'},
        {"version", no_argument, NULL, 'V'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct app_config config = {.data_dir = NULL};
    struct err err = ERR_INIT;
    char address[ADDRESS_MAX];
    const char *listen_on = LISTEN_DEFAULT;
    enum log_level level = LOG_LEVEL_INFO;
    for (int opt; (opt = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (opt == 'd') {
            config.data_dir = optarg;
        } else if (opt == 'l') {
            listen_on = optarg;
        } else if (opt == 'r') {
            print_routes();
            return 0;
        } else if (opt == 'V') {
            puts("stellard " STELLAR_VERSION);
            return 0;
        } else if (opt == 'v' && log_level_from_name(optarg, &level)) {
            log_set_level(level);
        } else {
            if (opt == 'v')
                fprintf(stderr, "stellard: --log-level: '%s' is no level\n", optarg);
            usage(opt == 'h' ? stdout : stderr);
            return opt == 'h' ? 0 : 2;
        }
    }
    if (config.data_dir == NULL || optind != argc) {
        if (optind != argc)
            fprintf(stderr, "stellard: '%s' is no option\n", argv[optind]);
        else
            fputs("stellard: --data is needed: the folder that holds the store\n", stderr);
        usage(stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    mallopt(M_TRIM_THRESHOLD, HEAP_KEPT_BYTES);
    mallopt(M_TOP_PAD, HEAP_STEP_BYTES);
    enum err_code code = parse_listen(listen_on, address, &config.port, &err);
    if (code == ERR_OK)
        code = check_loopback(address, &err);
    config.address = address;
    if (code == ERR_OK)
        code = serve(&config, &err);
    if (code != ERR_OK)
        log_error("stellard", "%s", err.text);
    return code == ERR_OK ? 0 : 1;
}
