/*
 * agent/agent_main.c - stellar-agent: options, token, provider, signals; then one agent on a loop.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/keep.h"
#include "agent/way.h"
#include "base/file.h"
#include "base/log.h"
#include "datapath/dp_linux.h"
#include "datapath/dp_sim.h"

#define DEVICES_MAX  INVENTORY_PORTS_MAX
#define STATE_DIR    "/var/lib/stellar-agent"
#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"

enum exit_status { EXIT_GOOD = 0, EXIT_BAD = 1, EXIT_USAGE = 2 };

struct options {
    const char *server, *node, *token_file, *state_dir, *root;
    const char *join, *join_file, *server_ca;
    char *devices; /* owned copy, cut at the commas */
    const char *device[DEVICES_MAX + 1];
    bool sim, once;
    int sim_ports;
    const char *sim_fault[SIM_FAULTS_MAX];
    int sim_faults;
};

enum option_id {
    OPTION_SERVER = 256,
    OPTION_NODE,
    OPTION_DEVICES,
    OPTION_TOKEN_FILE,
    OPTION_JOIN,
    OPTION_JOIN_FILE,
    OPTION_SERVER_CA,
    OPTION_STATE_DIR,
    OPTION_PROVIDER,
    OPTION_SIM_PORTS,
    OPTION_SIM_FAULT,
    OPTION_LOG_LEVEL,
    OPTION_ONCE,
    OPTION_ROOT,
    OPTION_VERSION,
    OPTION_HELP,
};

static const struct {
    const char *name, *arg, *text;
    int id;
} rows[] = {
    {"server", "URL", "the server, as https://host:8440; none: keep the last good plan",
     OPTION_SERVER},
    {"node", "NAME", "this node's name at the server", OPTION_NODE},
    {"devices", "IF,IF", "the interfaces to manage; default: all but bridges, bonds, virtual",
     OPTION_DEVICES},
    {"join", "TOKEN", "enrol with this join token, unless it was spent here before", OPTION_JOIN},
    {"join-file", "FILE", "the same, from the file's first line: nobody sees it in ps",
     OPTION_JOIN_FILE},
    {"server-ca", "FILE", "who signs the server's certificate, if not its own authority",
     OPTION_SERVER_CA},
    {"token-file", "FILE", "holds the agent's token, for a server on loopback without TLS",
     OPTION_TOKEN_FILE},
    {"state-dir", "DIR", "last good plan, journal, receipts [" STATE_DIR "]", OPTION_STATE_DIR},
    {"provider", "NAME", "linux (default), or sim: a pretended node, to try without root",
     OPTION_PROVIDER},
    {"sim-ports", "N", "ports of the simulator [2]", OPTION_SIM_PORTS},
    {"sim-fault", "FAULT",
     "for tests only, may be repeated: fail-step:N, or fail, refuse, ignore,\n"
     "                       link-down with :KNOB: the simulator's knobs of that kind go wrong",
     OPTION_SIM_FAULT},
    {"log-level", "LEVEL", "error, warning, info (default) or debug", OPTION_LOG_LEVEL},
    {"once", NULL, "make the node what the last good plan wants, then exit: 0 = it is",
     OPTION_ONCE},
    {"root", "PREFIX", "before /sys, /proc and /etc, for tests", OPTION_ROOT},
    {"version", NULL, "print the version and exit", OPTION_VERSION},
    {"help", NULL, "print this and exit", OPTION_HELP},
};
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static void usage(FILE *out)
{
    fprintf(out, "Usage: stellar-agent --node NAME [--server URL [--join TOKEN]] [OPTION]...\n");
    for (size_t i = 0; i < ROW_COUNT; i++) {
        char left[64];
        snprintf(left, sizeof(left), "--%s%s%s", rows[i].name, rows[i].arg == NULL ? "" : "=",
                 rows[i].arg == NULL ? "" : rows[i].arg);
        fprintf(out, "  %-20s %s\n", left, rows[i].text);
    }
    fprintf(
        out,
        "Ends on SIGTERM; the node stays as it is. SIGHUP: try everything again; SIGUSR1: take a\n"
        "new certificate now. Exit status: 0 good, 1 failed, 2 usage.\n");
}

static bool set_devices(struct options *options, const char *list)
{
    free(options->devices);
    options->devices = strdup(list);
    size_t count = 0;
    char *save = NULL;
    for (char *name = options->devices == NULL ? NULL : strtok_r(options->devices, ",", &save);
         name != NULL; name = strtok_r(NULL, ",", &save)) {
        if (count == DEVICES_MAX || strlen(name) >= IFNAME_SIZE)
            return false;
        options->device[count++] = name;
    }
    options->device[count] = NULL;
    return count > 0;
}

static bool set_sim_ports(struct options *options, const char *text)
{
    char *end;
    errno = 0;
    long ports = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || ports < 1 || ports > INVENTORY_PORTS_MAX)
        return false;
    options->sim_ports = (int)ports;
    return true;
}

static bool add_sim_fault(struct options *options, const char *text)
{
    if (options->sim_faults == SIM_FAULTS_MAX)
        return false;
    options->sim_fault[options->sim_faults++] = text;
    return true;
}

static bool set_log_level(const char *name)
{
    enum log_level level;
    if (!log_level_from_name(name, &level))
        return false;
    log_set_level(level);
    return true;
}

static bool set_provider(struct options *options, const char *name)
{
    options->sim = strcmp(name, "sim") == 0;
    return options->sim || strcmp(name, "linux") == 0;
}

/* False: the value is wrong. */
static bool set_option(struct options *options, int id, const char *value)
{
    switch (id) {
    case OPTION_SERVER:
        options->server = value;
        return strncmp(value, "http://", 7) == 0 || strncmp(value, "https://", 8) == 0;
    case OPTION_NODE:
        options->node = value;
        return name_is_valid(value);
    case OPTION_DEVICES:
        return set_devices(options, value);
    case OPTION_TOKEN_FILE:
        options->token_file = value;
        return true;
    case OPTION_JOIN:
        options->join = value;
        return true;
    case OPTION_JOIN_FILE:
        options->join_file = value;
        return true;
    case OPTION_SERVER_CA:
        options->server_ca = value;
        return true;
    case OPTION_STATE_DIR:
        options->state_dir = value;
        return true;
    case OPTION_PROVIDER:
        return set_provider(options, value);
    case OPTION_SIM_PORTS:
        return set_sim_ports(options, value);
    case OPTION_SIM_FAULT:
        return add_sim_fault(options, value);
    case OPTION_LOG_LEVEL:
        return set_log_level(value);
    case OPTION_ONCE:
        options->once = true;
        return true;
    case OPTION_ROOT:
        options->root = value;
        return true;
    case OPTION_VERSION:
        printf("stellar-agent %s\n", STELLAR_VERSION);
        exit(EXIT_GOOD);
    case OPTION_HELP:
        usage(stdout);
        exit(EXIT_GOOD);
    default:
        return false;
    }
}

/* What does not go together; NULL = nothing. */
static const char *wrong_way(const struct options *options)
{
    bool joins = options->join != NULL || options->join_file != NULL;
    if (options->join != NULL && options->join_file != NULL)
        return "--join and --join-file are the same thing: give one";
    if (options->server == NULL)
        return joins ? "--join needs --server" : NULL;
    bool https = strncmp(options->server, "https://", 8) == 0;
    if (joins && options->token_file != NULL)
        return "--join and --token-file exclude each other";
    if (!https && options->token_file == NULL && !options->once)
        return "a server without TLS (http://) needs --token-file";
    return joins && !https ? "--join needs a server with TLS (https://)" : NULL;
}

static bool parse_options(int argc, char **argv, struct options *options)
{
    struct option longs[ROW_COUNT + 1] = {0};
    for (size_t i = 0; i < ROW_COUNT; i++)
        longs[i] = (struct option){.name = rows[i].name,
                                   .has_arg = rows[i].arg != NULL ? required_argument : no_argument,
                                   .val = rows[i].id};
    int id, index = 0;
    while ((id = getopt_long(argc, argv, "", longs, &index)) != -1) {
        if (id == '?')
            return false; /* getopt said why */
        if (!set_option(options, id, optarg)) {
            fprintf(stderr, "stellar-agent: --%s: '%s' is not right: %s\n", rows[index].name,
                    optarg, rows[index].text);
            return false;
        }
    }
    const char *wrong = NULL;
    if (optind < argc)
        wrong = "takes options only; --help lists them";
    else if (options->node == NULL)
        wrong = "--node is needed: this node's name at the server";
    else if (options->sim_faults > 0 && !options->sim)
        wrong = "--sim-fault is of --provider sim";
    else
        wrong = wrong_way(options);
    if (wrong != NULL)
        fprintf(stderr, "stellar-agent: %s\n", wrong);
    return wrong == NULL;
}

/* Two agents on one state folder would undo each other. The lock goes with the process. */
static enum err_code lock_state(const char *state_dir, struct err *err)
{
    char path[KEEP_PATH_MAX];
    if (file_mkdirs(state_dir, 0700, err) || keep_path(state_dir, "lock", path, err))
        return err->code;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot open %s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return err_set_errno(err, ERR_CONFLICT, errno, "another agent holds %s", path);
    return ERR_OK;
}

static void read_boot_id(const char *root, char out[BOOT_ID_SIZE])
{
    char path[KEEP_PATH_MAX];
    OWN(str) char *text = NULL;
    size_t len;
    snprintf(path, sizeof(path), "%s%s", root == NULL ? "" : root, BOOT_ID_PATH);
    out[0] = '\0';
    if (file_read(path, BOOT_ID_SIZE, &text, &len, NULL))
        return;
    text[strcspn(text, "\r\n")] = '\0';
    snprintf(out, BOOT_ID_SIZE, "%s", text);
}

static enum err_code make_simulator(const struct options *options, struct dp **out, struct err *err)
{
    OWN(dp) struct dp *dp = NULL;
    struct dp_sim_config sim = {.port_count = options->sim_ports};
    enum err_code code = dp_sim_new(&sim, &dp, err);
    for (int i = 0; code == ERR_OK && i < options->sim_faults; i++) {
        log_warning("agent", "the simulator goes wrong on purpose: %s", options->sim_fault[i]);
        code = dp_sim_fault(dp, options->sim_fault[i], err);
    }
    if (code == ERR_OK)
        *out = GIVE(dp);
    return code;
}

static enum err_code make_provider(const struct options *options, struct dp **out, struct err *err)
{
    if (options->sim)
        return make_simulator(options, out, err);
    struct dp_linux_config linux_config = {
        .devices = options->devices == NULL ? NULL : options->device,
        .root = options->root,
    };
    return dp_linux_new(&linux_config, out, err);
}

static enum err_code make_link(const struct options *options, struct loop *loop, struct way **way,
                               struct link **out, struct err *err)
{
    if (options->server == NULL || options->once)
        return ERR_OK;
    const struct way_config config = {.server = options->server,
                                      .node = options->node,
                                      .state_dir = options->state_dir,
                                      .token_file = options->token_file,
                                      .join = options->join,
                                      .join_file = options->join_file,
                                      .server_ca = options->server_ca};
    return way_new(loop, &config, way, out, err);
}

static void on_stop(void *arg)
{
    log_info("agent", "stopping; the node stays as it is");
    loop_stop(arg);
}

static void on_reload(void *arg)
{
    log_info("agent", "SIGHUP: trying everything again");
    agent_reload(arg);
}

static void on_renew(void *arg)
{
    if (arg != NULL)
        way_renew(arg);
}

static enum err_code serve(struct loop *loop, struct agent *agent, struct way *way, struct err *err)
{
    enum err_code code = loop_signal_add(loop, SIGTERM, on_stop, loop, err);
    if (code == ERR_OK)
        code = loop_signal_add(loop, SIGUSR1, on_renew, way, err);
    if (code == ERR_OK)
        code = loop_signal_add(loop, SIGINT, on_stop, loop, err);
    if (code == ERR_OK)
        code = loop_signal_add(loop, SIGHUP, on_reload, agent, err);
    if (code == ERR_OK)
        code = agent_start(agent, err);
    return code == ERR_OK ? loop_run(loop, err) : code;
}

static enum err_code run(const struct options *options, struct err *err)
{
    /* Freed last to first: the agent uses all of them. */
    OWN(loop) struct loop *loop = NULL;
    OWN(dp) struct dp *dp = NULL;
    OWN(way) struct way *way = NULL;
    OWN(agent) struct agent *agent = NULL;
    struct link *link = NULL;
    char boot_id[BOOT_ID_SIZE];
    read_boot_id(options->root, boot_id);
    enum err_code code = lock_state(options->state_dir, err);
    if (code == ERR_OK)
        code = loop_new(&loop, err);
    if (code == ERR_OK)
        code = make_provider(options, &dp, err);
    if (code == ERR_OK)
        code = make_link(options, loop, &way, &link, err);
    struct agent_config config = {
        .node = options->node,
        .state_dir = options->state_dir,
        .boot_id = boot_id,
        .clock = clock_system(),
    };
    if (code == ERR_OK)
        code = agent_new(loop, &config, dp, link, &agent, err);
    if (code != ERR_OK)
        return code;
    if (options->once)
        return agent_once(agent, err);
    return serve(loop, agent, way, err);
}

int main(int argc, char **argv)
{
    struct options options = {.state_dir = STATE_DIR, .sim_ports = 2};
    struct err err = ERR_INIT;
    signal(SIGPIPE, SIG_IGN); /* a log reader that went away must not stop us */
    if (!parse_options(argc, argv, &options)) {
        free(options.devices);
        return EXIT_USAGE;
    }
    enum err_code code = run(&options, &err);
    if (code != ERR_OK)
        log_error("agent", "%s", err.text);
    free(options.devices);
    return code == ERR_OK ? EXIT_GOOD : EXIT_BAD;
}
