#pragma once
/*
 * agent/agent_options.h - what stellar-agent is told: command line and configuration file.
 */

#include <stdbool.h>

#include "agent/reboot.h"
#include "base/options.h"
#include "datapath/dp_sim.h"
#include "fleet/inventory.h"

#define AGENT_CONFIG      "/etc/stellar/stellar-agent.json"
#define AGENT_STATE_DIR   "/var/lib/stellar-agent"
#define AGENT_DEVICES_MAX INVENTORY_PORTS_MAX

/* What `systemctl reboot` asks for, by a method that takes a right which the tools may have. */
#define AGENT_REBOOT     "systemctl start reboot.target --job-mode=replace-irreversibly --no-block"
#define REBOOT_WORDS_MAX 8 /* as STARTER_WORDS_MAX */

struct agent_options {
    const char *server, *node, *token_file, *state_dir, *root;
    const char *join, *join_file, *server_ca;
    const char *device[AGENT_DEVICES_MAX + 1]; /* names, ended by NULL; none = all */
    bool sim, once;
    bool check; /* --check-config: say that it is right, and no more */
    int sim_ports;
    int64_t sim_check_ns; /* 0 = as of any node */
    const char *sim_fault[SIM_FAULTS_MAX];
    int sim_faults;
    bool telemetry;   /* what is counted goes to the server */
    int64_t look_ns;  /* between two looks at the counters */
    int64_t batch_ns; /* what one batch of them spans */
    struct reboot_rules reboot;
    const char *reboot_word[REBOOT_WORDS_MAX + 1]; /* the command, ended by NULL */
    char *reboot_command;                          /* owned, cut at the blanks; private */
    const char *metrics;  /* address and port to serve them on; NULL = nowhere */
    bool done;            /* --help and the like: nothing is left to do */
    struct options table; /* owns what came from the file */
    char *devices;        /* owned, cut at the commas; private */
};

/* Also sets log level and format. Errors are said in err. */
ERR_MUST_CHECK enum err_code agent_options_read(int argc, char **argv, struct agent_options *out,
                                                struct err *err);
void agent_options_release(struct agent_options *options);
