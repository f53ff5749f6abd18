/*
 * server/stellard_options.c - see stellard_options.h.
 */
#include "server/stellard_options.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/notify.h"
#include "server/route.h"

#define LISTEN_DEFAULT "127.0.0.1:8440"
#define RATE_MAX       1000000

/* Values ---------------------------------------------------------------------------------------*/

/* "127.0.0.1:8440" or "[::1]:8440". */
static enum err_code set_listen(void *target, const char *value, struct err *err)
{
    struct stellard_options *options = target;
    const char *colon = strrchr(value, ':');
    char *end;
    size_t len = colon == NULL ? 0 : (size_t)(colon - value);
    if (colon == NULL || len == 0 || len >= STELLARD_ADDRESS_MAX || colon[1] < '0' ||
        colon[1] > '9')
        return err_set(err, ERR_INVALID, "'%s': ADDRESS:PORT is wanted", value);
    unsigned long number = strtoul(colon + 1, &end, 10);
    if (*end != '\0' || number > UINT16_MAX)
        return err_set(err, ERR_INVALID, "'%s': the port is 0 to 65535", value);
    if (value[0] == '[' && value[len - 1] == ']') {
        value++;
        len -= 2;
    }
    memcpy(options->address, value, len);
    options->address[len] = '\0';
    options->config.port = (uint16_t)number;
    options->listen_told = true;
    return ERR_OK;
}

static enum err_code set_tls(void *target, const char *value, struct err *err)
{
    static const char *const names[] = {[TLS_AUTO] = "auto", [TLS_ON] = "on", [TLS_OFF] = "off"};
    for (enum tls_mode mode = TLS_AUTO; mode <= TLS_OFF; mode++)
        if (strcmp(value, names[mode]) == 0) {
            ((struct stellard_options *)target)->tls = mode;
            return ERR_OK;
        }
    return err_set(err, ERR_INVALID, "'%s' is none of on, off and auto", value);
}

static enum err_code set_name(void *target, const char *value, struct err *err)
{
    struct stellard_options *options = target;
    if (options->name_count == TLS_GIVEN_MAX)
        return err_set(err, ERR_INVALID, "more than %d names", TLS_GIVEN_MAX);
    options->names[options->name_count++] = value;
    return tls_name_check(value, err);
}

static enum err_code parse_rate(const char *value, uint32_t *out, struct err *err)
{
    char *end;
    unsigned long long rate = strtoull(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != '\0' || rate > RATE_MAX)
        return err_set(err, ERR_INVALID, "'%s': requests a second are wanted, 0 to %d", value,
                       RATE_MAX);
    *out = (uint32_t)rate;
    return ERR_OK;
}

static enum err_code set_rate_token(void *target, const char *value, struct err *err)
{
    return parse_rate(value, &((struct stellard_options *)target)->config.rate_token, err);
}

static enum err_code set_rate_tenant(void *target, const char *value, struct err *err)
{
    return parse_rate(value, &((struct stellard_options *)target)->config.rate_tenant, err);
}

/* What only prints ---------------------------------------------------------------------------- */

static enum err_code print_routes(void *target, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    ((struct stellard_options *)target)->verb = STELLARD_PRINTED;
    routes_print(stdout);
    return ERR_OK;
}

static enum err_code print_version(void *target, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    ((struct stellard_options *)target)->verb = STELLARD_PRINTED;
    puts("stellard " STELLAR_VERSION);
    return ERR_OK;
}

static enum err_code print_help(void *target, const char *value, struct err *err);

static enum err_code check_config(void *target, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    ((struct stellard_options *)target)->verb = STELLARD_CHECK_CONFIG;
    return ERR_OK;
}

static enum err_code new_admin_token(void *target, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    ((struct stellard_options *)target)->verb = STELLARD_NEW_ADMIN;
    return ERR_OK;
}

#define AT(member) offsetof(struct stellard_options, member)

static const struct option_row rows[] = {
    {"data", "DIR", "folder of the store, admin.token and url; made when missing", OPTION_TEXT,
     NULL, AT(config.data_dir)},
    {"listen", "ADDRESS:PORT",
     "where to listen [" LISTEN_DEFAULT "]; port 0 = any free,\nsee DIR/url", 0, set_listen, 0},
    {"tls", "MODE", "on, off or auto: on unless the address is a loopback one [auto]", 0, set_tls,
     0},
    {"name", "NAME",
     "a name or address by which agents reach this server; the\nfirst is the one they are told; "
     "repeat it for more",
     OPTION_REPEATED, set_name, 0},
    {"tls-cert", "FILE",
     "show this certificate (PEM, its chain behind it) instead of\none by the server's own "
     "authority",
     OPTION_TEXT, NULL, AT(config.cert_file)},
    {"tls-key", "FILE", "its key; both are read again when they change", OPTION_TEXT, NULL,
     AT(config.key_file)},
    {"rate-token", "N", "requests a second of one token or session; 0 = no limit", 0,
     set_rate_token, 0},
    {"rate-tenant", "N", "the same of all of a tenant's together", 0, set_rate_tenant, 0},
    {"new-admin-token", NULL, "write a new DIR/admin.token; no server may run on DIR",
     OPTION_LINE_ONLY, new_admin_token, 0},
    {"log-level", "LEVEL", "error, warning, info or debug [info]", 0, option_log_level, 0},
    {"log-format", "FORMAT", "text, json or journal [text; journal under systemd]", 0,
     option_log_format, 0},
    {"config", "FILE",
     "read options from this JSON file first\n[" STELLARD_CONFIG " when it is there]",
     OPTION_LINE_ONLY, NULL, 0},
    {"check-config", NULL, "only say whether options and file are right", OPTION_LINE_ONLY,
     check_config, 0},
    {"out", "FILE", "of backup: the copy to make", OPTION_LINE_ONLY | OPTION_TEXT, NULL, AT(out)},
    {"from", "FILE", "of restore: the copy to put in place", OPTION_LINE_ONLY | OPTION_TEXT, NULL,
     AT(from)},
    {"routes", NULL, "print method, path, roles and options of each route", OPTION_LINE_ONLY,
     print_routes, 0},
    {"version", NULL, "print the version", OPTION_LINE_ONLY, print_version, 0},
    {"help", NULL, "print this", OPTION_LINE_ONLY, print_help, 0},
};
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static enum err_code print_help(void *target, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    ((struct stellard_options *)target)->verb = STELLARD_PRINTED;
    puts("Usage: stellard [VERB] --data DIR [OPTION]...\n"
         "Verbs:\n"
         "  serve (default)         run the server\n"
         "  backup --out FILE       copy the store of a server that does not run, and check it\n"
         "  restore --from FILE     check a copy and put it in the place of the store\n"
         "  check                   check the whole store of a server that does not run\n"
         "Options:");
    options_help(rows, ROW_COUNT, stdout);
    puts("Takes a new server certificate on SIGHUP. Ends on SIGTERM and SIGINT.\n"
         "Exit status: 0 good, 1 failed, 2 wrong usage.");
    return ERR_OK;
}

/* Together ------------------------------------------------------------------------------------ */

static enum err_code is_loopback(const char *address, bool *out, struct err *err)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, address, &v4) == 1)
        *out = (ntohl(v4.s_addr) >> 24) == 127;
    else if (inet_pton(AF_INET6, address, &v6) == 1)
        *out = IN6_IS_ADDR_LOOPBACK(&v6);
    else
        return err_set(err, ERR_INVALID, "--listen: '%s' is no address", address);
    return ERR_OK;
}

/* What the service manager listens on decides, not what is told: also whether TLS may be off. */
static enum err_code take_socket(struct stellard_options *options, struct err *err)
{
    struct sockaddr_storage address;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    socklen_t len = sizeof(address);
    char told[STELLARD_ADDRESS_MAX];
    in_port_t port;
    int fd;
    enum err_code code = notify_listen_fd(&fd, err);
    if (code != ERR_OK || fd < 0)
        return code;
    if (getsockname(fd, (struct sockaddr *)&address, &len) != 0)
        return err_set_errno(err, ERR_IO, errno, "the socket handed over");
    memcpy(told, options->address, sizeof(told));
    memcpy(&v4, &address, sizeof(v4));
    memcpy(&v6, &address, sizeof(v6));
    if (address.ss_family == AF_INET)
        inet_ntop(AF_INET, &v4.sin_addr, options->address, sizeof(options->address));
    else if (address.ss_family == AF_INET6)
        inet_ntop(AF_INET6, &v6.sin6_addr, options->address, sizeof(options->address));
    else
        return err_set(err, ERR_UNSUPPORTED, "the socket handed over is no TCP socket");
    options->config.listen_fd = fd;
    port = ntohs(address.ss_family == AF_INET ? v4.sin_port : v6.sin6_port);
    if (options->listen_told &&
        (port != options->config.port || strcmp(told, options->address) != 0))
        log_warning(
            "stellard",
            "serves %s port %u, which the service manager holds, and not what listen says "
            "(%s port %u): set ListenStream= of stellard.socket to that, or disable the socket",
            options->address, port, told, options->config.port);
    return ERR_OK;
}

static enum err_code decide_tls(struct stellard_options *options, struct err *err)
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

static enum err_code check_together(struct stellard_options *options, struct err *err)
{
    if (options->verb == STELLARD_PRINTED)
        return ERR_OK;
    if (options->config.data_dir == NULL)
        return err_set(err, ERR_INVALID, "--data is needed: the folder that holds the store");
    if ((options->verb == STELLARD_BACKUP) != (options->out != NULL))
        return err_set(err, ERR_INVALID, "backup and --out FILE come together");
    if ((options->verb == STELLARD_RESTORE) != (options->from != NULL))
        return err_set(err, ERR_INVALID, "restore and --from FILE come together");
    options->config.address = options->address;
    options->config.names = options->names;
    enum err_code code = options->verb == STELLARD_SERVE ? take_socket(options, err) : ERR_OK;
    return code == ERR_OK ? decide_tls(options, err) : code;
}

static enum err_code read_verb(int *argc, char ***argv, enum stellard_verb *out, struct err *err)
{
    static const struct {
        const char *name;
        enum stellard_verb verb;
    } verbs[] = {{"serve", STELLARD_SERVE},
                 {"backup", STELLARD_BACKUP},
                 {"restore", STELLARD_RESTORE},
                 {"check", STELLARD_CHECK}};
    if (*argc < 2 || (*argv)[1][0] == '-')
        return ERR_OK;
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (strcmp((*argv)[1], verbs[i].name) == 0) {
            *out = verbs[i].verb;
            (*argc)--;
            (*argv)++;
            return ERR_OK;
        }
    return err_set(err, ERR_INVALID, "'%.64s' is none of serve, backup, restore and check",
                   (*argv)[1]);
}

enum err_code stellard_options_read(int argc, char **argv, struct stellard_options *out,
                                    struct err *err)
{
    *out = (struct stellard_options){
        .config = {.rate_token = AUTH_RATE_TOKEN, .rate_tenant = AUTH_RATE_TENANT},
        .table = {.rows = rows, .count = ROW_COUNT, .file = STELLARD_CONFIG}};
    enum err_code code = set_listen(out, LISTEN_DEFAULT, err);
    out->listen_told = false;
    if (code == ERR_OK)
        code = read_verb(&argc, &argv, &out->verb, err);
    if (code == ERR_OK)
        code = options_read(&out->table, argc, argv, out, NULL, err);
    return code == ERR_OK ? check_together(out, err) : code;
}

void stellard_options_release(struct stellard_options *options)
{
    options_release(&options->table);
}
