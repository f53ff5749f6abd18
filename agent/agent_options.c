/*
 * agent/agent_options.c - see agent_options.h.
 */
#include "agent/agent_options.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/collect.h"
#include "agent/exporter.h"
#include "base/duration.h"
#include "fleet/name.h"

/* Values ---------------------------------------------------------------------------------------*/

static enum err_code set_server(void *target, const char *value, struct err *err)
{
    ((struct agent_options *)target)->server = value;
    if (strncmp(value, "http://", 7) == 0 || strncmp(value, "https://", 8) == 0)
        return ERR_OK;
    return err_set(err, ERR_INVALID, "'%s': https://HOST:PORT is wanted", value);
}

static enum err_code set_node(void *target, const char *value, struct err *err)
{
    ((struct agent_options *)target)->node = value;
    if (name_is_valid(value))
        return ERR_OK;
    return err_set(err, ERR_INVALID, "'%.64s' is no name of a node", value);
}

static enum err_code set_devices(void *target, const char *value, struct err *err)
{
    struct agent_options *options = target;
    size_t count = 0;
    char *save = NULL;
    free(options->devices);
    options->devices = strdup(value);
    if (options->devices == NULL)
        return err_nomem(err);
    for (char *name = strtok_r(options->devices, ",", &save); name != NULL;
         name = strtok_r(NULL, ",", &save)) {
        if (count == AGENT_DEVICES_MAX)
            return err_set(err, ERR_INVALID, "more than %d interfaces", AGENT_DEVICES_MAX);
        if (strlen(name) >= IFNAME_SIZE)
            return err_set(err, ERR_INVALID, "'%.64s' is no name of an interface", name);
        options->device[count++] = name;
    }
    options->device[count] = NULL;
    return count > 0 ? ERR_OK : err_set(err, ERR_INVALID, "names of interfaces are wanted");
}

static enum err_code set_provider(void *target, const char *value, struct err *err)
{
    struct agent_options *options = target;
    options->sim = strcmp(value, "sim") == 0;
    if (options->sim || strcmp(value, "linux") == 0)
        return ERR_OK;
    return err_set(err, ERR_INVALID, "'%s' is neither linux nor sim", value);
}

static enum err_code set_span(const char *value, int64_t max_ns, const char *wanted, int64_t *out,
                              struct err *err)
{
    if (duration_parse(value, out) && *out >= COLLECT_INTERVAL_MIN_NS && *out <= max_ns &&
        *out % NS_PER_MS == 0)
        return ERR_OK;
    return err_set(err, ERR_INVALID, "'%.32s': %s is wanted", value, wanted);
}

static enum err_code set_sim_ports(void *target, const char *value, struct err *err)
{
    char *end;
    errno = 0;
    long ports = strtol(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0' || ports < 1 || ports > INVENTORY_PORTS_MAX)
        return err_set(err, ERR_INVALID, "'%s': 1 to %d ports are wanted", value,
                       INVENTORY_PORTS_MAX);
    ((struct agent_options *)target)->sim_ports = (int)ports;
    return ERR_OK;
}

static enum err_code set_sim_check(void *target, const char *value, struct err *err)
{
    return set_span(value, AGENT_CHECK_NS, "a time from 100ms to 1m",
                    &((struct agent_options *)target)->sim_check_ns, err);
}

static enum err_code add_sim_fault(void *target, const char *value, struct err *err)
{
    struct agent_options *options = target;
    if (options->sim_faults == SIM_FAULTS_MAX)
        return err_set(err, ERR_INVALID, "more than %d faults", SIM_FAULTS_MAX);
    options->sim_fault[options->sim_faults++] = value;
    return ERR_OK;
}

static enum err_code set_telemetry(void *target, const char *value, struct err *err)
{
    struct agent_options *options = target;
    options->telemetry = strcmp(value, "on") == 0;
    if (options->telemetry || strcmp(value, "off") == 0)
        return ERR_OK;
    return err_set(err, ERR_INVALID, "'%s' is neither on nor off", value);
}

static enum err_code set_look(void *target, const char *value, struct err *err)
{
    return set_span(value, COLLECT_INTERVAL_MAX_NS, "a time from 100ms to 1m",
                    &((struct agent_options *)target)->look_ns, err);
}

static enum err_code set_batch(void *target, const char *value, struct err *err)
{
    return set_span(value, COLLECT_BATCH_MAX_NS, "a time from 100ms to 10m",
                    &((struct agent_options *)target)->batch_ns, err);
}

static enum err_code set_metrics(void *target, const char *value, struct err *err)
{
    ((struct agent_options *)target)->metrics = value;
    return exporter_check(value, err);
}

static enum err_code set_reboot(void *target, const char *value, struct err *err)
{
    static const char *const modes[] = {
        [REBOOT_NEVER] = "never", [REBOOT_ASK] = "ask", [REBOOT_WINDOW] = "window"};
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strcmp(modes[i], value) == 0) {
            ((struct agent_options *)target)->reboot.mode = (enum reboot_mode)i;
            return ERR_OK;
        }
    return err_set(err, ERR_INVALID, "'%.64s' is neither never nor ask nor window", value);
}

static enum err_code set_reboot_window(void *target, const char *value, struct err *err)
{
    return reboot_window_parse(value, &((struct agent_options *)target)->reboot, err);
}

static enum err_code set_reboots_a_day(void *target, const char *value, struct err *err)
{
    char *end;
    errno = 0;
    long number = strtol(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0' || number < 1 || number > REBOOTS_A_DAY_MAX)
        return err_set(err, ERR_INVALID, "'%.64s': 1 to %d reboots a day are wanted", value,
                       REBOOTS_A_DAY_MAX);
    ((struct agent_options *)target)->reboot.a_day = (int)number;
    return ERR_OK;
}

/* Words, not a line of a shell. "*" would let the starter start anything behind it. */
static enum err_code set_reboot_command(void *target, const char *value, struct err *err)
{
    struct agent_options *options = target;
    size_t count = 0;
    char *save = NULL;
    free(options->reboot_command);
    options->reboot_command = strdup(value);
    if (options->reboot_command == NULL)
        return err_nomem(err);
    for (char *word = strtok_r(options->reboot_command, " ", &save); word != NULL;
         word = strtok_r(NULL, " ", &save)) {
        if (count == REBOOT_WORDS_MAX || strcmp(word, "*") == 0)
            return err_set(err, ERR_INVALID, "at most %d words are wanted, none of them '*'",
                           REBOOT_WORDS_MAX);
        options->reboot_word[count++] = word;
    }
    options->reboot_word[count] = NULL;
    return count > 0 ? ERR_OK : err_set(err, ERR_INVALID, "a program and its words are wanted");
}

static enum err_code set_once(void *target, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    ((struct agent_options *)target)->once = true;
    return ERR_OK;
}

static enum err_code set_check(void *target, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    ((struct agent_options *)target)->check = true;
    return ERR_OK;
}

static enum err_code print_version(void *target, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    ((struct agent_options *)target)->done = true;
    puts("stellar-agent " STELLAR_VERSION);
    return ERR_OK;
}

static enum err_code print_help(void *target, const char *value, struct err *err);

#define AT(member) offsetof(struct agent_options, member)

static const struct option_row rows[] = {
    {"server", "URL", "the server, as https://host:8440; none: keep the last\ngood plan", 0,
     set_server, 0},
    {"node", "NAME", "this node's name at the server", 0, set_node, 0},
    {"devices", "IF,IF", "the interfaces to manage; default: all but bridges, bonds,\nvirtual ones",
     0, set_devices, 0},
    {"join", "TOKEN", "enrol with this join token, unless it was spent here before",
     OPTION_LINE_ONLY | OPTION_TEXT, NULL, AT(join)},
    {"join-file", "FILE", "the same, from the file's first line: nobody sees it in ps", OPTION_TEXT,
     NULL, AT(join_file)},
    {"server-ca", "FILE", "who signs the server's certificate, if not its own authority",
     OPTION_TEXT, NULL, AT(server_ca)},
    {"token-file", "FILE", "holds the agent's token, for a server on loopback without\nTLS",
     OPTION_TEXT, NULL, AT(token_file)},
    {"state-dir", "DIR", "last good plan, journal, receipts\n[" AGENT_STATE_DIR "]", OPTION_TEXT,
     NULL, AT(state_dir)},
    {"provider", "NAME", "linux (default), or sim: a pretended node, to try without\nroot", 0,
     set_provider, 0},
    {"sim-ports", "N", "ports of the simulator [2]", 0, set_sim_ports, 0},
    {"sim-check", "TIME", "between two checks of it without an event, 100ms to 1m [1m]", 0,
     set_sim_check, 0},
    {"sim-fault", "FAULT",
     "for tests only, may be repeated: fail-step:N, or fail,\nrefuse, ignore, link-down, "
     "peers-silent, alter with :KNOB:\nthe simulator's knobs of that kind go wrong; flash:WHAT:\n"
     "its firmware does",
     OPTION_REPEATED, add_sim_fault, 0},
    {"telemetry", "on|off", "send what the node counts to the server [on]", 0, set_telemetry, 0},
    {"telemetry-interval", "TIME", "between two looks at the counters, 100ms to 1m [1s]", 0,
     set_look, 0},
    {"telemetry-batch", "TIME",
     "what is sent in one go; 1 to 60 looks, at most 10m\n[10s, or as many looks as fit]", 0,
     set_batch, 0},
    {"metrics-listen", "ADDR:PORT",
     "serve the last look at GET /metrics for Prometheus, without\nTLS; default: nowhere", 0,
     set_metrics, 0},
    {"reboot", "WHEN",
     "for what only a boot or a driver's reload puts in effect:\nnever, ask (when an operator has "
     "approved it) or window [never]",
     0, set_reboot, 0},
    {"reboot-window", "HH:MM-HH:MM", "when the node may be rebooted, UTC [00:00-00:00, always]", 0,
     set_reboot_window, 0},
    {"reboots-a-day", "N", "at most so many in 24 hours [1]", 0, set_reboots_a_day, 0},
    {"reboot-command", "WORDS",
     "what reboots it, a program and its words\n[systemctl start reboot.target ...]", 0,
     set_reboot_command, 0},
    {"log-level", "LEVEL", "error, warning, info (default) or debug", 0, option_log_level, 0},
    {"log-format", "FORMAT", "text, json or journal [text; journal under systemd]", 0,
     option_log_format, 0},
    {"config", "FILE",
     "read options from this JSON file first\n[" AGENT_CONFIG " when it is there]",
     OPTION_LINE_ONLY, NULL, 0},
    {"check-config", NULL, "only say whether options, file and the files that they\nname are right",
     OPTION_LINE_ONLY, set_check, 0},
    {"once", NULL, "make the node what the last good plan wants, then exit:\n0 = it is",
     OPTION_LINE_ONLY, set_once, 0},
    {"root", "PREFIX", "before /sys, /proc and /etc, for tests", OPTION_LINE_ONLY | OPTION_TEXT,
     NULL, AT(root)},
    {"version", NULL, "print the version", OPTION_LINE_ONLY, print_version, 0},
    {"help", NULL, "print this", OPTION_LINE_ONLY, print_help, 0},
};
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static enum err_code print_help(void *target, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    ((struct agent_options *)target)->done = true;
    puts("Usage: stellar-agent --node NAME [--server URL [--join TOKEN]] [OPTION]...");
    options_help(rows, ROW_COUNT, stdout);
    puts("Ends on SIGTERM; the node stays as it is. SIGHUP: try everything again; SIGUSR1: take a\n"
         "new certificate now. Exit status: 0 good, 1 failed, 2 usage.");
    return ERR_OK;
}

/* Together ------------------------------------------------------------------------------------ */

/* What does not go together; NULL = nothing. */
static const char *wrong_way(const struct agent_options *options)
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

/* Without a wish a batch has its usual length, in looks that fit into it. */
static bool fit_batch(struct agent_options *options)
{
    if (options->batch_ns == 0) {
        int64_t looks = COLLECT_SAMPLES * COLLECT_INTERVAL_NS / options->look_ns;
        looks = looks < 1 ? 1 : looks > TELEMETRY_SAMPLES_MAX ? TELEMETRY_SAMPLES_MAX : looks;
        options->batch_ns = looks * options->look_ns;
    }
    return options->batch_ns % options->look_ns == 0 &&
           options->batch_ns / options->look_ns <= TELEMETRY_SAMPLES_MAX;
}

static enum err_code check_together(struct agent_options *options, struct err *err)
{
    const char *wrong = wrong_way(options);
    if (options->done)
        return ERR_OK;
    if (options->node == NULL)
        wrong = "--node is needed: this node's name at the server";
    else if ((options->sim_faults > 0 || options->sim_check_ns != 0) && !options->sim)
        wrong = "--sim-fault and --sim-check are of --provider sim";
    else if (options->reboot.mode != REBOOT_NEVER && options->sim)
        wrong = "--reboot is not of --provider sim: it would reboot this machine";
    else if (!fit_batch(options))
        wrong = "--telemetry-batch must be 1 to 60 times --telemetry-interval";
    return wrong == NULL ? ERR_OK : err_set(err, ERR_INVALID, "%s", wrong);
}

/* What would bar the way to the server. A join token's file may be gone once it was used. */
static enum err_code check_files(const struct agent_options *options, struct err *err)
{
    const struct {
        const char *option, *path;
    } files[] = {{"server-ca", options->server_ca}, {"token-file", options->token_file}};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (files[i].path != NULL && access(files[i].path, R_OK) != 0)
            return err_set_errno(err, ERR_INVALID, errno, "--%s: %s cannot be read",
                                 files[i].option, files[i].path);
    return ERR_OK;
}

enum err_code agent_options_read(int argc, char **argv, struct agent_options *out, struct err *err)
{
    *out = (struct agent_options){
        .state_dir = AGENT_STATE_DIR,
        .sim_ports = 2,
        .telemetry = true,
        .reboot = {.a_day = REBOOTS_A_DAY},
        .look_ns = COLLECT_INTERVAL_NS,
        .table = {.rows = rows, .count = ROW_COUNT, .file = AGENT_CONFIG},
    };
    enum err_code code = options_read(&out->table, argc, argv, out, NULL, err);
    if (code == ERR_OK && out->reboot_word[0] == NULL)
        code = set_reboot_command(out, AGENT_REBOOT, err);
    if (code == ERR_OK)
        code = check_together(out, err);
    return code == ERR_OK && out->check && !out->done ? check_files(out, err) : code;
}

void agent_options_release(struct agent_options *options)
{
    free(options->reboot_command);
    options->reboot_command = NULL;
    options_release(&options->table);
    free(options->devices);
    options->devices = NULL;
}
