/*
 * agent/agent_main.c - stellar-agent: provider, signals, the service manager; one agent on a loop.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/agent_options.h"
#include "agent/exporter.h"
#include "agent/keep.h"
#include "agent/lock.h"
#include "agent/reboot_command.h"
#include "agent/solar.h"
#include "agent/solar_keys.h"
#include "agent/way.h"
#include "base/file.h"
#include "base/log.h"
#include "base/notify.h"
#include "datapath/dp_linux.h"
#include "agent/verify_run.h"
#include "datapath/dp_sim.h"
#include "datapath/lldp_listen.h"
#include "datapath/sys/confine.h"

#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"

enum exit_status { EXIT_GOOD = 0, EXIT_BAD = 1, EXIT_USAGE = 2 };

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

static enum err_code make_simulator(const struct agent_options *options, struct dp **out,
                                    struct err *err)
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

/* lldp is taken over. */
static enum err_code make_provider(const struct agent_options *options, struct lldp_listen *lldp,
                                   struct dp **out, struct err *err)
{
    if (options->sim) {
        lldp_listen_close(lldp);
        return make_simulator(options, out, err);
    }
    struct dp_linux_config linux_config = {
        .lldp = lldp,
        .devices = options->device[0] == NULL ? NULL : options->device,
        .root = options->root,
    };
    return dp_linux_new(&linux_config, out, err);
}

/* A node without it works as well: its neighbours are unknown. */
static struct lldp_listen *listen_for_neighbours(void)
{
    struct lldp_listen *lldp = NULL;
    struct err err = ERR_INIT;
    if (lldp_listen_open(clock_system(), &lldp, &err))
        log_warning("agent", "neighbours stay unknown: %s", err.text);
    return lldp;
}

static bool may_reboot(const struct agent_options *options)
{
    return options->reboot.mode != REBOOT_NEVER && !options->once;
}

/* Root's rights are given up before anything else is done: what comes later inherits that. The
 * packet socket takes one of them to be opened, and none to be read. */
static enum err_code give_up_rights(const struct agent_options *options, struct starter **starter,
                                    struct lldp_listen **lldp, struct err *err)
{
    enum err_code code = ERR_OK;
    if (!options->sim && !options->once)
        code = starter_new(reboot_command_forms(may_reboot(options) ? options->reboot_word : NULL),
                           starter, err);
    if (code == ERR_OK && !options->sim && !options->once)
        *lldp = listen_for_neighbours();
    return code == ERR_OK ? confine(CONFINE_AGENT, err) : code;
}

static enum err_code make_flasher(const struct agent_options *options, struct dp *dp,
                                  struct starter *starter, struct flasher **out, struct err *err)
{
    if (options->once)
        return ERR_OK;
    if (options->sim)
        return flash_sim_new(dp, out, err);
    const struct flash_linux_config config = {.root = options->root, .starter = starter};
    return flash_linux_new(&config, out, err);
}

static enum err_code make_counters(const struct agent_options *options, struct counters **out,
                                   struct err *err)
{
    const struct counters_linux_config config = {.root = options->root};
    bool sends = options->server != NULL && options->telemetry;
    if (options->once || (!sends && options->metrics == NULL))
        return ERR_OK;
    return options->sim ? counters_sim_new(options->sim_ports, out, err)
                        : counters_linux_new(&config, out, err);
}

/* Metrics are nothing that a node cannot do without. */
static void make_exporter(const struct agent_options *options, struct exporter **out)
{
    const struct exporter_config config = {
        .node = options->node, .address = options->metrics, .clock = clock_system()};
    struct err err = ERR_INIT;
    if (options->once || options->metrics == NULL)
        return;
    if (exporter_new(&config, out, &err) != ERR_OK)
        log_error("agent", "no metrics: %s", err.text);
    else
        log_info("agent", "metrics are served on port %u of %s", exporter_port(*out),
                 options->metrics);
}

/* Processes that use libsolar hold themselves to the page without it: nothing that a node cannot do
 * without. */
static void make_shares(const struct agent_options *options, struct solar_shares **out)
{
    struct err err = ERR_INIT;
    if (!options->once && !options->sim && solar_shares_new(options->root, out, &err) != ERR_OK)
        log_error("agent", "Solar-RDMA's processes share no line: %s", err.text);
}

/* Without it a job's processes need a key of their own making. A simulated node has no folder of
 * jobs but below a root of its own. */
static void make_keys(const struct agent_options *options, struct loop *loop, const struct way *way,
                      const struct link *link, struct solar_keys **out)
{
    const struct solar_keys_config config = {
        .root = options->root, .node = options->node, .link = link};
    struct err err = ERR_INIT;
    if (link != NULL && (!options->sim || options->root != NULL) &&
        solar_keys_new(loop, way_client(way), &config, out, &err) != ERR_OK)
        log_error("agent", "Solar-RDMA's jobs get no keys: %s", err.text);
}

static enum err_code make_link(const struct agent_options *options, struct loop *loop,
                               struct way **way, struct link **out, struct err *err)
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

/* Serving --------------------------------------------------------------------------------------*/

struct serving {
    struct loop *loop;
    struct agent *agent;
    struct way *way; /* NULL = no server */
    struct loop_timer *watchdog;
    int64_t watchdog_ns;
};

static void tell(const char *lines)
{
    struct err err = ERR_INIT;
    if (notify_send(lines, &err) != ERR_OK)
        log_warning("agent", "%s", err.text);
}

static void on_stop(void *arg)
{
    struct serving *serving = arg;
    log_info("agent", "stopping; the node stays as it is");
    tell("STOPPING=1");
    loop_stop(serving->loop);
}

static void on_reload(void *arg)
{
    struct serving *serving = arg;
    log_info("agent", "SIGHUP: trying everything again");
    agent_reload(serving->agent);
}

static void on_renew(void *arg)
{
    struct serving *serving = arg;
    if (serving->way != NULL)
        way_renew(serving->way);
}

/* Everything runs on this loop: that it turns is the sign of life. */
static void on_watchdog(void *arg)
{
    struct serving *serving = arg;
    tell("WATCHDOG=1");
    loop_timer_set(serving->watchdog, serving->watchdog_ns);
}

static enum err_code listen_to_signals(struct serving *serving, struct err *err)
{
    static const struct {
        int signo;
        loop_fn *fn;
    } signals[] = {{SIGTERM, on_stop}, {SIGINT, on_stop}, {SIGHUP, on_reload}, {SIGUSR1, on_renew}};
    enum err_code code = ERR_OK;
    for (size_t i = 0; code == ERR_OK && i < sizeof(signals) / sizeof(signals[0]); i++)
        code = loop_signal_add(serving->loop, signals[i].signo, signals[i].fn, serving, err);
    return code;
}

static enum err_code serve(struct serving *serving, struct err *err)
{
    serving->watchdog_ns = notify_watchdog_ns() / 3;
    enum err_code code = listen_to_signals(serving, err);
    if (code == ERR_OK)
        code = loop_timer_new(serving->loop, on_watchdog, serving, &serving->watchdog, err);
    if (code != ERR_OK)
        return code;
    agent_start(serving->agent);
    if (serving->watchdog_ns > 0)
        loop_timer_set(serving->watchdog, 0);
    tell("READY=1");
    return loop_run(serving->loop, err);
}

/* A certificate that cannot be read is no reason to leave the node without its plan after a boot:
 * who starts the agent again tries the way to the server again. */
static enum err_code without_way(struct agent *agent, const struct err *why, struct err *err)
{
    struct err left = ERR_INIT;
    if (agent_once(agent, &left) != ERR_OK)
        log_error("agent", "%s", left.text);
    *err = *why;
    return err->code;
}

static enum err_code run(const struct agent_options *options, struct err *err)
{
    /* Freed last to first: the agent uses all of them. */
    OWN(starter) struct starter *starter = NULL;
    OWN(loop) struct loop *loop = NULL;
    OWN(dp) struct dp *dp = NULL;
    OWN(way) struct way *way = NULL;
    OWN(exporter) struct exporter *exporter = NULL;
    OWN(agent) struct agent *agent = NULL;
    struct link *link = NULL;
    OWN(flasher) struct flasher *flasher = NULL;
    OWN(flasher) struct flasher *reloader = NULL;
    OWN(counters) struct counters *counters = NULL;
    char boot_id[BOOT_ID_SIZE];
    if (!options->once)
        loop_signals_hold();
    read_boot_id(options->root, boot_id);
    OWN(lldp_listen) struct lldp_listen *lldp = NULL;
    enum err_code code = give_up_rights(options, &starter, &lldp, err);
    if (code == ERR_OK)
        code = lock_state(options->state_dir, err);
    if (code == ERR_OK && !options->sim)
        code =
            lock_devices(options->root, options->device[0] == NULL ? NULL : options->device, err);
    if (code == ERR_OK)
        code = loop_new(&loop, err);
    if (code == ERR_OK)
        code = make_provider(options, GIVE(lldp), &dp, err);
    struct err away = ERR_INIT;
    if (code == ERR_OK)
        code = make_flasher(options, dp, starter, &flasher, err);
    if (code == ERR_OK)
        code = make_flasher(options, dp, starter, &reloader, err);
    if (code == ERR_OK)
        code = make_counters(options, &counters, err);
    if (code != ERR_OK)
        return code;
    bool has_way = make_link(options, loop, &way, &link, &away) == ERR_OK;
    make_exporter(options, &exporter);
    struct agent_reboot reboot;
    /* To the end of the process: a reload that was given up when the agent ended still has it. */
    static struct reboot_command command;
    command = (struct reboot_command){.words = options->reboot_word,
                                      .root = options->root == NULL ? "" : options->root,
                                      .starter = starter,
                                      .flasher = GIVE(reloader)};
    reboot_command_how(&command, &options->reboot, &reboot);
    struct agent_config config = {
        .node = options->node,
        .reboot = &reboot,
        .flasher = GIVE(flasher),
        .counters = GIVE(counters),
        .telemetry_ns = options->look_ns,
        .telemetry_samples = (size_t)(options->batch_ns / options->look_ns),
        .telemetry_stays = !options->telemetry,
        .exporter = exporter,
        .verify = options->sim ? verifier_run_nothing : verify_run,
        .state_dir = options->state_dir,
        .boot_id = boot_id,
        .clock = clock_system(),
        .check_ns = options->sim_check_ns,
    };
    code = agent_new(loop, &config, dp, link, &agent, err);
    if (code != ERR_OK)
        return code;
    if (options->once)
        return agent_once(agent, err);
    if (!has_way)
        return without_way(agent, &away, err);
    OWN(solar_shares) struct solar_shares *shares = NULL;
    make_shares(options, &shares);
    OWN(solar_keys) struct solar_keys *keys = NULL;
    make_keys(options, loop, way, link, &keys);
    struct serving serving = {.loop = loop, .agent = agent, .way = way};
    return serve(&serving, err);
}

int main(int argc, char **argv)
{
    struct agent_options options;
    struct err err = ERR_INIT;
    enum exit_status status = EXIT_GOOD;
    signal(SIGPIPE, SIG_IGN); /* a log reader that went away must not stop us */
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error where it is written */
    if (agent_options_read(argc, argv, &options, &err) != ERR_OK) {
        fprintf(stderr, "stellar-agent: %s\n", err.text);
        status = EXIT_USAGE;
    } else if (options.check && !options.done) {
        puts("the options are right");
    } else if (!options.done && run(&options, &err) != ERR_OK) {
        log_error("agent", "%s", err.text);
        status = EXIT_BAD;
    }
    agent_options_release(&options);
    return (int)status;
}
