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

enum tls_mode { TLS_AUTO, TLS_ON, TLS_OFF };

struct options {
    struct app_config config;
    const char *listen_on;
    char address[ADDRESS_MAX];
    enum tls_mode tls;
    const char *names[TLS_GIVEN_MAX + 1];
    size_t name_count;
};

static void usage(FILE *out)
{
    fputs(
        "Usage: stellard --data DIR [options]\n"
        "  --data DIR             folder of the store, admin.token and url; made when missing\n"
        "  --listen ADDRESS:PORT  where to listen [" LISTEN_DEFAULT "]; port 0 = any free, see\n"
        "                         DIR/url\n"
        "  --tls on|off|auto      auto: on unless the address is a loopback one [auto]\n"
        "  --name NAME            a name or address by which agents reach this server; the first\n"
        "                         is the one they are told; repeat it for more\n"
        "  --tls-cert FILE        show this certificate (PEM, its chain behind it) instead of one\n"
        "  --tls-key FILE         by the server's own authority; read again when they change\n"
        "  --log-level LEVEL      error, warning, info or debug [info]\n"
        "  --routes               print method, path, roles and options of each route; exit\n"
        "  --version              print the version and exit\n"
        "  --help                 print this and exit\n"
        "Takes a new server certificate on SIGHUP. Ends on SIGTERM and SIGINT. Exit status: 0\n"
        "stopped, 1 failed, 2 wrong usage.\n",
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

static enum err_code is_loopback(const char *address, bool *out, struct err *err)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, address, &v4) == 1)
        *out = (ntohl(v4.s_addr) >> 24) == 127;
    else if (inet_pton(AF_INET6, address, &v6) == 1)
        *out = IN6_IS_ADDR_LOOPBACK(&v6);
    else
        return err_set(err, ERR_INVALID, "--listen '%s' is no address", address);
    return ERR_OK;
}

static enum err_code decide_tls(struct options *options, struct err *err)
{
    bool loopback = false, files = options->config.cert_file != NULL;
    enum err_code code = is_loopback(options->address, &loopback, err);
    if (code != ERR_OK)
        return code;
    if (files != (options->config.key_file != NULL))
        return err_set(err, ERR_INVALID, "--tls-cert and --tls-key come together");
    if (options->tls == TLS_OFF && !loopback)
        return err_set(err, ERR_UNSUPPORTED,
                       "--tls off is for loopback addresses only: on %s tokens and plans would "
                       "cross the network in the clear",
                       options->address);
    if (options->tls == TLS_OFF && files)
        return err_set(err, ERR_INVALID, "--tls-cert has no use with --tls off");
    options->config.tls =
        options->tls == TLS_ON || !loopback || (options->tls == TLS_AUTO && files);
    return ERR_OK;
}

static enum err_code add_name(struct options *options, const char *name, struct err *err)
{
    if (options->name_count == TLS_GIVEN_MAX)
        return err_set(err, ERR_LIMIT, "--name: more than %d names", TLS_GIVEN_MAX);
    options->names[options->name_count++] = name;
    return tls_name_check(name, err) == ERR_OK ? ERR_OK : err_context(err, "--name");
}

static bool tls_mode_from_name(const char *name, enum tls_mode *out)
{
    static const char *const names[] = {[TLS_AUTO] = "auto", [TLS_ON] = "on", [TLS_OFF] = "off"};
    for (enum tls_mode mode = TLS_AUTO; mode <= TLS_OFF; mode++)
        if (strcmp(name, names[mode]) == 0) {
            *out = mode;
            return true;
        }
    return false;
}

static void on_signal(void *loop)
{
    loop_stop(loop);
}

static void on_hangup(void *arg)
{
    struct app *app = *(struct app **)arg;
    if (app != NULL)
        app_tls_reload(app);
}

struct minute {
    struct loop_timer *timer;
    struct app *app;
};

static void on_minute(void *arg)
{
    struct minute *minute = arg;
    app_tls_tick(minute->app);
    loop_timer_set(minute->timer, 60 * NS_PER_S);
}

static enum err_code serve(const struct app_config *config, struct err *err)
{
    OWN(loop) struct loop *loop = NULL;
    OWN(app) struct app *app = NULL;
    struct minute minute = {.timer = NULL};
    /* Before any thread starts, so that all inherit the blocked signals. */
    enum err_code code = loop_new(&loop, err);
    if (code == ERR_OK)
        code = loop_signal_add(loop, SIGTERM, on_signal, loop, err);
    if (code == ERR_OK)
        code = loop_signal_add(loop, SIGINT, on_signal, loop, err);
    if (code == ERR_OK)
        code = loop_signal_add(loop, SIGHUP, on_hangup, &app, err);
    if (code == ERR_OK)
        code = loop_timer_new(loop, on_minute, &minute, &minute.timer, err);
    if (code == ERR_OK)
        code = app_new(config, &app, err);
    if (code != ERR_OK)
        return code;
    minute.app = app;
    loop_timer_set(minute.timer, 60 * NS_PER_S);
    code = loop_run(loop, err);
    if (code == ERR_OK)
        log_info("stellard", "stopping");
    return code;
}

/* False: the value is wrong, and said so. */
static bool set_option(struct options *options, int id, const char *value)
{
    struct err err = ERR_INIT;
    enum log_level level;
    switch (id) {
    case 'd':
        options->config.data_dir = value;
        return true;
    case 'l':
        options->listen_on = value;
        return true;
    case 'c':
        options->config.cert_file = value;
        return true;
    case 'k':
        options->config.key_file = value;
        return true;
    case 'n':
        if (add_name(options, value, &err) == ERR_OK)
            return true;
        fprintf(stderr, "stellard: %s\n", err.text);
        return false;
    case 't':
        if (tls_mode_from_name(value, &options->tls))
            return true;
        fprintf(stderr, "stellard: --tls: '%s' is none of on, off and auto\n", value);
        return false;
    case 'v':
        if (log_level_from_name(value, &level)) {
            log_set_level(level);
            return true;
        }
        fprintf(stderr, "stellard: --log-level: '%s' is no level\n", value);
        return false;
    default:
        return false;
    }
}

/* The exit status, or -1 = go on. */
static int read_options(int argc, char **argv, struct options *options)
{
    static const struct option longs[] = {
        {"data", required_argument, NULL, 'd'},
        {"listen", required_argument, NULL, 'l'},
        {"tls", required_argument, NULL, 't'},
        {"name", required_argument, NULL, 'n'},
        {"tls-cert", required_argument, NULL, 'c'},
        {"tls-key", required_argument, NULL, 'k'},
        {"log-level", required_argument, NULL, 'v'},
        {"routes", no_argument, NULL, 'r'},
        {"version", no_argument, NULL, 'V'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    for (int opt; (opt = getopt_long(argc, argv, "h", longs, NULL)) != -1;) {
        if (opt == 'r') {
            print_routes();
            return 0;
        } else if (opt == 'V') {
            puts("stellard " STELLAR_VERSION);
            return 0;
        } else if (opt == 'h') {
            usage(stdout);
            return 0;
        } else if (!set_option(options, opt, optarg)) {
            usage(stderr);
            return 2;
        }
    }
    if (options->config.data_dir != NULL && optind == argc)
        return -1;
    if (optind != argc)
        fprintf(stderr, "stellard: '%s' is no option\n", argv[optind]);
    else
        fputs("stellard: --data is needed: the folder that holds the store\n", stderr);
    usage(stderr);
    return 2;
}

int main(int argc, char **argv)
{
    struct options options = {.listen_on = LISTEN_DEFAULT};
    struct err err = ERR_INIT;
    int status = read_options(argc, argv, &options);
    if (status >= 0)
        return status;
    signal(SIGPIPE, SIG_IGN);
    mallopt(M_TRIM_THRESHOLD, HEAP_KEPT_BYTES);
    mallopt(M_TOP_PAD, HEAP_STEP_BYTES);
    enum err_code code =
        parse_listen(options.listen_on, options.address, &options.config.port, &err);
    if (code == ERR_OK)
        code = decide_tls(&options, &err);
    options.config.address = options.address;
    options.config.names = options.names;
    if (code == ERR_OK)
        code = serve(&options.config, &err);
    if (code != ERR_OK)
        log_error("stellard", "%s", err.text);
    return code == ERR_OK ? 0 : 1;
}
